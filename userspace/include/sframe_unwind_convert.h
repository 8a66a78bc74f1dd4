/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Converts the call frame information (CFI) that every AMD64 program has,
 * .eh_frame or .debug_frame, to an SFrame V3 section; also .sframe sections of
 * versions 1 and 2. If the file has a .sframe section of version 3, completes
 * that one. Needs elfutils' libdw and libelf, and libgcrypt. Link with
 * libsframe_unwind_convert and libsframe_unwind.
 *
 * The section is written as if it lay at address 0 of its ELF file: the offset
 * of a function's start field plus the field's value is the address that the ELF
 * file itself uses.
 *
 * Rows that SFrame cannot express are left out and listed: that code has no
 * rule, the code around it has.
 *
 * Any number of threads may convert at the same time; a result has no lock, its
 * owner must serialize access to it. Nothing here is async-signal-safe. A child
 * of fork() may use all functions and the results that it has inherited.
 */
#ifndef SFRAME_UNWIND_CONVERT_H
#define SFRAME_UNWIND_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sources of rows; bits of @sources in the options and in the result.
 */
#define SFRAME_UNWIND_FROM_EH_FRAME	0x01U
#define SFRAME_UNWIND_FROM_DEBUG_FRAME	0x02U
/* A .sframe section of version 1 or 2. */
#define SFRAME_UNWIND_FROM_OLD_SFRAME	0x04U
/* A .sframe section of version 3. */
#define SFRAME_UNWIND_FROM_OWN_SFRAME	0x08U

/*
 * The table of functions of a Go program, .gopclntab, for code of the Go
 * compiler.
 */
#define SFRAME_UNWIND_FROM_GO		0x10U
/* Instructions of code that no other source describes, where they prove a rule. */
#define SFRAME_UNWIND_FROM_CODE		0x20U

/*
 * Bit of @flags in the options: write an extended section, for
 * SFRAME_UNWIND_IOC_ATTACH with SFRAME_UNWIND_ATTACH_EXTENDED. It has rules for
 * code that SFrame V3 has no form for, and tells where functions save registers.
 * Its format is private to this project and may change with each version of it;
 * other readers of SFrame refuse it.
 */
#define SFRAME_UNWIND_CONVERT_EXTENDED	0x01U
/*
 * Bit of @flags: each entry of the section's index is for one function, and begins where it
 * does. For SFRAME_UNWIND_IOC_ATTACH with SFRAME_UNWIND_ATTACH_UNCHANGED, which compares
 * the code of each entry by itself: an entry for the rest of a function would stay in use
 * when the function begins in another way. So a function with more than @max_rows rows has
 * none, and one with code in between that can have no rule has one up to there.
 */
#define SFRAME_UNWIND_CONVERT_BY_FUNCTION	0x02U

/**
 * struct sframe_unwind_convert_options - how to convert; all 0 is the default
 *
 * @sources: SFRAME_UNWIND_FROM_* bits. .eh_frame comes first, then the table
 *	of a Go program; .debug_frame serves code that .eh_frame does not cover, and an old .sframe is used
 *	only if neither of the two covers any code. Where the file's own
 *	.sframe of version 3 has a rule, that one is used instead, unless it
 *	is wrong by a known defect of assemblers or linkers. 0: all six.
 * @max_rows: rows that one entry of the section's index may have. An entry is
 *	a range of code: neighbouring functions share entries, large ones are
 *	divided (but see SFRAME_UNWIND_CONVERT_BY_FUNCTION). A larger value makes
 *	the section smaller and lookups slower. 0: 32.
 * @progress: called occasionally by the converting thread with the work done
 *	and the total, in arbitrary units; may be NULL.
 * @data: passed to @progress.
 * @cache_dir: cache directory of sframe_unwind_convert_cached(). NULL: for root
 *	/var/cache/sframe_unwind/sections, else sframe_unwind/sections in
 *	$XDG_CACHE_HOME or in ~/.cache.
 * @flags: SFRAME_UNWIND_CONVERT_* bits.
 * @reserved: 0.
 */
struct sframe_unwind_convert_options {
	uint32_t sources;
	uint32_t max_rows;
	void (*progress)(void *data, uint64_t done, uint64_t whole);
	void *data;
	const char *cache_dir;
	uint32_t flags;
	uint32_t reserved;
};

/**
 * enum sframe_unwind_left_out_reason - why code has no rule
 *
 * @SFRAME_UNWIND_LEFT_OUT_CFA_EXPRESSION: CFA is an expression other than
 *	register plus offset, or the word in memory at that address.
 * @SFRAME_UNWIND_LEFT_OUT_CFA_NONE: no CFA is defined.
 * @SFRAME_UNWIND_LEFT_OUT_CFA_OFFSET: the CFA's offset exceeds 32 bits.
 * @SFRAME_UNWIND_LEFT_OUT_RA: return address by an expression or another rule
 *	that SFrame cannot express.
 * @SFRAME_UNWIND_LEFT_OUT_FP: frame pointer by an expression or another rule
 *	that SFrame cannot express.
 * @SFRAME_UNWIND_LEFT_OUT_FP_UNDEFINED: frame pointer is undefined.
 * @SFRAME_UNWIND_LEFT_OUT_SP: caller's stack pointer is not the CFA.
 * @SFRAME_UNWIND_LEFT_OUT_RA_COLUMN: return address is not in column 16.
 * @SFRAME_UNWIND_LEFT_OUT_MALFORMED: CFI is malformed from here on, or is for a
 *	function of 4 GiB or more.
 * @SFRAME_UNWIND_LEFT_OUT_OVERLAP: another function's CFI begins before this
 *	code and ends after it.
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
/* The result was read from the cache, not converted. */
#define SFRAME_UNWIND_CONVERTED_FROM_CACHE	0x01U
/* The result is in the cache now. */
#define SFRAME_UNWIND_CONVERTED_IN_CACHE	0x02U

