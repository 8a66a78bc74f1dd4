// SPDX-License-Identifier: GPL-2.0
/*
 * Convert ELF files and compare the sections with libdw at the same addresses.
 *
 * usage: oracle [-t | -l] FILE...
 *   -t	also print how long converting took, and the peak of memory
 *   -l	list what is left out
 *
 * Of the converter only its main function is used. libdw interprets the CFI of
 * an address, the module's decoder interprets the section, and both results are
 * applied to the same made-up registers. Compared are the first, middle and
 * last address of each of libdw's rows, each address without CFI in libdw, and
 * the addresses at and around the start of each row of the section.
 *
 * Prints one line for each file, of tab-separated fields:
 *
 *   ok, differs, none (no CFI), refused (not for AMD64, ...) or broken
 *   rows of libdw; addresses compared; differences
 *   bytes with CFI that libdw can apply; of them, bytes that have a rule
 *   bytes of padding that have the rule of the code before it
 *   bytes of .eh_frame, .eh_frame_hdr and .debug_frame; bytes of the section
 *   milliseconds; MiB: with -t, otherwise 0
 *   the file, and why it was refused
 *   bytes of the extended section; preserved registers compared at calls; of
 *   them, unknown in the section; compared at other instructions; unknown
 *
 * What is compared is the extended section; "bytes of the section" is the size of
 * that without extensions. With -l, code with CFI that is left out is printed instead: bytes,
 * reason, file.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "oracle.h"
#include "module/decode/sframe_format.h"

/* The bytes of an executable segment, or those of them that the file contains. */
struct text {
	uint64_t start;
	uint64_t end;
	const unsigned char *bytes;
	uint64_t size;
};

static bool cfi_frame(const struct oracle *oracle, uint64_t pc,
		      Dwarf_Frame **frame)
{
	for (unsigned int i = 0; i < 2; i++)
		if (oracle->cfi[i] &&
		    !dwarf_cfi_addrframe(oracle->cfi[i], pc, frame))
			return true;
	return false;
}

/* Returns whether a call that begins at or above @start has its last byte at @pc. */
static bool is_call_end(const struct text *text, uint64_t start, uint64_t pc)
{
	const uint64_t most = pc - start;
	const uint64_t at = pc - text->start;
	const unsigned char *end = text->bytes + at + 1;
	int32_t distance;

	if (at >= text->size)
		return false;
	if (most >= 4 && end[-5] == 0xe8) {
		memcpy(&distance, end - 4, sizeof(distance));
		if (pc + 1 + distance - text->start < text->size)
			return true;
	}
	return (most >= 5 && end[-6] == 0xff && end[-5] == 0x15) ||
	       (most >= 1 && end[-2] == 0xff && end[-1] >= 0xd0 &&
		end[-1] <= 0xd7);
}

/* Compare saved registers in a row of libdw. */
static void check_saved(struct oracle *oracle, const struct text *text,
			uint64_t start, uint64_t end, Dwarf_Frame *frame)
{
	const uint64_t exact[] = { start, start + (end - start) / 2, end - 1 };
	struct sfu_rule rule;

	for (unsigned int i = 0; i < 3; i++)
		if (oracle_find_rule(oracle, exact[i], &rule))
			oracle_compare_saved(oracle, exact[i], frame, &rule, true);
	for (uint64_t pc = start; pc < end; pc++)
		if (is_call_end(text, start, pc) && oracle_find_rule(oracle, pc, &rule))
			oracle_compare_saved(oracle, pc, frame, &rule, false);
}

/* Compare at @pc. Returns whether there is a rule. */
static bool check_address(struct oracle *oracle, uint64_t pc,
			  Dwarf_Frame *frame)
{
	struct sfu_rule rule;

	if (!oracle_find_rule(oracle, pc, &rule))
		return false;
	oracle_compare(oracle, pc, frame, &rule);
	return true;
}

