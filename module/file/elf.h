/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Elf: what the headers of an ELF file say about the unwinding of its code.
 *
 * No kernel in it, no allocation, no lock; may sleep where the reader does. The
 * file is hostile: each value is fetched once and checked, and loops are
 * bounded by limits of our own.
 */
#ifndef SFU_ELF_H
#define SFU_ELF_H

#include "../env.h"

/* Executable segments of one file; linkers make one, seldom two. */
#define SFU_ELF_MAX_SEGMENTS	8

/* Program headers of one file; linkers make some ten. */
#define SFU_ELF_MAX_PHDRS	128

/* Bytes of the longest build ID. */
#define SFU_ELF_MAX_BUILD_ID	32

/**
 * struct sfu_elf_reader - where the file's bytes come from
 *
 * @read: fetch @size bytes at @offset. Returns 0, -EFAULT if the file is not
 *	so long, or another error, which is passed on.
 */
struct sfu_elf_reader {
	int (*read)(const struct sfu_elf_reader *reader, u64 offset, void *to,
		    u32 size);
};

/**
 * struct sfu_elf_segment - an executable PT_LOAD
 *
 * @offset, @filesz: the bytes of the file, page by page.
 * @vaddr, @memsz: the addresses that the file gives them. Neither sum wraps,
 *	and @offset and @vaddr are the same within a page.
 */
struct sfu_elf_segment {
	u64 offset;
	u64 filesz;
	u64 vaddr;
	u64 memsz;
};

/**
 * struct sfu_elf - what was found
 *
 * @segments, @nr_segments: executable segments with something in them.
 * @sframe_offset, @sframe_vaddr, @sframe_size: PT_GNU_SFRAME. Its size is
 *	often more than the table has; 0 if there is none.
 * @build_id, @build_id_size: size 0 if there is none.
 * @problem: what is wrong with the file, a sentence; NULL if nothing is.
 * @problem_offset: byte of the file at which it is.
 */
struct sfu_elf {
	struct sfu_elf_segment segments[SFU_ELF_MAX_SEGMENTS];
	u32 nr_segments;
	u32 build_id_size;
	u64 sframe_offset;
	u64 sframe_vaddr;
	u64 sframe_size;
	u8 build_id[SFU_ELF_MAX_BUILD_ID];
	const char *problem;
	u64 problem_offset;
};

/*
 * Read the headers. Returns 0; -EINVAL if it is no ELF file or a malformed one,
 * -EOPNOTSUPP if it is one for another machine, both with @elf->problem; or
 * what the reader returned. A build ID that is malformed, empty, or longer than
 * any is as none.
 */
int sfu_elf_read(struct sfu_elf *elf, const struct sfu_elf_reader *reader);

/* The executable segment that maps byte @offset of the file, or NULL. */
const struct sfu_elf_segment *
sfu_elf_find_segment(const struct sfu_elf *elf, u64 offset);

/* Is [start, start + size) inside one executable segment's addresses? */
bool sfu_elf_is_code(const struct sfu_elf *elf, u64 start, u64 size);

#endif /* SFU_ELF_H */
