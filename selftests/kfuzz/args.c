// SPDX-License-Identifier: GPL-2.0
/* Args: generated values of arguments. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <linux/sframe_unwind.h>

#include "content.h"
#include "args.h"

#ifndef MADV_COLD
#define MADV_COLD	20
#endif

static struct arg constant(uint64_t value)
{
	return (struct arg) { .value = value };
}

static struct arg based(char base, unsigned int index, uint64_t value)
{
	return (struct arg) { .base = base, .index = index, .value = value };
}

/* The limits of user space, and addresses outside of it. */
static struct arg bad_address(uint64_t *random)
{
	return constant(ONE_OF(random, 0, 1, 8, 0x7fffffffe000, 0x7fffffffeff8,
			       0x7fffffffefff, 0x7ffffffff000, 0x800000000000,
			       0x8000000000000000, 0xffff888000000000,
			       0xffffffff81000000, 0xfffffffffffff000, ~0UL,
			       random_next(random)));
}

static uint64_t any_number(uint64_t *random)
{
	switch (random_below(random, 4)) {
	case 0:
		return ONE_OF(random, 0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0x7fff,
			      0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
			      0x100000000, 0x7fffffffffffffff,
			      0x8000000000000000, ~0UL);
	case 1:
		return 1UL << random_below(random, 64);
	case 2:
		return random_below(random, 256);
	default:
		return random_next(random);
	}
}

static struct arg in_slot(const struct about *about, uint64_t offset)
{
	return based('m', is_odd(about, 15) ?
		     random_below(about->random, SLOT_STRUCTS) : about->slot,
		     offset);
}

/*
 * In the slot of structures, at one place for each call; or across the slot's
 * end.
 */
static struct arg structure(const struct about *about)
{
	uint64_t *random = about->random;

	if (!is_odd(about, 6))
		return based('m', SLOT_STRUCTS,
			     random_below(random, 16) * STRUCT_ROOM);
	if (random_percent(random, 50))
		return based('m', SLOT_STRUCTS,
			     STRUCTS_SIZE - 8 * random_below(random, 12));
	return bad_address(random);
}

static struct arg descriptor(const struct about *about, unsigned int first,
			     unsigned int nr)
{
	uint64_t *random = about->random;

	if (is_odd(about, 4))
		return constant(ONE_OF(random, -1, 0x7fffffff, 0));
	if (is_odd(about, 3))
		return based('f', random_below(random, NR_FDS), 0);
	return based('f', first + (is_odd(about, 30) ?
		     random_below(random, nr) : about->fd % nr), 0);
}

static uint64_t size_near(const struct about *about, uint64_t right)
{
	uint64_t *random = about->random;

	if (!is_odd(about, 8))
		return right;
	return ONE_OF(random, 0, 1, 4, right - 1, right - 8, right + 1,
		      right + 8, right + 64, PAGE, PAGE + 1, 0x7fffffff,
		      0xffffffff, random_next(random));
}

static uint64_t flags(const struct about *about, uint64_t known)
{
	if (is_odd(about, 5))
		return any_number(about->random);
	return random_next(about->random) & known;
}

/* Offset in the code of a slot: functions of fixtures/base.h and elf_base.h. */
static uint64_t code_offset(uint64_t *random)
{
	switch (random_below(random, 8)) {
	case 0:
		return ONE_OF(random, 0x3000, 0x5000);
	case 1:
		return SLOT_TEXT + random_below(random, 0x13000);
	case 2:
		return SLOT_TEXT + 0x330 + random_below(random, 0x40);
	default:
		return SLOT_TEXT + random_below(random, 0x420);
	}
}

static uint64_t page_offset(uint64_t *random)
{
	return ONE_OF(random, 0, 0, PAGE, SLOT_TEXT, SLOT_TEXT, 2 * PAGE,
		      0x3000, 0x5000, 0x14000, SLOT_STACK,
		      random_below(random, 0x20) * PAGE,
		      random_below(random, SLOT_USED));
}

static uint64_t length(uint64_t *random)
{
	return ONE_OF(random, 0, 1, 40, 48, 64, 512, 4096, 4096, 8192, 0x14000,
		      SLOT_USED, SLOT_SIZE, 16384, 65536,
		      random_below(random, 0x40000));
}

static struct arg thread(const struct about *about)
{
	uint64_t *random = about->random;

	if (!is_odd(about, 35))
		return constant(0);
	if (random_percent(random, 80))
		return based('t', random_below(random, NR_TIDS), 0);
	/* A kernel thread, and numbers that do not exist. */
	return constant(ONE_OF(random, 2, 0x7fffffff, 0xffffffff,
			       any_number(random)));
}