/* Compare a row of libdw, up to @end at most. Returns the end of the row. */
static uint64_t check_row(struct oracle *oracle, const struct text *text,
			  uint64_t pc, uint64_t end, Dwarf_Frame *frame)
{
	Dwarf_Addr row_start, row_end;
	unsigned int rules;
	uint64_t middle;

	dwarf_frame_info(frame, &row_start, &row_end, NULL);
	if (row_end <= pc) {
		oracle_differ(oracle, pc, "libdw's row ends before it");
		row_end = pc + 1;
	}
	if (row_end > end)
		row_end = end;
	middle = pc + (row_end - pc) / 2;
	oracle->rows++;
	oracle->known += row_end - pc;
	rules = check_address(oracle, pc, frame) +
		check_address(oracle, middle, frame) +
		check_address(oracle, row_end - 1, frame);
	if (rules == 3)
		oracle->expressed += row_end - pc;
	/* The section's rules may start or end within the row: count each byte. */
	for (uint64_t at = pc; rules % 3 && at < row_end; at++)
		oracle->expressed += check_address(oracle, at, frame);
	check_saved(oracle, text, pc, row_end, frame);
	return row_end;
}

/*
 * Whether these bytes start with a filler instruction. Returns its length, or
 * 0.
 */
static size_t filler(const unsigned char *code, size_t size)
{
	static const struct {
		size_t size;
		unsigned char bytes[9];
	} fillers[] = {
		{ 1, { 0xcc } },
		{ 1, { 0x90 } },
		{ 3, { 0x0f, 0x1f, 0x00 } },
		{ 4, { 0x0f, 0x1f, 0x40, 0 } },
		{ 5, { 0x0f, 0x1f, 0x44, 0, 0 } },
		{ 7, { 0x0f, 0x1f, 0x80, 0, 0, 0, 0 } },
		{ 8, { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 } },
	};
	size_t prefixes = 0;

	while (prefixes < size && (code[prefixes] == 0x66 ||
				   code[prefixes] == 0x2e))
		prefixes++;
	for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++)
		if (size - prefixes >= fillers[i].size &&
		    !memcmp(code + prefixes, fillers[i].bytes,
			    fillers[i].size))
			return prefixes + fillers[i].size;
	return 0;
}

static bool is_filling(const struct text *text, uint64_t start, uint64_t end)
{
	while (start < end) {
		const uint64_t offset = start - text->start;
		size_t length = 0;

		if (offset < text->size && end - text->start <= text->size)
			length = filler(text->bytes + offset, end - start);
		if (!length)
			return false;
		start += length;
	}
	return true;
}

/*
 * Returns whether [start, end) is glibc's code from the system call clone to the
 * parent's return. Checks its rule, that of a function which has changed nothing.
 */
static bool is_behind_clone(struct oracle *oracle, const struct text *text,
			    uint64_t start, uint64_t end)
{
	static const unsigned char first[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0 };
	const uint64_t at = start - text->start;
	struct sfu_rule rule;

	if (end - start != 10 || at >= text->size || text->size - at < 10 ||
	    memcmp(text->bytes + at, first, sizeof(first)) ||
	    text->bytes[at + 9] != 0xc3)
		return false;
	for (uint64_t pc = start; pc < end; pc++)
		if (!oracle_find_rule(oracle, pc, &rule) ||
		    rule.cfa != SFRAME_EXT_REG_SP_PARENT ||
		    rule.cfa_offset != 8 || !(rule.fp & SFU_SAME) ||
		    rule.ra_offset != -8)
			oracle_differ(oracle, pc, "no rule behind clone");
	return true;
}

/*
 * Check [start, end), where libdw has no CFI: addresses with a rule must be
 * filler, with the rule of the code before.
 */
