// SPDX-License-Identifier: GPL-2.0
/* Every file of elf_broken.h is accepted or refused as stated there. */
#include <stdlib.h>

#include "elf_broken.h"
#include "file/elf.h"
#include "tap.h"

/* A file in memory, allocated to the byte. */
struct memory_file {
	struct sfu_elf_reader reader;
	const u8 *bytes;
	size_t size;
	unsigned int reads;
	int fail_at;		/* number of the read that fails, starting from 1 */
};

static int read_memory(const struct sfu_elf_reader *reader, u64 offset,
		       void *to, u32 size)
{
	struct memory_file *file = (struct memory_file *)reader;

	if ((int)++file->reads == file->fail_at)
		return -EIO;
	if (offset > file->size || size > file->size - offset)
		return -EFAULT;
	memcpy(to, file->bytes + offset, size);
	return 0;
}

static int read_bytes(struct sfu_elf *elf, const void *bytes, size_t size,
		      int fail_at, unsigned int *reads)
{
	struct memory_file file = {
		.reader.read = read_memory,
		.size = size,
		.fail_at = fail_at,
	};
	u8 *copy = malloc(size ? size : 1);
	int err;

	memcpy(copy, bytes, size);
	file.bytes = size ? copy : copy + 1;
	memset(elf, 0xa5, sizeof(*elf));
	err = sfu_elf_read(elf, &file.reader);
	free(copy);
	if (reads)
		*reads = file.reads;
	return err;
}

/* Properties of every result, whatever the file. */
static void expect_sane(const struct sfu_elf *elf, int err)
{
	u32 i;

	EXPECT(err == 0 || err == -EINVAL || err == -EOPNOTSUPP);
	EXPECT(!err == !elf->problem);
	if (err)
		return;
	EXPECT(elf->nr_segments > 0 &&
	       elf->nr_segments <= SFU_ELF_MAX_SEGMENTS);
	EXPECT(elf->build_id_size <= SFU_ELF_MAX_BUILD_ID);
	for (i = 0; i < elf->nr_segments; i++) {
		const struct sfu_elf_segment *s = &elf->segments[i];

		EXPECT(s->memsz && s->filesz <= s->memsz);
		EXPECT(s->offset + s->filesz >= s->offset);
		EXPECT(s->vaddr + s->memsz > s->vaddr);
		EXPECT(s->vaddr + s->memsz < 1ULL << 47);
		EXPECT((s->vaddr - s->offset) % 4096 == 0);
		EXPECT(sfu_elf_is_code(elf, s->vaddr, s->memsz));
		EXPECT(!s->filesz || sfu_elf_find_segment(elf, s->offset));
	}
	EXPECT(!sfu_elf_find_segment(elf, 1ULL << 63));
	EXPECT(!sfu_elf_is_code(elf, ~0ULL, 2));
	EXPECT(!sfu_elf_is_code(elf, 0, ~0ULL));
	EXPECT(elf->sframe_offset + elf->sframe_size >= elf->sframe_offset);
	EXPECT(elf->sframe_vaddr + elf->sframe_size >= elf->sframe_vaddr);
}

static void run(const struct elf_broken *b)
{
	struct elf_base base;
	const size_t size = elf_broken_build(b, &base);
	const int attach = b->err ? b->err : b->attach;
	struct sfu_elf elf;
	unsigned int reads;
	u32 i;

	EXPECT_EQ(read_bytes(&elf, &base, size, 0, &reads), -b->err);
	expect_sane(&elf, -b->err);
	/* Each header is read at most once, each note at most twice. */
	EXPECT(reads <= 1 + 128 + 2 * 64);
	if (!b->err) {
		EXPECT_EQ(elf.build_id_size, b->id_size);
		for (i = 0; i < b->id_size; i++)
			EXPECT_EQ(elf.build_id[i], 0x1d);
		EXPECT_EQ(sfu_elf_is_code(&elf, ELF_SMALL_VADDR, 64) &&
			  sfu_elf_is_code(&elf, ELF_LARGE_VADDR, 64), !attach);
	}
	/* An error of the read function is passed on, wherever it occurs. */
	for (i = 1; i <= reads; i++)
		EXPECT_EQ(read_bytes(&elf, &base, size, i, NULL), -EIO);
}