/* Members and arguments of the device's calls. */
static struct arg device_arg(enum kind kind, const struct call_type *type,
			     const struct about *about)
{
	uint64_t *random = about->random;

	switch (kind) {
	case KIND_FD:
		return descriptor(about, 0, FIRST_FILE_FD);
	case KIND_ANY_FD:
		return based('f', random_below(random, NR_FDS), 0);
	case KIND_NEW_FD:
		return based('f', is_odd(about, 50) ?
			     random_below(random, FIRST_FILE_FD) : about->fd, 0);
	case KIND_AT:
		return structure(about);
	case KIND_SIZE:
		return constant(size_near(about, type->size));
	case KIND_FLAG:
		return constant(flags(about, 1));
	case KIND_FLAGS:
		return constant(flags(about, 3));
	case KIND_ATTACH_FLAGS:
		return constant(flags(about, 0xf));
	case KIND_SHARE_FLAGS:
		return constant(0x14 | flags(about, 0xb));
	case KIND_PROCESS_FLAGS:
		return constant(0x40 | flags(about, 0x28));
	case KIND_CODE_FLAGS:
		return constant(0xc0 | flags(about, 0x28));
	case KIND_NONE:
		return constant(is_odd(about, 3) ? any_number(random) : -1ULL);
	case KIND_SEGMENTS:
		return is_odd(about, 5) ? structure(about) : constant(0);
	case KIND_NR_SEGMENTS:
		return constant(is_odd(about, 5) ?
				ONE_OF(random, 1, 2, 2, 8, 9, ~0U) : 0);
	case KIND_OPEN_FLAGS:
		return constant((random_percent(random, 98) ? O_NONBLOCK : 0) |
				(random_percent(random, 50) ? O_CLOEXEC : 0));
	case KIND_ID:
		if (is_odd(about, 5))
			return constant(any_number(random));
		return based('i', random_below(random, NR_IDS), 0);
	case KIND_NEW_ID:
		return based('i', random_below(random, NR_IDS), 0);
	case KIND_MESSAGE:
		if (random_percent(random, 50))
			return constant(0);
		return structure(about);
	case KIND_MESSAGE_SIZE:
		return constant(ONE_OF(random, 0, 1, 16, 192, 4096, ~0U));
	case KIND_ARRAY:
		if (!is_odd(about, 10))
			return based('m', SLOT_STRUCTS, STRUCTS_SIZE / 2);
		return structure(about);
	case KIND_FUNCTIONS:
		if (!is_odd(about, 20))
			return constant(CONTENT_TABLE_FUNCTIONS);
		return constant(ONE_OF(random, 0, 1, 31, 64, 4096, any_number(random)));
	case KIND_GRANULE:
		if (!is_odd(about, 20))
			return constant(CONTENT_TABLE_BITS);
		return constant(ONE_OF(random, 0, 6, 12, 16, 17, any_number(random)));
	case KIND_NR:
		return constant(is_odd(about, 60) ?
				ONE_OF(random, 0, 1, 7, 8, 9, 250, 1000, ~0U) :
				24);
	case KIND_TID:
		return thread(about);
	case KIND_NEW_TID:
		return based('t', MAX_THREADS + random_below(random, 3), 0);
	case KIND_TARGET:
		return based('t', random_below(random, NR_TIDS), 0);
	case KIND_DEPTH:
		return constant(is_odd(about, 70) ?
				ONE_OF(random, 1, 8, 128, 1025, ~0U, ~0U) :
				ONE_OF(random, 0, 1024));
	case KIND_CMD:
		return constant(random_percent(random, 80) ?
				0xde00 + random_below(random, 0x20) :
				any_number(random));
	case KIND_PERIOD:
		return constant(ONE_OF(random, 0, 1000000, 3000000, 20000000));
	default:
		return constant(is_odd(about, 3) ? any_number(random) : 0);
	}
}

/* Locations of sections, code and stacks. */
static struct arg place_arg(enum kind kind, const struct about *about)
{
	uint64_t *random = about->random;

