/* SPDX-License-Identifier: GPL-2.0 */
/*
 * File read: bytes of files that others have mapped, without waiting for them.
 */
#ifndef SFU_FILE_READ_H
#define SFU_FILE_READ_H

#include <linux/types.h>

struct file;

/* Can sfu_file_read() ever read @file? */
bool sfu_file_can_read(const struct file *file);

/*
 * Copy @size bytes at @offset of @file, which sfu_file_can_read(), from the page
 * cache to @to; with a NULL @to, only look whether they are there. If they are
 * not, a thread of ours reads them into it, charged to the current thread's
 * memory cgroup, and this may be tried again. Process context; does not wait
 * for whoever provides the file. Returns 0; -EFAULT if the file is not so long;
 * -EINPROGRESS if the bytes are to be read, now or when others are done;
 * -EIO if that has failed lately, or nobody will read them; or -EINTR.
 */
int sfu_file_read(struct file *file, u64 offset, void *to, u32 size);

int sfu_file_read_init(void);
void sfu_file_read_exit(void);

#endif /* SFU_FILE_READ_H */
