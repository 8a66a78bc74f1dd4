/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Entry: what one CIE or FDE says, wherever it was read: in a section of a file, or in
 * memory.
 */
#ifndef SFRAME_UNWIND_ENTRY_H
#define SFRAME_UNWIND_ENTRY_H

#include <dwarf.h>

#include "program.h"

/* SFrame cannot express a larger function. */
#define MAX_FUNCTION UINT32_MAX

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
static inline uint64_t sfu_pointer_read(struct reader *reader, uint8_t encoding,
					uint64_t field, bool *is_known)
{
	uint64_t value;

	*is_known = true;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = reader_unsigned(reader, 8);
		break;
	case DW_EH_PE_udata2:
		value = reader_unsigned(reader, 2);
		break;
	case DW_EH_PE_udata4:
		value = reader_unsigned(reader, 4);
		break;
	case DW_EH_PE_sdata2:
		value = reader_signed(reader, 2);
		break;
	case DW_EH_PE_sdata4:
		value = reader_signed(reader, 4);
		break;
	default:
		*is_known = false;
		return 0;
	}
	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return value + field;
	default:
		*is_known = false;
		return 0;
	}
}

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
 * spans to @spans; code without a rule gets a span with the reason. Returns 0, or -ENOMEM
 * or -EFBIG with a message.
 */
int sfu_fde_run(struct program *program, const struct cie *cie,
		struct reader instructions, uint64_t start, uint64_t end,
		struct buffer *spans);

/*
 * The same; appends the function and its spans to @cfi, which must have room for the
 * function.
 */
int sfu_function_run(struct program *program, const struct cie *cie,
		     struct reader instructions, uint64_t start, uint64_t end,
		     struct cfi *cfi);

#endif /* SFRAME_UNWIND_ENTRY_H */
