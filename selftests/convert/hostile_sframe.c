// SPDX-License-Identifier: GPL-2.0
/*
 * Constructions with .sframe, of version 2 for "convert" and of version 3 for
 * "check" and "verify".
 */
#include <err.h>
#include <unistd.h>

#include "hostile_kinds.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"

#define V2_ENTRY_SIZE 20

/* A header whose rows begin @index_size bytes behind it. */
static void put_header(struct buffer *to, unsigned int version, uint32_t count,
		       uint64_t index_size, uint64_t rows_size)
{
	hostile_put(to, SFRAME_MAGIC, 2);
	hostile_put(to, version, 1);
	hostile_put(to, SFRAME_F_FDE_SORTED, 1);
	hostile_put(to, SFU_SFRAME_ABI, 1);
	hostile_put(to, 0, 1);
	hostile_put(to, (unsigned char)SFU_SFRAME_FIXED_RA, 1);
	hostile_put(to, 0, 1);
	hostile_put(to, count, 4);
	hostile_put(to, 0, 4);
	hostile_put(to, rows_size, 4);
	hostile_put(to, 0, 4);
	hostile_put(to, index_size, 4);
}

/* Function starts are relative to the section, which is at HOSTILE_TEXT. */
static void put_v2_entry(struct buffer *to, uint32_t start, uint32_t size,
			 uint32_t nr_rows, unsigned int info,
			 unsigned int block_size)
{
	hostile_put(to, start, 4);
	hostile_put(to, size, 4);
	hostile_put(to, 0, 4);
	hostile_put(to, nr_rows, 4);
	hostile_put(to, info, 1);
	hostile_put(to, block_size, 1);
	hostile_put(to, 0, 2);
}

static void put_entry(struct buffer *to, uint64_t start, uint32_t size,
		      uint32_t block)
{
	hostile_put(to, start, 8);
	hostile_put(to, size, 4);
	hostile_put(to, block, 4);
}

static void put_attribute(struct buffer *to, unsigned int nr_rows,
			  unsigned int info, unsigned int rep_size)
{
	hostile_put(to, nr_rows, 2);
	hostile_put(to, info, 1);
	hostile_put(to, SFRAME_FDE_TYPE_DEFAULT, 1);
	hostile_put(to, rep_size, 1);
}

/* Rows of six bytes for each byte of code, each different from the one before. */
static void put_rows(struct buffer *to, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		hostile_put(to, i, 4);
		hostile_put(to, 0x03, 1);
		hostile_put(to, 8 + i % 2 * 8, 1);
	}
}

/* Write an ELF file with the section and as much code as it can describe. */
static void add_code(int fd, struct buffer *section, uint64_t code_size)
{
	struct hostile_elf elf;

	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".sframe", section->bytes,
			    section->size)->sh_addr = HOSTILE_TEXT;
	hostile_add_hole(&elf, code_size);
	hostile_end(&elf);
	buffer_free(section);
}

/* Two rows in each block of two bytes. */
void hostile_make_v2_blocks(int fd, uint64_t size)
{
	struct buffer section = { 0 };

	put_header(&section, 2, 1, V2_ENTRY_SIZE, 12);
	put_v2_entry(&section, 0, size, 2, SFRAME_FDE_PCMASK |
		     SFRAME_FRE_TYPE_ADDR4, 2);
	put_rows(&section, 2);
	add_code(fd, &section, size);
}

void hostile_make_v2_shared_rows(int fd, uint64_t size)
{
	const uint32_t nr_rows = size / 2 / 6;
	const uint32_t count = size / 2 / V2_ENTRY_SIZE;
	struct buffer section = { 0 };

	put_header(&section, 2, count, count * V2_ENTRY_SIZE, nr_rows * 6);
	for (uint32_t i = 0; i < count; i++)
		put_v2_entry(&section, i * nr_rows, nr_rows, nr_rows,
			     SFRAME_FRE_TYPE_ADDR4, 0);
	put_rows(&section, nr_rows);
	add_code(fd, &section, (uint64_t)count * nr_rows);
}

/* A section of one function, and nothing up to the end of the file. */
void hostile_make_raw_hole(int fd, uint64_t size)
{
	struct buffer section = { 0 };

	put_header(&section, 3, 1, SFRAME_FDE_SIZE, 11);
	put_entry(&section, 4096, 16, 0);
	put_attribute(&section, 1, SFRAME_FRE_TYPE_ADDR4, 0);
	put_rows(&section, 1);
	if (pwrite(fd, section.bytes, section.size, 0) < 0 ||
	    ftruncate(fd, size))
		err(2, "hole");
	buffer_free(&section);
}

/* A valid section: identical functions share their rows. */
static void put_shared_rows(struct buffer *section, uint64_t size)
{
	const uint32_t nr_rows = size / 8 / 6 < UINT16_MAX ? size / 8 / 6 :
							      UINT16_MAX;
	const uint64_t rows_size = SFRAME_ATTR_SIZE + nr_rows * 6;
	const uint32_t count = (size - rows_size) / SFRAME_FDE_SIZE;

	put_header(section, 3, count, (uint64_t)count * SFRAME_FDE_SIZE,
		   rows_size);
	for (uint32_t i = 0; i < count; i++)
		put_entry(section, (uint64_t)i * nr_rows, nr_rows, 0);
	put_attribute(section, nr_rows, SFRAME_FRE_TYPE_ADDR4, 0);
	put_rows(section, nr_rows);
}

static void write_raw(int fd, struct buffer *section)
{
	if (pwrite(fd, section->bytes, section->size, 0) !=
	    (ssize_t)section->size)
		err(2, "pwrite");
	buffer_free(section);
}

