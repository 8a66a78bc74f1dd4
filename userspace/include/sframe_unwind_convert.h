/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Converter of the call frame information (CFI) that every AMD64 program comes
 * with, .eh_frame or .debug_frame, to an SFrame V3 section; and of .sframe
 * sections of versions 1 and 2. Needs elfutils' libdw and libelf, and
 * libgcrypt. Link with libsframe_unwind_convert and libsframe_unwind.
 *
 * The section is written as if it lay at address 0 of its ELF file: a function
 * start is the offset of its field plus its value, and comes out as the
 * address that the file itself uses.
 *
 * What SFrame cannot express is left out, row by row, and listed: the code
 * there has no rule, that around it has.
 *
 * Any thread may convert, any number at once; results belong to who has them.
 * Nothing here is async-signal-safe. A child of fork() may use all, with the
 * results that it has inherited.
 */
#ifndef SFRAME_UNWIND_CONVERT_H
#define SFRAME_UNWIND_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where rows can come from; bits of @sources of the options and of the result.
 */
#define SFRAME_UNWIND_FROM_EH_FRAME	0x01U
#define SFRAME_UNWIND_FROM_DEBUG_FRAME	0x02U
/* A .sframe section of version 1 or 2. */
#define SFRAME_UNWIND_FROM_OLD_SFRAME	0x04U

/**
 * struct sframe_unwind_convert_options - how to convert; all 0 is the default
 *
 * @sources: SFRAME_UNWIND_FROM_* bits. .eh_frame comes first, .debug_frame
 *	adds what it does not cover, an old .sframe is used where neither has
 *	anything. 0: all three.
 * @max_rows: rows that one entry of the section's index may have. An entry is
 *	a range of code: neighbouring functions share entries, large ones are
 *	divided. More make the section smaller and lookups slower. 0: 32.
 * @progress: called now and then by the converting thread with the work done
 *	and the whole, in units that mean nothing; may be NULL.
 * @data: for @progress.
 * @cache_dir: of sframe_unwind_convert_cached(). NULL: for root
 *	/var/cache/sframe_unwind/sections, else sframe_unwind/sections in
 *	$XDG_CACHE_HOME or in ~/.cache.
 */
struct sframe_unwind_convert_options {
	uint32_t sources;
	uint32_t max_rows;
	void (*progress)(void *data, uint64_t done, uint64_t whole);
	void *data;
	const char *cache_dir;
};

/**
 * enum sframe_unwind_left_out_reason - why code has no rule
 *
 * @SFRAME_UNWIND_LEFT_OUT_CFA_EXPRESSION: CFA is no register plus offset, nor
 *	what is in memory there.
 * @SFRAME_UNWIND_LEFT_OUT_CFA_NONE: no CFA is defined.
 * @SFRAME_UNWIND_LEFT_OUT_CFA_OFFSET: its offset exceeds 32 bits.
 * @SFRAME_UNWIND_LEFT_OUT_RA: return address by an expression, or by something
 *	else that has no form in SFrame.
 * @SFRAME_UNWIND_LEFT_OUT_FP: the same of the frame pointer.
 * @SFRAME_UNWIND_LEFT_OUT_FP_UNDEFINED: frame pointer is lost.
 * @SFRAME_UNWIND_LEFT_OUT_SP: caller's stack pointer is not the CFA.
 * @SFRAME_UNWIND_LEFT_OUT_RA_COLUMN: return address is not in column 16.
 * @SFRAME_UNWIND_LEFT_OUT_MALFORMED: CFI is malformed from here on, or is of a
 *	function of 4 GiB or more.
 * @SFRAME_UNWIND_LEFT_OUT_OVERLAP: another function's CFI begins in front of
 *	it and ends behind it.
 */
