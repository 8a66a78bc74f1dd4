// SPDX-License-Identifier: GPL-2.0
/*
 * Conversion of each oddity of CFI, and of broken files.
 *
 * usage: convert_test DIRECTORY
 *   with the objects that the Makefile makes of cfi.s and others
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "cli/verify_describe.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "object.h"
#include "selftests/unit/tap.h"

static uint32_t left_out_reason(const struct sframe_unwind_converted *converted,
				uint64_t pc)
{
	for (size_t i = 0; i < converted->nr_left_out; i++)
		if (pc - converted->left_out[i].start <
		    converted->left_out[i].size)
			return converted->left_out[i].reason;
	return 0;
}

/*
 * Describe the result for an address: the rule, the reason why there is none,
 * or nothing.
 */
static void describe(const struct object *object, uint64_t pc, char *text,
		     size_t size)
{
	const uint32_t reason = left_out_reason(object->converted, pc);
	struct span span = { 0 };

	if (object_rule_at(&object->table, pc, &span.rule))
		verify_describe(&span, text, size);
	else if (reason)
		snprintf(text, size, "left out: %s",
			 sframe_unwind_left_out_text(reason));
	else
		snprintf(text, size, "nothing");
}

#define PLAIN(cfa)	"CFA " cfa ", RA *(CFA-8), FP unchanged"
#define LEFT_OUT(why)	"left out: " why

struct expected {
	const char *function;
	unsigned int offset;
	const char *says;
};

