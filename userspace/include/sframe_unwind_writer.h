/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Writer of SFrame V3 sections for AMD64: takes functions and their rows, writes
 * a section. For run-time code generators and converters; needs neither the
 * device nor a handle. Include <sframe_unwind.h>.
 *
 * A row tells how to find three values, from one instruction of a function on:
 * the canonical frame address (CFA: the stack pointer's value before the call
 * that entered the function), the return address and the caller's frame
 * pointer. It holds until the next row or the function's end.
 *
 * Only one thread at a time may use a writer; writers are independent of each
 * other. Nothing here is async-signal-safe, because the functions allocate. A
 * child of fork() may use all functions, and its copies of those writers that no
 * thread was using at the fork.
 */
#ifndef SFRAME_UNWIND_WRITER_H
#define SFRAME_UNWIND_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum sframe_unwind_place_kind - how a value is found
 *
 * @SFRAME_UNWIND_PLACE_DEFAULT: as the call left it: the return address is the
 *	word below the CFA, the frame pointer still has the caller's value. Not
 *	for the CFA. Base and offset are ignored.
 * @SFRAME_UNWIND_PLACE_VALUE: the value is base + offset.
 * @SFRAME_UNWIND_PLACE_MEMORY: the value is in memory at base + offset.
 */
enum sframe_unwind_place_kind {
	SFRAME_UNWIND_PLACE_DEFAULT	= 0,
	SFRAME_UNWIND_PLACE_VALUE	= 1,
	SFRAME_UNWIND_PLACE_MEMORY	= 2,
};

/* Bases of places: DWARF register numbers 0 to 15 of AMD64, or the CFA. */
#define SFRAME_UNWIND_REG_FP	6	/* rbp */
#define SFRAME_UNWIND_REG_SP	7	/* rsp */
#define SFRAME_UNWIND_CFA	255

/**
 * struct sframe_unwind_place - where a value is
 *
 * @kind: enum sframe_unwind_place_kind.
 * @base: DWARF register number, or SFRAME_UNWIND_CFA. The CFA itself must be
 *	based on a register. Return address and frame pointer may be based on
 *	the CFA only with SFRAME_UNWIND_PLACE_MEMORY.
 * @reserved: 0.
 * @offset: in bytes.
 */
struct sframe_unwind_place {
	uint8_t kind;
	uint8_t base;
	uint16_t reserved;
	int32_t offset;
};

/* Flag of struct sframe_unwind_row: there is no caller; the places are ignored. */
#define SFRAME_UNWIND_ROW_NO_CALLER	0x01U

/**
 * struct sframe_unwind_row - the rules from one instruction on
 *
 * @start: offset of that instruction in bytes, from the function's start or, if
 *	the function has a block size, from the block's start.
 * @flags: SFRAME_UNWIND_ROW_* bits.
 * @reserved: 0.
 * @cfa, @ra, @fp: canonical frame address, return address, frame pointer.
 */
struct sframe_unwind_row {
	uint64_t start;
	uint32_t flags;
	uint32_t reserved;
	struct sframe_unwind_place cfa;
	struct sframe_unwind_place ra;
	struct sframe_unwind_place fp;
};

/*
 * Initialisers of struct sframe_unwind_place.
 */
#define SFRAME_UNWIND_VALUE_OF(base, offset) \
	{ SFRAME_UNWIND_PLACE_VALUE, (base), 0, (offset) }
#define SFRAME_UNWIND_MEMORY_AT(base, offset) \
	{ SFRAME_UNWIND_PLACE_MEMORY, (base), 0, (offset) }
#define SFRAME_UNWIND_PLACE_NONE \
	{ SFRAME_UNWIND_PLACE_DEFAULT, 0, 0, 0 }

/*
 * Initialisers of struct sframe_unwind_row for code as compilers usually emit
 * it. Offsets are in bytes; fp_offset is from the CFA and usually negative.
 *
 * ROW_SP	CFA = rsp + cfa_offset, rbp untouched
 * ROW_SP_FP	CFA = rsp + cfa_offset, the caller's rbp saved at CFA + fp_offset
 * ROW_FP	CFA = rbp + cfa_offset, the caller's rbp saved at CFA + fp_offset
 * ROW_FLEX	any places, each an initialiser from above
 * ROW_OUTERMOST	there is no caller
 * ROW_KEEPS_FP	the only row of the function, which may be all code of a runtime:
 *		it keeps frame pointers. Each function begins with "push %rbp",
 *		perhaps behind "endbr64", and soon "mov %rsp, %rbp"; its "ret", or
 *		jump to another function, is the next instruction behind "pop %rbp",
 *		or "ret" behind "leave". There the module looks at the instructions,
 *		if it has SFRAME_UNWIND_FEATURE_KEEPS_FP. Anywhere else outside of
 *		its frame a function's caller is left out. The frame pointer 0 marks
 *		the outermost frame, as the ABI says.
 */
#define SFRAME_UNWIND_ROW_FLEX(start, cfa, ra, fp) \
	{ (start), 0, 0, cfa, ra, fp }
#define SFRAME_UNWIND_ROW_SP(start, cfa_offset) \
	{ (start), 0, 0, \
	  SFRAME_UNWIND_VALUE_OF(SFRAME_UNWIND_REG_SP, (cfa_offset)), \
	  SFRAME_UNWIND_PLACE_NONE, SFRAME_UNWIND_PLACE_NONE }
