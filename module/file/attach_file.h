/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach file: compare the ELF file that a client attaches to with what the
 * client expects; and the keys by which attachments are found.
 */
#ifndef SFU_ATTACH_FILE_H
#define SFU_ATTACH_FILE_H

#include <linux/types.h>

#include "attach_table.h"
#include "elf.h"

struct file;
struct inode;
struct sfu_message;

/**
 * struct sfu_attach_spec - arguments and results of SFRAME_UNWIND_IOC_ATTACH
 */
struct sfu_attach_spec {
	struct file *elf;	/* NULL with SFRAME_UNWIND_ATTACH_PROCESS */
	struct file *sframe;	/* NULL with SFRAME_UNWIND_ATTACH_SHARE */
	struct sfu_attach_range range; /* with SFRAME_UNWIND_ATTACH_PROCESS */
	u64 code;		/* if the range is final: address of a copy of its code */
	u64 sframe_offset;
	u64 sframe_size;
	u64 share_id;
	const u8 *build_id;
	u32 build_id_size;
	u32 flags;		/* SFRAME_UNWIND_ATTACH_* */
	u64 max_memory;		/* limit of the client's attachments */
	u32 nr_segments;	/* 0: do not compare the segments */
	struct sfu_elf_segment segments[SFU_ELF_MAX_SEGMENTS];
	u64 id;			/* out */
	u64 memory;		/* out: bytes of kernel memory */
	u64 defect_offset;	/* out: where the contents are wrong */
};

/*
 * Read the headers of spec->elf, and compare them with @spec. May sleep.
 * Returns 0 with @elf, or an error with @message: -EBADF, -EINVAL, -EOPNOTSUPP,
 * -ESTALE, -EIO or -EINTR, see SFRAME_UNWIND_IOC_ATTACH.
 */
int sfu_attach_check_file(const struct sfu_attach_spec *spec,
			  struct sfu_elf *elf, struct sfu_message *message);

/*
 * Returns the inode that owns the pages of spec->elf: on overlayfs, the real
 * one.
 */
struct inode *sfu_attach_inode(const struct sfu_attach_spec *spec);

/*
 * Returns the key of all files with the build ID and executable segments of
 * @elf.
 */
u64 sfu_attach_key(const struct sfu_elf *elf);

/*
 * Returns the key of that one of the files with @key whose inode has the pin
 * @number, see pin.h; or 0, which is never a key, if @number is 0.
 */
u64 sfu_attach_inode_key(u64 key, u64 number);

void sfu_attach_init(void);

#endif /* SFU_ATTACH_FILE_H */