	switch (kind) {
	case KIND_SECTION:
		if (!is_odd(about, 10))
			return in_slot(about, 0);
		return random_percent(random, 50) ?
			       in_slot(about, page_offset(random)) :
			       bad_address(random);
	case KIND_SECTION_SIZE:
		if (!is_odd(about, 25))
			return constant(PAGE);
		return constant(ONE_OF(random, 0x200, 0x100, 28, 27, 1UL << 30,
				       (1UL << 30) + 1, any_number(random)));
	case KIND_TEXT:
		if (!is_odd(about, 35))
			return in_slot(about, SLOT_TEXT);
		return random_percent(random, 80) ?
			       in_slot(about, code_offset(random)) :
			       bad_address(random);
	case KIND_TEXT_SIZE:
		if (!is_odd(about, 40))
			return constant(0x13000);
		return constant(ONE_OF(random, 0x12410, 0x20, 0x40, 0x300,
				       0x400, PAGE, 1, any_number(random)));
	case KIND_IP:
		if (is_odd(about, 20))
			return constant(0);
		return in_slot(about, code_offset(random));
	case KIND_SP:
		if (is_odd(about, 3))
			return bad_address(random);
		return in_slot(about, SLOT_STACK + 8 * random_below(random, 128) +
			       is_odd(about, 3));
	case KIND_FP:
		if (random_percent(random, 10))
			return constant(any_number(random));
		return in_slot(about, SLOT_STACK + 8 * random_below(random, 256));
	case KIND_SLOT:
		return constant(is_odd(about, 15) ?
				random_below(random, SLOT_STRUCTS) :
				about->slot);
	case KIND_PLACE:
		if (random_percent(random, 12))
			return based('k', 0, 0);
		return in_slot(about, page_offset(random));
	default:
		return constant(length(random));
	}
}

/*
 * Files. The types of files with code have lower numbers than those with
 * sections.
 */
static struct arg file_arg(enum kind kind, const struct about *about)
{
	uint64_t *random = about->random;

	switch (kind) {
	case KIND_ELF:
	case KIND_NEW_ELF:
		return descriptor(about, FIRST_FILE_FD, 2);
	case KIND_SFRAME:
	case KIND_NEW_SFRAME:
		return descriptor(about, FIRST_FILE_FD + 2, 2);
	case KIND_MAPPED:
		return is_odd(about, 20) ?
			       descriptor(about, FIRST_FILE_FD + 2, 2) :
			       constant(0);
	case KIND_BUILD_ID:
		return constant(is_odd(about, 5) ? random_below(random, 256) :
						   CONTENT_BUILD_ID);
	case KIND_BUILD_ID_SIZE:
		return constant(is_odd(about, 10) ?
				ONE_OF(random, 0, 1, 32, 33, ~0U) : 20);
	case KIND_FILE_OFFSET:
		return constant(is_odd(about, 10) ? any_number(random) : 0);
	default:
		if (!is_odd(about, 20))
			return constant(CONTENT_SFRAME_SIZE);
		return constant(ONE_OF(random, 100, PAGE, 28, 0x200,
				       any_number(random)));
	}
}

/* Arguments of other calls. */
static struct arg other_arg(enum kind kind, const struct about *about)
{
	uint64_t *random = about->random;

	switch (kind) {
	case KIND_PROT:
		return constant(ONE_OF(random, 7, 5, 3, 1, 0));
	case KIND_MAP_FLAGS:
		return constant(ONE_OF(random, MAP_PRIVATE | MAP_FIXED |
				       MAP_ANONYMOUS, MAP_PRIVATE | MAP_FIXED,
				       MAP_SHARED | MAP_FIXED | MAP_ANONYMOUS,
				       MAP_SHARED | MAP_FIXED, MAP_SHARED,
				       MAP_PRIVATE));
	case KIND_ADVICE:
		return constant(ONE_OF(random, MADV_DONTNEED, MADV_DONTFORK,
				       MADV_DOFORK, MADV_WIPEONFORK,
				       MADV_KEEPONFORK, MADV_COLD,
				       MADV_COLD + 1, MADV_HUGEPAGE,
				       MADV_MERGEABLE, MADV_FREE, MADV_REMOVE));
	case KIND_CONTENT:
		if (!is_odd(about, 60))
			return constant(CONTENT_SECTION);
		return constant(ONE_OF(random, CONTENT_BROKEN, CONTENT_BROKEN,
				       CONTENT_FLIPPED, CONTENT_FLIPPED,
				       CONTENT_STACK, CONTENT_DEEP,
				       CONTENT_RANDOM));
	case KIND_TABLE_CONTENT:
		return constant(is_odd(about, 10) ? CONTENT_RANDOM : CONTENT_TABLE);
	case KIND_ELF_CONTENT:
		return constant(is_odd(about, 50) ?
				ONE_OF(random, FILE_ELF_BROKEN,
				       FILE_ELF_FLIPPED) : FILE_ELF);
	case KIND_SFRAME_CONTENT:
		return constant(is_odd(about, 50) ?
				ONE_OF(random, FILE_SFRAME_FLIPPED,
				       FILE_SECTION) : FILE_SFRAME);
	case KIND_SEED:
		return constant(random_next(random) >> 32);
	case KIND_SIGNAL:
		return constant(ONE_OF(random, SIGUSR1, SIGUSR1, SIGUSR2,
				       SIGUSR2, SIGUSR2, SIGKILL, SIGSTOP,
				       SIGCONT, SIGCONT, SIGTERM));
	case KIND_UNSHARE:
		return constant(ONE_OF(random, CLONE_NEWUSER, CLONE_NEWPID,
				       CLONE_NEWUSER | CLONE_NEWPID,
				       CLONE_FILES, CLONE_NEWNS));
	case KIND_LIMIT:
		return constant(ONE_OF(random, RLIMIT_AS, RLIMIT_NOFILE,
				       RLIMIT_MEMLOCK, RLIMIT_STACK));
	case KIND_LIMIT_VALUE:
		return constant(ONE_OF(random, 0, 4096, 65536, 1UL << 22,
				       any_number(random)));
	default:
		return constant(any_number(random));
	}
}

