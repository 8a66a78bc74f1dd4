// SPDX-License-Identifier: GPL-2.0
/* Snapshots: what is read of a file, how much, and what becomes of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi_file.h"
#include "convert/message.h"
#include "convert/snapshot.h"
#include "elf_broken.h"
#include "memory_file.h"
#include "tap.h"

/* As in module/sframe_format.h */
#define SFRAME_HEADER_SIZE 28

static struct cfi_file file;
static struct sfu_snapshot snapshot;

/* Take a snapshot of @file. Returns what sfu_snapshot_take() does. */
static int take_with(const struct sfu_snapshot_limits *limits)
{
	const int fd = memory_file(&file, sizeof(file));
	int err;

	sfu_snapshot_free(&snapshot);
	watch_reads(fd);
	sfu_message_begin("file");
	err = sfu_snapshot_take(fd, limits, &snapshot);
	close(fd);
	watched = -1;
	return err;
}

static int take(void)
{
	return take_with(NULL);
}

/* In order: @file made anew. */
static void begin(void)
{
	cfi_file_init(&file);
}

/* Is [offset, offset + size) in the snapshot as it is in @file? */
static bool has(uint64_t offset, size_t size)
{
	unsigned char *bytes = malloc(size);
	bool is_same;

	is_same = pread(snapshot.fd, bytes, size, offset) == (ssize_t)size &&
		  !memcmp(bytes, (const char *)&file + offset, size);
	free(bytes);
	return is_same;
}

static bool is_empty(uint64_t offset, size_t size)
{
	unsigned char *bytes = calloc(2, size);
	bool is_zero;

	is_zero = pread(snapshot.fd, bytes, size, offset) == (ssize_t)size &&
		  !memcmp(bytes, bytes + size, size);
	free(bytes);
	return is_zero;
}

#define HAS(member)	has(CFI_AT(member), CFI_SIZE(member))
#define EMPTY(member)	is_empty(CFI_AT(member), CFI_SIZE(member))

/* --- what is taken */

static void has_what_conversions_need(void)
{
	static const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
				 F_SEAL_WRITE;
	char byte = 0;

	begin();
	memset(file.debug_frame, 0xdf, sizeof(file.debug_frame));
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(ehdr) && HAS(phdr) && HAS(shdr) && HAS(names) && HAS(note) &&
	       HAS(eh_frame) && HAS(debug_frame) && HAS(sframe) && HAS(text));
	EXPECT(EMPTY(data));
	EXPECT_EQ(snapshot.size, sizeof(file));
	EXPECT_EQ(lseek(snapshot.fd, 0, SEEK_END), sizeof(file));
	EXPECT_EQ(snapshot.nr_bytes, watched_bytes);
	EXPECT(!watched_twice);
	EXPECT_EQ(fcntl(snapshot.fd, F_GET_SEALS) & seals, seals);
	EXPECT(pwrite(snapshot.fd, &byte, 1, 0) < 0 && errno == EPERM);
	EXPECT_EQ(fcntl(snapshot.fd, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(memory_file_storage(snapshot.fd), 2 * CFI_PAGE);
	EXPECT_EQ(snapshot.elf_status, 0);
	EXPECT_EQ(snapshot.elf.nr_segments, 1);
	EXPECT_EQ(snapshot.elf.segments[0].vaddr, CFI_AT(text));
	EXPECT_EQ(snapshot.elf.build_id_size, CFI_ID_SIZE);
	EXPECT(!memcmp(snapshot.elf.build_id, file.note.id, CFI_ID_SIZE));
	EXPECT(!snapshot.has_own);
}

static void without_sections(void)
{
	begin();
	file.ehdr.e_shoff = file.ehdr.e_shnum = file.ehdr.e_shstrndx = 0;
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(eh_frame) && HAS(index) && HAS(text) && EMPTY(data));
	/* Up to the end of what is loaded. */
	EXPECT(HAS(shdr));
	/* With contents elsewhere, there is no need to. */
	file.index.frame_encoding = 0;
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(index) && EMPTY(eh_frame));
	file.phdr[CFI_INDEX].p_vaddr = ~0ULL - 2;
	EXPECT_EQ(take(), 0);
	EXPECT(EMPTY(eh_frame));
}