/**
 * struct sframe_unwind_converted - a converted section
 *
 * @bytes: the section, SFrame V3.
 * @size: its size in bytes.
 * @build_id: build ID of the file.
 * @build_id_size: its size in bytes; 0 if the file has none.
 * @flags: SFRAME_UNWIND_CONVERTED_* bits.
 * @sources: SFRAME_UNWIND_FROM_* bits of the sources that had rows.
 * @nr_functions: functions with CFI.
 * @nr_fdes: entries of the section's index.
 * @nr_rows: rows of the section.
 * @covered: bytes of code with CFI that have a rule.
 * @cfi_size: bytes of the file's sections that are in @sources: .eh_frame with
 *	.eh_frame_hdr, .debug_frame, .sframe.
 * @left_out: code that has CFI but no rule, by address.
 * @nr_left_out: entries of @left_out.
 * @left_out_size: bytes of code in @left_out.
 * @cache_file: path in the cache if @flags has
 *	SFRAME_UNWIND_CONVERTED_IN_CACHE, else NULL.
 * @cache_problem: after sframe_unwind_convert_cached(), why the result is not in
 *	the cache, in a sentence that names the cache's directory; else NULL.
 * @own_missing: if @sources has SFRAME_UNWIND_FROM_OWN_SFRAME: bytes of code for
 *	which the file's own .sframe has no rule, but this section has one.
 * @own_wrong: bytes of code for which it has a rule that is wrong by a known
 *	defect. If both are 0, the file's own section is as good as this one.
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
	uint64_t own_missing;
	uint64_t own_wrong;
};

/**
 * sframe_unwind_convert_fd() - convert an open ELF file
 * @fd: the file, open for reading; stays open, its offset is not used.
 * @name: name of the file, for messages.
 * @options: options, or NULL for the defaults.
 * @converted: set to the result, to be freed by the caller, or to NULL on
 *	failure.
 *
 * Linked files only: executables and shared objects of AMD64. The file is read
 * once; if it changes while it is read, -ESTALE is returned. Time and memory are
 * bounded by the bytes that the file occupies on disk, not by the sizes that its
 * headers claim. Any thread.
 *
 * Return: 0, or a negative errno; sframe_unwind_convert_error() has details:
 * -EINVAL	the file or its CFI is broken; an unknown source bit or flag.
 * -ENODATA	nothing to convert: no CFI, or none that can be expressed.
 * -EOPNOTSUPP	no regular file, no ELF file, or none of AMD64, or a relocatable
 *		object, or a separate debug file; a .sframe of version 3, which
 *		needs no conversion, and nothing else to convert.
 * -EFBIG	the section would exceed what the format can express; or the
 *		file's headers claim too much: more bytes to read than 2 GiB or
 *		than 8 times its size on disk and 1 MiB, tables of more than
 *		16 times its size on disk and 16 MiB, more than 128 program
 *		headers or more than 65,535 sections.
 * -ESTALE	the file was changed while it was read: try again.
 * -ENOMEM	no memory.
 * other	error of pread(2) or memfd_create(2).
 */
int sframe_unwind_convert_fd(int fd, const char *name,
			     const struct sframe_unwind_convert_options *options,
			     struct sframe_unwind_converted **converted);

/**
 * sframe_unwind_convert_memory() - convert an ELF file in memory
 * @image: the bytes of the file, for example of the vDSO.
 * @size: number of bytes.
 * @name: name of the file, for messages.
 * @options: options, or NULL for the defaults.
 * @converted: set to the result, to be freed by the caller, or to NULL on
 *	failure.
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
 * sframe_unwind_convert_cached() - sframe_unwind_convert_fd() with a cache
 * @fd: the file, open for reading.
 * @name: name of the file, for messages.
 * @options: options, or NULL for the defaults.
 * @converted: set to the result, to be freed by the caller, or to NULL on
 *	failure.
 *
 * Looks in the cache directory for a result of the same contents (by a
 * cryptographic digest of everything that a conversion depends on), the same
 * options and the same version of the converter. If there is none, converts and
 * stores the result atomically, so that any number of processes can use the
 * cache at the same time. A damaged file in the cache, or one of another owner,
 * is replaced. When the cache exceeds its limit, the least recently used results
 * are removed. Failure to store the result is not an error: @flags of the result
 * lacks SFRAME_UNWIND_CONVERTED_IN_CACHE and @cache_problem has the reason.
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
 * sframe_unwind_converted_elf() - wrap the section in an ELF file
 * @converted: a result.
 * @file: set to the file's bytes, to be freed with free(), or to NULL.
 * @size: set to the number of bytes.
 *
 * For readers of ELF files, such as "readelf --sframe". The file has only
 * the section, of type SHT_GNU_SFRAME, and the build ID.
 *
 * Return: 0 or -ENOMEM.
 */
int sframe_unwind_converted_elf(const struct sframe_unwind_converted *converted,
				unsigned char **file, size_t *size);

/**
 * sframe_unwind_convert_error() - message of this thread's last call
 *
 * The name that the call was given and names from the file are not escaped. On a
 * terminal or in a log they can forge lines and have other effects, so escape
 * the message before printing it there.
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