static void check_gap(struct oracle *oracle, const struct text *text,
		      uint64_t start, uint64_t end)
{
	struct sfu_rule rule, before;
	uint64_t count = 0;

	if (is_behind_clone(oracle, text, start, end))
		return;
	for (uint64_t pc = start; pc < end; pc++) {
		if (!oracle_find_rule(oracle, pc, &rule))
			continue;
		count++;
		if (!oracle_find_rule(oracle, start - 1, &before) ||
		    memcmp(&rule, &before, sizeof(rule)))
			oracle_differ(oracle, pc, "a rule where there is no CFI, not that of the code before");
	}
	if (count && (count != end - start || !is_filling(text, start, end)))
		oracle_differ(oracle, start, "a rule for %" PRIu64 " bytes that have no CFI and are not filling",
			      count);
	oracle->padding += count;
}

static void check_text(struct oracle *oracle, const struct text *text)
{
	uint64_t pc = text->start, gap = pc;

	while (pc < text->end) {
		Dwarf_Frame *frame;

		if (!cfi_frame(oracle, pc, &frame)) {
			pc++;
			continue;
		}
		check_gap(oracle, text, gap, pc);
		pc = check_row(oracle, text, pc, text->end, frame);
		gap = pc;
		free(frame);
	}
	check_gap(oracle, text, gap, pc);
}

/* Compare at the section's own row boundaries, where libdw may have none. */
static void check_boundary(struct oracle *oracle, uint64_t pc)
{
	Dwarf_Frame *frame;

	/* Without CFI: checked by check_gap(). */
	if (!cfi_frame(oracle, pc, &frame))
		return;
	check_address(oracle, pc, frame);
	free(frame);
}

static void check_rows(struct oracle *oracle, const struct sfu_fde *fde)
{
	const u32 block = fde->info & SFRAME_FDE_PCMASK ? fde->rep_size :
							    fde->size;
	struct sfu_defect defect;
	struct sfu_rows rows;
	struct sfu_row row;

	if (!fde->size)
		return;
	for (u32 at = 0; at < fde->size; at += block) {
		sfu_rows_begin(&rows, &oracle->table, fde);
		while (sfu_rows_next(&rows, &row, &defect) > 0) {
			const uint64_t pc = fde->start + at + row.start;

			check_boundary(oracle, pc - 1);
			check_boundary(oracle, pc);
			check_boundary(oracle, pc + 1);
		}
	}
	check_boundary(oracle, fde->start + fde->size - 1);
	check_boundary(oracle, fde->start + fde->size);
}

static int report_defect(void *data, const struct sfu_defect *defect)
{
	oracle_differ(data, defect->offset, "offset in the section: %s",
		      sfu_defect_text(defect->kind));
	return 0;
}

