// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind dump: show a section in the columns of readelf --sframe.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "defect.h"
#include "input.h"
#include "options.h"
#include "module/arch/arch.h"
#include "module/decode/sframe.h"
#include "module/decode/sframe_format.h"

const char dump_help[] =
"usage: sframe-unwind dump [OPTION]... FILE\n"
"\n"
"Show the .sframe section of FILE, a linked ELF file or a raw section; - is\n"
"standard input.\n"
"\n"
"      --raw          read FILE as a raw section, whatever it looks like\n"
"      --address=N    address of the first byte of a raw section, default 0\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n"
"\n"
"Columns: CFA is a register plus offset; (REG+OFF) is the word in memory at that\n"
"address, c+OFF the word at CFA+OFF. FP: u is unchanged. RA: f is the word at\n"
"CFA-8, as the header states for all functions. STARTPC[m] counts from the start\n"
"of each of a function's equal blocks. attr: S signal frame, F flexible.\n"
"\n"
"Exit status: 0 shown, 1 the section has defects, 2 wrong usage, 3 FILE has no\n"
".sframe, 4 it is broken or of an unsupported kind, 5 it cannot be read, or\n"
"another error.\n";

static void print_header(const struct sfu_table *table,
			 const unsigned char *header)
{
	const unsigned char *num_fres = header + SFRAME_HDR_NUM_FRES;

	puts("Contents of the SFrame section .sframe:\n"
	     "  Header :\n\n"
	     "    Version: SFRAME_VERSION_3");
	/* sfu_table_open() accepts sorted tables only. */
	if (table->pcrel)
		puts("    Flags: SFRAME_F_FDE_SORTED,\n"
		     "           SFRAME_F_FDE_FUNC_START_PCREL");
	else
		puts("    Flags: SFRAME_F_FDE_SORTED");
	if (table->extended)
		printf("    Extended: %u layouts, %u runs in %u blocks\n",
		       table->nr_layouts, table->nr_runs, table->nr_blocks);
	printf("    CFA fixed RA offset: %d\n",
	       (int8_t)header[SFRAME_HDR_FIXED_RA]);
	printf("    Num FDEs: %u\n", table->num_fdes);
	printf("    Num FREs: %" PRIu32 "\n\n",
	       num_fres[0] | num_fres[1] << 8 | num_fres[2] << 16 |
	       (uint32_t)num_fres[3] << 24);
	puts("  Function Index :\n");
}

/* The values that a flexible row describes, in this order. */
enum place { PLACE_CFA, PLACE_RA, PLACE_FP };

static uint32_t get_word(const struct sfu_row *row, unsigned int number)
{
	const unsigned char *word = row->words + number * row->word_size;
	uint32_t value = 0;

	for (unsigned int i = 0; i < row->word_size; i++)
		value |= (uint32_t)word[i] << 8 * i;
	return value;
}

/*
 * Returns the number of the register that @place of @row is based on. The decoder does
 * not return numbers that AMD64 does not have. The row must have been decoded.
 */
static uint32_t read_register(const struct sfu_row *row, enum place place)
{
	unsigned int at = 0;

	/* A control word of 0 is padding and has no offset after it. */
	for (; place; place--)
		at += !get_word(row, at) ? 1 :
		      get_word(row, at) & SFRAME_FLEX_MORE ? 3 : 2;
	return get_word(row, at) >> SFRAME_FLEX_REGNUM_SHIFT;
}

/* Print a CFA that only extended sections have, in a column of @width. */
static void print_extended_cfa(const struct sfu_rule *rule, int width)
{
	static const char * const names[] = {
		[SFU_REG_FP] = "fp",
		[SFU_REG_SP] = "sp",
		[SFRAME_EXT_REG_SP_INDEX] = "sp+8*r9",
		[SFRAME_EXT_REG_SP_PARENT] = "sp/parent",
		[SFRAME_EXT_REG_FP_SWITCH] = "fp/switch",
	};
	const unsigned int base = rule->cfa & SFU_BASE_MASK;
	char reg[16], text[60];

	if (base < sizeof(names) / sizeof(names[0]) && names[base])
		snprintf(reg, sizeof(reg), "%s", names[base]);
	else
		snprintf(reg, sizeof(reg), "r%u", base);
	if (!(rule->cfa & SFU_ADD))
		snprintf(text, sizeof(text), rule->cfa & SFU_DEREF ? "(%s%+d)" :
			 "%s%+d", reg, rule->cfa_offset);
	else
		snprintf(text, sizeof(text),
			 rule->cfa & SFU_DEREF ? "(%s%+d)%+d" : "((%s%+d))%+d",
			 reg, SFU_ADD_FIRST(rule->cfa_offset),
			 SFU_ADD_THEN(rule->cfa_offset));
	printf("%-*s ", width - 1, text);
}

/* Print @base and @offset of one place in a column of @width. */
static void print_place(const struct sfu_row *row, enum place place, u8 base,
			s32 offset, int width)
{
	char reg[16], text[40];

	switch (base & SFU_BASE_MASK) {
	case SFU_REG_FP:
		strcpy(reg, "fp");
		break;
	case SFU_REG_SP:
		strcpy(reg, "sp");
		break;
	case SFU_BASE_CFA:
		strcpy(reg, "c");
		break;
	case SFU_BASE_OTHER:
		snprintf(reg, sizeof(reg), "r%" PRIu32,
			 read_register(row, place));
		break;
	default:
		snprintf(reg, sizeof(reg), "r%d", base & SFU_BASE_MASK);
	}
	/* Places based on the CFA are always in memory. */
	if (base & SFU_DEREF && (base & SFU_BASE_MASK) != SFU_BASE_CFA)
		snprintf(text, sizeof(text), "(%s%+d)", reg, offset);
	else
		snprintf(text, sizeof(text), "%s%+d", reg, offset);
	printf("%-*s ", width - 1, text);
}

