// SPDX-License-Identifier: GPL-2.0
/*
 * Constructions with code, .dynsym and .gopclntab.
 */
#include <err.h>

#include "hostile_kinds.h"

#define NUMBER_OF_TEXTS		8
#define NUMBER_OF_CALLERS	60

/* Size of the code that a table of Go describes in vain. */
#define GO_TEXT			(1ULL << 20)

/* Of the table: header, a name, and the structures of two functions. */
#define GO_HEADER		72
#define GO_FUNCTION		48

/* Instructions of two bytes, all zero; control reaches the end of each function. */
void hostile_make_code_hole(int fd, uint64_t count)
{
	const Elf64_Sym symbol = {
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 1,
		.st_value = HOSTILE_TEXT,
		.st_size = 65536,
	};
	struct buffer symbols = { 0 };
	struct hostile_elf elf;

	for (uint64_t i = 0; i < count; i++)
		hostile_put_bytes(&symbols, &symbol, sizeof(symbol));
	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".dynsym", symbols.bytes, symbols.size);
	hostile_add_hole(&elf, 1ULL << 34);
	hostile_end(&elf);
	buffer_free(&symbols);
}

/* Each 16 bytes may begin a function, all of which lead through all that follow. */
void hostile_make_marked_code(int fd, uint64_t size)
{
	/* endbr64; je .; je . + 8000 */
	static const unsigned char unit[16] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0x74, 0x00,
		0x0f, 0x84, 0x40, 0x1f, 0x00, 0x00, 0x90, 0x90, 0x90, 0x90
	};
	const Elf64_Sym symbol = { 0 };
	struct buffer code = { 0 };
	struct hostile_elf elf;

	for (uint64_t i = 0; i < size / sizeof(unit); i++)
		hostile_put_bytes(&code, unit, sizeof(unit));
	hostile_begin(&elf, fd);
	/* Code of files without it is not looked at. */
	hostile_add_section(&elf, ".dynsym", &symbol, sizeof(symbol));
	elf.end = (elf.end + 4095) & ~4095ULL;
	hostile_add_text(&elf, HOSTILE_TEXT,
			 hostile_append(&elf, code.bytes, code.size), code.size,
			 code.size);
	hostile_end(&elf);
	buffer_free(&code);
}

/* A procedure linkage table without stubs. */
void hostile_make_stub_hole(int fd, uint64_t size)
{
	struct hostile_elf elf;
	Elf64_Shdr *section;

	hostile_begin(&elf, fd);
	section = hostile_add_section(&elf, ".plt", NULL, 0);
	section->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	section->sh_addr = HOSTILE_TEXT;
	section->sh_size = size;
	hostile_add_hole(&elf, size);
	section->sh_offset = elf.segments[0].p_offset;
	hostile_end(&elf);
}

/* Write a file with @code and its @cfi, and free both. */
static void write_code(int fd, struct buffer *cfi, struct buffer *code)
{
	struct hostile_elf elf;

	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".eh_frame", cfi->bytes, cfi->size);
	hostile_add_text(&elf, HOSTILE_TEXT,
			 hostile_append(&elf, code->bytes, code->size),
			 code->size, code->size);
	hostile_end(&elf);
	buffer_free(cfi);
	buffer_free(code);
}

/* The CFA of a function is in rax; each of its calls is of another row of one function. */
void hostile_make_calls(int fd, uint64_t size)
{
	static const unsigned char return_code[] = { 0xc3 };
	static const unsigned char in_rax[] = { 0x0d, 0 };
	/* Rows of a byte each: CFA = rsp + 16, rsp + 8. */
	static const unsigned char rows[] = { 0x41, 0x0e, 16, 0x41, 0x0e, 8 };
	const uint64_t nr = size / 16, callee_size = 2 * nr + 1;
	const uint64_t caller = HOSTILE_TEXT + callee_size;
	struct buffer section = { 0 }, code = { 0 };
	size_t cie, fde;

	for (uint64_t i = 0; i < 2 * nr; i++)
		hostile_put(&code, 0x90, 1);
	hostile_put_bytes(&code, return_code, sizeof(return_code));
	for (uint64_t i = 0; i < nr; i++) {
		hostile_put(&code, 0xe8, 1);
		hostile_put(&code, 2 * i - callee_size - 5 * (i + 1), 4);
	}
	cie = hostile_put_cie(&section, false);
	hostile_end_entry(&section, cie);
	fde = hostile_put_fde(&section, false, cie, HOSTILE_TEXT, callee_size);
	for (uint64_t i = 0; i < nr; i++)
		hostile_put_bytes(&section, rows, sizeof(rows));
	hostile_end_entry(&section, fde);
	fde = hostile_put_fde(&section, false, cie, caller, 5 * nr);
	hostile_put_bytes(&section, in_rax, sizeof(in_rax));
	hostile_end_entry(&section, fde);
	write_code(fd, &section, &code);
}

