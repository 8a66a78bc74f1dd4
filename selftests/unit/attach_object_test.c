// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", announced code: the linked file that the worker makes from an
 * announced object, which may be anything.
 */
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/include/announced_object.h"
#include "tap.h"
#include "userspace/worker/object.h"

#define CODE 0x7f1234567000

static struct announced_object input;
static struct object made;
static const char *problem;

/* Make a file from @size bytes of the input, in memory of just that size. */
static void make(size_t size)
{
	unsigned char *bytes = malloc(size ? size : 1);

	object_free(&made);
	memcpy(bytes, &input, size);
	problem = object_make(bytes, size, &made);
	free(bytes);
}

static void begin(void)
{
	static unsigned char text[OBJECT_MAX_TEXT];

	for (unsigned int i = 0; i < sizeof(text); i++)
		text[i] = 1 + i;
	make_announced_object(&input, CODE, text, sizeof(text), 8);
}

/* Section 1 of the made file. */
static Elf64_Shdr made_eh_frame(void)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	memcpy(&header, made.bytes, sizeof(header));
	memcpy(&section, made.bytes + header.e_shoff + sizeof(section),
	       sizeof(section));
	return section;
}

/* The address that the made .eh_frame says the function begins at. */
static uint64_t made_start(void)
{
	const Elf64_Shdr section = made_eh_frame();
	int32_t distance;

	memcpy(&distance, made.bytes + section.sh_offset + OBJECT_START,
	       sizeof(distance));
	return section.sh_addr + OBJECT_START + distance;
}

static void relocated(void)
{
	begin();
	make(sizeof(input));
	EXPECT(!problem);
	EXPECT_EQ(made.start, CODE);
	EXPECT_EQ(made.code_size, 64);
	EXPECT_EQ(made_start(), 0);
	EXPECT(!memcmp(made.bytes + made_eh_frame().sh_offset, input.eh_frame,
		       OBJECT_START));
}

/* The code is a part of the section, and sections are in any order. */
static void with_an_addend(void)
{
	begin();
	input.symbols[1].st_value = 0x20;
	input.rela[0].r_addend = 0x10;
	make(sizeof(input));
	EXPECT(!problem);
	EXPECT_EQ(made_start(), 0x30);
}

static void already_relocated(void)
{
	const uint64_t frame = CODE - 0x100000;
	const int32_t distance = CODE - (frame + OBJECT_START);

	begin();
	input.sections[OBJECT_RELA].sh_type = SHT_NULL;
	input.sections[OBJECT_EH_FRAME].sh_addr = frame;
	memcpy(input.eh_frame + OBJECT_START, &distance, sizeof(distance));
	make(sizeof(input));
	EXPECT(!problem);
	EXPECT_EQ(made_start(), 0);
}

/* Relocations of 64 bits need a wider field; here only where they are applied. */
static void of_64_bits(void)
{
	uint64_t value;

	begin();
	input.rela[0].r_info = ELF64_R_INFO(1, R_X86_64_64);
	input.rela[0].r_addend = 0x12345678abcd;
	make(sizeof(input));
	EXPECT(!problem);
	memcpy(&value, made.bytes + made_eh_frame().sh_offset + OBJECT_START,
	       sizeof(value));
	EXPECT_EQ(value, 0x12345678abcd);
	input.rela[0].r_info = ELF64_R_INFO(1, R_X86_64_PC64);
	make(sizeof(input));
	EXPECT(!problem);
	memcpy(&value, made.bytes + made_eh_frame().sh_offset + OBJECT_START,
	       sizeof(value));
	EXPECT_EQ(value + made_eh_frame().sh_addr + OBJECT_START, 0x12345678abcd);
}

/* Of another object, like a personality routine: nobody needs it. */
static void undefined_symbol(void)
{
	begin();
	input.symbols[1].st_shndx = SHN_UNDEF;
	make(sizeof(input));
	EXPECT(!problem);
	EXPECT(!memcmp(made.bytes + made_eh_frame().sh_offset, input.eh_frame,
		       sizeof(input.eh_frame)));
}