static const struct expected of_cfi[] = {
	{ "plain", 0, PLAIN("rsp+8") },
	{ "plain", 1, "CFA rsp+16, RA *(CFA-8), FP *(CFA-16)" },
	{ "plain", 2, "CFA rbp+16, RA *(CFA-8), FP *(CFA-16)" },
	{ "plain", 3, "CFA rsp+8, RA *(CFA-8), FP *(CFA-16)" },
	{ "nested", 1, PLAIN("rsp+16") },
	{ "nested", 2, PLAIN("rsp+24") },
	{ "nested", 3, PLAIN("rsp+32") },
	{ "nested", 4, PLAIN("rsp+24") },
	{ "nested", 5, PLAIN("rsp+16") },
	{ "cold", 0, "CFA rsp+32, RA *(CFA-8), FP *(CFA-16)" },
	{ "cold", 1, PLAIN("rsp+8") },
	{ "undefined_then_not", 0, "there is no caller" },
	{ "undefined_then_not", 1, PLAIN("rsp+8") },
	{ "undefined_then_not", 2, "there is no caller" },
	{ "undefined_then_not", 3, "CFA rsp+8, RA *(CFA-24), FP unchanged" },
	{ "value_offset", 1, "CFA rsp+8, RA *(CFA-8), FP rsp-16" },
	{ "value_offset_of_memory", 0, PLAIN("*(rsp+16)") },
	{ "value_offset_of_memory", 1,
	  LEFT_OUT("frame pointer has no form in SFrame") },
	{ "expressions", 0, "CFA *(rbp-8), RA *(CFA-8), FP *(rbp+0)" },
	{ "expressions", 1, "CFA *(rbp-8), RA *(CFA-8), FP *(rsp+8)" },
	{ "expressions", 2, "CFA *(rbp-8), RA *(CFA-8), FP *(CFA+24)" },
	{ "expressions", 3, "CFA *(rbp-8), RA *(CFA-8), FP r12+0" },
	{ "expressions", 4, "CFA *(rbp-8), RA *(r8+16), FP r12+0" },
	{ "middle", 0, PLAIN("rsp+8") },
	{ "middle", 1,
	  LEFT_OUT("CFA is an expression that has no form in SFrame") },
	{ "middle", 2,
	  LEFT_OUT("CFA is an expression that has no form in SFrame") },
	{ "middle", 3, PLAIN("rsp+24") },
	{ "fp_lost", 0, PLAIN("rsp+8") },
	{ "fp_lost", 1,
	  LEFT_OUT("frame pointer is undefined, which SFrame cannot express") },
	{ "fp_lost", 2, PLAIN("rsp+8") },
	{ "fp_lost", 3, "CFA rsp+8, RA *(CFA-8), FP r12+0" },
	{ "sp_elsewhere", 0, PLAIN("rsp+8") },
	{ "sp_elsewhere", 1,
	  LEFT_OUT("caller's stack pointer is not the CFA") },
	{ "sp_elsewhere", 2, PLAIN("r8+0") },
	{ "other_column", 0,
	  LEFT_OUT("return address is not in column 16") },
	{ "no_cfa", 0, LEFT_OUT("no CFA is defined") },
	{ "no_cfa", 1, PLAIN("rsp+8") },
	{ "cfa_in_xmm", 0,
	  LEFT_OUT("CFA is an expression that has no form in SFrame") },
	{ "cfa_in_xmm", 1, PLAIN("r3+70000") },
	{ "trampoline", 0,
	  "CFA *(rsp+160), RA *(rsp+168), FP *(rsp+120), signal frame" },
	{ "signal_too", 0, PLAIN("rsp+8") ", signal frame" },
	{ "stubs", 0, PLAIN("rsp+8") },
	{ "stubs", 10, PLAIN("rsp+8") },
	{ "stubs", 11, PLAIN("rsp+16") },
	{ "stubs", 15, PLAIN("rsp+16") },
	{ "stubs", 16, PLAIN("rsp+8") },
	{ "stubs", 47, PLAIN("rsp+16") },
	{ "stubs_ibt", 8, PLAIN("rsp+8") },
	{ "stubs_ibt", 9, PLAIN("rsp+16") },
	{ "stubs_ibt", 16, PLAIN("rsp+8") },
	{ "stubs_ibt", 19, PLAIN("rsp+8") },
	{ "part_after_expression", 0, PLAIN("rsp+32") },
	{ "part_after_expression", 1, PLAIN("*(rsp+16)") },
	{ "part_after_expression", 2, PLAIN("*(rsp+16)") },
	{ "part_after_expression", 3, PLAIN("rbp+40") },
	{ "part_after_expression", 4, PLAIN("r11+0") },
	{ "part_after_expression", 5, PLAIN("rsp+8") },
	{ "part_after_expression", 6, PLAIN("rsp+40") },
	{ "malformed", 0, PLAIN("rsp+8") },
	{ "malformed", 1, LEFT_OUT("CFI is malformed") },
	{ "before_filling", 0, PLAIN("rsp+8") },
	{ "before_filling", 15, PLAIN("rsp+8") },
	{ "behind_filling", 0, PLAIN("rsp+8") },
	{ "behind_filling", 1, "nothing" },
	{ "behind_filling", 3, "nothing" },
	{ "behind_code", 0, PLAIN("rsp+8") },
	{ "long_function", 1, PLAIN("rsp+16") },
	{ "long_function", 70000, PLAIN("rsp+16") },
	{ "long_function", 70001, PLAIN("rsp+70016") },
	{ "long_function", 70002, PLAIN("rsp+8") },
	{ "many_rows", 1, PLAIN("rsp+16") },
	{ "many_rows", 139998, PLAIN("rsp+8") },
	{ "many_rows", 139999, PLAIN("rsp+16") },
	{ "many_rows", 140000, PLAIN("rsp+8") },
	{ "restore_in_cie", 0, LEFT_OUT("CFI is malformed") },
	{ "outer", 0, PLAIN("rsp+32") },
	{ "outer", 3, PLAIN("rsp+32") },
	{ "inner", 0, PLAIN("rsp+48") },
	{ "inner", 1, PLAIN("rsp+48") },
	{ "outer", 6, LEFT_OUT("functions overlap") },
	{ "outer", 9, LEFT_OUT("functions overlap") },
};

static const struct expected of_debug_frame[] = {
	{ "debugged", 0, PLAIN("rsp+8") },
	{ "debugged", 1, PLAIN("rsp+16") },
};

static const struct expected of_old[] = {
	{ "old", 0, PLAIN("rsp+8") },
	{ "old", 1, "CFA rsp+16, RA *(CFA-8), FP *(CFA-16)" },
	{ "old", 4, "CFA rbp+16, RA *(CFA-8), FP *(CFA-16)" },
	{ "old", 7, "CFA rbp+16, RA *(CFA-8), FP *(CFA-16)" },
	{ "old_stubs", 10, PLAIN("rsp+8") },
	{ "old_stubs", 11, PLAIN("rsp+16") },
	{ "old_stubs", 16, PLAIN("rsp+8") },
	{ "old_stubs", 31, PLAIN("rsp+16") },
};