/* The first that has bytes, as for the converter. */
static void one_section_of_a_name(void)
{
	begin();
	file.shdr[CFI_DATA].sh_name = CFI_NAME_EH_FRAME;
	EXPECT_EQ(take(), 0);
	EXPECT(EMPTY(data));
	file.shdr[CFI_EH_FRAME].sh_type = SHT_NOBITS;
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(data));
	file.shdr[CFI_EH_FRAME].sh_type = SHT_PROGBITS;
	file.shdr[CFI_EH_FRAME].sh_size = 0;
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(data));
	begin();
	file.shdr[CFI_SFRAME].sh_name = 0;
	file.shdr[CFI_SFRAME].sh_size = 0;
	file.shdr[CFI_DATA].sh_type = 0x6ffffff4;
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(data));
}

static void own_sframe(void)
{
	static const struct sfu_snapshot_limits skip = { .skip_own = true };
	static const uint8_t header[SFRAME_HEADER_SIZE] = { 0xe2, 0xde, 3,
							    [8] = 1 };

	begin();
	file.phdr[CFI_SPARE] = cfi_phdr(0x6474e554, PF_R, CFI_AT(sframe),
					CFI_SIZE(sframe));
	memcpy(file.sframe, header, sizeof(header));
	EXPECT_EQ(take(), 0);
	EXPECT(snapshot.has_own && snapshot.fd >= 0);
	EXPECT_EQ(take_with(&skip), 0);
	EXPECT(snapshot.has_own && snapshot.fd == -1);
	EXPECT(watched_bytes < CFI_PAGE);
	/* Of an old version, or empty: no use to the kernel. */
	file.sframe[2] = 2;
	EXPECT_EQ(take_with(&skip), 0);
	EXPECT(!snapshot.has_own && snapshot.fd >= 0);
	file.sframe[2] = 3;
	file.sframe[8] = 0;
	EXPECT_EQ(take_with(&skip), 0);
	EXPECT(!snapshot.has_own && snapshot.fd >= 0);
}

/* What the module says of each file, the snapshot says. */
static void same_as_the_module(const struct elf_broken *broken)
{
	struct elf_base base;
	const size_t size = elf_broken_build(broken, &base);
	const int fd = memory_file(&base, size);

	sfu_snapshot_free(&snapshot);
	EXPECT(sfu_snapshot_take(fd, NULL, &snapshot) == 0 ||
	       (base.ehdr.e_phnum > SNAPSHOT_MAX_PHDRS && broken->err));
	close(fd);
	if (snapshot.fd < 0)
		return;
	EXPECT_EQ(snapshot.elf_status, -broken->err);
	EXPECT(broken->err || snapshot.elf.build_id_size == broken->id_size);
	EXPECT_EQ(snapshot.size, size);
}

/* --- hostile headers */

static void overlapping_segments(void)
{
	begin();
	for (unsigned int i = 0; i < CFI_PHDRS; i++)
		file.phdr[i] = cfi_phdr(PT_LOAD, PF_R | PF_X, i * 64,
					sizeof(file) - i * 128);
	EXPECT_EQ(take(), 0);
	EXPECT(!watched_twice);
	EXPECT_EQ(snapshot.nr_bytes, sizeof(file));
	EXPECT_EQ(watched_bytes, sizeof(file));
	EXPECT(has(0, sizeof(file)));
}

static void segments_anywhere(void)
{
	static const uint64_t odd[] = { 0, 1, 4095, 1ULL << 32, 1ULL << 62,
					1ULL << 63, ~0ULL - 4096, ~0ULL };
	const size_t nr_odd = sizeof(odd) / sizeof(odd[0]);

	for (size_t i = 0; i < nr_odd * nr_odd; i++) {
		begin();
		file.phdr[CFI_TEXT].p_offset = odd[i % nr_odd];
		file.phdr[CFI_TEXT].p_filesz = odd[i / nr_odd];
		file.phdr[CFI_NOTE].p_filesz = odd[i / nr_odd];
		file.shdr[CFI_EH_FRAME].sh_offset = odd[i % nr_odd];
		file.shdr[CFI_EH_FRAME].sh_size = odd[i / nr_odd];
		EXPECT_EQ(take(), 0);
		EXPECT(!watched_twice && snapshot.nr_bytes <= sizeof(file));
	}
}