#define AT(member)	offsetof(struct announced_object, member)
#define SECTION(which, member) \
	(AT(sections) + OBJECT_##which * sizeof(Elf64_Shdr) + \
	 offsetof(Elf64_Shdr, member))

/* Each is a sound object with one value changed. @problem is NULL if it is no defect. */
static const struct {
	size_t at;
	size_t size;
	uint64_t value;
	const char *problem;
} changes[] = {
	{ AT(header.e_ident), 1, 0, "not an ELF object for AMD64" },
	{ AT(header.e_ident) + EI_CLASS, 1, ELFCLASS32, "not an ELF object for AMD64" },
	{ AT(header.e_ident) + EI_DATA, 1, ELFDATA2MSB, "not an ELF object for AMD64" },
	{ AT(header.e_machine), 2, EM_386, "not an ELF object for AMD64" },
	{ AT(header.e_shnum), 2, 0, "broken ELF object: section headers" },
	{ AT(header.e_shnum), 2, 7, NULL },
	{ AT(header.e_shnum), 2, 0xffff, "broken ELF object: section headers" },
	{ AT(header.e_shnum), 2, 16384, "broken ELF object: section headers" },
	{ AT(header.e_shnum), 2, 2, "it has no .eh_frame" },
	{ AT(header.e_shnum), 2, 1, "it has no code with an address" },
	{ AT(header.e_shentsize), 2, 63, "broken ELF object: section headers" },
	{ AT(header.e_shentsize), 2, 0, "broken ELF object: section headers" },
	{ AT(header.e_shoff), 8, UINT64_MAX, "broken ELF object: section headers" },
	{ AT(header.e_shoff), 8, 1ULL << 63, "broken ELF object: section headers" },
	{ AT(header.e_shoff), 8, sizeof(input), "broken ELF object: section headers" },
	{ AT(header.e_shoff), 8, -64ULL, "broken ELF object: section headers" },
	{ AT(header.e_shstrndx), 2, 0, "it has no .eh_frame" },
	{ AT(header.e_shstrndx), 2, 0xffff, "it has no .eh_frame" },
	{ AT(header.e_shstrndx), 2, OBJECT_SECTIONS, "it has no .eh_frame" },
	{ SECTION(TEXT, sh_flags), 8, SHF_ALLOC, "it has no code with an address" },
	{ SECTION(TEXT, sh_addr), 8, 0, "it has no code with an address" },
	{ SECTION(TEXT, sh_addr), 8, UINT64_MAX, "broken ELF object: code" },
	{ SECTION(TEXT, sh_addr), 8, -63ULL, "broken ELF object: code" },
	{ SECTION(TEXT, sh_size), 8, 0, "it has no code with an address" },
	{ SECTION(TEXT, sh_size), 8, OBJECT_MAX_CODE, "its code is not in the object" },
	{ SECTION(TEXT, sh_size), 8, sizeof(input), "its code is not in the object" },
	{ SECTION(TEXT, sh_offset), 8, UINT64_MAX, "its code is not in the object" },
	{ SECTION(TEXT, sh_offset), 8, sizeof(input) - 63, "its code is not in the object" },
	{ SECTION(TEXT, sh_offset), 8, sizeof(input) - 64, NULL },
	{ SECTION(TEXT, sh_type), 4, SHT_NOBITS, "its code is not in the object" },
	{ SECTION(TEXT, sh_size), 8, OBJECT_MAX_CODE + 1, "broken ELF object: code" },
	{ SECTION(TEXT, sh_size), 8, 1ULL << 63, "broken ELF object: code" },
	{ SECTION(EH_FRAME, sh_flags), 8, SHF_ALLOC | SHF_EXECINSTR, NULL },
	{ SECTION(EH_FRAME, sh_flags), 8, 0, "it has no .eh_frame" },
	{ SECTION(EH_FRAME, sh_type), 4, SHT_NOBITS, "it has no .eh_frame" },
	{ SECTION(EH_FRAME, sh_name), 4, 1, "it has no .eh_frame" },
	{ SECTION(EH_FRAME, sh_name), 4, UINT32_MAX, "it has no .eh_frame" },
	{ SECTION(EH_FRAME, sh_name), 4, 63, "it has no .eh_frame" },
	{ SECTION(EH_FRAME, sh_size), 8, 0, "it has no .eh_frame" },
	{ SECTION(EH_FRAME, sh_size), 8, UINT64_MAX, "broken ELF object: .eh_frame" },
	{ SECTION(EH_FRAME, sh_size), 8, sizeof(input), "broken ELF object: .eh_frame" },
	{ SECTION(EH_FRAME, sh_size), 8, 1, "broken ELF object: relocations" },
	{ SECTION(EH_FRAME, sh_size), 8, OBJECT_START + 3, "broken ELF object: relocations" },
	{ SECTION(EH_FRAME, sh_size), 8, OBJECT_START + 4, NULL },
	{ SECTION(EH_FRAME, sh_offset), 8, UINT64_MAX, "broken ELF object: .eh_frame" },
	{ SECTION(EH_FRAME, sh_offset), 8, sizeof(input), "broken ELF object: .eh_frame" },
	{ SECTION(NAMES, sh_offset), 8, UINT64_MAX, "it has no .eh_frame" },
	{ SECTION(NAMES, sh_offset), 8, sizeof(input), "it has no .eh_frame" },
	{ SECTION(NAMES, sh_size), 8, UINT64_MAX, "it has no .eh_frame" },
	{ SECTION(NAMES, sh_size), 8, 12, "it has no .eh_frame" },
	{ SECTION(RELA, sh_info), 4, OBJECT_TEXT, NULL },
	{ SECTION(RELA, sh_link), 4, OBJECT_SECTIONS, "broken ELF object: relocations" },
	{ SECTION(RELA, sh_link), 4, UINT32_MAX, "broken ELF object: relocations" },
	{ SECTION(RELA, sh_offset), 8, UINT64_MAX, "broken ELF object: relocations" },
	{ SECTION(RELA, sh_offset), 8, sizeof(input), "broken ELF object: relocations" },
	{ SECTION(RELA, sh_size), 8, UINT64_MAX, "broken ELF object: relocations" },
	{ SECTION(RELA, sh_size), 8, 23, NULL },
	{ SECTION(SYMTAB, sh_offset), 8, UINT64_MAX, NULL },
	{ SECTION(SYMTAB, sh_size), 8, UINT64_MAX, NULL },
	{ SECTION(SYMTAB, sh_size), 8, 24, NULL },
	{ AT(rela[0].r_offset), 8, UINT64_MAX, "broken ELF object: relocations" },
	{ AT(rela[0].r_offset), 8, 53, "broken ELF object: relocations" },
	{ AT(rela[0].r_offset), 8, 52, NULL },
	{ AT(rela[0].r_info), 8, ELF64_R_INFO(1, R_X86_64_GOT32),
	  "relocation of a type that is not supported" },
	{ AT(rela[0].r_info), 8, ELF64_R_INFO(UINT32_MAX, R_X86_64_PC32), NULL },
	{ AT(rela[0].r_addend), 8, UINT64_MAX, NULL },
	{ AT(symbols[1].st_shndx), 2, SHN_ABS, NULL },
	{ AT(symbols[1].st_shndx), 2, OBJECT_SECTIONS, NULL },
	{ AT(symbols[1].st_value), 8, UINT64_MAX, NULL },
};

