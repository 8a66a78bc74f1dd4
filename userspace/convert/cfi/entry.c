// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <dwarf.h>
#include <sframe_unwind_convert.h>

#include "entry.h"

void sfu_cie_augment(struct cie *cie, const char *letters, struct reader *data)
{
	bool is_known;

	cie->encoding = DW_EH_PE_absptr;
	cie->has_length = *letters == 'z';
	if (*letters && !cie->has_length)
		cie->is_bad = true;
	for (; *letters && !cie->is_bad; letters++) {
		switch (*letters) {
		case 'z':
			break;
		case 'L':
			reader_skip(data, 1);
			break;
		case 'P':
			/* Only its size matters. */
			sfu_pointer_read(data, reader_unsigned(data, 1) &
					       ~DW_EH_PE_indirect, 0, &is_known);
			cie->is_bad |= !is_known;
			break;
		case 'R':
			cie->encoding = reader_unsigned(data, 1);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		default:
			cie->is_bad = true;
		}
	}
	cie->is_bad |= data->is_bad;
}

/* Prepare @program for instructions of @cie, or of its functions. */
static void begin(struct program *program, const struct cie *cie)
{
	program->code_align = cie->code_align;
	program->data_align = cie->data_align;
	program->ra_column = cie->ra_column;
	program->is_signal = cie->is_signal;
	program->initial = cie->state;
	program->state = cie->state;
}

int sfu_cie_run(struct cie *cie, struct program *program,
		struct reader *instructions)
{
	int err;

	memset(&cie->state, 0, sizeof(cie->state));
	begin(program, cie);
	program->spans = NULL;
	err = sfu_program_run(program, instructions);
	if (err && err != -EINVAL)
		return err;
	cie->is_bad |= err != 0;
	cie->state = program->state;
	return 0;
}

int sfu_fde_run(struct program *program, const struct cie *cie,
		struct reader instructions, uint64_t start, uint64_t end,
		struct buffer *spans)
{
	int err = -EINVAL;

	begin(program, cie);
	program->at = start;
	program->end = end;
	program->spans = spans;
	program->first = nr_spans(spans);
	if (!cie->is_bad && !instructions.is_bad && end - start <= MAX_FUNCTION)
		err = sfu_program_run(program, &instructions);
	if (!err)
		err = sfu_program_finish(program);
	if (err == -EINVAL)
		err = sfu_program_leave_out(program, end,
					    SFRAME_UNWIND_LEFT_OUT_MALFORMED);
	return err;
}

int sfu_function_run(struct program *program, const struct cie *cie,
		     struct reader instructions, uint64_t start, uint64_t end,
		     struct cfi *cfi)
{
	struct cfi_fde fde = {
		.start = start,
		.end = end,
		.first = nr_spans(&cfi->spans),
		.order = nr_fdes(cfi),
	};
	const int err = sfu_fde_run(program, cie, instructions, start, end,
				    &cfi->spans);

	if (err)
		return err;
	fde.count = nr_spans(&cfi->spans) - fde.first;
	buffer_put(&cfi->fdes, &fde, sizeof(fde));
	return 0;
}