enum sframe_unwind_left_out_reason {
	SFRAME_UNWIND_LEFT_OUT_CFA_EXPRESSION	= 1,
	SFRAME_UNWIND_LEFT_OUT_CFA_NONE		= 2,
	SFRAME_UNWIND_LEFT_OUT_CFA_OFFSET	= 3,
	SFRAME_UNWIND_LEFT_OUT_RA		= 4,
	SFRAME_UNWIND_LEFT_OUT_FP		= 5,
	SFRAME_UNWIND_LEFT_OUT_FP_UNDEFINED	= 6,
	SFRAME_UNWIND_LEFT_OUT_SP		= 7,
	SFRAME_UNWIND_LEFT_OUT_RA_COLUMN	= 8,
	SFRAME_UNWIND_LEFT_OUT_MALFORMED	= 9,
	SFRAME_UNWIND_LEFT_OUT_OVERLAP		= 10,
};

/**
 * struct sframe_unwind_left_out - code that has CFI but got no rule
 *
 * @start: address of its first byte.
 * @size: in bytes.
 * @reason: enum sframe_unwind_left_out_reason.
 * @reserved: 0.
 */
struct sframe_unwind_left_out {
	uint64_t start;
	uint64_t size;
	uint32_t reason;
	uint32_t reserved;
};

/* Bits of @flags of struct sframe_unwind_converted. */
/* Read from the cache, not converted. */
#define SFRAME_UNWIND_CONVERTED_FROM_CACHE	0x01U
/* Is in the cache now. */
#define SFRAME_UNWIND_CONVERTED_IN_CACHE	0x02U

/**
 * struct sframe_unwind_converted - a section and what is known of it
 *
 * @bytes: the section, SFrame V3.
 * @size: bytes of it.
 * @build_id: build ID of the file.
 * @build_id_size: bytes of it; 0 if it has none.
 * @flags: SFRAME_UNWIND_CONVERTED_* bits.
 * @sources: SFRAME_UNWIND_FROM_* bits of those that had rows.
 * @nr_functions: functions with CFI.
 * @nr_fdes: entries of the section's index.
 * @nr_rows: rows of the section.
 * @covered: bytes of code with CFI that have a rule.
 * @cfi_size: bytes of what the section stands for: .eh_frame and
 *	.eh_frame_hdr, if @sources has that bit, .debug_frame, .sframe.
 * @left_out: code that has CFI but no rule, by address.
 * @nr_left_out: number of them.
 * @left_out_size: bytes of them in all.
 * @cache_file: path in the cache, if @flags tell that it is there, or NULL.
 * @cache_problem: why it is not there, after sframe_unwind_convert_cached(), or
 *	NULL: a sentence that names the cache's directory.
 */
struct sframe_unwind_converted {
	const unsigned char *bytes;
	size_t size;
	const unsigned char *build_id;
	size_t build_id_size;
	uint32_t flags;
	uint32_t sources;
	uint64_t nr_functions;
	uint64_t nr_fdes;
	uint64_t nr_rows;
	uint64_t covered;
	uint64_t cfi_size;
	const struct sframe_unwind_left_out *left_out;
	size_t nr_left_out;
	uint64_t left_out_size;
	const char *cache_file;
	const char *cache_problem;
};

/**
 * sframe_unwind_convert_fd() - convert an open ELF file
 * @fd: the file, open for reading; stays open, its offset does not count.
 * @name: of the file, for messages.
 * @options: how, or NULL.
 * @converted: set to the result, to be freed, or to NULL on failure.
 *
 * Linked files only: executables and shared objects of AMD64. The file is read
 * once, so that it may change meanwhile: see -ESTALE. Time and memory are at most
 * proportional to the bytes that the file takes on its disk, whatever it claims.
 * Any thread.
 *
 * Return: 0, or a negative errno, of which sframe_unwind_convert_error() tells
 * more:
 * -EINVAL	the file or its CFI is broken; an unknown source bit.
 * -ENODATA	nothing to convert: no CFI, or none that can be expressed.
 * -EOPNOTSUPP	no regular file, no ELF file, or none of AMD64, or a relocatable
 *		object, or a separate debug file; a .sframe of version 3, which
 *		needs no conversion, and nothing else to convert.
 * -EFBIG	the section would exceed what the format can express; or the file
 *		claims more than it is worth: more than 2 GiB or than can be in
 *		what it takes on its disk to be read, tables of more than 16 MiB
 *		and 16 times those bytes, or more than 128 program headers or
 *		65,535 sections.
 * -ESTALE	the file was changed while it was read: try again.
 * -ENOMEM	no memory.
 * another	as pread(2) or memfd_create(2) failed.
 */
