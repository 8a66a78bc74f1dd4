// SPDX-License-Identifier: GPL-2.0
/*
 * make_seeds DIRECTORY FILE...: make seeds from real sections.
 *
 * A FILE is a section, or an ELF file with a section. Writes, each named after
 * its file and a number:
 *
 *	DIRECTORY/validate	the section; if it is large, a few of its functions
 *				at a time, as sections of their own; the same as
 *				extended sections
 *	DIRECTORY/decode	the same with addresses to look up
 *	DIRECTORY/object	objects as they are announced to debuggers
 *	DIRECTORY/elf		the headers of ELF files, and the files of
 *				selftests/fixtures/elf_broken.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "decode.h"
#include "elf_broken.h"
#include "elf_section.h"
#include "selftests/include/announced_object.h"
#include "lookup.h"
#include "output.h"
#include "decode/bytes.h"
#include "decode/sframe_format.h"

/* Larger sections are split into pieces of some functions. */
#define MAX_SECTION	768
#define MAX_FUNCTIONS	4

/* Bytes of an ELF file's headers that are written. */
#define MAX_HEADERS	2048

static const char *directory;
static char name[200];
static unsigned int number;

static FILE *create(const char *target)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s-%u", directory, target, name,
		 number++);
	return output_create(path);
}

static void write_decode(const u8 *section, u64 size,
			 const struct decode_tail *tail)
{
	FILE *file = create("decode");

	fwrite(section, 1, size, file);
	fwrite(tail, 1, sizeof(*tail), file);
	output_done(file);
}

/* Write seeds with an address in each of a few functions, with different flags. */
static void write_seeds(const u8 *section, u64 size)
{
	static const u8 flags[] = {
		DECODE_EXACT | DECODE_FP_KNOWN,
		DECODE_MAPPED | DECODE_FP_KNOWN | DECODE_FP_ZERO,
		DECODE_EXACT | DECODE_REGS,
		DECODE_MAPPED | DECODE_FP_KNOWN | DECODE_SIGCONTEXT,
		DECODE_EXACT | DECODE_FP_KNOWN | DECODE_REGS,
		0,
	};
	struct decode_tail tail = { 0 };
	FILE *file = create("validate");
	u32 i;

	fwrite(section, 1, size, file);
	output_done(file);
	for (i = 0; i < sizeof(flags); i++) {
		tail.flags = DECODE_PC_IN_FDE | flags[i];
		tail.fde = i * 3;
		tail.pc = 1 + 7 * i;
		tail.sp = 24;
		tail.fp = 40 * (i != 1);
		tail.budget = i == 5 ? 1 : 200;
		write_decode(section, size, &tail);
	}
}

static void put_le(u8 *to, u64 value, int size)
{
	while (size--) {
		*to++ = value;
		value >>= 8;
	}
}

/* Tables of an extended section: three runs in two blocks, with two layouts. */
static const u8 tables[] = {
	0, 0, 0, 0, 2, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 3, 4, 5, 0, SFRAME_EXT_SLOT_UNKNOWN, 2,
	SFRAME_EXT_LAYOUT_FP | SFRAME_EXT_LAYOUT_KEPT | 4,
	0, 0, 0, 8, 0, 1, 0, 0x10, 0,
	0, 0, 0,
};

/* Write a section, and, if it can be opened, the same as an extended one. */
static void write_section(const u8 *section, u64 size)
{
	const struct sfu_bytes bytes = bytes_at(section, size, 0);
	const u32 more = SFRAME_EXT_SIZE + sizeof(tables);
	struct sfu_defect defect;
	struct sfu_table table;
	u8 *to, *ext;

	write_seeds(section, size);
	if (sfu_table_open(&table, &bytes, &defect))
		return;
	to = calloc(1, size + more);
	if (!to)
		abort();
	ext = to + SFRAME_HDR_SIZE;
	memcpy(to, section, SFRAME_HDR_SIZE);
	to[SFRAME_HDR_AUXHDR_LEN] = SFRAME_EXT_SIZE;
	put_le(to + SFRAME_HDR_FDE_OFF, get_le32(section + SFRAME_HDR_FDE_OFF) +
	       sizeof(tables), 4);
	put_le(to + SFRAME_HDR_FRE_OFF, get_le32(section + SFRAME_HDR_FRE_OFF) +
	       sizeof(tables), 4);
	put_le(to + SFRAME_EXT_MAGIC, SFRAME_EXT_MAGIC_VALUE, 4);
	put_le(to + SFRAME_EXT_VERSION, SFRAME_EXT_VERSION_VALUE, 2);
	put_le(to + SFRAME_EXT_BASE, 0x1000, 8);
	put_le(to + SFRAME_EXT_NUM_BLOCKS, 2, 4);
	put_le(to + SFRAME_EXT_NUM_RUNS, 3, 4);
	put_le(to + SFRAME_EXT_NUM_LAYOUTS, 2, 4);
	memcpy(ext + SFRAME_EXT_SIZE, tables, sizeof(tables));
	memcpy(ext + more, section + SFRAME_HDR_SIZE, size - SFRAME_HDR_SIZE);
	/* Such starts are relative to where they are. */
	for (u32 i = 0; i < table.num_fdes && table.pcrel; i++) {
		u8 *start = to + more + table.index + i * SFRAME_FDE_SIZE;

		put_le(start, get_le64(start) - more, 8);
	}
	write_seeds(to, size + more);
	free(to);
}