#define SFRAME_UNWIND_ROW_SP_FP(start, cfa_offset, fp_offset) \
	{ (start), 0, 0, \
	  SFRAME_UNWIND_VALUE_OF(SFRAME_UNWIND_REG_SP, (cfa_offset)), \
	  SFRAME_UNWIND_PLACE_NONE, \
	  SFRAME_UNWIND_MEMORY_AT(SFRAME_UNWIND_CFA, (fp_offset)) }
#define SFRAME_UNWIND_ROW_FP(start, cfa_offset, fp_offset) \
	{ (start), 0, 0, \
	  SFRAME_UNWIND_VALUE_OF(SFRAME_UNWIND_REG_FP, (cfa_offset)), \
	  SFRAME_UNWIND_PLACE_NONE, \
	  SFRAME_UNWIND_MEMORY_AT(SFRAME_UNWIND_CFA, (fp_offset)) }
#define SFRAME_UNWIND_ROW_KEEPS_FP	SFRAME_UNWIND_ROW_FP(0, 16, -16)
#define SFRAME_UNWIND_ROW_OUTERMOST(start) \
	{ (start), SFRAME_UNWIND_ROW_NO_CALLER, 0, SFRAME_UNWIND_PLACE_NONE, \
	  SFRAME_UNWIND_PLACE_NONE, SFRAME_UNWIND_PLACE_NONE }

/*
 * Flag of struct sframe_unwind_function: a signal trampoline, whose caller did
 * not call it but was interrupted. Such a function may have no rows.
 */
#define SFRAME_UNWIND_FUNCTION_SIGNAL	0x01U

/**
 * struct sframe_unwind_function - one range of code
 *
 * @name: for messages; NULL if it has none.
 * @start: address of its first byte at run time.
 * @size: in bytes, 1 to 2^47.
 * @rows: its rows in ascending order of their start. Code before the first row
 *	has no rule. If several rows have the same start, the last one is used.
 *	A row at the function's end is dropped, as is a row that repeats the
 *	one before.
 * @nr_rows: number of rows.
 * @flags: SFRAME_UNWIND_FUNCTION_* bits.
 * @block_size: 0, or 1 to 255: the function is a sequence of blocks of so many
 *	bytes, and the rows describe each block. @size is a multiple of it.
 */
struct sframe_unwind_function {
	const char *name;
	uint64_t start;
	uint64_t size;
	const struct sframe_unwind_row *rows;
	size_t nr_rows;
	uint32_t flags;
	uint32_t block_size;
};

/* Functions collected for a section. */
struct sframe_unwind_writer;

/**
 * sframe_unwind_writer_create() - create an empty writer
 * @writer: set to the writer, or to NULL on failure.
 *
 * Any thread.
 *
 * Return: 0, -ENOMEM, or -EINVAL if @writer is NULL.
 */
int sframe_unwind_writer_create(struct sframe_unwind_writer **writer);

/**
 * sframe_unwind_writer_free() - free a writer
 * @writer: the writer, or NULL.
 *
 * Sections that it has written are not affected.
 */
void sframe_unwind_writer_free(struct sframe_unwind_writer *writer);

/**
 * sframe_unwind_writer_reset() - remove all functions, for the next section
 * @writer: the writer.
 *
 * One thread at a time for each writer. Keeps the memory for reuse.
 */
void sframe_unwind_writer_reset(struct sframe_unwind_writer *writer);

/**
 * sframe_unwind_writer_error() - message of the last call
 * @writer: the writer.
 *
 * One thread at a time for each writer.
 *
 * Return: a sentence that names function and row, empty after success; valid
 * until the next call with the writer.
 */
const char *
sframe_unwind_writer_error(const struct sframe_unwind_writer *writer);

/**
 * sframe_unwind_writer_add() - add a function
 * @writer: the writer.
 * @function: the function, which is copied with its name and rows.
 *
 * Functions may be added in any order. Functions with equal rows share the rows'
 * bytes in the section. If the function is refused, the writer is unchanged. One
 * thread at a time for each writer.
 *
 * Return: 0, or
 * -EINVAL	not a function as described above; a pointer is NULL.
 * -EFBIG	the section would exceed what the format can express.
 * -ENOMEM	no memory.
 */
int sframe_unwind_writer_add(struct sframe_unwind_writer *writer,
			     const struct sframe_unwind_function *function);

/**
 * sframe_unwind_writer_size() - size of the section
 * @writer: the writer.
 *
 * One thread at a time for each writer.
 *
 * Return: bytes that sframe_unwind_writer_write() will write, or
 * -ENODATA	no function has been added.
 * -EINVAL	two functions overlap; @writer is NULL.
 */
ssize_t sframe_unwind_writer_size(struct sframe_unwind_writer *writer);

/**
 * sframe_unwind_writer_write() - write the section
 * @writer: the writer; it keeps its functions, and can write them again.
 * @buffer: buffer for the section.
 * @size: size of @buffer in bytes.
 * @section_address: address of the section's first byte at run time;
 *	(uintptr_t)@buffer if it is used where it is written.
 *
 * Function starts are stored relative to the section: do not move the section
 * afterwards unless the code moves with it. One thread at a time for each
 * writer.
 *
 * Return: bytes written, or
 * -ENODATA	no function has been added.
 * -EINVAL	two functions overlap; the section would wrap around the address
 *		space; a pointer is NULL.
 * -ENOSPC	the section does not fit into @size bytes.
 */
ssize_t sframe_unwind_writer_write(struct sframe_unwind_writer *writer,
				   void *buffer, size_t size,
				   uint64_t section_address);

#ifdef __cplusplus
}
#endif

#endif /* SFRAME_UNWIND_WRITER_H */
