// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind check: find defects with the decoder that the module uses.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check_rows.h"
#include "cli.h"
#include "defect.h"
#include "escape.h"
#include "input.h"
#include "options.h"
#include "module/decode/sframe.h"
#include "module/decode/sframe_format.h"

const char check_help[] =
"usage: sframe-unwind check [OPTION]... FILE...\n"
"\n"
"Examine the .sframe section of each FILE, a linked ELF file or a raw section,\n"
"and print each defect with its offset in the section. - is standard input.\n"
"\n"
"  -q, --quiet        print nothing for FILEs without defects\n"
"      --raw          read each FILE as a raw section, whatever it looks like\n"
"      --address=N    address of the first byte of raw sections, default 0\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n"
"\n"
"Exit status: 0 no defects, 1 defects, 2 wrong usage, 3 a FILE has no .sframe,\n"
"4 a FILE is broken or of an unsupported kind, 5 a FILE cannot be read, or\n"
"another error. With several FILEs, the highest is returned.\n";

struct check {
	const struct input *input;
	unsigned long defects;
};

__attribute__((format(printf, 3, 4)))
static void report(struct check *check, uint64_t offset, const char *format,
		   ...)
{
	char what[200];
	va_list args;

	check->defects++;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	print_line(stdout, "%s: .sframe+0x%" PRIx64 ": %s", check->input->file,
		   offset, what);
}

static void report_defect(struct check *check, const struct sfu_defect *defect)
{
	const struct input *input = check->input;
	char text[DEFECT_SIZE];

	report(check, defect->offset, "%s",
	       defect_describe(defect, input->bytes, input->size, text));
}