int sframe_unwind_convert_fd(int fd, const char *name,
			     const struct sframe_unwind_convert_options *options,
			     struct sframe_unwind_converted **converted);

/**
 * sframe_unwind_convert_memory() - convert an ELF file in memory
 * @image: its bytes as they are in a file, for example the vDSO's.
 * @size: number of them.
 * @name: for messages.
 * @options: how, or NULL.
 * @converted: set to the result, to be freed, or to NULL on failure.
 *
 * Any thread. @image is not needed afterwards.
 *
 * Return: as sframe_unwind_convert_fd().
 */
int
sframe_unwind_convert_memory(const void *image, size_t size, const char *name,
			     const struct sframe_unwind_convert_options *options,
			     struct sframe_unwind_converted **converted);

/**
 * sframe_unwind_convert_cached() - the same as _fd(), but only once
 * @fd: the file.
 * @name: of the file, for messages.
 * @options: how, or NULL.
 * @converted: set to the result, to be freed, or to NULL on failure.
 *
 * Looks for a result of the same contents (a cryptographic digest of all that
 * a conversion depends on), the same options and the same version of the
 * converter in the cache directory, and leaves the result there, in one step, so
 * that any number of processes can do so at once. What is there but damaged, or
 * not the user's own, is not used but replaced; what was not used for long goes
 * when the cache is larger than its limit. That nothing can be stored is no
 * failure: @flags of the result tell, and @cache_problem why.
 *
 * Any thread.
 *
 * Return: as sframe_unwind_convert_fd().
 */
int
sframe_unwind_convert_cached(int fd, const char *name,
			     const struct sframe_unwind_convert_options *options,
			     struct sframe_unwind_converted **converted);

/**
 * sframe_unwind_converted_free() - free a result
 * @converted: the result, or NULL.
 */
void sframe_unwind_converted_free(struct sframe_unwind_converted *converted);

/**
 * sframe_unwind_converted_elf() - the section in an ELF file of its own
 * @converted: a result.
 * @file: set to the file's bytes, to be freed with free(), or to NULL.
 * @size: set to the number of them.
 *
 * For readers of ELF files, such as "readelf --sframe". The file has nothing
 * but the section, of type SHT_GNU_SFRAME, and the build ID.
 *
 * Return: 0 or -ENOMEM.
 */
int sframe_unwind_converted_elf(const struct sframe_unwind_converted *converted,
				unsigned char **file, size_t *size);

/**
 * sframe_unwind_convert_error() - what the last call of this thread found wrong
 *
 * The name is the one that the call was given, byte by byte, and so are names
 * from the file: nothing is escaped, as only who prints the sentence knows where
 * to. On a terminal or in a log they may forge lines and have other effects.
 *
 * Return: a sentence that begins with the file's name, empty after success;
 * valid until the thread's next call.
 */
const char *sframe_unwind_convert_error(void);

/**
 * sframe_unwind_left_out_text() - a reason in words
 * @reason: enum sframe_unwind_left_out_reason.
 *
 * Return: a short phrase, never NULL.
 */
const char *sframe_unwind_left_out_text(uint32_t reason);

#ifdef __cplusplus
}
#endif

#endif /* SFRAME_UNWIND_CONVERT_H */
