// SPDX-License-Identifier: GPL-2.0
/*
 * userspace/jit: sections made from .eh_frames in memory: those of loaded libraries, where
 * each rule is compared with that of the converter; and of code as generators announce it.
 */
#include <dlfcn.h>
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sframe_unwind.h>
#include <sframe_unwind_convert.h>

#include "lookup.h"
#include "tap.h"

#include "convert/base/message.h"
#include "jit/eh_frame.h"
#include "jit/section.h"

/**
 * struct made - a section that was made
 *
 * @section: what it was made of.
 * @bytes: the section, or NULL.
 * @size: its size in bytes.
 * @ranges: its code.
 * @nr_ranges: number of these.
 */
struct made {
	struct jit_section section;
	void *bytes;
	size_t size;
	const struct jit_range *ranges;
	size_t nr_ranges;
};

static int make(const unsigned char *begin, struct made *to)
{
	int err;

	to->section = (struct jit_section){ 0 };
	err = sfu_jit_section_make(begin, &to->section);
	to->bytes = NULL;
	to->size = to->section.size;
	to->ranges = jit_range_at(&to->section.ranges, 0);
	to->nr_ranges = nr_jit_ranges(&to->section.ranges);
	if (!err) {
		to->bytes = malloc(to->size);
		sfu_jit_section_write(&to->section, to->bytes);
	}
	return err;
}

static void unmake(struct made *made)
{
	free(made->bytes);
	sfu_jit_section_free(&made->section);
}

/*
 * Loaded libraries
 */

/**
 * struct library - a loaded library
 *
 * @name: as it is passed to dlopen().
 * @path: its file.
 * @bias: what is added to addresses of the file.
 * @eh_frame: its section, or NULL.
 */
struct library {
	const char *name;
	char path[4096];
	uint64_t bias;
	const unsigned char *eh_frame;
};

/* Set what is known of the library that @data names. */
static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
	struct library *library = data;

	(void)size;
	if (!strstr(info->dlpi_name, library->name))
		return 0;
	snprintf(library->path, sizeof(library->path), "%s", info->dlpi_name);
	library->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		const unsigned char *header = (void *)(info->dlpi_addr + phdr->p_vaddr);
		int32_t offset;

		/* Version 1; the address of .eh_frame has four bytes, from there. */
		if (phdr->p_type != PT_GNU_EH_FRAME || header[0] != 1 ||
		    header[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
			continue;
		memcpy(&offset, header + 4, sizeof(offset));
		library->eh_frame = header + 4 + offset;
	}
	return 1;
}

/* The rule for @pc in the section at @bytes, as lookup(). */
static int rule_at(const void *bytes, size_t size, uint64_t address, uint64_t pc,
		   struct sfu_rule *rule)
{
	const struct sfu_bytes section = bytes_at(bytes, size, address);
	struct sfu_defect defect;
	struct sfu_table table;

	if (sfu_table_open(&table, &section, &defect))
		return -EBADMSG;
	return lookup(&table, pc, rule, &defect);
}

static bool is_rule(int ret, const struct sfu_rule *rule, const struct sfu_rule *want)
{
	if (want->flags & SFU_RULE_OUTERMOST)
		return !ret && rule->flags & SFU_RULE_OUTERMOST;
	return !ret && !memcmp(rule, want, sizeof(*rule));
}

/* Returns the range of @section that contains @pc, or NULL. */
static const struct jit_range *range_at(const struct made *section, uint64_t pc)
{
	for (size_t i = 0; i < section->nr_ranges; i++)
		if (pc >= section->ranges[i].start && pc < section->ranges[i].end)
			return &section->ranges[i];
	return NULL;
}

/* Compare what is made of @span with the converter's section. */
static bool check_pc(const struct made *section,
		     const struct sframe_unwind_converted *converted,
		     uint64_t bias, const struct span *span, uint64_t pc)
{
	struct sfu_rule ours, theirs;
	const int ret = rule_at(section->bytes, section->size,
				(uintptr_t)section->bytes, pc, &ours);
	/* The converter's section is made for address 0, its code for the file's. */
	const int wanted = rule_at(converted->bytes, converted->size, 0, pc - bias,
				   &theirs);

	if (span->reason)
		return ret == -ENOENT && wanted == -ENOENT;
	/* Of stubs with two rules in one we make nothing. */
	if (span->plt_push)
		return ret == -ENOENT;
	return is_rule(ret, &ours, &span->rule) &&
	       is_rule(wanted, &theirs, &span->rule) && range_at(section, pc);
}

