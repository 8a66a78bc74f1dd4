/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Writer of SFrame V3 sections for AMD64: functions and their rows in, a
 * section out. For run-time code generators and converters; needs neither the
 * device nor a handle. Include <sframe_unwind.h>.
 *
 * A row says, from one instruction of a function on, where three things are:
 * the canonical frame address (CFA: the stack pointer's value before the call
 * that entered the function), the return address and the caller's frame
 * pointer. It holds until the next row or the function's end.
 *
 * A writer is for one thread at a time; different ones are independent. Nothing
 * here is async-signal-safe: all allocate. A child of fork() may use all, and
 * has a copy of each writer that no thread was in.
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
 * enum sframe_unwind_place_kind - what a place means
 *
 * @SFRAME_UNWIND_PLACE_DEFAULT: what calls and prologues leave alone: the
 *	return address is the word below the CFA, the frame pointer is the
 *	caller's. Not for the CFA. Base and offset are not looked at.
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
 * @base: DWARF register number, or SFRAME_UNWIND_CFA. The CFA itself has a
 *	register; return address and frame pointer may be based on the CFA if
 *	they are in memory.
 * @reserved: 0.
 * @offset: in bytes.
 */
struct sframe_unwind_place {
	uint8_t kind;
	uint8_t base;
	uint16_t reserved;
	int32_t offset;
};

/* Flag of struct sframe_unwind_row: there is no caller; no place counts. */
#define SFRAME_UNWIND_ROW_NO_CALLER	0x01U

/**
 * struct sframe_unwind_row - the rules from one instruction on
 *
 * @start: offset of that instruction from the function's start, in bytes; with
 *	a block size, from the start of a block.
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
 * Initialisers of struct sframe_unwind_row for what compilers usually make.
 * Offsets are in bytes; fp_offset is from the CFA and usually negative.
 *
 * ROW_SP	CFA = rsp + cfa_offset, rbp untouched
 * ROW_SP_FP	the same, the caller's rbp saved at CFA + fp_offset
 * ROW_FP	CFA = rbp + cfa_offset, the caller's rbp saved at CFA + fp_offset
 * ROW_FLEX	any places, each an initialiser from above
 * ROW_OUTERMOST	there is no caller
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
#define SFRAME_UNWIND_ROW_OUTERMOST(start) \
	{ (start), SFRAME_UNWIND_ROW_NO_CALLER, 0, SFRAME_UNWIND_PLACE_NONE, \
	  SFRAME_UNWIND_PLACE_NONE, SFRAME_UNWIND_PLACE_NONE }

/*
 * Flag of struct sframe_unwind_function: a signal trampoline. Its caller was
 * interrupted and did not call. May have no rows: known, but not described.
 */
#define SFRAME_UNWIND_FUNCTION_SIGNAL	0x01U

/**
 * struct sframe_unwind_function - one range of code
 *
 * @name: for messages; NULL if it has none.
 * @start: address of its first byte at run time.
 * @size: in bytes, 1 to 2^47.
 * @rows: its rows in ascending order of their start. Code before the first row
 *	has no rule. Of rows with the same start the last one counts, a row at
 *	the end is dropped, a row that says what the one before says is too.
 * @nr_rows: number of them.
 * @flags: SFRAME_UNWIND_FUNCTION_* bits.
 * @block_size: 0, or 1 to 255: the function is a sequence of blocks of so many
 *	bytes, and the rows describe each one. @size is a multiple of it.
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

/* Functions collected for a section. Writers are independent of each other. */
struct sframe_unwind_writer;

/**
 * sframe_unwind_writer_create() - make an empty writer
 * @writer: set to it, or to NULL on failure.
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
 * Sections it has written stay what they are.
 */
void sframe_unwind_writer_free(struct sframe_unwind_writer *writer);

/**
 * sframe_unwind_writer_reset() - forget all functions, for the next section
 * @writer: the writer.
 *
 * One thread at a time for each writer. Keeps the memory.
 */
void sframe_unwind_writer_reset(struct sframe_unwind_writer *writer);

/**
 * sframe_unwind_writer_error() - what the last call found wrong
 * @writer: the writer.
 *
 * One thread at a time for each writer.
 *
 * Return: a sentence naming function and row, empty after success; valid until
 * the next call with the writer.
 */
const char *
sframe_unwind_writer_error(const struct sframe_unwind_writer *writer);

/**
 * sframe_unwind_writer_add() - add a function
 * @writer: the writer.
 * @function: the function; all of it is copied.
 *
 * In any order; functions that describe equal rows share their bytes. A
 * function that is refused leaves the writer as it was. One thread at a time
 * for each writer.
 *
 * Return: 0, or
 * -EINVAL	not a function as described above; something is NULL.
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
 * @writer: the writer; not changed, it can write again elsewhere.
 * @buffer: where to.
 * @size: bytes there are.
 * @section_address: of the section's first byte at run time; (uintptr_t)@buffer
 *	if it is used where it is written.
 *
 * Function starts are stored relative to the section: it cannot be moved
 * afterwards unless the code moves with it. One thread at a time for each
 * writer.
 *
 * Return: bytes written, or
 * -ENODATA	no function has been added.
 * -EINVAL	two functions overlap; the section would wrap around the address
 *		space; something is NULL.
 * -ENOSPC	they do not fit into @size.
 */
ssize_t sframe_unwind_writer_write(struct sframe_unwind_writer *writer,
				   void *buffer, size_t size,
				   uint64_t section_address);

#ifdef __cplusplus
}
#endif

#endif /* SFRAME_UNWIND_WRITER_H */