static uint32_t header_u32(const unsigned char *header, unsigned int field)
{
	const unsigned char *p = header + field;

	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Returns the end of the table at @offset by its header; 0 if there is no table. */
static uint64_t table_end(const struct input *input, uint64_t offset)
{
	const unsigned char *header = input->bytes + offset;

	if (input->size - offset < SFRAME_HDR_SIZE ||
	    (header[SFRAME_HDR_MAGIC] | header[SFRAME_HDR_MAGIC + 1] << 8) !=
	    SFRAME_MAGIC)
		return 0;
	return offset + SFRAME_HDR_SIZE + header[SFRAME_HDR_AUXHDR_LEN] +
	       (uint64_t)header_u32(header, SFRAME_HDR_FRE_OFF) +
	       header_u32(header, SFRAME_HDR_FRE_LEN);
}

/*
 * A linker that does not know SFrame concatenates the tables of its inputs, and readers
 * only find the first one. Not checked if the size is that of a segment, whose end may
 * have stale bytes.
 */
static void check_extra_tables(struct check *check)
{
	const struct input *input = check->input;
	uint64_t end = table_end(input, 0);

	while (end) {
		end = (end + 7) & ~7ULL;
		if (end >= input->size)
			break;
		if (!table_end(input, end))
			break;
		report(check, end,
		       "another table, which is never read (concatenated by a linker that cannot merge them?)");
		end = table_end(input, end);
	}
}

static bool is_text(const struct input *input, const struct sfu_fde *fde)
{
	for (size_t i = 0; i < input->nr_texts; i++) {
		const struct input_range *text = &input->texts[i];

		if (fde->start >= text->start &&
		    fde->start - text->start <= text->size &&
		    fde->size <= text->size - (fde->start - text->start))
			return true;
	}
	return false;
}

/* Check that all functions are in executable segments of the ELF file. */
static void check_texts(struct check *check, const struct sfu_table *table)
{
	for (u32 i = 0; i < table->num_fdes; i++) {
		struct sfu_defect defect;
		struct sfu_fde fde;

		/* Defects of the attribute have been reported. */
		sfu_table_read_fde(table, i, &fde, &defect);
		if (!is_text(check->input, &fde))
			report(check, fde.entry,
			       "function 0x%" PRIx64 "+%u is not in an executable segment",
			       fde.start, fde.size);
	}
}

/* Check that the segment, by which the section is found at run time, matches it. */
static void check_segment(struct check *check)
{
	const struct input *input = check->input;

	if (!input->has_section || input->is_bare)
		return;
	if (!input->has_segment)
		print_line(stdout,
			   "%s: warning: no PT_GNU_SFRAME segment, the section is not found at run time",
			   input->file);
	else if (input->segment.start != input->address)
		report(check, 0,
		       "PT_GNU_SFRAME is at 0x%" PRIx64 ", the section at 0x%" PRIx64,
		       input->segment.start, input->address);
	else if (input->segment.size < table_end(input, 0))
		report(check, 0,
		       "PT_GNU_SFRAME has 0x%" PRIx64 " bytes, the table 0x%" PRIx64,
		       input->segment.size, table_end(input, 0));
}

/* Check all functions. Returns 0, or prints a message and returns a status if it stopped. */
static int check_table(struct check *check, const struct sfu_table *table)
{
	struct sfu_fde_order order = { 0 };
	struct check_rows rows;
	int err;

	if (check_rows_init(&rows, table))
		return complain("no memory");
	do {
		struct sfu_defect defect;
		struct sfu_fde fde;

		err = sfu_table_next_fde(table, &order, &fde, &defect);
		if (!err)
			err = check_rows(&rows, &fde, &defect);
		if (err == -EINVAL)
			report_defect(check, &defect);
		else if (err)
			complain("%s: .sframe+0x%" PRIx64 ": functions share rows in so many ways that the limit of %" PRIu64 " rows for a section of %" PRIu64 " bytes was reached; the rest was not checked",
				 check->input->file, fde.entry, rows.limit,
				 table->bytes.size);
	} while (err != -ETIME && order.next < table->num_fdes);
	check_rows_free(&rows);
	return err == -ETIME ? CLI_UNSUITABLE : CLI_OK;
}

static int check_input(struct check *check, bool is_quiet)
{
	const struct input *input = check->input;
	int status = CLI_OK;
	const struct sfu_bytes bytes = {
		.address = input->address,
		.size = input->size,
		.copy = input->bytes,
	};
	struct sfu_defect defect;
	struct sfu_table table;

	/* Only sections that were written as such can be extended ones. */
	if (input->is_elf ? sfu_table_open(&table, &bytes, &defect) :
			    sfu_table_open_extended(&table, &bytes, &defect)) {
		report_defect(check, &defect);
	} else {
		if (sfu_table_check_layouts(&table, &defect))
			report_defect(check, &defect);
		status = check_table(check, &table);
		if (input->is_elf && !input->is_bare)
			check_texts(check, &table);
	}
	if (input->is_elf)
		check_segment(check);
	if (input->has_section || !input->is_elf)
		check_extra_tables(check);
	if (!check->defects && !status && !is_quiet)
		print_line(stdout, "%s: no defects in %u functions",
			   input->file, table.num_fdes);
	return check->defects && status < CLI_DEFECT ? CLI_DEFECT : status;
}

static int check_file(const char *file, const struct input_options *options,
		      bool is_quiet)
{
	struct input input;
	struct check check = { .input = &input };
	int status;

	status = input_open(&input, file, options);
	if (status)
		return status;
	status = check_input(&check, is_quiet);
	input_close(&input);
	return status;
}

int check_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "address", required_argument, NULL, 'a' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "raw", no_argument, NULL, 'r' },
		OPTIONS_LONG
	};
	static const struct options known = {
		"check", check_help, OPTIONS_SHORT "q", longs,
	};
	struct input_options options = { 0 };
	bool is_quiet = false;
	int worst = CLI_OK;
	int option;

	while ((option = options_next(&known, argc, argv)) != -1) {
		switch (option) {
		case 'a':
			if (input_parse_address(optarg, &options.address))
				return usage_error("check", "bad address");
			break;
		case 'q':
			is_quiet = true;
			break;
		case 'r':
			options.is_raw = true;
			break;
		default:
			return usage_error("check", NULL);
		}
	}
	if (optind == argc)
		return usage_error("check", "no file given");
	for (int i = optind; i < argc; i++) {
		const int status = check_file(argv[i], &options, is_quiet);

		if (status > worst)
			worst = status;
	}
	return worst;
}
