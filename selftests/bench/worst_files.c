// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of files: attaching sections, and discovery.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../include/wrappers.h"
#include "worst.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

/* A page of functions of 16 bytes. */
#define FUNCTIONS	256

/* Limits of one client. */
#define ATTACHED	16384
#define OWN_MEMORY	(64UL << 20)

static int client, elf_fd, section_fd;
static size_t section_size;
static unsigned char *text, *mapped;
static uint64_t stack[8], last_id;
static uint64_t ids[ATTACHED];

static void write_at(int fd, const void *bytes, size_t size, size_t offset)
{
	if (pwrite(fd, bytes, size, offset) != (ssize_t)size)
		die("pwrite: %s", strerror(errno));
}

int new_file(size_t size)
{
	int fd = memfd_create("worst", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, size))
		die("no file of %zu bytes: %s", size, strerror(errno));
	return fd;
}

int make_elf(const struct elf_spec *spec)
{
	static unsigned char bytes[2 * CODE];
	Elf64_Ehdr *ehdr = (void *)bytes;
	Elf64_Phdr *phdr = (void *)(ehdr + 1);
	unsigned int i;
	int fd;

	memset(bytes, 0, sizeof(bytes));
	memcpy(ehdr->e_ident, ELFMAG, SELFMAG);
	ehdr->e_ident[EI_CLASS] = ELFCLASS64;
	ehdr->e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr->e_ident[EI_VERSION] = EV_CURRENT;
	ehdr->e_type = ET_DYN;
	ehdr->e_machine = EM_X86_64;
	ehdr->e_version = EV_CURRENT;
	ehdr->e_phoff = sizeof(*ehdr);
	ehdr->e_phentsize = sizeof(*phdr);
	/*
	 * As many headers as fit are in the first page, the rest overlaps the
	 * code.
	 */
	ehdr->e_phnum = spec->phdrs > 2 ? spec->phdrs : 2;
	phdr[0] = (Elf64_Phdr) {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = 2 * CODE,
		.p_memsz = 2 * CODE,
		.p_align = 4096,
	};
	if (spec->sframe)
		phdr[1] = (Elf64_Phdr) {
			.p_type = PT_GNU_SFRAME,
			.p_flags = PF_R,
			.p_offset = spec->sframe_offset,
			.p_vaddr = spec->sframe_offset,
			.p_filesz = spec->sframe,
			.p_memsz = spec->sframe,
		};
	for (i = 2; i < ehdr->e_phnum; i++) {
		/* 16 notes of 16 bytes each for one header. */
		if (i >= ehdr->e_phnum - spec->notes / 16)
			phdr[i] = (Elf64_Phdr) {
				.p_type = PT_NOTE,
				.p_offset = 2 * CODE - 256,
				.p_filesz = 256,
				.p_align = 4,
			};
	}
	for (i = 0; i < 16; i++) {
		Elf64_Nhdr *note = (void *)(bytes + 2 * CODE - 256 + 16 * i);

		*note = (Elf64_Nhdr) { .n_namesz = 4, .n_type = 100 };
		memcpy(note + 1, "GNU", 4);
	}
	fd = new_file(2 * CODE);
	write_at(fd, bytes, sizeof(bytes), 0);
	return fd;
}

void write_table(int fd, size_t offset, uint64_t base, size_t size,
		 unsigned int functions)
{
	unsigned char *bytes = calloc(1, table_size(functions, 8));
	uint32_t rows;

	if (!bytes)
		die("no memory");
	put_table(bytes, base, CODE, functions, 16, 8);
	/* The rest of the section belongs to no function. */
	rows = size - 28 - 16 * functions;
	memcpy(bytes + 16, &rows, sizeof(rows));
	write_at(fd, bytes, table_size(functions, 8), offset);
	if (ftruncate(fd, offset + size))
		die("ftruncate: %s", strerror(errno));
	free(bytes);
}