static void changed(void)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		begin();
		memcpy((char *)&input + changes[i].at, &changes[i].value,
		       changes[i].size);
		make(sizeof(input));
		if (!problem != !changes[i].problem ||
		    (problem && strcmp(problem, changes[i].problem))) {
			tap_fail("change %zu: %s", i, problem ? problem : "none");
			return;
		}
		/* A problem leaves nothing behind. */
		EXPECT(!problem == !!made.bytes);
	}
}

static void far_apart(void)
{
	begin();
	input.sections[OBJECT_SYMTAB].sh_flags = SHF_EXECINSTR;
	input.sections[OBJECT_SYMTAB].sh_addr = CODE + OBJECT_MAX_CODE;
	make(sizeof(input));
	EXPECT(problem && !strcmp(problem, "its code is in places that are far apart"));
	input.sections[OBJECT_SYMTAB].sh_addr = CODE + OBJECT_MAX_CODE -
						input.sections[OBJECT_SYMTAB].sh_size;
	make(sizeof(input));
	EXPECT(!problem);
	EXPECT_EQ(made.code_size, OBJECT_MAX_CODE);
}

/* Many tables of relocations that are the same bytes. */
static void same_relocations(void)
{
	enum { SECTIONS = 64, RELOCATIONS = 64 };
	static struct {
		struct announced_object object;
		Elf64_Shdr sections[SECTIONS];
		Elf64_Rela rela[RELOCATIONS];
	} large;

	begin();
	large.object = input;
	large.object.header.e_shoff = sizeof(large.object);
	for (unsigned int i = 0; i < RELOCATIONS; i++)
		large.rela[i] = input.rela[0];
	memcpy(large.sections, input.sections, sizeof(input.sections));
	large.sections[OBJECT_RELA].sh_offset = offsetof(typeof(large), rela);
	large.sections[OBJECT_RELA].sh_size = sizeof(large.rela);
	for (unsigned int i = OBJECT_SECTIONS; i < SECTIONS; i++)
		large.sections[i] = large.sections[OBJECT_RELA];
	for (unsigned int nr = OBJECT_SECTIONS; nr <= SECTIONS; nr++) {
		const size_t most = sizeof(large) / sizeof(large.rela[0]);

		large.object.header.e_shnum = nr;
		object_free(&made);
		problem = object_make((unsigned char *)&large, sizeof(large),
				      &made);
		EXPECT_EQ(!problem, (nr - OBJECT_SECTIONS + 1) * RELOCATIONS <=
				    most);
		EXPECT(!made.lacks_memory);
	}
}