static void compare_library(const struct library *library)
{
	const struct sframe_unwind_convert_options options = {
		.sources = SFRAME_UNWIND_FROM_EH_FRAME,
	};
	const int fd = open(library->path, O_RDONLY | O_CLOEXEC);
	struct budget budget = { .allocated = 1U << 30 };
	struct sframe_unwind_converted *converted;
	struct eh_frame eh_frame = { 0 };
	struct made section;
	struct buffer spans;

	EXPECT_EQ(sframe_unwind_convert_fd(fd, library->path, &options, &converted), 0);
	close(fd);
	EXPECT_EQ(sfu_eh_frame_read(library->eh_frame, &budget, &eh_frame), 0);
	EXPECT_EQ(sfu_eh_frame_spans(&eh_frame, &budget, &spans), 0);
	EXPECT_EQ(make(library->eh_frame, &section), 0);
	EXPECT(nr_spans(&spans) > 1000);
	for (size_t i = 0; i < nr_spans(&spans); i++) {
		const struct span *span = span_at(&spans, i);
		const uint64_t pcs[] = { span->start, span->end - 1,
					 (span->start + span->end) / 2 };

		for (unsigned int j = 0; j < 3; j++)
			if (!check_pc(&section, converted, library->bias, span, pcs[j])) {
				tap_fail("%s: 0x%llx", library->name, (unsigned long long)
					 (pcs[j] - library->bias));
				return;
			}
	}
	sframe_unwind_converted_free(converted);
	unmake(&section);
	sfu_budget_free(&budget, &spans);
	sfu_eh_frame_free(&eh_frame, &budget);
}

static void check_library(const char *name)
{
	struct library library = { .name = name };

	if (!dlopen(name, RTLD_NOW) || !dl_iterate_phdr(find_library, &library) ||
	    !library.eh_frame) {
		tap_skip(name, "not installed");
		return;
	}
	compare_library(&library);
	tap_case("%s as the converter converts it", name);
}

/*
 * Generated code
 */

/* An .eh_frame being made. Its addresses are absolute. */
static unsigned char output[1 << 20];
static size_t output_size;
static size_t cie_at;

#define CODE 0x10000000ULL

static void put(const void *bytes, size_t size)
{
	if (size)
		memcpy(output + output_size, bytes, size);
	output_size += size;
}

static void put_number(uint64_t number, unsigned int size)
{
	put(&number, size);
}

static size_t begin_entry(void)
{
	put_number(0, 4);
	return output_size;
}

static void end_entry(size_t at)
{
	const uint32_t length = output_size - at;

	memcpy(output + at - 4, &length, sizeof(length));
}

/* CFA = rsp + 8 and return address at CFA - 8, or what @instructions say. */
static void put_cie(unsigned int version, const char *augmentation,
		    const void *instructions, size_t size)
{
	const size_t at = begin_entry();

	cie_at = at - 4;
	put_number(0, 4);
	put_number(version, 1);
	put(augmentation, strlen(augmentation) + 1);
	put_number(1, 1);	/* code is aligned to 1 */
	put_number(0x78, 1);	/* data to -8 */
	put_number(16, 1);
	if (*augmentation == 'z')
		put_number(0, 1);
	put(instructions, size);
	end_entry(at);
}

static const unsigned char at_entry[] = {
	DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1,
};

static const unsigned char by_fp[] = {
	DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 16, 1, DW_CFA_offset | 6, 2,
};

static size_t put_fde(uint64_t start, uint64_t size, const void *instructions,
		      size_t instructions_size)
{
	const size_t at = begin_entry();

	put_number(at - cie_at, 4);
	put_number(start, 8);
	put_number(size, 8);
	put(instructions, instructions_size);
	end_entry(at);
	return at - 4;
}

/* After the 4 bytes that push rbp and copy rsp to it, the CFA is rbp + 16. */
static const unsigned char prologue[] = {
	DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2,
	DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6,
};

static void begin_output(void)
{
	output_size = 0;
	put_cie(1, "", at_entry, sizeof(at_entry));
}

/* Returns the CFA's offset for @pc, from rsp or, plus 1000, from rbp; 0 if there is no rule. */
static int cfa_at(const struct made *section, uint64_t pc)
{
	struct sfu_rule rule;

	if (rule_at(section->bytes, section->size, (uintptr_t)section->bytes, pc, &rule))
		return 0;
	return rule.cfa_offset + (rule.cfa == 6 ? 1000 : 0);
}

