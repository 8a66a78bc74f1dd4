/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Elf: read from an ELF file's headers what is needed to unwind its code.
 *
 * Independent of the kernel; allocates nothing, takes no lock. May sleep if the
 * reader does. The file is hostile: each value is fetched once and checked, and
 * loops are bounded by fixed limits.
 */
#ifndef SFU_ELF_H
#define SFU_ELF_H

#include "../env.h"

/* Executable segments of one file; linkers create one, rarely two. */
#define SFU_ELF_MAX_SEGMENTS	8

/* Program headers of one file; linkers create about ten. */
#define SFU_ELF_MAX_PHDRS	128

/* Bytes of the longest build ID. */
#define SFU_ELF_MAX_BUILD_ID	32

/**
 * struct sfu_elf_reader - how to read the file
 *
 * @read: copy @size bytes at @offset to @to. Returns 0; -EFAULT if the file is
 *	shorter; or another error, which the functions here return as it is.
 */
struct sfu_elf_reader {
	int (*read)(const struct sfu_elf_reader *reader, u64 offset, void *to,
		    u32 size);
};

/**
 * struct sfu_elf_segment - an executable PT_LOAD
 *
 * @offset, @filesz: the segment's bytes in the file.
 * @vaddr, @memsz: its addresses, before relocation. Neither sum wraps, and
 *	@offset and @vaddr are equal modulo the page size.
 */
struct sfu_elf_segment {
	u64 offset;
	u64 filesz;
	u64 vaddr;
	u64 memsz;
};

/**
 * struct sfu_elf - what the headers contain
 *
 * @segments, @nr_segments: executable segments whose memsz is not 0.
 * @sframe_offset, @sframe_vaddr, @sframe_size: PT_GNU_SFRAME. The size can
 *	exceed that of the SFrame table; it is 0 if there is none.
 * @build_id, @build_id_size: the size is 0 if there is none.
 * @problem: text that says what is wrong with the file, or NULL.
 * @problem_offset: offset in the file of the problem.
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
 * Read the headers. Returns 0; -EINVAL if the file is not ELF or is malformed;
 * -EOPNOTSUPP if it is not a 64-bit, little-endian file for the architecture; both
 * with elf->problem set; or an error of the reader. Ignores a build ID that is
 * malformed, empty, or longer than SFU_ELF_MAX_BUILD_ID.
 */
int sfu_elf_read(struct sfu_elf *elf, const struct sfu_elf_reader *reader);

/*
 * Returns the executable segment that maps byte @offset of the file, or NULL.
 */
const struct sfu_elf_segment *
sfu_elf_find_segment(const struct sfu_elf *elf, u64 offset);

/* Returns whether [start, start + size) is inside one executable segment. */
bool sfu_elf_is_code(const struct sfu_elf *elf, u64 start, u64 size);

#endif /* SFU_ELF_H */
