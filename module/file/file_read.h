/* SPDX-License-Identifier: GPL-2.0 */
/*
 * File read: read files that the current process has mapped, without waiting
 * for I/O in its threads.
 */
#ifndef SFU_FILE_READ_H
#define SFU_FILE_READ_H

#include <linux/types.h>

struct file;

/* Returns whether sfu_file_read() supports files of this kind. */
bool sfu_file_can_read(const struct file *file);

/*
 * Copy @size bytes at @offset of @file from the page cache to @to; if @to is
 * NULL, only check that they are cached. If they are not, a work item reads
 * them into the page cache, charged to the current thread's memory cgroup, and
 * the caller may try again later. sfu_file_can_read() must have returned true.
 * Process context; does not wait for the file system. Returns 0; -EFAULT if the
 * file is shorter; -EINPROGRESS if the bytes are being read, or will be when
 * other reads are done; -EIO if reading failed recently, or is not attempted
 * for this file (FUSE); or -EINTR.
 */
int sfu_file_read(struct file *file, u64 offset, void *to, u32 size);

int sfu_file_read_init(void);
void sfu_file_read_exit(void);

#endif /* SFU_FILE_READ_H */
