// SPDX-License-Identifier: GPL-2.0
/*
 * userspace/jit: sections made from the .eh_frames of loaded libraries, where each rule is
 * compared with that of the converter.
 */
#include <dlfcn.h>
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <sframe_unwind.h>
#include <sframe_unwind_convert.h>

#include "jit_section_scene.h"
#include "tap.h"

#include "jit/eh_frame.h"

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

int main(void)
{
	check_library("libc.so.6");
	check_library("libstdc++.so.6");
	check_library("libdw.so.1");
	check_library("libgcrypt.so.20");
	return tap_done();
}
