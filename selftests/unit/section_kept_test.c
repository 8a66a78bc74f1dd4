// SPDX-License-Identifier: GPL-2.0
/*
 * Conversions through the cache: a result is found only for the contents it was
 * made from.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cfi_file.h"
#include "memory_file.h"
#include "section_cache.h"

/* --- inputs of conversions */

static struct cfi_file file;

static int convert(struct sframe_unwind_converted **to)
{
	const struct sframe_unwind_convert_options options = {
		.cache_dir = dir,
	};
	const int fd = memory_file(&file, sizeof(file));
	int err;

	err = sframe_unwind_convert_cached(fd, "file", &options, to);
	close(fd);
	return err;
}

/*
 * Whether converting through the cache gives the result of @file, and the
 * result was in the cache before if and only if @is_known.
 */
static bool converts_well(bool is_known)
{
	struct sframe_unwind_converted *right, *found = NULL;
	bool is_right = false;

	if (sframe_unwind_convert_memory(&file, sizeof(file), "file", NULL,
					 &right))
		return false;
	if (!convert(&found))
		is_right = found->size == right->size &&
			   !memcmp(found->bytes, right->bytes, right->size) &&
			   found->cache_file && !access(found->cache_file, 0) &&
			   !found->cache_problem &&
			   is_known == !!(found->flags &
					  SFRAME_UNWIND_CONVERTED_FROM_CACHE);
	sframe_unwind_converted_free(right);
	sframe_unwind_converted_free(found);
	return is_right;
}

/* The hash that names in the cache were once made from, besides the build ID. */
static uint64_t old_hash(uint64_t hash, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ words[i]) * 0x100000001b3;
		hash ^= hash >> 32;
	}
	return hash;
}

/*
 * Different contents with the same build ID and, by choosing one free word, the
 * same old hash.
 */
static void forged(void)
{
	/* The old hash started with the section's address and size. */
	const uint64_t place[] = { CFI_AT(eh_frame), CFI_SIZE(eh_frame) };
	const uint64_t start = old_hash(0xcbf29ce484222325, place, 2);
	/* Words of no-operations at the end of a function's program. */
	const size_t changed = CFI_AT(eh_frame.fde[0].program[7]) + 7 - CFI_AT(eh_frame);
	const size_t at = changed / 8;
	uint64_t good[CFI_SIZE(eh_frame) / 8], bad[CFI_SIZE(eh_frame) / 8];

	EXPECT(begin());
	cfi_file_init(&file);
	EXPECT(converts_well(false));
	EXPECT(converts_well(true));
	memcpy(good, &file.eh_frame, sizeof(good));
	memcpy(bad, good, sizeof(bad));
	/*
	 * CFA + 128 after the first instruction, then a word that restores the
	 * hash.
	 */
	bad[at] = 0x000000000001800e;
	bad[at + 1] ^= old_hash(start, good, at + 1) ^
		       old_hash(start, bad, at + 1);
	EXPECT(memcmp(good, bad, sizeof(bad)));
	EXPECT_EQ(old_hash(start, good, sizeof(good) / 8),
		  old_hash(start, bad, sizeof(bad) / 8));
	memcpy(&file.eh_frame, bad, sizeof(bad));
	EXPECT(converts_well(false));
	/* In the opposite order. */
	EXPECT(begin());
	EXPECT(converts_well(false));
	cfi_file_init(&file);
	EXPECT(converts_well(false));
}

/* Bytes between functions affect the result, but are not in .eh_frame. */
static void other_code(void)
{
	EXPECT(begin());
	cfi_file_init(&file);
	EXPECT(converts_well(false));
	memset(file.text + CFI_NOPS, 0xc3, CFI_SECOND - CFI_NOPS);
	EXPECT(converts_well(false));
}

static void without_build_id(void)
{
	EXPECT(begin());
	cfi_file_init(&file);
	file.note.header.n_type = 0;
	EXPECT(converts_well(false));
	EXPECT(converts_well(true));
}

