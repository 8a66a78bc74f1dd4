// SPDX-License-Identifier: GPL-2.0
/*
 * Constructions with .eh_frame, .debug_frame, and headers.
 */
#include <err.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "hostile_kinds.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* An .eh_frame with one function. */
static void add_one_function(struct hostile_elf *elf, uint64_t start,
			     uint64_t size)
{
	struct buffer section = { 0 };
	size_t cie;

	cie = hostile_put_cie(&section, false);
	hostile_end_entry(&section, cie);
	hostile_end_entry(&section, hostile_put_fde(&section, false, cie,
						    start, size));
	hostile_add_section(elf, ".eh_frame", section.bytes, section.size);
	buffer_free(&section);
}

/* Nearly all of the code is a hole of the file. */
static void add_code_and_section(int fd, const char *name,
				 struct buffer *section)
{
	struct hostile_elf elf;

	hostile_begin(&elf, fd);
	hostile_add_section(&elf, name, section->bytes, section->size);
	hostile_add_text(&elf, HOSTILE_TEXT, 0, 4096, 1ULL << 40);
	hostile_end(&elf);
	buffer_free(section);
}

void hostile_make_sparse_text(int fd, uint64_t size)
{
	struct hostile_elf elf;

	hostile_begin(&elf, fd);
	add_one_function(&elf, HOSTILE_TEXT + size - 64, 64);
	hostile_add_hole(&elf, size);
	hostile_end(&elf);
}

void hostile_make_sparse_cfi(int fd, uint64_t size)
{
	struct hostile_elf elf;

	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".eh_frame", NULL, size);
	hostile_end(&elf);
}

/* Found by the program headers: from .eh_frame_hdr up to the segment's end. */
void hostile_make_sparse_segment(int fd, uint64_t size)
{
	static const unsigned char index[] = { 1, 0x1b, 0xff, 0xff, 8, 0, 0, 0 };
	struct hostile_elf elf;
	uint64_t offset;

	hostile_begin(&elf, fd);
	offset = hostile_append(&elf, index, sizeof(index));
	hostile_append(&elf, NULL, size);
	hostile_add_text(&elf, HOSTILE_TEXT, offset, size, size);
	hostile_add_text(&elf, HOSTILE_TEXT, offset, 8, 8);
	elf.segments[1].p_type = PT_GNU_EH_FRAME;
	hostile_end(&elf);
}

void hostile_make_overlapping(int fd, uint64_t count)
{
	const uint64_t size = 64 << 20;
	struct hostile_elf elf;
	uint64_t offset;

	hostile_begin(&elf, fd);
	add_one_function(&elf, HOSTILE_TEXT, 64);
	elf.end = (elf.end + 4095) & ~4095ULL;
	offset = hostile_append(&elf, NULL, size);
	for (uint64_t i = 0; i < count; i++)
		hostile_add_text(&elf, HOSTILE_TEXT + i * 4096, offset, size,
				 size);
	hostile_end(&elf);
}

void hostile_make_large_function(int fd, uint64_t size)
{
	struct hostile_elf elf;

	hostile_begin(&elf, fd);
	add_one_function(&elf, 4096, size - 8192);
	hostile_add_text(&elf, 4096, 0, 4096, size);
	hostile_end(&elf);
}

/* Functions of 4 GiB each, enough for the file not to count as small. */
void hostile_make_large_functions(int fd, uint64_t size)
{
	const uint64_t each = UINT32_MAX;
	struct buffer section = { 0 };
	struct hostile_elf elf;
	uint64_t start = 4096;
	size_t cie;

	cie = hostile_put_cie(&section, false);
	hostile_end_entry(&section, cie);
	for (; section.size < size; start += each)
		hostile_end_entry(&section,
				  hostile_put_fde(&section, false, cie, start,
						  each));
	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".eh_frame", section.bytes, section.size);
	hostile_add_text(&elf, 4096, 0, 4096, start);
	hostile_end(&elf);
	buffer_free(&section);
}

