// SPDX-License-Identifier: GPL-2.0
/*
 * Walks through a frame whose rule only extended sections can express, compared
 * with the same stack by a plain rule: the file with this frame's code gets one
 * section after the other.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../include/extended_section.h"
#include "../include/own_section.h"
#include "../include/wrappers.h"
#include "bench.h"

#define CHAINS		4
#define DEPTH		32
#define REPEAT		8
#define ROUNDS		16

/* Offsets of functions in the code, and of return addresses in them. */
enum {
	KEEP = 0,	/* keeps rsp in rbx and in memory, calls SAVE */
	KEEP_RA = 0x12,
	SAVE = 0x20,	/* saves rbx, changes it, calls CALL */
	SAVE_RA = 0x28,
	CALL = 0x30,	/* the system call */
	CODE_SIZE = 0x38
};

static const uint8_t code[CODE_SIZE] = {
	[KEEP] = 0x53, 0x48, 0x89, 0xe3,	/* push %rbx; mov %rsp,%rbx */
	0x48, 0x83, 0xec, 0x10,			/* sub $16,%rsp */
	0x48, 0x89, 0x5c, 0x24, 0x08,		/* mov %rbx,8(%rsp) */
	0xe8, 0x0e, 0x00, 0x00, 0x00,		/* call SAVE */
	0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3,	/* add $16,%rsp; pop %rbx; ret */
	[SAVE] = 0x53, 0x31, 0xdb,		/* push %rbx; xor %ebx,%ebx */
	0xe8, 0x08, 0x00, 0x00, 0x00,		/* call CALL */
	0x5b, 0xc3,				/* pop %rbx; ret */
	[CALL] = 0xb8, 0x10, 0x00, 0x00, 0x00,	/* mov $__NR_ioctl,%eax */
	0x0f, 0x05, 0xc3,			/* syscall; ret */
};

/* Flexible rows: start, info, words. 0x39 is rsp + n, 0x19 rbx + n, 0x3f *(rsp + n) + m. */
#define ROWS(...)							\
	{ 0x00, 0x04, 0x39, 8, 0x01, 0x04, 0x39, 16,			\
	  0x08, 0x04, 0x39, 32, __VA_ARGS__, 0x16, 0x04, 0x39, 16,	\
	  0x17, 0x04, 0x39, 8, 0x21, 0x04, 0x39, 16,			\
	  0x29, 0x04, 0x39, 8 }
#define NR_ROWS	8

static const struct kind {
	const char *name;
	uint8_t rows[EXTENDED_ROWS];
} kinds[] = {
	{ "extended.plain", ROWS(0x0d, 0x04, 0x39, 32) },
	{ "extended.memory", ROWS(0x0d, 0x06, 0x3f, 8, 16) },
	{ "extended.register", ROWS(0x0d, 0x04, 0x19, 16) },
};

static int make_file(const void *bytes, size_t size)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		die("no file of %zu bytes: %s", size, strerror(errno));
	return fd;
}

/* Map the code of @elf_fd. Returns its address. */
static unsigned char *map_code(int elf_fd)
{
	unsigned char *at = mmap(NULL, ELF_PAGE, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE, elf_fd, ELF_SMALL_OFFSET);

	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return at;
}

/* Attach the section of @kind to @elf_fd. Returns the attachment's id. */
static uint64_t attach_kind(int fd, const struct kind *kind, int elf_fd,
			    const struct elf_base *elf)
{
	static const struct extended_run runs[4] = {
		{ KEEP, 1 }, { KEEP_RA, 1 }, { SAVE, 1 }, { CALL, 0 }
	};
	struct extended_section section =
		extended_section(CODE_SIZE, kind->rows, EXTENDED_ROWS, NR_ROWS);
	static char message[256];
	struct sframe_unwind_attach arg = {
		.size = sizeof(arg),
		.flags = SFRAME_UNWIND_ATTACH_EXTENDED,
		.elf_fd = elf_fd,
		.sframe_size = sizeof(section),
		.build_id_size = ELF_ID_SIZE,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};

	memcpy(section.runs, runs, sizeof(runs));
	memcpy(arg.build_id, elf->note.id, ELF_ID_SIZE);
	arg.sframe_fd = make_file(&section, sizeof(section));
	if (ioctl(fd, SFRAME_UNWIND_IOC_ATTACH, &arg))
		die("attach %s: %s: %s", kind->name, strerror(errno), message);
	close(arg.sframe_fd);
	return arg.id;
}

/* Report the mean over all chains of the minimum cycles of a walk. */
static void measure_kind(struct world *world, int fd, const char *name,
			 const unsigned char *start)
{
	uint64_t ips[DEPTH], cycles, least[CHAINS];
	unsigned int i, round;
	double sum = 0;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < CHAINS; i++) {
			cycles = walk(world->chain[i], fd, SFU_BENCH_WALK, DEPTH,
				      REPEAT, ips);
			if (ips[1] != (uintptr_t)start + SAVE_RA ||
			    ips[2] != (uintptr_t)start + KEEP_RA)
				die("%s: not the frames of the file", name);
			if (!round || cycles < least[i])
				least[i] = cycles;
		}
	}
	for (i = 0; i < CHAINS; i++)
		sum += least[i];
	report(sum / CHAINS, "%s", name);
}

void measure_extended(int fd)
{
	static const struct world_spec spec = {
		.functions = 1200,
		.chains = CHAINS,
		.rows_before = 2,
	};
	struct sframe_unwind_detach detach = { .size = sizeof(detach) };
	static struct elf_base elf;
	struct world world;
	unsigned char *at;
	unsigned int i;
	int elf_fd;

	elf_base_init(&elf);
	elf.phdr[ELF_SFRAME].p_type = PT_NULL;
	memcpy(elf.small, code, sizeof(code));
	elf_fd = make_file(&elf, sizeof(elf));
	at = map_code(elf_fd);
	world_create(&world, &spec, (uintptr_t)at + KEEP);
	world_register(fd, &world);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		detach.id = attach_kind(fd, &kinds[i], elf_fd, &elf);
		measure_kind(&world, fd, kinds[i].name, at);
		if (ioctl(fd, SFRAME_UNWIND_IOC_DETACH, &detach))
			die("detach: %s", strerror(errno));
	}
	world_unregister(fd, &world);
	munmap(at, ELF_PAGE);
	close(elf_fd);
}
