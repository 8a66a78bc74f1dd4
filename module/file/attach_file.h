/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach file: what a client says about the ELF file that it attaches to,
 * compared with the file; and what attachments go by.
 */
#ifndef SFU_ATTACH_FILE_H
#define SFU_ATTACH_FILE_H

#include <linux/types.h>

#include "elf.h"

struct file;
struct inode;
struct sfu_message;

/**
 * struct sfu_attach_spec - what a client says about an attachment
 */
struct sfu_attach_spec {
	struct file *elf;
	struct file *sframe;	/* NULL with SFRAME_UNWIND_ATTACH_SHARE */
	u64 sframe_offset;
	u64 sframe_size;
	u64 share_id;
	const u8 *build_id;
	u32 build_id_size;
	u32 flags;		/* SFRAME_UNWIND_ATTACH_* */
	u32 nr_segments;	/* 0: nothing is said of them */
	struct sfu_elf_segment segments[SFU_ELF_MAX_SEGMENTS];
	u64 id;			/* out */
	u64 memory;		/* out: bytes of kernel memory */
	u64 defect_offset;	/* out: where the contents are wrong */
};

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