/* Offset behind the rows of @fde, or 0 if they cannot be read. */
static u64 end_of_rows(const struct sfu_table *table, const struct sfu_fde *fde)
{
	struct sfu_defect defect;
	struct sfu_rows rows;
	struct sfu_row row;
	int ret;

	sfu_rows_begin(&rows, table, fde);
	while ((ret = sfu_rows_next(&rows, &row, &defect)) > 0)
		;
	return ret ? 0 : rows.next;
}

/* Write functions @first to @last of @table, with their rows, as a section. */
static void write_piece(const struct sfu_table *table, const u8 *bytes,
			u32 first, u32 last)
{
	const u64 nr = last - first + 1, fres = SFRAME_HDR_SIZE + nr * 16;
	u64 end = fres, length, at = SFRAME_HDR_SIZE;
	u8 piece[MAX_SECTION];
	struct sfu_defect defect;
	struct sfu_fde fde;
	u32 i;

	memcpy(piece, bytes, SFRAME_HDR_SIZE);
	for (i = first; i <= last; i++, at += 16) {
		if (sfu_table_read_fde(table, i, &fde, &defect))
			return;
		length = end_of_rows(table, &fde);
		if (!length)
			return;
		length -= fde.block;
		if (length > sizeof(piece) - end)
			return;
		put_le(piece + at, fde.start - table->bytes.address -
				   (table->pcrel ? at : 0), 8);
		put_le(piece + at + SFRAME_FDE_FUNC_SIZE, fde.size, 4);
		put_le(piece + at + SFRAME_FDE_FRE_OFF, end - fres, 4);
		memcpy(piece + end, bytes + fde.block, length);
		end += length;
	}
	put_le(piece + SFRAME_HDR_NUM_FDES, nr, 4);
	put_le(piece + SFRAME_HDR_FDE_OFF, 0, 4);
	put_le(piece + SFRAME_HDR_FRE_OFF, nr * 16, 4);
	put_le(piece + SFRAME_HDR_FRE_LEN, end - fres, 4);
	write_section(piece, end);
}

static void cut_section(const u8 *section, u64 size, u64 address)
{
	const struct sfu_bytes bytes = bytes_at(section, size, address);
	struct sfu_defect defect;
	struct sfu_table table;
	u32 i;

	if (size <= MAX_SECTION) {
		write_section(section, size);
		return;
	}
	if (sfu_table_open(&table, &bytes, &defect))
		return;
	for (i = 0; i + MAX_FUNCTIONS <= table.num_fdes; i += MAX_FUNCTIONS)
		write_piece(&table, section, i, i + MAX_FUNCTIONS - 1);
}

/* Write @size bytes as a seed without a failing read. */
static void write_elf(const void *bytes, size_t size)
{
	FILE *file = create("elf");

	fwrite(bytes, 1, size, file);
	fputc(0, file);
	output_done(file);
}

/* Write an object whose .eh_frame has a relocation of @type. */
static void write_object(const char *of, unsigned int type)
{
	static const unsigned char text[OBJECT_MAX_TEXT];
	struct announced_object object;
	FILE *file;

	make_announced_object(&object, 0x7f1234567000, text, sizeof(text), 8);
	object.rela[0].r_info = ELF64_R_INFO(1, type);
	snprintf(name, sizeof(name), "%s", of);
	file = create("object");
	fwrite(&object, 1, sizeof(object), file);
	output_done(file);
}

static void read_file(const char *path)
{
	const char *base = strrchr(path, '/');
	struct elf_section section;
	u8 bytes[65536];
	size_t size;
	FILE *file;

	snprintf(name, sizeof(name), "%s", base ? base + 1 : path);
	file = fopen(path, "r");
	if (!file) {
		perror(path);
		exit(1);
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG)) {
		cut_section(bytes, size, 0);
		return;
	}
	write_elf(bytes, size < MAX_HEADERS ? size : MAX_HEADERS);
	if (elf_section_open(&section, path)) {
		cut_section(section.bytes, section.size, section.address);
		elf_section_close(&section);
	}
}

int main(int argc, char **argv)
{
	struct elf_base elf;
	unsigned int i;
	int arg;

	if (argc < 2) {
		fprintf(stderr, "usage: make_seeds DIRECTORY FILE...\n");
		return 2;
	}
	directory = argv[1];
	for (arg = 2; arg < argc; arg++)
		read_file(argv[arg]);
	for (i = 0; i < ELF_NR_BROKEN; i++) {
		const size_t size = elf_broken_build(&elf_broken[i], &elf);

		snprintf(name, sizeof(name), "%s", elf_broken[i].name);
		write_elf(&elf, size < MAX_HEADERS ? size : MAX_HEADERS);
	}
	write_object("object-relocated", R_X86_64_PC32);
	write_object("object-absolute", R_X86_64_64);
	return 0;
}
