/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach file: what a client says about the ELF file that it attaches to,
 * compared with the file; and what attachments go by.
 */
#ifndef SFU_ATTACH_FILE_H
#define SFU_ATTACH_FILE_H

#include <linux/types.h>

struct inode;
struct sfu_attach_spec;
struct sfu_elf;
struct sfu_message;

/*
 * Read the headers of @spec->elf, and compare them with @spec. May sleep. Returns
 * 0 with @elf, or an error with @message: -EBADF, -EINVAL, -EOPNOTSUPP, -ESTALE,
 * -EIO or -EINTR, see SFRAME_UNWIND_IOC_ATTACH.
 */
int sfu_attach_check_file(const struct sfu_attach_spec *spec,
			  struct sfu_elf *elf, struct sfu_message *message);

/* The file that has the pages of @spec->elf: of overlayfs, the one underneath. */
struct inode *sfu_attach_inode(const struct sfu_attach_spec *spec);

/* Of all files with the build ID and the executable segments of @elf. */
u64 sfu_attach_key(const struct sfu_elf *elf);

/*
 * Of these, the one whose inode has the pin of @number, see pin.h; 0, which is no
 * key, if that is 0.
 */
u64 sfu_attach_inode_key(u64 key, u64 number);

void sfu_attach_init(void);

#endif /* SFU_ATTACH_FILE_H */