static void section_table(void)
{
	begin();
	file.ehdr.e_shnum = 65535;
	EXPECT_EQ(take(), 0);
	/* All that there is of it, which is up to the end of the file. */
	EXPECT(HAS(data) && !watched_twice);
	file.ehdr.e_shoff = sizeof(file) - 1;
	EXPECT_EQ(take(), 0);
	file.ehdr.e_shoff = ~0ULL - 8;
	EXPECT_EQ(take(), 0);
	file.ehdr.e_shoff = 1ULL << 63;
	EXPECT_EQ(take(), 0);
	begin();
	/* The number is in the first section. */
	file.ehdr.e_shnum = 0;
	file.shdr[0].sh_size = CFI_SHDRS;
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(debug_frame));
	file.shdr[0].sh_size = 65536;
	EXPECT_EQ(take(), 0);
	file.shdr[0].sh_size = 65537;
	EXPECT_EQ(take(), -EFBIG);
	EXPECT(strstr(sfu_message_text(), "65537 sections"));
	EXPECT_EQ(snapshot.fd, -1);
	file.shdr[0].sh_size = ~0ULL;
	EXPECT_EQ(take(), -EFBIG);
}

static void section_names(void)
{
	begin();
	file.ehdr.e_shstrndx = CFI_SHDRS;
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(text));
	file.ehdr.e_shstrndx = SHN_XINDEX;
	file.shdr[0].sh_link = CFI_NAMES;
	memset(file.debug_frame, 0xdf, sizeof(file.debug_frame));
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(debug_frame));
	begin();
	memset(file.debug_frame, 0xdf, sizeof(file.debug_frame));
	file.shdr[CFI_NAMES].sh_type = SHT_NOBITS;
	file.index.frame_encoding = 0;
	EXPECT_EQ(take(), 0);
	EXPECT(EMPTY(debug_frame));
	begin();
	memset(file.debug_frame, 0xdf, sizeof(file.debug_frame));
	/* Cut in the middle of a name. */
	file.shdr[CFI_NAMES].sh_size = CFI_NAME_DEBUG_FRAME + 6;
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(eh_frame) && EMPTY(debug_frame));
	file.shdr[CFI_NAMES].sh_size = SNAPSHOT_MAX_NAMES;
	EXPECT_EQ(take(), 0);
	file.shdr[CFI_NAMES].sh_size++;
	EXPECT_EQ(take(), -EFBIG);
	EXPECT(strstr(sfu_message_text(), "section names"));
	file.shdr[CFI_NAMES].sh_size = 64;
	file.shdr[CFI_NAMES].sh_offset = ~0ULL - 32;
	EXPECT_EQ(take(), 0);
	begin();
	for (unsigned int i = 0; i < CFI_SHDRS; i++)
		file.shdr[i].sh_name = ~0U - i;
	EXPECT_EQ(take(), 0);
}

static void program_headers(void)
{
	begin();
	file.ehdr.e_phnum = SNAPSHOT_MAX_PHDRS;
	EXPECT_EQ(take(), 0);
	file.ehdr.e_phnum++;
	EXPECT_EQ(take(), -EFBIG);
	EXPECT(strstr(sfu_message_text(), "129 program headers"));
	file.ehdr.e_phnum = 65535;
	EXPECT_EQ(take(), -EFBIG);
	begin();
	file.ehdr.e_phoff = sizeof(file) - 8;
	EXPECT_EQ(take(), 0);
	EXPECT_EQ(snapshot.elf_status, -EINVAL);
	file.ehdr.e_phoff = ~0ULL;
	EXPECT_EQ(take(), 0);
	EXPECT_EQ(snapshot.elf_status, -EINVAL);
}

static void no_elf_file(void)
{
	begin();
	file.ehdr.e_machine = EM_AARCH64;
	EXPECT_EQ(take(), 0);
	EXPECT_EQ(snapshot.elf_status, -EOPNOTSUPP);
	EXPECT_EQ(snapshot.nr_bytes, sizeof(file.ehdr));
	file.ehdr.e_ident[0] = 0;
	EXPECT_EQ(take(), 0);
	EXPECT_EQ(snapshot.elf_status, -EINVAL);
	EXPECT(!strcmp(snapshot.elf.problem, "not an ELF file"));
	begin();
	file.ehdr.e_ident[EI_DATA] = ELFDATA2MSB;
	EXPECT_EQ(take(), 0);
	EXPECT_EQ(snapshot.nr_bytes, sizeof(file.ehdr));
}

/* Files of these many bytes of a good one. */
static void cut_short(void)
{
	begin();
	for (size_t size = 0; size < sizeof(file); size += size < 1000 ? 1 : 97) {
		const int fd = memory_file(&file, size);

		sfu_snapshot_free(&snapshot);
		watch_reads(fd);
		EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
		EXPECT_EQ(snapshot.size, size);
		EXPECT(!watched_twice);
		close(fd);
	}
	watched = -1;
}

