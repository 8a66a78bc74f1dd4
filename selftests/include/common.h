/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common to most tests: reading and checking a stack record, and a section for
 * code made by the test.
 */
#ifndef SELFTESTS_COMMON_H
#define SELFTESTS_COMMON_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <sys/utsname.h>
#include "kselftest_harness.h"
#include "own_section.h"
#include "wrappers.h"

/*
 * Seconds until a test counts as hung. Debug kernels are ten times slower, busy
 * machines several times.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	600

#define PAGE		4096UL
#define MAX_FRAMES	1024

/* CLOCK_MONOTONIC, in nanoseconds. */
static inline __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* One stack record, with room for the largest. */
struct stack {
	struct sframe_unwind_stack head;
	__u64 ips[MAX_FRAMES];
	__u8 tail[MAX_FRAMES];
};

static inline __u8 how(const struct stack *stack, unsigned int i)
{
	return ((const __u8 *)(stack->head.ips + stack->head.nr_frames))[i];
}

/*
 * Read one record of a blocking client and check the properties that every
 * stack has. Returns NULL or an error message.
 */
static inline const char *read_stack(int fd, struct stack *stack)
{
	static __thread char why[96];
	size_t room = sizeof(stack->head);
	unsigned int i, end;
	bool guessed = false;
	ssize_t got;

	memset(stack, 0xa5, sizeof(*stack));
	/*
	 * Grow the buffer by the smallest step, so that one read never gets two
	 * records.
	 */
	do {
		got = read(fd, stack, room);
		room += 8;
	} while (got == -1 && errno == EINVAL && room <= sizeof(*stack));
	if (got < 0) {
		snprintf(why, sizeof(why), "read: %s", strerror(errno));
		return why;
	}
	if ((size_t)got < sizeof(stack->head) ||
	    got != stack->head.record.size || got % 8)
		return "not one whole record";
	if (stack->head.record.type != SFRAME_UNWIND_RECORD_STACK ||
	    stack->head.record.reserved || stack->head.reserved)
		return "not a stack record, or reserved is not 0";
	if (!stack->head.cookie || !stack->head.time || !stack->head.stop)
		return "no cookie, time or stop reason";
	end = sizeof(stack->head) + stack->head.nr_frames * 9;
	if (got != (end + 7) / 8 * 8)
		return "size does not fit nr_frames";
	for (i = end; i < got; i++) {
		if (((char *)stack)[i])
			return "padding is not 0";
	}
	for (i = 0; i < stack->head.nr_frames; i++) {
		if (!stack->head.ips[i])
			return "a frame at 0";
		if ((how(stack, i) == SFRAME_UNWIND_FRAME_REGS) != (i == 0) ||
		    (how(stack, i) & ~SFRAME_UNWIND_FRAME_UNSURE) >
			    SFRAME_UNWIND_FRAME_SIGNAL || !how(stack, i))
			return "frames are not marked right";
		/* Frames are marked unsure if and only if they follow a guess. */
		if (!(how(stack, i) & SFRAME_UNWIND_FRAME_UNSURE) == guessed)
			return "a frame behind a guess is marked as sure";
		guessed |= how(stack, i) == SFRAME_UNWIND_FRAME_FP;
	}
	return NULL;
}

#define ASSERT_STACK(fd, stack)						\
	do {								\
		const char *why_ = read_stack(fd, stack);		\
		ASSERT_EQ(NULL, why_)					\
		{							\
			TH_LOG("%s", why_);				\
		}							\
	} while (0)

/* Whether no record is waiting. */
static inline bool is_empty(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 0;
}

static inline int register_own(int fd)
{
	struct sframe_unwind_register reg = own_section();

	return register_section(fd, &reg);
}

/* Registrations of the calling process; ~0U on error. */
static inline unsigned int count_sections(int fd)
{
	struct sframe_unwind_stats s;

	return stats(fd, &s) ? ~0U : s.sections;
}

/* Whether @ip is in the first @size bytes of @function. */
static inline bool inside(__u64 ip, const void *function, unsigned int size)
{
	return ip - (uintptr_t)function < size;
}

/*
 * Code on one page and its section on the next: one function of FAKE_SIZE bytes
 * with one row, CFA = SP + 8, which tests can break.
 */
#define FAKE_SIZE		64
#define FAKE_NUM_FDES		0x08
#define FAKE_NUM_FRES		0x0c
#define FAKE_FRE_LEN		0x10
#define FAKE_FRE_OFF		0x18
#define FAKE_FDE		0x1c
#define FAKE_FUNC_SIZE		(FAKE_FDE + 8)
#define FAKE_BLOCK_OFF		(FAKE_FDE + 12)
#define FAKE_ATTR		0x2c
#define FAKE_INFO		(FAKE_ATTR + 2)
#define FAKE_INFO2		(FAKE_ATTR + 3)
#define FAKE_REP_SIZE		(FAKE_ATTR + 4)
#define FAKE_ROW		0x31
#define FAKE_ROW_INFO		(FAKE_ROW + 1)
#define FAKE_ROW_WORD		(FAKE_ROW + 2)
#define FAKE_SECTION_SIZE	0x34