static void test_expected(const char *name, const struct expected *expected,
			  size_t count)
{
	struct object object;
	const bool is_open = object_open(&object, name);

	tap_case("%s: converts", name);
	for (size_t i = 0; is_open && i < count; i++) {
		uint64_t address = 0, size;
		char text[200];

		if (!elf_section_symbol(&object.elf, expected[i].function,
					&address, &size))
			tap_fail("no symbol");
		describe(&object, address + expected[i].offset, text,
			 sizeof(text));
		if (strcmp(text, expected[i].says))
			tap_fail("says %s, not %s", text, expected[i].says);
		tap_case("%s: %s+%u", name, expected[i].function,
			 expected[i].offset);
	}
	object_close(&object);
}

static int ignore_defect(void *data, const struct sfu_defect *defect)
{
	(void)data;
	return tap_fail("offset %" PRIu64 ": %s", defect->offset,
			sfu_defect_text(defect->kind));
}

static void sections_are_valid(void)
{
	static const char * const names[] = {
		"cfi.so", "debug_frame.so", "old1.so", "old2.so"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct object object;

		if (object_open(&object, names[i]))
			sfu_table_validate(&object.table, ignore_defect, NULL);
		object_close(&object);
	}
}

static void report_is_exact(void)
{
	struct object object;
	uint64_t address, size, sum = 0;
	size_t found = 0;

	EXPECT(object_open(&object, "cfi.so"));
	EXPECT(elf_section_symbol(&object.elf, "middle", &address, &size));
	for (size_t i = 0; i < object.converted->nr_left_out; i++) {
		sum += object.converted->left_out[i].size;
		if (object.converted->left_out[i].start != address + 1)
			continue;
		EXPECT_EQ(object.converted->left_out[i].size, 2);
		found++;
	}
	EXPECT_EQ(found, 1);
	EXPECT_EQ(sum, object.converted->left_out_size);
	EXPECT_EQ(object.converted->sources, SFRAME_UNWIND_FROM_EH_FRAME);
	object_close(&object);
}

/* Signal trampolines are recognized at the start of their entry. */
static void signal_frames_are_entries(void)
{
	static const char * const names[] = { "trampoline", "signal_too" };
	struct sfu_defect defect;
	struct object object;
	struct sfu_fde fde;
	uint64_t address, size;

	EXPECT(object_open(&object, "cfi.so"));
	for (size_t i = 0; i < 2; i++) {
		EXPECT(elf_section_symbol(&object.elf, names[i], &address,
					  &size));
		EXPECT(!sfu_table_find(&object.table, address, &fde, &defect));
		EXPECT_EQ(fde.start, address);
		EXPECT_EQ(fde.size, 1);
		EXPECT(sfu_fde_is_signal(&fde));
	}
	object_close(&object);
}

/* Returns whether the entry that has the first byte of @name begins there. */
static bool is_entry(const struct object *object, const char *name)
{
	struct sfu_defect defect;
	uint64_t address, size;
	struct sfu_fde fde;

	if (!elf_section_symbol(&object->elf, name, &address, &size) ||
	    sfu_table_find(&object->table, address, &fde, &defect))
		return tap_fail("%s has no entry", name);
	return fde.start == address;
}

static void restorers_are_entries(void)
{
	struct sfu_defect defect;
	uint64_t address, size;
	struct object object;
	struct sfu_fde fde;

	EXPECT(object_open(&object, "cfi.so"));
	EXPECT(is_entry(&object, "restorer"));
	EXPECT(is_entry(&object, "short_restorer"));
	EXPECT(!is_entry(&object, "behind_restorer"));
	EXPECT(!is_entry(&object, "no_restorer"));
	EXPECT(!is_entry(&object, "almost_restorer"));
	/* The padding in front of it has no rule. */
	EXPECT(elf_section_symbol(&object.elf, "restorer", &address, &size));
	EXPECT_EQ(sfu_table_find(&object.table, address - 1, &fde, &defect),
		  -ENOENT);
	object_close(&object);
}

static void stubs_are_blocks(void)
{
	struct sfu_defect defect;
	struct object object;
	struct sfu_fde fde;
	uint64_t address, size;

	EXPECT(object_open(&object, "cfi.so"));
	EXPECT(elf_section_symbol(&object.elf, "stubs", &address, &size));
	EXPECT(!sfu_table_find(&object.table, address + 20, &fde, &defect));
	EXPECT_EQ(fde.start, address);
	EXPECT_EQ(fde.size, 48);
	EXPECT_EQ(fde.rep_size, 16);
	EXPECT_EQ(fde.num_rows, 2);
	object_close(&object);
}