/* --- what of the code is compared */

/* Relocate the code once, at @at. Returns the parts that are compared. */
static unsigned int relocate_code(uint32_t type, uint64_t at)
{
	begin();
	input.sections[OBJECT_RELA].sh_info = OBJECT_TEXT;
	input.rela[0].r_offset = at;
	input.rela[0].r_info = ELF64_R_INFO(1, type);
	make(sizeof(input));
	return problem ? 0 : made.nr_same;
}

static bool is_part(unsigned int number, unsigned int from, unsigned int to)
{
	const struct worker_same *same = &made.same[number];

	return same->code == from && same->size == to - from &&
	       same->object == AT(text) + from;
}

static void whole_code(void)
{
	begin();
	make(sizeof(input));
	EXPECT_EQ(made.nr_same, 1);
	EXPECT(is_part(0, 0, 64));
}

/* What a relocation of the code may change is left out. */
static void relocated_code(void)
{
	static const struct {
		uint32_t type;
		unsigned int before, behind;
	} changes[] = {
		{ R_X86_64_PC32, 0, 4 },
		{ R_X86_64_PLT32, 0, 4 },
		{ R_X86_64_32S, 0, 4 },
		{ R_X86_64_64, 0, 8 },
		{ R_X86_64_PC64, 0, 8 },
		{ R_X86_64_GOTPC64, 0, 8 },
		{ R_X86_64_REX_GOTPCRELX, 3, 4 },
		{ R_X86_64_TLSGD, 12, 20 },
		{ 0xff, 12, 20 },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		EXPECT_EQ(relocate_code(changes[i].type, 20), 2);
		EXPECT(is_part(0, 0, 20 - changes[i].before));
		EXPECT(is_part(1, 20 + changes[i].behind, 64));
	}
	EXPECT_EQ(relocate_code(R_X86_64_NONE, 20), 1);
	EXPECT(is_part(0, 0, 64));
	EXPECT_EQ(relocate_code(R_X86_64_TLSGD, 0), 1);
	EXPECT(is_part(0, 32, 64));
	EXPECT_EQ(relocate_code(R_X86_64_PC32, 62), 1);
	EXPECT(is_part(0, 0, 62));
	EXPECT_EQ(relocate_code(R_X86_64_PC32, 64), 1);
	EXPECT_EQ(relocate_code(R_X86_64_PC32, UINT64_MAX), 1);
	EXPECT(is_part(0, 0, 64));
}