static unsigned int nr_entries(const struct made *section)
{
	const struct sfu_bytes bytes = bytes_at(section->bytes, section->size,
						(uintptr_t)section->bytes);
	struct sfu_defect defect;
	struct sfu_table table;

	return sfu_table_open(&table, &bytes, &defect) ? 0 : table.num_fdes;
}

static void functions_of_a_section(void)
{
	struct made section;

	begin_output();
	/* Not in the order of addresses. */
	put_fde(CODE + 0x40, 0x20, prologue, sizeof(prologue));
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	/* Behind the end. */
	put_fde(CODE + 0x20, 0x20, prologue, sizeof(prologue));
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 2);
	EXPECT_EQ(section.ranges[0].start, CODE);
	EXPECT_EQ(section.ranges[0].end, CODE + 0x20);
	EXPECT_EQ(section.ranges[1].start, CODE + 0x40);
	EXPECT_EQ(section.ranges[1].end, CODE + 0x60);
	EXPECT_EQ(cfa_at(&section, CODE), 8);
	EXPECT_EQ(cfa_at(&section, CODE + 1), 16);
	EXPECT_EQ(cfa_at(&section, CODE + 4), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x1f), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x20), 0);
	EXPECT_EQ(cfa_at(&section, CODE + 0x44), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x60), 0);
	unmake(&section);
}

/* The first function tells whose code it is. */
static void first_function(void)
{
	begin_output();
	put_fde(CODE + 0x40, 0x20, prologue, sizeof(prologue));
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(sfu_eh_frame_first(output), CODE + 0x40);
	begin_output();
	put_fde(0, 0x20, prologue, sizeof(prologue));
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(sfu_eh_frame_first(output), CODE);
	begin_output();
	put_number(0, 4);
	EXPECT_EQ(sfu_eh_frame_first(output), 0);
}

/* Nothing is read behind a function without a CIE, as if the section were read. */
static void first_function_malformed(void)
{
	const uint32_t wrong = UINT32_MAX;
	struct made section;
	size_t at;

	begin_output();
	at = output_size;
	put_fde(CODE + 0x40, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x80, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(sfu_eh_frame_first(output), CODE + 0x40);
	memcpy(output + at + 4, &wrong, sizeof(wrong));
	EXPECT_EQ(make(output, &section), -EINVAL);
	EXPECT_EQ(sfu_eh_frame_first(output), 0);
	unmake(&section);
}

/* LLVM passes each FDE to an unwinder of its own. */
static void one_function_alone(void)
{
	struct made section;
	size_t second;

	begin_output();
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	second = put_fde(CODE + 0x20, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x40, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output + second, &section), 0);
	EXPECT_EQ(section.nr_ranges, 1);
	EXPECT_EQ(section.ranges[0].start, CODE + 0x20);
	EXPECT_EQ(section.ranges[0].end, CODE + 0x40);
	EXPECT_EQ(cfa_at(&section, CODE + 0x24), 1016);
	unmake(&section);
}

/* Code far apart is registered for itself: what is between may be other code, or not mapped. */
static void code_far_apart(void)
{
	struct made section;

	begin_output();
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x2f, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x5f, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x1000, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 3);
	EXPECT_EQ(section.ranges[0].end, CODE + 0x4f);
	EXPECT_EQ(section.ranges[1].start, CODE + 0x5f);
	EXPECT_EQ(section.ranges[1].end, CODE + 0x7f);
	EXPECT_EQ(section.ranges[2].start, CODE + 0x1000);
	EXPECT_EQ(section.ranges[2].end, CODE + 0x1020);
	unmake(&section);
}

/* Functions with one and the same rule share an entry, others do not. */
static void one_rule_for_all(void)
{
	struct made section;

	output_size = 0;
	put_cie(1, "", by_fp, sizeof(by_fp));
	for (unsigned int i = 0; i < 100; i++)
		put_fde(CODE + 0x28 * i, 0x20, NULL, 0);
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(nr_entries(&section), 1);
	EXPECT_EQ(section.nr_ranges, 1);
	EXPECT_EQ(cfa_at(&section, CODE), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x28 * 99 + 0x1f), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x28 * 99 + 0x20), 0);
	unmake(&section);

	begin_output();
	for (unsigned int i = 0; i < 100; i++)
		put_fde(CODE + 0x30 * i, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(nr_entries(&section), 100);
	unmake(&section);
}

