/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An observed process: it never opens the device, and sleeps in code of the
 * small ELF file until it receives a byte.
 */
#ifndef SELFTESTS_OBSERVED_H
#define SELFTESTS_OBSERVED_H

#include <sched.h>
#include <signal.h>

#include "elf_map.h"
#include "marker.h"
#include "process.h"

struct observed {
	unsigned char *at;	/* where the file is mapped */
	pid_t pid;
	int wake;		/* pipe that wakes it */
};

/* Make the file's small function call read() instead of ioctl(). */
static inline void make_readers(struct elf_base *elf)
{
	elf->small[1] = SYS_read;
}

/* Read a byte by running the code at @code. Returns it, or -1. */
static __attribute__((noinline, unused)) int read_by(const void *code, int fd)
{
	unsigned char byte;
	long got = ((request_code_t)(uintptr_t)code)(fd, (long)&byte,
						     (void *)sizeof(byte));

	asm volatile("" ::: "memory");	/* no tail call */
	return got == sizeof(byte) ? byte : -1;
}

/* Commands. */
#define GO_ON	'g'
#define EXEC	'e'		/* execute another program that sleeps */

static inline void be_observed(const unsigned char *at, int fd)
{
	int byte;

	do {
		byte = read_by(at + ELF_SMALL_VADDR, fd);
	} while (byte == GO_ON);
	if (byte == EXEC)
		execlp("sleep", "sleep", "infinity", NULL);
	_exit(1);
}

static inline bool sleeps(const struct observed *observed)
{
	return sleeps_in(observed->pid, SYS_read);
}

/* Start a process, with the file mapped at observed->at. */
static inline bool start_observed(struct observed *observed)
{
	int wake[2];

	if (pipe2(wake, O_CLOEXEC))
		return false;
	observed->pid = fork();
	if (!observed->pid) {
		close(wake[1]);
		be_observed(observed->at, wake[0]);
	}
	close(wake[0]);
	observed->wake = wake[1];
	return observed->pid > 0;
}

static inline bool send_byte(const struct observed *observed, char byte)
{
	return write(observed->wake, &byte, 1) == 1;
}

/* Whether the process has ended, for example killed by the kernel. */
static inline bool has_ended(const struct observed *observed)
{
	siginfo_t info = {};

	return waitid(P_PID, observed->pid, &info,
		      WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/*
 * Request the stack, then wake the process so that it is delivered. Returns
 * whether a stack was read.
 */
static inline bool take_stack(int fd, const struct observed *observed,
			      struct stack *stack)
{
	while (!sleeps(observed)) {
		if (has_ended(observed))
			return false;
		sched_yield();
	}
	return !try_request(fd, observed->pid) &&
	       send_byte(observed, GO_ON) && !read_stack(fd, stack);
}

/* Take a stack. Returns whether it is right. */
static inline bool observe(int fd, const struct observed *observed)
{
	static struct stack stack;

	return take_stack(fd, observed, &stack) &&
	       stack.head.pid == (__u32)observed->pid &&
	       stack.head.nr_frames >= 2 &&
	       stack.head.ips[0] == (uintptr_t)observed->at + ELF_SMALL_VADDR +
				    REQUEST_CODE_IP &&
	       how(&stack, 1) == SFRAME_UNWIND_FRAME_SFRAME &&
	       stack.head.ips[1] - (uintptr_t)read_by < 128;
}

static inline void end_observed(struct observed *observed)
{
	kill(observed->pid, SIGKILL);
	waitpid(observed->pid, NULL, 0);
	close(observed->wake);
}

/*
 * Wait until the module's counter @name is @value. Returns false after
 * @seconds.
 */
static inline bool comes_to(const char *name, long value, unsigned int seconds)
{
	const __u64 end = now_ns() + seconds * 1000000000ULL;

	while (counter(name) != value) {
		if (now_ns() > end)
			return false;
		usleep(1000);
	}
	return true;
}

/* Make the kernel call all shrinkers. */
static inline bool drop_caches(void)
{
	const int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
	const bool done = fd >= 0 && write(fd, "2", 1) == 1;

	close(fd);
	return done;
}

#endif /* SELFTESTS_OBSERVED_H */