/* The intact file, all members of which are known. */
static void good(void)
{
	const struct sfu_elf_segment *segment;
	struct elf_base base;
	struct sfu_elf elf;

	elf_base_init(&base);
	EXPECT_EQ(read_bytes(&elf, &base, sizeof(base), 0, NULL), 0);
	EXPECT_EQ(elf.nr_segments, 2);
	EXPECT_EQ(elf.sframe_offset, ELF_AT(sframe));
	EXPECT_EQ(elf.sframe_vaddr, ELF_AT(sframe));
	EXPECT_EQ(elf.sframe_size, sizeof(base.sframe));
	segment = sfu_elf_find_segment(&elf, ELF_SMALL_OFFSET);
	EXPECT(segment && segment->vaddr == ELF_SMALL_VADDR);
	EXPECT(sfu_elf_find_segment(&elf, ELF_LARGE_OFFSET - 1) == segment);
	segment = sfu_elf_find_segment(&elf, ELF_LARGE_OFFSET);
	EXPECT(segment && segment->vaddr == ELF_LARGE_VADDR);
	/* Segments cover whole pages, as their mappings do. */
	EXPECT(sfu_elf_find_segment(&elf, ELF_LARGE_OFFSET + 0xfff) == segment);
	EXPECT(!sfu_elf_find_segment(&elf, ELF_LARGE_OFFSET + 0x1000));
	EXPECT(!sfu_elf_find_segment(&elf, ELF_SMALL_OFFSET - 1));
	EXPECT(sfu_elf_is_code(&elf, ELF_LARGE_VADDR, 0x100));
	EXPECT(!sfu_elf_is_code(&elf, ELF_LARGE_VADDR, 0x101));
	EXPECT(!sfu_elf_is_code(&elf, ELF_LARGE_VADDR - 1, 2));
	EXPECT(!sfu_elf_is_code(&elf, ELF_SMALL_VADDR + 0xfff, 2));
}

static void cut_everywhere(void)
{
	struct elf_base base;
	struct sfu_elf elf;
	size_t size;

	elf_base_init(&base);
	for (size = 0; size <= sizeof(base); size++)
		expect_sane(&elf, read_bytes(&elf, &base, size, 0, NULL));
}

/* Set each byte of the headers and the note to each of a few values. */
static void each_byte(void)
{
	static const u8 values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct elf_base base;
	struct sfu_elf elf;
	size_t at, i;

	for (at = 0; at < ELF_AT(behind_note); at++) {
		for (i = 0; i < sizeof(values); i++) {
			elf_base_init(&base);
			((u8 *)&base)[at] = values[i];
			expect_sane(&elf, read_bytes(&elf, &base, sizeof(base),
						     0, NULL));
		}
	}
}

static u64 next_random(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Change several members of random program headers, and random bytes. */
static void at_random(void)
{
	static const u64 odd[] = {
		0, 1, 7, 0xfff, 0x1000, 0x3000, 1ULL << 31, 1ULL << 32,
		(1ULL << 47) - 0x1000, 1ULL << 47, 1ULL << 63, -1ULL,
		-0x1000ULL, PT_LOAD | 5ULL << 32, PT_NOTE, PT_GNU_SFRAME,
	};
	struct elf_base base;
	struct sfu_elf elf;
	u64 state = 1;
	unsigned int run, i;

	for (run = 0; run < 200000; run++) {
		elf_base_init(&base);
		for (i = next_random(&state) % 6 + 1; i; i--) {
			u64 *words = (u64 *)base.phdr;
			const size_t word = next_random(&state) %
					    (sizeof(base.phdr) / 8);
			const size_t byte = next_random(&state) %
					    ELF_AT(behind_note);

			words[word] = odd[next_random(&state) % 16];
			if (!(next_random(&state) % 4))
				((u8 *)&base)[byte] = next_random(&state);
		}
		expect_sane(&elf, read_bytes(&elf, &base, sizeof(base), 0,
					     NULL));
	}
}

static void unique_names(void)
{
	unsigned int i, j;

	for (i = 0; i < ELF_NR_BROKEN; i++)
		for (j = 0; j < i; j++)
			if (!strcmp(elf_broken[i].name, elf_broken[j].name))
				tap_fail("%s twice", elf_broken[i].name);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(unique_names),
		TAP_TEST(good),
		TAP_TEST(cut_everywhere),
		TAP_TEST(each_byte),
		TAP_TEST(at_random),
	};
	unsigned int i;

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	for (i = 0; i < ELF_NR_BROKEN; i++) {
		run(&elf_broken[i]);
		tap_case("%s %s: %s", elf_broken[i].err ? "refused" : "taken",
			 elf_broken[i].name, elf_broken[i].what);
	}
	return tap_done();
}
