// SPDX-License-Identifier: GPL-2.0
/*
 * What a program that wants its own stack gets: SFRAME_UNWIND_IOC_STACK, the system call
 * included, compared with glibc's backtrace(), from the same place.
 */
#include <errno.h>
#include <execinfo.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../include/own_section.h"
#include "../include/wrappers.h"
#include "bench.h"

#define DEPTH		32
#define ROUNDS		64

/* Deeper than what is asked for, in this program alone. */
#define CALLS		40

struct least {
	uint64_t stack, backtrace;
	int fd;
};

static inline uint64_t now(void)
{
	uint32_t low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) :: "memory");
	return (uint64_t)high << 32 | low;
}

static void note_least(uint64_t *least, uint64_t cycles)
{
	if (cycles < *least)
		*least = cycles;
}

/* libc, whose ioctl() would be the first frame, has no section here. */
static __always_inline long own_ioctl(long fd, long cmd, void *arg)
{
	long ret = SYS_ioctl;

	asm volatile("syscall" : "+a"(ret) : "D"(fd), "S"(cmd), "d"(arg)
		     : "rcx", "r11", "memory");
	return ret;
}

static __attribute__((noinline)) void take_both(struct least *least)
{
	uint64_t ips[DEPTH], start;
	uint8_t how[DEPTH];
	void *addresses[DEPTH];
	struct sframe_unwind_own_stack arg = {
		.size = sizeof(arg),
		.ips = (uintptr_t)ips,
		.how = (uintptr_t)how,
		.max_depth = DEPTH,
	};
	int i, nr, err;

	start = now();
	err = own_ioctl(least->fd, SFRAME_UNWIND_IOC_STACK, &arg);
	note_least(&least->stack, now() - start);
	if (err || arg.nr_frames != DEPTH)
		die("STACK: %d, %u frames", err, arg.nr_frames);
	start = now();
	nr = backtrace(addresses, DEPTH);
	note_least(&least->backtrace, now() - start);
	/* Both begin here, behind the system call and behind the call. */
	for (i = 1; i < DEPTH; i++) {
		if (nr != DEPTH || (uintptr_t)addresses[i] != ips[i])
			die("backtrace() found %d frames, %p as frame %d, not 0x%lx",
			    nr, addresses[i], i, ips[i]);
	}
}

static __attribute__((noinline)) void call(struct least *least,
					   unsigned int calls)
{
	if (calls)
		call(least, calls - 1);
	else
		take_both(least);
	asm volatile("" ::: "memory");	/* no tail call */
}

void measure_backtrace(int fd)
{
	struct least least = { ~0ULL, ~0ULL, open_client(0) };
	struct sframe_unwind_register own = own_section();
	int i;

	say("backtrace()");
	if (register_section(fd, &own))
		die("register: %s", strerror(errno));
	for (i = 0; i < ROUNDS; i++)
		call(&least, CALLS);
	report(least.stack, "own.stack");
	report(least.backtrace, "own.backtrace");
	unregister_id(fd, own.id);
	close(least.fd);
}