static bool is_default_ra(const struct sfu_rule *rule)
{
	return rule->ra == (SFU_BASE_CFA | SFU_DEREF) &&
	       rule->ra_offset == SFU_SFRAME_FIXED_RA;
}

static bool is_no_register(u8 base)
{
	return (base & SFU_BASE_MASK) > SFU_REG_RA &&
	       (base & SFU_BASE_MASK) <= SFRAME_EXT_REG_LAST;
}

static void print_rule(const struct sfu_row *row, const struct sfu_rule *rule)
{
	if (rule->flags & SFU_RULE_OUTERMOST) {
		puts("RA undefined");
		return;
	}
	if (rule->cfa & SFU_ADD || is_no_register(rule->cfa))
		print_extended_cfa(rule, 10);
	else
		print_place(row, PLACE_CFA, rule->cfa, rule->cfa_offset, 10);
	if (rule->fp & SFU_SAME)
		printf("%-10s", "u");
	else
		print_place(row, PLACE_FP, rule->fp, rule->fp_offset, 10);
	if (is_default_ra(rule))
		printf("%-13s", "f");
	else
		print_place(row, PLACE_RA, rule->ra, rule->ra_offset, 13);
	putchar('\n');
}

static int print_rows(const struct sfu_table *table, const struct sfu_fde *fde,
		      struct sfu_defect *defect)
{
	const bool is_masked = fde->info & SFRAME_FDE_PCMASK;
	struct sfu_rows rows;
	struct sfu_rule rule;
	struct sfu_row row;
	int ret;

	printf("    %-16s%-10s%-10s%-13s\n",
	       is_masked ? "STARTPC[m]" : "STARTPC", "CFA", "FP", "RA");
	sfu_rows_begin(&rows, table, fde);
	while ((ret = sfu_rows_next(&rows, &row, defect)) > 0) {
		ret = sfu_row_decode(fde, &row, &rule, defect);
		if (ret)
			return ret;
		printf("    %016" PRIx64 "  ",
		       (is_masked ? 0 : fde->start) + row.start);
		print_rule(&row, &rule);
	}
	return ret;
}

static int print_fde(const struct sfu_table *table, u32 index,
		     struct sfu_defect *defect)
{
	struct sfu_fde fde;
	int err;

	err = sfu_table_read_fde(table, index, &fde, defect);
	printf("    func idx [%u]: pc = 0x%" PRIx64 ", size = %u bytes",
	       index, fde.start, fde.size);
	if (err) {
		putchar('\n');
		return err;
	}
	if (sfu_fde_is_signal(&fde) || fde.info2 == SFRAME_FDE_TYPE_FLEX)
		printf(", attr = \"%s%s\"", sfu_fde_is_signal(&fde) ? "S" : "",
		       fde.info2 == SFRAME_FDE_TYPE_FLEX ? "F" : "");
	putchar('\n');
	return print_rows(table, &fde, defect);
}

static void print_defect(const struct input *input,
			 const struct sfu_defect *defect)
{
	char text[DEFECT_SIZE];

	printf("    defect at .sframe+0x%" PRIx64 ": %s\n", defect->offset,
	       defect_describe(defect, input->bytes, input->size, text));
}

static int dump_input(const struct input *input)
{
	const struct sfu_bytes bytes = {
		.address = input->address,
		.size = input->size,
		.copy = input->bytes,
	};
	struct sfu_defect defect;
	struct sfu_table table;
	int status = CLI_OK;

	/* Only sections that were written as such can be extended ones. */
	if (input->is_elf ? sfu_table_open(&table, &bytes, &defect) :
			    sfu_table_open_extended(&table, &bytes, &defect)) {
		print_defect(input, &defect);
		return CLI_DEFECT;
	}
	print_header(&table, input->bytes);
	/* The functions do not depend on the tables. */
	if (sfu_table_check_layouts(&table, &defect)) {
		print_defect(input, &defect);
		putchar('\n');
		status = CLI_DEFECT;
	}
	for (u32 i = 0; i < table.num_fdes; i++) {
		/* The next function does not depend on this one. */
		if (print_fde(&table, i, &defect)) {
			print_defect(input, &defect);
			status = CLI_DEFECT;
		}
		putchar('\n');
	}
	return status;
}

int dump_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "address", required_argument, NULL, 'a' },
		{ "raw", no_argument, NULL, 'r' },
		OPTIONS_LONG
	};
	static const struct options known = {
		"dump", dump_help, OPTIONS_SHORT, longs,
	};
	struct input_options options = { 0 };
	struct input input;
	int option, status;

	while ((option = options_next(&known, argc, argv)) != -1) {
		switch (option) {
		case 'a':
			if (input_parse_address(optarg, &options.address))
				return usage_error("dump", "bad address");
			break;
		case 'r':
			options.is_raw = true;
			break;
		default:
			return usage_error("dump", NULL);
		}
	}
	if (optind != argc - 1)
		return usage_error("dump", "takes one file");
	status = input_open(&input, argv[optind], &options);
	if (status)
		return status;
	status = dump_input(&input);
	input_close(&input);
	return status;
}
