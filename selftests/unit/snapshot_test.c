// SPDX-License-Identifier: GPL-2.0
/* Snapshots: which parts of a file are read, whatever its headers say. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "elf_broken.h"
#include "snapshot_file.h"
#include "tap.h"

/* As in module/decode/sframe_format.h */
#define SFRAME_HEADER_SIZE 28

/* Whether [offset, offset + size) is in the snapshot and equals @file. */
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

/* --- contents of a snapshot */

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
	/* Up to the end of the loaded segments. */
	EXPECT(HAS(shdr));
	/* With .eh_frame found elsewhere, that is not necessary. */
	file.index.frame_encoding = 0;
	EXPECT_EQ(take(), 0);
	EXPECT(HAS(index) && EMPTY(eh_frame));
	file.phdr[CFI_INDEX].p_vaddr = ~0ULL - 2;
	EXPECT_EQ(take(), 0);
	EXPECT(EMPTY(eh_frame));
}

/* The first section with bytes, as in the converter. */
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
	static const uint8_t header[SFRAME_HEADER_SIZE] = { 0xe2, 0xde, 3,
							    [8] = 1 };

	begin();
	file.phdr[CFI_SPARE] = cfi_phdr(0x6474e554, PF_R, CFI_AT(sframe),
					CFI_SIZE(sframe));
	memcpy(file.sframe, header, sizeof(header));
	EXPECT_EQ(take(), 0);
	EXPECT(snapshot.has_own && snapshot.fd >= 0);
	EXPECT(HAS(sframe));
	/* Found by the program header alone. */
	file.ehdr.e_shoff = 0;
	EXPECT_EQ(take(), 0);
	EXPECT(snapshot.has_own && HAS(sframe));
	/* Of an old version, or empty: the kernel cannot use it. */
	file.sframe[2] = 2;
	EXPECT_EQ(take(), 0);
	EXPECT(!snapshot.has_own && snapshot.fd >= 0);
	file.sframe[2] = 3;
	file.sframe[8] = 0;
	EXPECT_EQ(take(), 0);
	EXPECT(!snapshot.has_own && snapshot.fd >= 0);
}

/* The snapshot and the module judge each file alike. */
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
	/* All of it that exists, up to the end of the file. */
	EXPECT(HAS(data) && !watched_twice);
	file.ehdr.e_shoff = sizeof(file) - 1;
	EXPECT_EQ(take(), 0);
	file.ehdr.e_shoff = ~0ULL - 8;
	EXPECT_EQ(take(), 0);
	file.ehdr.e_shoff = 1ULL << 63;
	EXPECT_EQ(take(), 0);
	begin();
	/* The number of sections is in the first section header. */
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
	/* Truncated in the middle of a name. */
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

/* Only the first bytes of an intact file, for each length. */
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
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	for (size_t i = 0; i < ELF_NR_BROKEN; i++) {
		same_as_the_module(&elf_broken[i]);
		tap_case("module's view of %s", elf_broken[i].name);
	}
	return tap_done();
}