/* A function with many rows is divided: a lookup reads few. */
static void many_rows(void)
{
	unsigned char instructions[3 * 100];
	struct made section;

	for (unsigned int i = 0; i < 100; i++) {
		instructions[3 * i] = DW_CFA_advance_loc | 2;
		instructions[3 * i + 1] = DW_CFA_def_cfa_offset;
		instructions[3 * i + 2] = i + 9;
	}
	begin_output();
	put_fde(CODE, 0x1000, instructions, sizeof(instructions));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(nr_entries(&section), 4);
	for (unsigned int i = 0; i < 100; i++) {
		EXPECT_EQ(cfa_at(&section, CODE + 2 * i), i + 8);
		EXPECT_EQ(cfa_at(&section, CODE + 2 * i + 1), i + 8);
	}
	EXPECT_EQ(cfa_at(&section, CODE + 0xfff), 108);
	unmake(&section);
}

/* Of functions that overlap, the later one is used, as by unwinders. */
static void overlapping(void)
{
	struct made section;

	begin_output();
	put_fde(CODE, 0x1000, NULL, 0);
	put_fde(CODE + 0x100, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(cfa_at(&section, CODE + 0xff), 8);
	EXPECT_EQ(cfa_at(&section, CODE + 0x104), 1016);
	EXPECT_EQ(cfa_at(&section, CODE + 0x200), 0);
	unmake(&section);
}

/* What has no form leaves the others as they are. */
static void some_without_a_form(void)
{
	static const unsigned char no_form[] = {
		DW_CFA_def_cfa_expression, 2, DW_OP_breg0, 0,
		DW_CFA_def_cfa_expression, 3, DW_OP_dup, DW_OP_breg0, 0,
	};
	static const unsigned char malformed[] = { 0x3f };
	struct made section;

	begin_output();
	put_fde(CODE, 0x20, no_form, sizeof(no_form));
	put_fde(CODE + 0x20, 0x20, prologue, sizeof(prologue));
	put_fde(CODE + 0x40, 0x20, malformed, sizeof(malformed));
	put_fde(0, 0x20, NULL, 0);
	put_fde(CODE + 0x80, 0, NULL, 0);
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 1);
	EXPECT_EQ(cfa_at(&section, CODE), 0);
	EXPECT_EQ(cfa_at(&section, CODE + 0x20), 8);
	EXPECT_EQ(cfa_at(&section, CODE + 0x40), 0);
	/* All of it is told: what was there before is gone. */
	EXPECT_EQ(nr_functions(&section.section.eh_frame), 3);
	for (unsigned int i = 0; i < 3; i++) {
		const struct code *function =
			function_at(&section.section.eh_frame, i);

		EXPECT_EQ(function->start, CODE + 0x20 * i);
		EXPECT_EQ(code_end(function), CODE + 0x20 * i + 0x20);
	}
	unmake(&section);
}

static void nothing_at_all(void)
{
	struct made section;

	begin_output();
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), -ENODATA);
	unmake(&section);
	/* Only the end. */
	EXPECT_EQ(make(output + output_size - 4, &section), -ENODATA);
	unmake(&section);
}

/* CIEs that libgcc does not know either, or that end too early. */
static void refused_cies(void)
{
	static const struct {
		unsigned int version;
		const char *augmentation;
	} cies[] = {
		{ 4, "" }, { 0, "" }, { 1, "eh" }, { 1, "zQ" }, { 1, "zR" },
		{ 1, "zLLLLLLLLLLLLLLLL" },
	};
	struct made section;

	for (unsigned int i = 0; i < sizeof(cies) / sizeof(cies[0]); i++) {
		output_size = 0;
		put_cie(cies[i].version, cies[i].augmentation, at_entry,
			sizeof(at_entry));
		put_fde(CODE, 0x20, prologue, sizeof(prologue));
		put_number(0, 4);
		EXPECT_EQ(make(output, &section), -ENODATA);
		unmake(&section);
	}
	/* The string of its augmentation does not end. */
	output_size = 0;
	cie_at = 0;
	put_number(9, 4);
	put_number(0, 4);
	put_number(1, 1);
	put("zRzR", 4);
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), -ENODATA);
	unmake(&section);
}