/* --- holes and limits */

/* A page of headers, then text of which only two bytes are there. */
static int sparse_file(uint64_t size)
{
	int fd;

	begin();
	file.phdr[CFI_TEXT].p_filesz = size;
	file.phdr[CFI_TEXT].p_memsz = size;
	file.ehdr.e_shoff = 0;
	fd = memory_file(&file, CFI_AT(text));
	if (ftruncate(fd, CFI_AT(text) + size) ||
	    pwrite(fd, "\xcc", 1, CFI_AT(text) + size / 2) != 1 ||
	    pwrite(fd, "\xcc", 1, CFI_AT(text) + size - 1) != 1)
		perror("sparse_file");
	return fd;
}

static void holes(void)
{
	const uint64_t size = 1ULL << 40;
	const int fd = sparse_file(size);
	unsigned char byte = 0;

	sfu_snapshot_free(&snapshot);
	watch_reads(fd);
	EXPECT_EQ(lseek(fd, 17, SEEK_SET), 17);
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
	EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 17);
	EXPECT(watched_bytes <= 3 * CFI_PAGE);
	EXPECT(memory_file_storage(snapshot.fd) <= 3 * CFI_PAGE);
	EXPECT_EQ(lseek(snapshot.fd, 0, SEEK_END), CFI_AT(text) + size);
	EXPECT(pread(snapshot.fd, &byte, 1, CFI_AT(text) + size / 2) == 1 &&
	       byte == 0xcc);
	close(fd);
	watched = -1;
}

/* On file systems that know no holes, the blocks tell. */
static void implausibly_large(void)
{
	const uint64_t size = SNAPSHOT_SLACK + 2 * SNAPSHOT_COMPRESSION * 4096;
	const int fd = sparse_file(size);

	sfu_snapshot_free(&snapshot);
	watch_reads(fd);
	watched_no_holes = 1;
	watched_blocks = 8;
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), -EFBIG);
	EXPECT(strstr(sfu_message_text(), "allocated"));
	EXPECT(watched_bytes <= SNAPSHOT_SLACK);
	watch_reads(fd);
	watched_no_holes = 1;
	watched_blocks = 24;
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
	EXPECT(watched_bytes > size);
	/* One that does not count them. */
	sfu_snapshot_free(&snapshot);
	watch_reads(fd);
	watched_no_holes = 1;
	watched_blocks = 0;
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
	close(fd);
	watched = -1;
}

static void limit(void)
{
	struct sfu_snapshot_limits limits = { 0 };

	begin();
	EXPECT_EQ(take(), 0);
	limits.max_bytes = snapshot.nr_bytes;
	EXPECT_EQ(take_with(&limits), 0);
	limits.max_bytes--;
	EXPECT_EQ(take_with(&limits), -EFBIG);
	EXPECT(strstr(sfu_message_text(), "limit"));
	EXPECT(watched_bytes <= limits.max_bytes);
	EXPECT_EQ(snapshot.fd, -1);
	limits.max_bytes = 1;
	EXPECT_EQ(take_with(&limits), -EFBIG);
	EXPECT_EQ(watched_bytes, 0);
}

/* --- files that change */

static int changing, calls;

static bool make_shorter(void *data)
{
	(void)data;
	calls++;
	return ftruncate(changing, CFI_PAGE) != 0;
}

static bool rewrite(void *data)
{
	(void)data;
	return pwrite(changing, "\0", 1, CFI_AT(data)) != 1;
}

static bool end_at_third(void *data)
{
	return ++*(int *)data == 3;
}

static int take_changing(bool (*change)(void *data), void *data,
			 bool no_holes)
{
	const struct sfu_snapshot_limits limits = {
		.is_ended = change,
		.data = data,
	};
	int err;

	begin();
	sfu_snapshot_free(&snapshot);
	changing = memory_file(&file, sizeof(file));
	watch_reads(changing);
	watched_no_holes = no_holes;
	err = sfu_snapshot_take(changing, &limits, &snapshot);
	close(changing);
	watched = -1;
	return err;
}

static void changed_while_read(void)
{
	int count = 0;

	EXPECT_EQ(take_changing(make_shorter, NULL, false), -ESTALE);
	EXPECT_EQ(take_changing(make_shorter, NULL, true), -ESTALE);
	EXPECT(strstr(sfu_message_text(), "shorter"));
	EXPECT(calls > 1 && snapshot.fd == -1);
	EXPECT_EQ(take_changing(rewrite, NULL, false), -ESTALE);
	EXPECT(strstr(sfu_message_text(), "changed"));
	EXPECT_EQ(take_changing(end_at_third, &count, false), -ECANCELED);
	EXPECT_EQ(count, 3);
}