void hostile_make_shared_rows(int fd, uint64_t size)
{
	struct buffer section = { 0 };

	put_shared_rows(&section, size);
	write_raw(fd, &section);
}

/*
 * Functions whose blocks are all different and overlap: the last bytes of each
 * flexible row are an offset from the CFA, which may have any value, and at the
 * same time the attribute of a function that begins with the next row.
 */
void hostile_make_rows_in_rows(int fd, uint64_t size)
{
	const uint32_t row_size = 4 + 1 + 6 * 4;
	uint32_t count = size / (row_size + SFRAME_FDE_SIZE);
	struct buffer section = { 0 };

	if (count > UINT16_MAX)
		count = UINT16_MAX;
	put_header(&section, 3, count, (uint64_t)count * SFRAME_FDE_SIZE,
		   SFRAME_ATTR_SIZE + (uint64_t)count * row_size);
	for (uint32_t i = 0; i < count; i++)
		put_entry(&section, (uint64_t)i * count, count, i * row_size);
	hostile_put(&section, count, 2);
	hostile_put(&section, SFRAME_FRE_TYPE_ADDR4, 1);
	hostile_put(&section, SFRAME_FDE_TYPE_FLEX, 1);
	hostile_put(&section, 0, 1);
	for (uint32_t i = 0; i < count; i++) {
		/* Only these two bytes differ between the functions. */
		const uint32_t left = count - 1 - i;

		hostile_put(&section, i, 4);
		hostile_put(&section, 6 << SFRAME_FRE_WORD_COUNT_SHIFT |
			    2 << SFRAME_FRE_WORD_SIZE_SHIFT, 1);
		/* CFA = rsp + 8, RA = *(CFA - 8), FP = *(CFA + what follows) */
		hostile_put(&section, SFU_REG_SP << 3 |
			    SFRAME_FLEX_REG, 4);
		hostile_put(&section, 8, 4);
		hostile_put(&section, SFRAME_FLEX_DEREF, 4);
		hostile_put(&section, (uint32_t)-8, 4);
		hostile_put(&section, SFRAME_FLEX_DEREF | left << 24, 4);
		hostile_put(&section, (left >> 8 & 0xff) |
			    SFRAME_FRE_TYPE_ADDR4 << 8 |
			    SFRAME_FDE_TYPE_FLEX << 16, 4);
	}
	write_raw(fd, &section);
}

/*
 * As above, with CFI about one byte for comparison. The code is a hole of the
 * file or, without @has_code, not in it.
 */
static void add_both(int fd, struct buffer *section, bool has_code,
		     uint64_t code_size)
{
	struct buffer cfi = { 0 };
	struct hostile_elf elf;
	size_t cie;

	cie = hostile_put_cie(&cfi, false);
	hostile_end_entry(&cfi, cie);
	hostile_end_entry(&cfi, hostile_put_fde(&cfi, false, cie,
						HOSTILE_TEXT, 1));
	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".sframe", section->bytes,
			    section->size)->sh_addr = HOSTILE_TEXT;
	hostile_add_section(&elf, ".eh_frame", cfi.bytes, cfi.size);
	if (has_code)
		hostile_add_hole(&elf, code_size);
	else
		hostile_add_text(&elf, HOSTILE_TEXT, 0, 0, code_size);
	hostile_end(&elf);
	buffer_free(section);
	buffer_free(&cfi);
}

void hostile_make_verify_blocks(int fd, uint64_t size)
{
	struct buffer section = { 0 };

	put_header(&section, 3, 1, SFRAME_FDE_SIZE, SFRAME_ATTR_SIZE + 12);
	put_entry(&section, 0, size, 0);
	put_attribute(&section, 2, SFRAME_FDE_PCMASK | SFRAME_FRE_TYPE_ADDR4,
		      2);
	put_rows(&section, 2);
	add_both(fd, &section, true, size);
}

void hostile_make_verify_shared_rows(int fd, uint64_t size)
{
	struct buffer section = { 0 };

	put_shared_rows(&section, size);
	add_both(fd, &section, false, size * size);
}

/* One function that both describe, and a symbol table that is a hole. */
void hostile_make_verify_symbols(int fd, uint64_t size)
{
	struct buffer section = { 0 }, cfi = { 0 };
	struct hostile_elf elf;
	Elf64_Shdr *symbols;
	size_t cie;

	put_header(&section, 3, 1, SFRAME_FDE_SIZE, 11);
	put_entry(&section, 0, 16, 0);
	put_attribute(&section, 1, SFRAME_FRE_TYPE_ADDR4, 0);
	put_rows(&section, 1);
	cie = hostile_put_cie(&cfi, false);
	hostile_end_entry(&cfi, cie);
	hostile_end_entry(&cfi, hostile_put_fde(&cfi, false, cie,
						HOSTILE_TEXT, 16));
	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".sframe", section.bytes,
			    section.size)->sh_addr = HOSTILE_TEXT;
	hostile_add_section(&elf, ".eh_frame", cfi.bytes, cfi.size);
	hostile_add_hole(&elf, 4096);
	symbols = hostile_add_section(&elf, ".symtab", NULL,
				      size - size % sizeof(Elf64_Sym));
	symbols->sh_type = SHT_SYMTAB;
	symbols->sh_entsize = sizeof(Elf64_Sym);
	symbols->sh_link = elf.ehdr.e_shnum;	/* section names */
	hostile_end(&elf);
	buffer_free(&section);
	buffer_free(&cfi);
}