int attach_file(int fd, int elf, int section, size_t size, uint64_t *id)
{
	struct sframe_unwind_attach arg = {
		.size = sizeof(arg),
		.elf_fd = elf,
		.sframe_fd = section,
		.sframe_size = size,
	};

	if (ioctl(fd, SFRAME_UNWIND_IOC_ATTACH, &arg))
		return -errno;
	*id = arg.id;
	return 0;
}

static uint64_t attach(void)
{
	uint64_t id = 0;
	int err = attach_file(client, elf_fd, section_fd, section_size, &id);

	if (err)
		die("attach: %s", strerror(-err));
	return id;
}

static void detach(uint64_t id)
{
	struct sframe_unwind_detach arg = { .size = sizeof(arg), .id = id };

	if (ioctl(client, SFRAME_UNWIND_IOC_DETACH, &arg))
		die("detach: %s", strerror(errno));
}

/* Make code that requests stacks, with a section of its own. */
static void make_asker(void)
{
	unsigned char *section = new_memory(4096, PROT_READ | PROT_WRITE);

	client = new_client();
	text = new_memory(4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	put_stub(text);
	put_table(section, (uintptr_t)section, (uintptr_t)text, 1, 64, 1);
	register_range(client, (uintptr_t)section, table_size(1, 1),
		       (uintptr_t)text, 64, 0);
	/* Do what only the first request does now, before the measurement. */
	ask_with_stack(client, text, stack, 8);
}

/* Map the file's code at a new address, which no walk has met. */
static void map_anew(void)
{
	static uintptr_t where = 0x500000000000;

	drain(client);
	if (mapped)
		munmap(mapped, 2 * CODE);
	/* Never at an address used before. */
	where += 0x10000;
	mapped = mmap((void *)where, 2 * CODE, PROT_READ | PROT_EXEC,
		      MAP_PRIVATE | MAP_FIXED_NOREPLACE, elf_fd, 0);
	if (mapped == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	stack[0] = (uintptr_t)mapped + CODE + 12;
	stack[1] = 0;
}

static void walk_through_file(void)
{
	ask_with_stack(client, text, stack, 8);
}

/* --- attachments */

static void setup_large(void)
{
	static const struct elf_spec spec = {};

	make_asker();
	elf_fd = make_elf(&spec);
	section_size = OWN_MEMORY - (1 << 16);
	section_fd = new_file(0);
	write_table(section_fd, 0, 0, section_size, FUNCTIONS);
}

static void prepare_large(void)
{
	if (last_id)
		detach(last_id);
	last_id = 0;
}

static void attach_large(void)
{
	last_id = attach();
}

static void prepare_detach(void)
{
	if (!last_id)
		attach_large();
}

static void detach_last(void)
{
	detach(last_id);
	last_id = 0;
}

static void setup_nothing_attached(void)
{
	static const struct elf_spec spec = { .phdrs = 3 };

	make_asker();
	elf_fd = make_elf(&spec);
	section_fd = new_file(0);
	section_size = table_size(1, 8);
	write_table(section_fd, 0, 0, section_size, 1);
}

static void setup_attached(void)
{
	unsigned int i;

	setup_nothing_attached();
	for (i = 0; i < ATTACHED; i++)
		ids[i] = attach();
	last_id = ids[ATTACHED - 1];
}

static void prepare_attach_one(void)
{
	if (last_id)
		detach(last_id);
	last_id = 0;
}

static void attach_one(void)
{
	last_id = attach();
}

static void prepare_detach_one(void)
{
	if (!last_id)
		attach_one();
}

static struct sframe_unwind_attached attached[ATTACHED];

static void list_attached(uint64_t from, uint32_t nr)
{
	struct sframe_unwind_list_attached arg = {
		.size = sizeof(arg),
		.from = from,
		.attached = (uintptr_t)attached,
		.nr = nr,
	};

	if (ioctl(client, SFRAME_UNWIND_IOC_LIST_ATTACHED, &arg))
		die("list attached: %s", strerror(errno));
}

static void list_last(void)
{
	list_attached(last_id, 1);
}

static void list_all(void)
{
	list_attached(0, ATTACHED);
}

/* A second client, which has attached nothing. */
static int uninvolved;

static void prepare_uninvolved(void)
{
	uninvolved = new_client();
}

static void close_uninvolved(void)
{
	close(uninvolved);
}

static void close_client(void)
{
	close(client);
}

/* --- discovery */

/*
 * A file with its own section, and the maximum number of irrelevant
 * attachments.
 */
static void setup_not_preferred(void)
{
	const size_t size = table_size(FUNCTIONS, 8);
	const struct elf_spec spec = {
		.sframe = size,
		.sframe_offset = 2 * CODE,
	};
	unsigned int i;

	setup_nothing_attached();
	elf_fd = make_elf(&spec);
	write_table(elf_fd, 2 * CODE, 2 * CODE, size, FUNCTIONS);
	for (i = 0; i < ATTACHED; i++)
		attach();
}

/* The maximum number of headers and notes that are read. */
static void setup_headers(void)
{
	static const struct elf_spec spec = { .phdrs = 128, .notes = 64 };

	make_asker();
	elf_fd = make_elf(&spec);
}

/* A section that is not mapped and has to be read. */
#define READ		(16UL << 20)

static void setup_read(void)
{
	const struct elf_spec spec = {
		.sframe = READ,
		.sframe_offset = 2 * CODE,
	};

	make_asker();
	elf_fd = make_elf(&spec);
	write_table(elf_fd, 2 * CODE, 2 * CODE, READ, FUNCTIONS);
}

/* A function of an attached section with the maximum number of rows. */
#define ROWS		4096

static void setup_rows(void)
{
	static const struct elf_spec spec = {};
	unsigned char *bytes = calloc(1, table_size(1, ROWS));

	make_asker();
	elf_fd = make_elf(&spec);
	section_fd = new_file(0);
	section_size = table_size(1, ROWS);
	put_table(bytes, 0, CODE, 1, CODE, ROWS);
	write_at(section_fd, bytes, section_size, 0);
	attach();
}

/* Use an address near the function's end, which only its last row covers. */
static void map_for_rows(void)
{
	map_anew();
	stack[0] = (uintptr_t)mapped + 2 * CODE - 1;
}

const struct scenario worst_files[] = {
	SCENARIO("ATTACH one",
		 setup_nothing_attached, prepare_attach_one, attach_one),
	SCENARIO("ATTACH a section of 64 MiB",
		 setup_large, prepare_large, attach_large),
	SCENARIO("DETACH a section of 64 MiB",
		 setup_large, prepare_detach, detach_last),
	SCENARIO("ATTACH one more to 16,383",
		 setup_attached, prepare_attach_one, attach_one),
	SCENARIO("DETACH the last of 16,384",
		 setup_attached, prepare_detach_one, detach_last),
	SCENARIO("LIST_ATTACHED, the last of 16,384",
		 setup_attached, prepare_detach_one, list_last),
	SCENARIO("LIST_ATTACHED, all 16,384",
		 setup_attached, prepare_detach_one, list_all),
	SCENARIO("close of an uninvolved client",
		 setup_attached, prepare_uninvolved, close_uninvolved),
	SCENARIO("close with 16,384 attached",
		 setup_attached, NULL, close_client,
		 .flags = ONCE),
	SCENARIO("REQUEST through a file with 16,384 attached",
		 setup_not_preferred, map_anew, walk_through_file),
	SCENARIO("REQUEST through a file with 128 headers",
		 setup_headers, map_anew, walk_through_file),
	SCENARIO("REQUEST through a file with 16 MiB to read",
		 setup_read, map_anew, walk_through_file),
	SCENARIO("REQUEST, attached section, 4,096 rows",
		 setup_rows, map_for_rows, walk_through_file),
	{}
};