/* Arguments of samples. */
static struct arg sample_arg(enum kind kind, const struct about *about)
{
	uint64_t *random = about->random;

	switch (kind) {
	case KIND_RING_PAGES:
		return constant(is_odd(about, 10) ?
				ONE_OF(random, 0, 3, 16384, 32768, ~0U) :
				1U << random_below(random, 4));
	case KIND_WATERMARK:
		return constant(is_odd(about, 20) ?
				ONE_OF(random, 8, 2048, ~0U) : 0);
	case KIND_CLOCK:
		return constant(is_odd(about, 10) ?
				ONE_OF(random, 0, 4, 7, 11, 2, ~0U) :
				CLOCK_MONOTONIC);
	case KIND_SAMPLER_FLAGS:
		return constant(flags(about, 0x9));
	case KIND_MAP_SAMPLER_FLAGS:
		return constant(6 | flags(about, 0x9));
	case KIND_MAP_PAGES:
		return constant(is_odd(about, 10) ?
				ONE_OF(random, 0, 3, 16384, 32768, ~0U) :
				1U << random_below(random, 7));
	case KIND_MAX_FILES:
		return constant(is_odd(about, 10) ?
				ONE_OF(random, 0, 65536, 65537, ~0U) :
				ONE_OF(random, 1, 10, 100));
	case KIND_COPY_SIZE:
		return constant(is_odd(about, 10) ?
				ONE_OF(random, 1, 65536, 65544, ~0U) :
				ONE_OF(random, 0, 0, 8, 512, 8192));
	case KIND_EVENT:
		return constant(is_odd(about, 5) ? any_number(random) :
						   random_below(random, 10));
	case KIND_EVENT_PERIOD:
		return constant(ONE_OF(random, 1, 1, 100000, 1000000, ~0UL));
	case KIND_EVENT_FLAGS:
		return constant(flags(about, 7));
	case KIND_FIELDS:
		return constant(flags(about, 0x27));
	case KIND_EVENT_ID:
		return constant(ONE_OF(random, 0, 0, 1, 2, 3, ~0U));
	case KIND_CONTROL:
		return constant(ONE_OF(random, 1, 1, 1, 2, 4, 0, 3, ~0U));
	case KIND_RING_OFFSET:
		return constant(ONE_OF(random, SFRAME_UNWIND_RING_CONTROL(0),
				       SFRAME_UNWIND_RING_CONTROL(1),
				       SFRAME_UNWIND_RING_RECORDS(0),
				       SFRAME_UNWIND_RING_RECORDS(1),
				       SFRAME_UNWIND_STACK_MAP,
				       SFRAME_UNWIND_FILES, PAGE,
				       any_number(random) & -PAGE));
	case KIND_RING_SIZE:
		return constant(ONE_OF(random, PAGE, PAGE, 2 * PAGE, 4 * PAGE,
				       8 * PAGE, 16 * PAGE, 3 * PAGE, 9 * PAGE,
				       129 * PAGE, 640 * PAGE));
	default:
		return constant(ONE_OF(random, PROT_READ, PROT_READ,
				       PROT_READ | PROT_WRITE,
				       PROT_READ | PROT_EXEC));
	}
}

struct arg args_make(const struct call_type *type, unsigned int i,
		     const struct about *about)
{
	const enum kind kind = type->arg[i].kind;

	switch (kind) {
	case KIND_SECTION ... KIND_TEXT_SIZE:
	case KIND_IP ... KIND_FP:
	case KIND_SLOT ... KIND_LENGTH:
		return place_arg(kind, about);
	case KIND_ELF ... KIND_MAPPED:
	case KIND_BUILD_ID ... KIND_FILE_SIZE:
		return file_arg(kind, about);
	case KIND_RING_PAGES ... KIND_RING_PROT:
		return sample_arg(kind, about);
	case KIND_PROT ... KIND_LIMIT_VALUE:
	case KIND_ANYTHING:
		return other_arg(kind, about);
	default:
		return device_arg(kind, type, about);
	}
}