static void expect_refusal(const char *name, uint32_t sources, int error,
			   const char *part)
{
	struct sframe_unwind_converted *converted;

	EXPECT_EQ(object_convert(name, sources, &converted), -error);
	EXPECT(!converted);
	if (!strstr(sframe_unwind_convert_error(), part) ||
	    strncmp(sframe_unwind_convert_error(), name, strlen(name)))
		tap_fail("says: %s", sframe_unwind_convert_error());
}

static void refusals(void)
{
	expect_refusal("cfi.o", 0, EOPNOTSUPP, "relocatable object");
	expect_refusal("cfi.debug", 0, EOPNOTSUPP, "separate debug file");
	expect_refusal("convert_test.txt", 0, EOPNOTSUPP, "not an ELF file");
	expect_refusal("debug_frame.so", SFRAME_UNWIND_FROM_EH_FRAME, ENODATA,
		       "no call frame information");
	expect_refusal("cfi.so", SFRAME_UNWIND_FROM_OLD_SFRAME, ENODATA,
		       "no call frame information");
	expect_refusal("new.so", SFRAME_UNWIND_FROM_OLD_SFRAME, EOPNOTSUPP,
		       "version 3");
	expect_refusal("cfi.so", 0x80, EINVAL, "unknown source");
	expect_refusal("bare", SFRAME_UNWIND_FROM_CODE | ALL_BUT_CODE, ENODATA,
		       "no call frame information");
}

/**
 * struct image_copy - a file in memory, to be damaged
 *
 * @bytes: exactly @size bytes, so that ASan notices reads beyond.
 */
struct image_copy {
	unsigned char *bytes;
	size_t size;
};

static struct image_copy read_image(const char *name)
{
	struct image_copy copy = { 0 };
	const int fd = object_file(name);
	struct stat stat;

	if (fstat(fd, &stat))
		abort();
	copy.size = stat.st_size;
	copy.bytes = malloc(copy.size);
	if (read(fd, copy.bytes, copy.size) != (ssize_t)copy.size)
		abort();
	close(fd);
	return copy;
}

/* Found as the C library does: by the segment of the index. */
static void without_section_headers(void)
{
	struct image_copy copy = read_image("small.so");
	Elf64_Ehdr *header = (Elf64_Ehdr *)copy.bytes;
	struct sframe_unwind_converted *with, *without;

	EXPECT_EQ(object_convert("small.so", 0, &with), 0);
	header->e_shoff = 0;
	header->e_shnum = 0;
	header->e_shstrndx = 0;
	EXPECT_EQ(sframe_unwind_convert_memory(copy.bytes, copy.size, "x",
					       NULL, &without), 0);
	EXPECT_EQ(without->size, with->size);
	EXPECT(!memcmp(without->bytes, with->bytes, with->size));
	EXPECT_EQ(without->build_id_size, with->build_id_size);
	sframe_unwind_converted_free(with);
	sframe_unwind_converted_free(without);
	free(copy.bytes);
}