/* Each byte may begin a call; all segments are the same bytes. */
void hostile_make_call_bytes(int fd, uint64_t size)
{
	static const unsigned char in_rax[] = { 0x0d, 0 };
	unsigned char *code = malloc(size);
	struct buffer section = { 0 };
	struct hostile_elf elf;
	uint64_t offset;
	size_t cie, fde;

	if (!code)
		errx(2, "no memory");
	memset(code, 0xe8, size);
	hostile_begin(&elf, fd);
	offset = hostile_append(&elf, code, size);
	cie = hostile_put_cie(&section, false);
	hostile_end_entry(&section, cie);
	for (uint64_t i = 0; i < NUMBER_OF_CALLERS; i++) {
		const uint64_t start = HOSTILE_TEXT + (i << 32);

		hostile_add_text(&elf, start, offset, size, size);
		fde = hostile_put_fde(&section, false, cie, start, size);
		hostile_put_bytes(&section, in_rax, sizeof(in_rax));
		hostile_end_entry(&section, fde);
	}
	hostile_add_section(&elf, ".eh_frame", section.bytes, section.size);
	hostile_end(&elf);
	buffer_free(&section);
	free(code);
}

/* Half of the code has CFI, and calls each second byte of the other half, which has none. */
void hostile_make_calls_without_cfi(int fd, uint64_t size)
{
	static const unsigned char nops_return[] = { 0x90, 0x90, 0x90, 0xc3 };
	static const unsigned char in_rax[] = { 0x0d, 0 };
	const uint64_t nr = size / 16, caller_size = 5 * nr;
	struct buffer section = { 0 }, code = { 0 };
	size_t cie, fde;

	for (uint64_t i = 0; i < nr; i++) {
		hostile_put(&code, 0xe8, 1);
		hostile_put(&code, caller_size - 5 * (i + 1) + 2 * i, 4);
	}
	while (code.size < 2 * caller_size)
		hostile_put_bytes(&code, nops_return, sizeof(nops_return));
	cie = hostile_put_cie(&section, false);
	hostile_end_entry(&section, cie);
	fde = hostile_put_fde(&section, false, cie, HOSTILE_TEXT, caller_size);
	hostile_put_bytes(&section, in_rax, sizeof(in_rax));
	hostile_end_entry(&section, fde);
	write_code(fd, &section, &code);
}

static void put_go_header(struct buffer *to, uint64_t nr, uint64_t values,
			  uint64_t index)
{
	hostile_put(to, 0xfffffff1U, 4);
	hostile_put(to, 0x08010000, 4);
	hostile_put(to, nr, 8);
	hostile_put(to, 0, 8);
	hostile_put(to, 0, 8);
	hostile_put(to, GO_HEADER, 8);
	hostile_put(to, 0, 8);
	hostile_put(to, 0, 8);
	hostile_put(to, values, 8);
	hostile_put(to, index, 8);
}

/* The structure of a function with the table of values at @values. */
static void put_go_function(struct buffer *to, uint32_t values)
{
	const size_t end = to->size + GO_FUNCTION;

	hostile_put(to, 0, 8);
	hostile_put(to, 0, 8);
	hostile_put(to, values, 4);
	while (to->size < end)
		hostile_put(to, 0, 4);
}

/* No function has values, wherever the code starts, so none agrees or disagrees. */
void hostile_make_go_search(int fd, uint64_t size)
{
	const uint64_t nr = size / 16;
	struct buffer table = { 0 };
	struct hostile_elf elf;

	put_go_header(&table, nr, GO_HEADER, GO_HEADER + 8);
	hostile_put(&table, 0, 8);
	for (uint64_t i = 0; i < nr; i++) {
		hostile_put(&table, 16 * i, 4);
		hostile_put(&table, nr * 8 + 8, 4);
	}
	hostile_put(&table, 16 * nr, 8);
	put_go_function(&table, 0);
	while (table.size < size)
		hostile_put(&table, 0, 8);
	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".gopclntab", table.bytes, table.size);
	for (unsigned int i = 0; i < NUMBER_OF_TEXTS; i++) {
		hostile_add_hole(&elf, GO_TEXT);
		elf.segments[i].p_vaddr += i * GO_TEXT;
	}
	hostile_end(&elf);
	buffer_free(&table);
}

/* One function is right; all others have a number that does not end. */
void hostile_make_go_numbers(int fd, uint64_t size)
{
	static const unsigned char code[] = { 0x50, 0x58, 0xc3, 0xcc };
	/* 0 for one byte, 8, 0, each in another one */
	static const unsigned char values[] = {
		0, 2, 1, 16, 1, 15, 1, 0
	};
	const uint64_t nr = size / 16;
	struct buffer table = { 0 }, text = { 0 };
	struct hostile_elf elf;

	for (uint64_t i = 0; i < nr; i++)
		hostile_put_bytes(&text, code, sizeof(code));
	/* Samples are the first functions. */
	put_go_header(&table, nr, GO_HEADER, GO_HEADER + 8);
	hostile_put_bytes(&table, values, sizeof(values));
	for (uint64_t i = 0; i < nr; i++) {
		hostile_put(&table, sizeof(code) * i, 4);
		hostile_put(&table, nr * 8 + 8 + (i < 64 ? 0 : GO_FUNCTION), 4);
	}
	hostile_put(&table, sizeof(code) * nr, 8);
	put_go_function(&table, 1);
	put_go_function(&table, table.size + GO_FUNCTION - GO_HEADER);
	while (table.size < size)
		hostile_put(&table, UINT64_MAX, 8);
	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".gopclntab", table.bytes, table.size);
	hostile_add_text(&elf, HOSTILE_TEXT,
			 hostile_append(&elf, text.bytes, text.size),
			 text.size, text.size);
	hostile_end(&elf);
	buffer_free(&table);
	buffer_free(&text);
}
