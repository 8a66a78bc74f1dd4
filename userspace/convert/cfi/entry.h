/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Entry: what one CIE or FDE says, wherever it was read: in a section of a file, or in
 * memory.
 */
#ifndef SFRAME_UNWIND_ENTRY_H
#define SFRAME_UNWIND_ENTRY_H

#include "program.h"

/**
 * struct cie - common information entry of functions
 *
 * @offset: offset of the entry in the section, or its address in memory.
 * @code_align, @data_align, @ra_column: see struct program.
 * @state: state after its instructions.
 * @encoding: encoding of the addresses in its FDEs.
 * @has_length: its FDEs have augmentation data, preceded by its length.
 * @is_signal: its functions are signal frames.
 * @is_bad: instructions or augmentation are malformed or unknown.
 */
struct cie {
	uint64_t offset;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	struct state state;
	uint8_t encoding;
	bool has_length;
	bool is_signal;
	bool is_bad;
};

/*
 * Read an encoded pointer, which is at address @field when the program runs. *@is_known
 * is false for encodings that depend on other run-time addresses.
 */
uint64_t sfu_pointer_read(struct reader *reader, uint8_t encoding,
			  uint64_t field, bool *is_known);

/* Set what the augmentation's @letters mean, with its @data. May set is_bad. */
void sfu_cie_augment(struct cie *cie, const char *letters, struct reader *data);

/*
 * Run the instructions of @cie by @program, whose budget and kind of section are set.
 * Returns 0, also with is_bad set; or -ENOMEM or -EFBIG with a message.
 */
int sfu_cie_run(struct cie *cie, struct program *program,
		struct reader *instructions);

/*
 * Run the instructions of an FDE of @cie, for the code from @start to @end. Appends the
 * function and its spans to @cfi, which must have room for the function; code without a
 * rule gets a span with the reason. Returns 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_function_run(struct program *program, const struct cie *cie,
		     struct reader instructions, uint64_t start, uint64_t end,
		     struct cfi *cfi);

#endif /* SFRAME_UNWIND_ENTRY_H */