/* The vDSO, which is not in a file. */
static void vdso(void)
{
	const unsigned char *image = (void *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	struct sframe_unwind_converted *converted;
	struct sfu_table table;

	EXPECT(image);
	EXPECT_EQ(sframe_unwind_convert_memory(image, header->e_shoff +
					       header->e_shnum *
					       header->e_shentsize, "vdso",
					       NULL, &converted), 0);
	EXPECT(object_table(converted, &table));
	EXPECT(converted->covered > 100);
	sframe_unwind_converted_free(converted);
}

/* Broken in one place each: the message must name the place. */
static void messages_name_the_place(void)
{
	struct image_copy copy = read_image("small.so");
	struct sframe_unwind_converted *converted;
	struct elf_section elf;
	uint64_t offset, size;
	char path[4096];

	snprintf(path, sizeof(path), "%s/small.so", object_directory);
	elf.fd = open(path, O_RDONLY | O_CLOEXEC);
	elf.elf = elf_begin(elf.fd, ELF_C_READ, NULL);
	/* The first segment starts at 0, so addresses are offsets. */
	EXPECT(elf_section_symbol(&elf, ".eh_frame", &offset, &size));
	copy.bytes[offset + 1] = 0x10;
	EXPECT_EQ(sframe_unwind_convert_memory(copy.bytes, copy.size, "broken",
					       NULL, &converted), -EINVAL);
	if (!strstr(sframe_unwind_convert_error(), "broken: .eh_frame+0x0: "))
		tap_fail("says: %s", sframe_unwind_convert_error());
	elf_end(elf.elf);
	close(elf.fd);
	free(copy.bytes);

	copy = read_image("small.so");
	EXPECT_EQ(sframe_unwind_convert_memory(copy.bytes, offset + size / 2,
					       "cut", NULL, &converted),
		  -EINVAL);
	if (!strstr(sframe_unwind_convert_error(), "cut: broken ELF file: "))
		tap_fail("says: %s", sframe_unwind_convert_error());
	free(copy.bytes);
}

/* Whatever the file contains, the result is a valid section or a message. */
static bool survives(const unsigned char *bytes, size_t size)
{
	struct sframe_unwind_converted *converted;
	struct sfu_table table;
	bool is_good;
	int err;

	err = sframe_unwind_convert_memory(bytes, size, "damaged", NULL,
					   &converted);
	if (err)
		return !converted &&
		       !strncmp(sframe_unwind_convert_error(), "damaged: ", 9);
	is_good = object_table(converted, &table) &&
		  !sfu_table_validate(&table, ignore_defect, NULL);
	sframe_unwind_converted_free(converted);
	return is_good;
}

static void every_length(void)
{
	struct image_copy copy = read_image("small.so");

	for (size_t size = 0; size < copy.size; size++) {
		unsigned char *cut = malloc(size + 1);

		memcpy(cut, copy.bytes, size);
		if (!survives(cut, size))
			tap_fail("%zu bytes", size);
		free(cut);
	}
	free(copy.bytes);
}

static void every_byte(void)
{
	static const unsigned char masks[] = { 0xff, 0x01, 0x80, 0x40, 0x08 };
	struct image_copy copy = read_image("small.so");

	for (size_t at = 0; at < copy.size; at++) {
		for (size_t i = 0; i < sizeof(masks); i++) {
			copy.bytes[at] ^= masks[i];
			if (!survives(copy.bytes, copy.size))
				tap_fail("byte %zu ^ %#x", at, masks[i]);
			copy.bytes[at] ^= masks[i];
		}
	}
	free(copy.bytes);
}

/* Old .sframe versions are parsed by our own code only. */
static void every_byte_of_old(void)
{
	struct image_copy copy = read_image("old2.so");

	for (size_t at = 0; at < copy.size; at++) {
		copy.bytes[at] ^= 0xff;
		if (!survives(copy.bytes, copy.size))
			tap_fail("byte %zu", at);
		copy.bytes[at] ^= 0xff;
	}
	free(copy.bytes);
}

/* The section in an ELF file of its own is the same section. */
static void elf_has_section(void)
{
	struct object object;
	unsigned char *file;
	size_t size;

	EXPECT(object_open(&object, "cfi.so"));
	EXPECT_EQ(sframe_unwind_converted_elf(object.converted, &file, &size),
		  0);
	EXPECT(size > object.converted->size);
	EXPECT(!memcmp(file, ELFMAG, SELFMAG));
	EXPECT(memmem(file, size, object.converted->bytes,
		      object.converted->size));
	free(file);
	object_close(&object);
}

#define TEST_EXPECTED(name, expected) \
	test_expected(name, expected, sizeof(expected) / sizeof(expected[0]))

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP_TEST(sections_are_valid),
		TAP_TEST(report_is_exact),
		TAP_TEST(signal_frames_are_entries),
		TAP_TEST(restorers_are_entries),
		TAP_TEST(stubs_are_blocks),
		TAP_TEST(refusals),
		TAP_TEST(elf_has_section),
		TAP_TEST(without_section_headers),
		TAP_TEST(vdso),
		TAP_TEST(messages_name_the_place),
		TAP_TEST(every_length),
		TAP_TEST(every_byte),
		TAP_TEST(every_byte_of_old),
	};

	if (argc != 2)
		return 2;
	object_directory = argv[1];
	elf_version(EV_CURRENT);
	TEST_EXPECTED("cfi.so", of_cfi);
	TEST_EXPECTED("debug_frame.so", of_debug_frame);
	TEST_EXPECTED("old1.so", of_old);
	TEST_EXPECTED("old2.so", of_old);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
