// SPDX-License-Identifier: GPL-2.0
/*
 * elf: the headers of a file of arbitrary bytes. The result must be as
 * module/file/elf.h promises, and the error of a failing read must be passed
 * on.
 */
#include "file/elf.h"
#include "fuzz.h"

#define PAGE_BYTES	4096
#define USER_END	(1ULL << 47)

struct file {
	struct sfu_elf_reader reader;
	const u8 *bytes;
	size_t size;
	u32 reads;
	u32 fail_at;	/* number of the read that fails, starting from 1; 0 for none */
};

static int read_file(const struct sfu_elf_reader *reader, u64 offset, void *to,
		     u32 size)
{
	struct file *file = (struct file *)reader;

	if (++file->reads == file->fail_at)
		return -EINTR;
	if (offset > file->size || size > file->size - offset)
		return -EFAULT;
	memcpy(to, file->bytes + offset, size);
	return 0;
}

/*
 * Whether offset @offset of the file is in the pages that @segment maps: whole
 * pages, starting with that of its first byte, so that an empty segment may
 * have a page.
 */
static bool has_page(const struct sfu_elf_segment *segment, u64 offset)
{
	const u64 first = segment->offset / PAGE_BYTES;
	const u64 end = segment->offset + segment->filesz;
	const u64 page = offset / PAGE_BYTES;

	return end > first * PAGE_BYTES && page >= first &&
	       page <= (end - 1) / PAGE_BYTES;
}

static void check_find(const struct sfu_elf *elf, u64 offset)
{
	const struct sfu_elf_segment *found = sfu_elf_find_segment(elf, offset);
	bool any = false;
	u32 i;

	for (i = 0; i < elf->nr_segments; i++)
		any |= has_page(&elf->segments[i], offset);
	FUZZ_CHECK(any == !!found && (!found || has_page(found, offset)),
		   "segment of %#llx", (unsigned long long)offset);
}

static void check_segment(const struct sfu_elf *elf,
			  const struct sfu_elf_segment *s)
{
	FUZZ_CHECK(s->memsz && s->filesz <= s->memsz, "sizes");
	FUZZ_CHECK(s->offset < USER_END && s->filesz < USER_END, "offset");
	FUZZ_CHECK(s->vaddr < USER_END && s->memsz < USER_END - s->vaddr,
		   "address");
	FUZZ_CHECK((s->vaddr - s->offset) % PAGE_BYTES == 0, "pages");
	FUZZ_CHECK(sfu_elf_is_code(elf, s->vaddr, s->memsz), "is no code");
	check_find(elf, s->offset - 1);
	check_find(elf, s->offset);
	check_find(elf, s->offset / PAGE_BYTES * PAGE_BYTES);
	check_find(elf, s->offset + s->filesz - 1);
	check_find(elf, s->offset + s->filesz);
	check_find(elf, s->offset + s->filesz + PAGE_BYTES);
}

static void check_elf(const struct sfu_elf *elf)
{
	u32 i;

	FUZZ_CHECK(elf->nr_segments && elf->nr_segments <= SFU_ELF_MAX_SEGMENTS,
		   "%u segments", elf->nr_segments);
	FUZZ_CHECK(elf->build_id_size <= SFU_ELF_MAX_BUILD_ID, "build ID of %u",
		   elf->build_id_size);
	FUZZ_CHECK(elf->sframe_offset < USER_END &&
		   elf->sframe_size < USER_END &&
		   (!elf->sframe_size ||
		    elf->sframe_size < USER_END - elf->sframe_vaddr),
		   "PT_GNU_SFRAME");
	for (i = 0; i < elf->nr_segments; i++)
		check_segment(elf, &elf->segments[i]);
	check_find(elf, 0);
	check_find(elf, ~0ULL);
	FUZZ_CHECK(!sfu_elf_is_code(elf, ~0ULL, 2) &&
		   !sfu_elf_is_code(elf, 0, ~0ULL), "all is code");
}

void fuzz_elf(const u8 *data, size_t size)
{
	struct file file = {
		.reader.read = read_file,
		.bytes = data,
	};
	struct sfu_elf elf;
	u8 fail_at;
	int ret;

	if (!fuzz_take_tail(data, &size, &fail_at, sizeof(fail_at)))
		return;
	file.size = size;
	file.fail_at = fail_at;
	memset(&elf, 0xa5, sizeof(elf));
	ret = sfu_elf_read(&elf, &file.reader);
	if (fail_at && file.reads >= fail_at) {
		FUZZ_CHECK(ret == -EINTR && file.reads == fail_at,
			   "%d, %u reads", ret, file.reads);
		FUZZ_CHECK(!elf.problem, "%s", elf.problem);
		return;
	}
	FUZZ_CHECK(!ret || ret == -EINVAL || ret == -EOPNOTSUPP, "%d", ret);
	FUZZ_CHECK(!ret == !elf.problem, "%d without a problem", ret);
	if (!ret)
		check_elf(&elf);
}