/* In a linked object, they have been applied. */
static void linked_code(void)
{
	begin();
	input.header.e_type = ET_DYN;
	input.sections[OBJECT_RELA].sh_info = OBJECT_TEXT;
	input.rela[0].r_offset = 20;
	make(sizeof(input));
	EXPECT_EQ(made.nr_same, 1);
}

/* Section 0 is none, whatever its header says. */
static void no_section(void)
{
	begin();
	input.sections[OBJECT_NONE] = input.sections[OBJECT_TEXT];
	input.sections[OBJECT_NONE].sh_offset = 1ULL << 40;
	input.sections[OBJECT_RELA].sh_info = OBJECT_NONE;
	make(sizeof(input));
	EXPECT(!problem);
	EXPECT_EQ(made.nr_same, 1);
	EXPECT(is_part(0, 0, 64));
}

/* Two sections with code, and what is between them. */
static void two_sections(void)
{
	begin();
	input.sections[OBJECT_SYMTAB].sh_flags = SHF_EXECINSTR;
	input.sections[OBJECT_SYMTAB].sh_addr = CODE + 256;
	make(sizeof(input));
	EXPECT_EQ(made.nr_same, 2);
	EXPECT(is_part(0, 0, 64));
	EXPECT_EQ(made.same[1].code, 256);
	EXPECT_EQ(made.same[1].object, AT(symbols));
	EXPECT_EQ(made.same[1].size, sizeof(input.symbols));
}

/* All that there is may be changed. */
static void nothing_to_compare(void)
{
	begin();
	input.sections[OBJECT_TEXT].sh_size = 4;
	input.sections[OBJECT_RELA].sh_info = OBJECT_TEXT;
	input.rela[0].r_offset = 0;
	make(sizeof(input));
	EXPECT(problem && !strcmp(problem, "its code is not in the object"));
	EXPECT(!made.bytes && !made.same);
}

static bool lacks_memory;

void *__wrap_calloc(size_t nr, size_t size);
void *__real_calloc(size_t nr, size_t size);

void *__wrap_calloc(size_t nr, size_t size)
{
	return lacks_memory ? NULL : __real_calloc(nr, size);
}

/* It is not the object's fault. */
static void no_memory(void)
{
	begin();
	lacks_memory = true;
	make(sizeof(input));
	EXPECT(problem && made.lacks_memory);
	lacks_memory = false;
	make(sizeof(input));
	EXPECT(!problem && !made.lacks_memory);
}

/* Under ASan: no byte behind the object is read. */
static void cut(void)
{
	for (size_t size = 0; size < sizeof(input); size++) {
		begin();
		make(size);
	}
	begin();
	make(sizeof(input) - 16);
	EXPECT(problem);
}

static void random_bytes(void)
{
	unsigned char *bytes = (unsigned char *)&input;

	srand(1);
	for (int i = 0; i < 200000; i++) {
		begin();
		for (int j = 0; j <= i % 4; j++)
			bytes[rand() % sizeof(input)] = rand() % 3 ? rand() : 0xff;
		make(sizeof(input));
		EXPECT(problem || (made.size && made.code_size <= OBJECT_MAX_CODE));
	}
}

int main(void)
{
	relocated();
	tap_case("relocations are applied");
	with_an_addend();
	tap_case("a symbol's value and an addend");
	already_relocated();
	tap_case("an object that is relocated already");
	of_64_bits();
	tap_case("relocations of 64 bits");
	undefined_symbol();
	tap_case("a symbol of another object");
	changed();
	tap_case("one value changed: %zu kinds",
		 sizeof(changes) / sizeof(changes[0]));
	far_apart();
	tap_case("code in places that are far apart");
	same_relocations();
	tap_case("tables of relocations that are the same bytes");
	whole_code();
	tap_case("all code is compared");
	relocated_code();
	tap_case("but not what relocations change");
	linked_code();
	tap_case("which are applied in linked objects");
	no_section();
	tap_case("relocations of no section");
	two_sections();
	tap_case("code of two sections");
	nothing_to_compare();
	tap_case("no code that could be compared");
	no_memory();
	tap_case("without memory");
	cut();
	tap_case("cut at each byte");
	random_bytes();
	tap_case("200,000 random changes");
	object_free(&made);
	return tap_done();
}