/* Its CIE has the sizes of addresses and selectors. */
static void version_4(void)
{
	static const unsigned char sizes[] = { 8, 0, 1, 0x78, 16, 0, 0 };
	struct made section;

	output_size = 0;
	put_cie(4, "", sizes, sizeof(sizes));
	/* In place of what put_cie() has put there. */
	memcpy(output + cie_at + 10, sizes, 5);
	memcpy(output + cie_at + 15, at_entry, sizeof(at_entry));
	put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(cfa_at(&section, CODE), 8);
	unmake(&section);
}

/* An address of 0 that is relative to its place is 0 all the same. */
static void relative_zero(void)
{
	struct made section;
	size_t at;

	output_size = 0;
	at = begin_entry();
	cie_at = at - 4;
	put_number(0, 4);
	put("\001zR\0\001\x78\020\001\033", 9);
	put(at_entry, sizeof(at_entry));
	end_entry(at);
	for (unsigned int i = 0; i < 2; i++) {
		at = begin_entry();
		put_number(at - cie_at, 4);
		put_number(i ? 0x1000 : 0, 4);
		put_number(0x20, 4);
		put_number(0, 1);
		end_entry(at);
	}
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 1);
	EXPECT_EQ(section.ranges[0].start, (uintptr_t)output + at + 4 + 0x1000);
	unmake(&section);
}

/* FDEs whose CIE is none, or not in front of them. */
static void refused_pointers(void)
{
	struct made section;
	size_t fde;

	for (unsigned int i = 0; i < 5; i++) {
		const uint32_t lengths[] = { 0, 4, 0x7fffffff, 0xffffffff };
		const uint32_t far = 0x10000000;

		begin_output();
		fde = put_fde(CODE, 0x20, prologue, sizeof(prologue));
		put_number(0, 4);
		if (i < 4)
			memcpy(output, &lengths[i], 4);
		else
			memcpy(output + fde + 4, &far, 4);
		/* Read alone, so that the walk does not meet the CIE. */
		if (i < 4)
			EXPECT_EQ(make(output + fde, &section), -EINVAL);
		else
			EXPECT_EQ(make(output, &section), -EINVAL);
		EXPECT(strstr(sfu_message_text(), "without a CIE"));
		unmake(&section);
	}
}

/* The pointer to a CIE is signed: one behind its function is not 4 GiB in front of it. */
static void cie_behind(void)
{
	const uint32_t back = (uint32_t)-64;
	struct made section;
	size_t fde;

	begin_output();
	fde = put_fde(CODE, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	memcpy(output + fde + 4, &back, 4);
	EXPECT_EQ(make(output + fde, &section), -EINVAL);
	EXPECT(strstr(sfu_message_text(), "without a CIE"));
	unmake(&section);
	EXPECT_EQ(sfu_eh_frame_first(output + fde), 0);
}

static void refused_lengths(void)
{
	static const uint32_t lengths[] = { 1, 3, 0xfffffff0, 0xffffffff };
	struct made section;

	for (unsigned int i = 0; i < 4; i++) {
		begin_output();
		put_fde(CODE, 0x20, prologue, sizeof(prologue));
		put_number(lengths[i], 4);
		put_number(0, 8);
		EXPECT_EQ(make(output, &section), -EINVAL);
		EXPECT(strstr(sfu_message_text(), "bad length"));
		unmake(&section);
	}
	/* A function of all addresses, and one that wraps. */
	begin_output();
	put_fde(CODE, UINT64_MAX - CODE, prologue, sizeof(prologue));
	put_fde(CODE, UINT64_MAX, prologue, sizeof(prologue));
	put_fde(1, 0x20, prologue, sizeof(prologue));
	put_number(0, 4);
	EXPECT_EQ(make(output, &section), 0);
	EXPECT_EQ(section.nr_ranges, 1);
	unmake(&section);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(functions_of_a_section),
		TAP_TEST(first_function),
		TAP_TEST(first_function_malformed),
		TAP_TEST(one_function_alone),
		TAP_TEST(code_far_apart),
		TAP_TEST(one_rule_for_all),
		TAP_TEST(many_rows),
		TAP_TEST(overlapping),
		TAP_TEST(some_without_a_form),
		TAP_TEST(nothing_at_all),
		TAP_TEST(refused_cies),
		TAP_TEST(version_4),
		TAP_TEST(relative_zero),
		TAP_TEST(refused_pointers),
		TAP_TEST(cie_behind),
		TAP_TEST(refused_lengths),
	};

	check_library("libc.so.6");
	check_library("libstdc++.so.6");
	check_library("libdw.so.1");
	check_library("libgcrypt.so.20");
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