void hostile_make_no_cfi(int fd, uint64_t size)
{
	unsigned char *code = malloc(size);
	struct hostile_elf elf;

	if (!code)
		errx(2, "no memory");
	memset(code, 0x90, size);
	hostile_begin(&elf, fd);
	hostile_add_text(&elf, HOSTILE_TEXT, hostile_append(&elf, code, size),
			 size, size);
	hostile_end(&elf);
	free(code);
}

void hostile_make_sections(int fd, uint64_t count)
{
	struct hostile_elf elf;

	hostile_begin(&elf, fd);
	add_one_function(&elf, HOSTILE_TEXT, 64);
	hostile_add_hole(&elf, 4096);
	elf.sections[0].sh_size = count;
	hostile_end(&elf);
	elf.ehdr.e_shnum = 0;
	if (pwrite(fd, &elf.ehdr, sizeof(elf.ehdr), 0) < 0 ||
	    ftruncate(fd, elf.ehdr.e_shoff + count * sizeof(Elf64_Shdr)))
		err(2, "sections");
}

/* Each function's CIE is before the CIE of the previous function. */
void hostile_make_descending_cies(int fd, uint64_t size)
{
	struct buffer section = { 0 };
	size_t count = size / 44, cie = count * 24;

	for (size_t i = 0; i < count; i++) {
		const size_t entry =
			hostile_put_fde(&section, true,
					cie + (count - 1 - i) * 20,
					HOSTILE_TEXT + i * 64, 64);

		put_le(section.bytes + entry, section.size - entry - 4, 4);
	}
	for (size_t i = 0; i < count; i++) {
		const size_t entry = hostile_put_cie(&section, true);

		hostile_put(&section, 0, 2);
		put_le(section.bytes + entry, section.size - entry - 4, 4);
	}
	add_code_and_section(fd, ".debug_frame", &section);
}

/*
 * Each CIE is inside an expression of the one before, and extends over all that
 * follow.
 */
void hostile_make_inner_cies(int fd, uint64_t size)
{
	const size_t count = size / 40;
	struct buffer section = { 0 };
	const size_t outer = hostile_put_cie(&section, true);
	const size_t first = section.size + 3;

	for (size_t i = 0; i < count; i++) {
		/* rbx: the value of an expression of 13 bytes, a CIE's header */
		hostile_put(&section, 0x0d0316, 3);
		hostile_put(&section, (count - 1 - i) * 16 + 9, 4);
		hostile_put(&section, UINT32_MAX, 4);
		hostile_put(&section, 0x1078010001, 5);
	}
	put_le(section.bytes + outer, section.size - outer - 4, 4);
	for (size_t i = 0; i < count; i++) {
		const size_t entry =
			hostile_put_fde(&section, true, first + i * 16,
					HOSTILE_TEXT + i * 64, 64);

		put_le(section.bytes + entry, section.size - entry - 4, 4);
	}
	add_code_and_section(fd, ".debug_frame", &section);
}

/* An expression as long as all rows of its function. */
void hostile_make_expression(int fd, uint64_t size)
{
	struct buffer section = { 0 };
	size_t cie, fde;

	cie = hostile_put_cie(&section, false);
	hostile_end_entry(&section, cie);
	fde = hostile_put_fde(&section, false, cie, HOSTILE_TEXT, size);
	/* rbp is the value of nops and rsp + 0. */
	hostile_put(&section, 0x0616, 2);
	for (uint64_t left = size / 2; ; left >>= 7) {
		hostile_put(&section, (left & 0x7f) | (left > 0x7f ? 0x80 : 0),
			    1);
		if (left <= 0x7f)
			break;
	}
	for (uint64_t i = 0; i < size / 2 - 2; i++)
		hostile_put(&section, 0x96, 1);
	hostile_put(&section, 0x0077, 2);
	/* A different CFA at each byte. */
	for (uint64_t i = 0; i < size / 6; i++)
		hostile_put(&section, 0x41 | 0x0e << 8 | (8 + i % 2 * 8) << 16,
			    3);
	hostile_end_entry(&section, fde);
	add_code_and_section(fd, ".eh_frame", &section);
}