static void unreadable(void)
{
	unsigned int reads = 0;
	int err, pipes[2], fd;

	begin();
	fd = memory_file(&file, sizeof(file));
	do {
		sfu_snapshot_free(&snapshot);
		watch_reads(fd);
		watched_fail_at = ++reads;
		err = sfu_snapshot_take(fd, NULL, &snapshot);
		EXPECT(!err || (err == -EIO && snapshot.fd == -1));
	} while (err && reads < 100);
	EXPECT(reads > 3 && reads < 100);
	close(fd);
	watched = -1;
	EXPECT(!pipe(pipes));
	EXPECT_EQ(sfu_snapshot_take(pipes[0], NULL, &snapshot), -EINVAL);
	EXPECT_EQ(sfu_snapshot_take(-1, NULL, &snapshot), -EBADF);
	close(pipes[0]);
	close(pipes[1]);
}

/* --- the digest */

static void same_digest(void)
{
	struct digest first;

	begin();
	EXPECT_EQ(take(), 0);
	first = snapshot.digest;
	EXPECT_EQ(take(), 0);
	EXPECT(!memcmp(&first, &snapshot.digest, sizeof(first)));
	/* No part of what conversions depend on. */
	memset(file.data, 1, sizeof(file.data));
	EXPECT_EQ(take(), 0);
	EXPECT(!memcmp(&first, &snapshot.digest, sizeof(first)));
}

/* Each byte that is in the snapshot counts. */
static void each_byte_counts(void)
{
	static unsigned char is_read[WATCHED_BYTES];
	struct digest first;

	begin();
	EXPECT_EQ(take(), 0);
	first = snapshot.digest;
	memcpy(is_read, watched_map, sizeof(is_read));
	for (size_t i = 0; i < sizeof(file); i += i < CFI_AT(text) ? 1 : 61) {
		unsigned char *byte = (unsigned char *)&file + i;

		if (!is_read[i])
			continue;
		*byte ^= 0x10;
		if (!take() && !memcmp(&first, &snapshot.digest, sizeof(first)))
			tap_fail("byte %zu does not count", i);
		*byte ^= 0x10;
	}
}

static void places_count(void)
{
	struct digest first;
	int fd;

	/* The same bytes, read in the same order, at another place. */
	begin();
	memset(file.text, 0x90, sizeof(file.text));
	memset(file.data, 0x90, sizeof(file.data));
	file.phdr[CFI_TEXT].p_filesz = 1024;
	EXPECT_EQ(take(), 0);
	first = snapshot.digest;
	file.phdr[CFI_TEXT].p_offset += 1024;
	EXPECT_EQ(take(), 0);
	EXPECT(memcmp(&first, &snapshot.digest, sizeof(first)));
	/* The same bytes in a longer file. */
	begin();
	EXPECT_EQ(take(), 0);
	first = snapshot.digest;
	fd = memory_file(&file, sizeof(file));
	EXPECT(!ftruncate(fd, sizeof(file) + 1));
	sfu_snapshot_free(&snapshot);
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
	EXPECT(memcmp(&first, &snapshot.digest, sizeof(first)));
	close(fd);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(has_what_conversions_need),
		TAP_TEST(without_sections),
		TAP_TEST(one_section_of_a_name),
		TAP_TEST(own_sframe),
		TAP_TEST(overlapping_segments),
		TAP_TEST(segments_anywhere),
		TAP_TEST(section_table),
		TAP_TEST(section_names),
		TAP_TEST(program_headers),
		TAP_TEST(no_elf_file),
		TAP_TEST(cut_short),
		TAP_TEST(holes),
		TAP_TEST(implausibly_large),
		TAP_TEST(limit),
		TAP_TEST(changed_while_read),
		TAP_TEST(unreadable),
		TAP_TEST(same_digest),
		TAP_TEST(each_byte_counts),
		TAP_TEST(places_count),
	};

	snapshot.fd = -1;
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	for (size_t i = 0; i < ELF_NR_BROKEN; i++) {
		same_as_the_module(&elf_broken[i]);
		tap_case("module's view of %s", elf_broken[i].name);
	}
	return tap_done();
}