struct fake {
	unsigned char *text;
	unsigned char *section;
	struct sframe_unwind_register reg;
};

static inline void put32(unsigned char *p, uint32_t value)
{
	memcpy(p, &value, sizeof(value));
}

static inline void put64(unsigned char *p, uint64_t value)
{
	memcpy(p, &value, sizeof(value));
}

/* Write a section at @s for one function of FAKE_SIZE bytes at @text. */
static inline void write_fake_section(unsigned char *s, const void *text)
{
	static const unsigned char header[] = {
		0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0
	};

	memset(s, 0, FAKE_SECTION_SIZE);
	memcpy(s, header, sizeof(header));
	put32(s + FAKE_NUM_FDES, 1);
	put32(s + FAKE_NUM_FRES, 1);
	put32(s + FAKE_FRE_LEN, 5 + 3);
	put32(s + FAKE_FRE_OFF, 16);
	put64(s + FAKE_FDE, (uintptr_t)text - (uintptr_t)(s + FAKE_FDE));
	put32(s + FAKE_FUNC_SIZE, FAKE_SIZE);
	s[FAKE_ATTR] = 1;			/* one row: */
	s[FAKE_ROW_INFO] = 0x03;		/* SP, one word of one byte */
	s[FAKE_ROW_WORD] = 8;
}

static inline bool make_fake(struct fake *fake)
{
	unsigned char *p = mmap(NULL, 2 * PAGE,
				PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	fake->text = p;
	fake->section = p + PAGE;
	memset(fake->text, 0x90, PAGE);
	write_fake_section(fake->section, fake->text);
	fake->reg = (struct sframe_unwind_register) {
		.size = sizeof(fake->reg),
		.sframe_start = (uintptr_t)fake->section,
		.sframe_size = FAKE_SECTION_SIZE,
		.text_start = (uintptr_t)fake->text,
		.text_size = PAGE,
	};
	return true;
}

/*
 * Change the section: all code of the page keeps frame pointers, says one row based on
 * FP with two words of one byte.
 */
static inline void make_fake_keep_fp(struct fake *fake)
{
	put32(fake->section + FAKE_FUNC_SIZE, PAGE);
	put32(fake->section + FAKE_FRE_LEN, 5 + 4);
	fake->section[FAKE_ROW_INFO] = 0x04;
	fake->section[FAKE_ROW_WORD] = 16;
	fake->section[FAKE_ROW_WORD + 1] = -16;
	fake->reg.sframe_size = FAKE_SECTION_SIZE + 1;
}

/*
 * Register the section again after changing it: the registration caches the
 * rules that were found in the old contents.
 */
static inline int register_anew(int fd, struct fake *fake)
{
	unregister_id(fd, fake->reg.id);
	return register_section(fd, &fake->reg);
}

static inline void free_fake(struct fake *fake)
{
	munmap(fake->text, 2 * PAGE);
}

/*
 * Code that requests its own stack, called as function(fd, cmd, arg). It saves
 * nothing but the return address, as the fake row says.
 */
typedef long (*request_code_t)(long fd, long cmd, void *arg);

static const unsigned char request_code[] = {
	0xb8, 0x10, 0x00, 0x00, 0x00,	/* mov $__NR_ioctl,%eax */
	0x0f, 0x05,			/* syscall */
	0xc3,				/* ret */
};

/* The same, but it has 40 bytes on the stack then. */
static const unsigned char deep_code[] = {
	0x48, 0x83, 0xec, 0x28,		/* sub $40,%rsp */
	0xb8, 0x10, 0x00, 0x00, 0x00,	/* mov $__NR_ioctl,%eax */
	0x0f, 0x05,			/* syscall */
	0x48, 0x83, 0xc4, 0x28,		/* add $40,%rsp */
	0xc3,				/* ret */
};

/* Offset of the instruction behind the system call, where its stack starts. */
#define REQUEST_CODE_IP		7

static inline void put_request_code(struct fake *fake)
{
	memcpy(fake->text, request_code, sizeof(request_code));
}

/* Run the code at @at, which requests a stack of this thread. */
static __attribute__((noinline, unused)) long
call_request_code(const void *at, int fd, struct sframe_unwind_request *req)
{
	long ret = ((request_code_t)(uintptr_t)at)(fd, SFRAME_UNWIND_IOC_REQUEST,
						   req);

	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

/* Debug kernels, which are not Debian's, are ten times slower. */
static inline bool is_slow_kernel(void)
{
	struct utsname name;

	return !uname(&name) && !strstr(name.release, "amd64");
}

#endif /* SELFTESTS_COMMON_H */