/* Valid CFI at maximum density: two bytes a row. */
void hostile_make_dense_rows(int fd, uint64_t size)
{
	struct buffer section = { 0 };
	size_t cie, fde;

	cie = hostile_put_cie(&section, false);
	hostile_end_entry(&section, cie);
	while (section.size < size) {
		fde = hostile_put_fde(&section, false, cie,
				      HOSTILE_TEXT + section.size * 64, 4096);
		/*
		 * Remember two states alternately, and restore one at each
		 * byte.
		 */
		for (unsigned int i = 0; i < 512; i++)
			hostile_put(&section, 0x0a | 0x0e << 8 |
				    (8 + i % 2 * 8) << 16, 3);
		for (unsigned int i = 0; i < 512; i++)
			hostile_put(&section, 0x0b41, 2);
		hostile_end_entry(&section, fde);
	}
	add_code_and_section(fd, ".eh_frame", &section);
}

static void add_compressed(int fd, uint32_t type, uint64_t size,
			   const void *bytes, uint64_t packed_size)
{
	const Elf64_Chdr header = { .ch_type = type, .ch_size = size,
				    .ch_addralign = 1 };
	struct buffer section = { 0 };
	struct hostile_elf elf;

	hostile_put_bytes(&section, &header, sizeof(header));
	hostile_put_bytes(&section, bytes, packed_size);
	hostile_begin(&elf, fd);
	hostile_add_section(&elf, ".debug_frame", section.bytes,
			    section.size)->sh_flags = SHF_COMPRESSED;
	hostile_add_hole(&elf, 4096);
	hostile_end(&elf);
	buffer_free(&section);
}

#define CHUNK (1U << 20)

/* Compressed zeroes; @size is their uncompressed size. */
void hostile_make_zlib(int fd, uint64_t size)
{
	static unsigned char zeroes[CHUNK], out[CHUNK];
	struct buffer packed = { 0 };
	z_stream stream = { 0 };
	uint64_t done = 0;
	int ret;

	deflateInit(&stream, Z_BEST_COMPRESSION);
	do {
		if (!stream.avail_in && done < size) {
			stream.next_in = zeroes;
			stream.avail_in = CHUNK;
			done += CHUNK;
		}
		stream.next_out = out;
		stream.avail_out = CHUNK;
		ret = deflate(&stream, done < size ? Z_NO_FLUSH : Z_FINISH);
		hostile_put_bytes(&packed, out, CHUNK - stream.avail_out);
	} while (ret != Z_STREAM_END);
	deflateEnd(&stream);
	add_compressed(fd, ELFCOMPRESS_ZLIB, done, packed.bytes, packed.size);
	buffer_free(&packed);
}

void hostile_make_zstd(int fd, uint64_t size)
{
	static unsigned char zeroes[CHUNK], out[CHUNK];
	ZSTD_CCtx *context = ZSTD_createCCtx();
	struct buffer packed = { 0 };
	uint64_t done = 0;
	size_t left;

	do {
		ZSTD_inBuffer from = { zeroes, CHUNK, 0 };

		done += CHUNK;
		do {
			ZSTD_outBuffer to = { out, CHUNK, 0 };

			left = ZSTD_compressStream2(context, &to, &from,
						    done < size ?
						    ZSTD_e_continue :
						    ZSTD_e_end);
			hostile_put_bytes(&packed, out, to.pos);
		} while (from.pos < from.size || (done >= size && left));
	} while (done < size);
	ZSTD_freeCCtx(context);
	add_compressed(fd, ELFCOMPRESS_ZSTD, done, packed.bytes, packed.size);
	buffer_free(&packed);
}