/*
 * A section that libelf decompresses, for which it modifies the header in the
 * image.
 */
static void compressed(void)
{
	const Elf64_Chdr header = {
		.ch_type = ELFCOMPRESS_ZLIB,
		.ch_size = 8,
		.ch_addralign = 8,
	};
	/* One stored block of 8 zero bytes, and the checksum. */
	static const uint8_t zeroes[] = { 0x78, 0x01, 1, 8, 0, 0xf7, 0xff,
					  0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1 };
	struct sframe_unwind_converted *found;

	EXPECT(begin());
	cfi_file_init(&file);
	memcpy(file.data, &header, sizeof(header));
	memcpy(file.data + sizeof(header), zeroes, sizeof(zeroes));
	file.shdr[CFI_DEBUG_FRAME].sh_flags = SHF_COMPRESSED;
	file.shdr[CFI_DEBUG_FRAME].sh_offset = CFI_AT(data);
	file.shdr[CFI_DEBUG_FRAME].sh_size = sizeof(header) + sizeof(zeroes);
	EXPECT_EQ(convert(&found), 0);
	EXPECT_EQ(found->nr_functions, 2);
	sframe_unwind_converted_free(found);
	EXPECT_EQ(convert(&found), 0);
	EXPECT(found->flags & SFRAME_UNWIND_CONVERTED_FROM_CACHE);
	sframe_unwind_converted_free(found);
}

/*
 * The kernel uses the build ID of the segments; the section headers may name
 * another one.
 */
static void kernels_build_id(void)
{
	struct sframe_unwind_converted *found;

	EXPECT(begin());
	cfi_file_init(&file);
	memcpy(file.data, &file.note, sizeof(file.note));
	memset(file.data + offsetof(typeof(file.note), id), 0xbd, CFI_ID_SIZE);
	file.shdr[CFI_ID].sh_offset = CFI_AT(data);
	EXPECT_EQ(convert(&found), 0);
	EXPECT_EQ(found->build_id_size, CFI_ID_SIZE);
	EXPECT(!memcmp(found->build_id, file.note.id, CFI_ID_SIZE));
	sframe_unwind_converted_free(found);
	file.phdr[CFI_NOTE].p_type = PT_NULL;
	EXPECT_EQ(convert(&found), 0);
	EXPECT_EQ(found->build_id_size, 0);
	sframe_unwind_converted_free(found);
}

/* A result is returned along with the reason why it could not be kept. */
static void problems(void)
{
	struct sframe_unwind_converted *found;

	EXPECT(begin());
	cfi_file_init(&file);
	room_to_write = 10;
	EXPECT_EQ(convert(&found), 0);
	room_to_write = -1;
	EXPECT(!found->cache_file && !found->flags);
	EXPECT(strstr(found->cache_problem, "No space left on device"));
	EXPECT(strstr(found->cache_problem, dir) == found->cache_problem);
	sframe_unwind_converted_free(found);
	EXPECT(!*sframe_unwind_convert_error());
	EXPECT(!chmod(dir, 0777));
	EXPECT_EQ(convert(&found), 0);
	EXPECT(!found->cache_file);
	EXPECT(strstr(found->cache_problem, "others can write to it"));
	sframe_unwind_converted_free(found);
	EXPECT(!chmod(dir, 0700));
	/* A damaged file is replaced. */
	EXPECT_EQ(convert(&found), 0);
	EXPECT(!truncate(found->cache_file, 100));
	sframe_unwind_converted_free(found);
	EXPECT(converts_well(false));
	EXPECT(converts_well(true));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(forged),
		TAP_TEST(other_code),
		TAP_TEST(without_build_id),
		TAP_TEST(compressed),
		TAP_TEST(kernels_build_id),
		TAP_TEST(problems),
	};

	return run_with_cache(tests, sizeof(tests) / sizeof(tests[0]));
}