static void check_section(struct oracle *oracle)
{
	struct sfu_defect defect;
	struct sfu_fde fde;
	size_t count = 0;

	sfu_table_validate(&oracle->table, report_defect, oracle);
	for (u32 i = 0; i < oracle->table.num_fdes; i++)
		if (!sfu_table_read_fde(&oracle->table, i, &fde, &defect))
			check_rows(oracle, &fde);

	elf_getphdrnum(oracle->elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;
		struct text text;
		Elf_Data *data;

		if (!gelf_getphdr(oracle->elf, i, &segment) ||
		    segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		data = elf_getdata_rawchunk(oracle->elf, segment.p_offset,
					    segment.p_filesz, ELF_T_BYTE);
		if (!data)
			continue;
		text = (struct text){ segment.p_vaddr,
				      segment.p_vaddr + segment.p_memsz,
				      data->d_buf, data->d_size };
		check_text(oracle, &text);
	}
}

static void print_line(const struct oracle *oracle, const char *verdict,
		       const struct sframe_unwind_converted *converted,
		       long ms, long mib, const char *why)
{
	printf("%s\t%lu\t%lu\t%lu\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%zu\t%ld\t%ld\t%s\t%s\t%zu\t%lu\t%lu\t%lu\t%lu\n",
	       verdict, oracle->rows, oracle->compared, oracle->differences,
	       oracle->known, oracle->expressed, oracle->padding,
	       converted ? converted->cfi_size : 0,
	       oracle->pure_size, ms, mib, oracle->file, why,
	       converted ? converted->size : 0, oracle->at_calls,
	       oracle->unknown_at_calls, oracle->elsewhere,
	       oracle->unknown_elsewhere);
	fflush(stdout);
}

static void check_converted(struct oracle *oracle, int fd,
			    const struct sframe_unwind_converted *converted,
			    long ms, long mib)
{
	const struct sfu_bytes bytes = {
		.size = converted->size,
		.copy = converted->bytes,
	};
	struct sfu_defect defect;

	oracle->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	oracle->cfi[0] = dwarf_getcfi_elf(oracle->elf);
	oracle->dwarf = dwarf_begin_elf(oracle->elf, DWARF_C_READ, NULL);
	if (oracle->dwarf)
		oracle->cfi[1] = dwarf_getcfi(oracle->dwarf);
	if (sfu_table_open_extended(&oracle->table, &bytes, &defect))
		report_defect(oracle, &defect);
	else
		check_section(oracle);
	print_line(oracle, oracle->differences ? "differs" : "ok", converted,
		   ms, mib, "");
	dwarf_cfi_end(oracle->cfi[0]);
	dwarf_end(oracle->dwarf);
	elf_end(oracle->elf);
}

static const char *verdict_of(int err)
{
	switch (err) {
	case -ENODATA:
		return "none";
	case -EOPNOTSUPP:
		return "refused";
	default:
		return "broken";
	}
}

static void list_left_out(const char *file,
			  const struct sframe_unwind_converted *converted)
{
	uint64_t bytes[32] = { 0 };

	for (size_t i = 0; i < converted->nr_left_out; i++)
		bytes[converted->left_out[i].reason & 31] +=
			converted->left_out[i].size;
	for (unsigned int i = 0; i < 32; i++)
		if (bytes[i])
			printf("%" PRIu64 "\t%s\t%s\n", bytes[i],
			       sframe_unwind_left_out_text(i), file);
}

static void check_file(const char *file, bool is_timed, bool is_list)
{
	const struct sframe_unwind_convert_options options = {
		/* What libdw reads, too. */
		.sources = SFRAME_UNWIND_FROM_EH_FRAME |
			   SFRAME_UNWIND_FROM_DEBUG_FRAME |
			   SFRAME_UNWIND_FROM_OLD_SFRAME,
		.flags = SFRAME_UNWIND_CONVERT_EXTENDED,
	};
	struct sframe_unwind_convert_options plain = options;
	struct sframe_unwind_converted *pure;
	struct oracle oracle = { .file = file };
	struct sframe_unwind_converted *converted;
	struct timespec start, end;
	struct rusage usage;
	long ms = 0, mib = 0;
	int fd, err;

	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		print_line(&oracle, "broken", NULL, 0, 0, strerror(errno));
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	err = sframe_unwind_convert_fd(fd, file, &options, &converted);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (is_list) {
		if (!err)
			list_left_out(file, converted);
		sframe_unwind_converted_free(converted);
		close(fd);
		return;
	}
	/* There may be nothing that version 3 can express. */
	plain.flags = 0;
	if (!err && !sframe_unwind_convert_fd(fd, file, &plain, &pure)) {
		oracle.pure_size = pure->size;
		sframe_unwind_converted_free(pure);
	}
	if (is_timed) {
		getrusage(RUSAGE_SELF, &usage);
		ms = (end.tv_sec - start.tv_sec) * 1000 +
		     (end.tv_nsec - start.tv_nsec) / 1000000;
		mib = usage.ru_maxrss / 1024;
	}
	if (err)
		print_line(&oracle, verdict_of(err), NULL, ms, mib,
			   sframe_unwind_convert_error());
	else
		check_converted(&oracle, fd, converted, ms, mib);
	sframe_unwind_converted_free(converted);
	close(fd);
}

int main(int argc, char **argv)
{
	const bool is_timed = argc > 1 && !strcmp(argv[1], "-t");
	const bool is_list = argc > 1 && !strcmp(argv[1], "-l");

	elf_version(EV_CURRENT);
	for (int i = 1 + is_timed + is_list; i < argc; i++)
		check_file(argv[i], is_timed, is_list);
	return 0;
}
