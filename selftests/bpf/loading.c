// SPDX-License-Identifier: GPL-2.0
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "loading.h"

#define RATE		20000	/* events a second, of the timer */
#define PAGE		4096l

/* --- the target: LEVELS functions, and the one where all events occur */

#define ASK	__attribute__((noinline, noclone, section("ask_code")))
#define DOWN	__attribute__((noinline, noclone, section("down_code")))

extern const char __start_ask_code[], __stop_ask_code[];
extern const char __start_down_code[], __stop_down_code[];
extern const char ask_probe[];

/* In the child: a page that it writes and gives back all the time, or NULL. */
static volatile char *page;

static inline long call(long nr, long first, void *second, long third)
{
	asm volatile("syscall" : "+a"(nr) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
	return nr;
}

/* System calls, and page faults if there is a page, for @milliseconds. Calls no function. */
ASK static void ask(unsigned int milliseconds)
{
	__u64 time, until = 0;
	struct timespec now;

	do {
		for (int i = 0; i < 50; i++) {
			asm volatile(".globl ask_probe\nask_probe: nop");
			call(SYS_getpgid, 0, NULL, 0);
			if (page) {
				*page = 1;
				call(SYS_madvise, (long)page, (void *)PAGE, MADV_DONTNEED);
			}
		}
		call(SYS_clock_gettime, CLOCK_MONOTONIC, &now, 0);
		time = now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
		if (!until)
			until = time + milliseconds;
	} while (time < until);
}

DOWN static void down(unsigned int levels, unsigned int milliseconds)
{
	if (levels > 1)
		down(levels - 1, milliseconds);
	else
		ask(milliseconds);
	/* No tail call. */
	asm volatile("" ::: "memory");
}

/* --- loading and attaching */

unsigned int kernel_version(void)
{
	unsigned int version = 0, level = 0;
	struct utsname name;

	uname(&name);
	sscanf(name.release, "%u.%u", &version, &level);
	return version * 100 + level;
}

bool has_feature(void)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };
	int fd = open(SFRAME_UNWIND_DEVICE, O_RDWR | O_CLOEXEC);
	bool has = !ioctl(fd, SFRAME_UNWIND_IOC_QUERY, &query) &&
		   query.features & SFRAME_UNWIND_FEATURE_BPF;

	close(fd);
	return has;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

struct stacks *open_programs(const char *const *names)
{
	struct stacks *programs;
	struct bpf_program *program;

	if (!getenv("BPF_LOG"))
		libbpf_set_print(quiet);
	programs = stacks__open();
	if (!programs)
		return NULL;
	bpf_object__for_each_program(program, programs->obj)
		bpf_program__set_autoload(program, false);
	for (; *names; names++) {
		program = bpf_object__find_program_by_name(programs->obj, *names);
		if (program)
			bpf_program__set_autoload(program, true);
	}
	programs->bss->ask_start = (uintptr_t)__start_ask_code;
	programs->bss->ask_end = (uintptr_t)__stop_ask_code;
	programs->bss->down_start = (uintptr_t)__start_down_code;
	programs->bss->down_end = (uintptr_t)__stop_down_code;
	return programs;
}

static long offset_in_file(const char *at)
{
	unsigned long start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	long found = -1;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)at >= start && (uintptr_t)at < end)
			found = (uintptr_t)at - start + offset;
	}
	if (maps)
		fclose(maps);
	return found;
}

static struct bpf_link *attach(struct bpf_program *program, enum how how, pid_t target)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = how == BY_TIMER ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = how == BY_TIMER ? 1000000000 / RATE : 1,
	};
	int fd;

	switch (how) {
	case BY_TIMER:
	case BY_PAGE_FAULT:
		fd = syscall(SYS_perf_event_open, &attr, target, -1, -1, PERF_FLAG_FD_CLOEXEC);
		return fd < 0 ? NULL : bpf_program__attach_perf_event(program, fd);
	case BY_UPROBE:
		return bpf_program__attach_uprobe(program, false, target, "/proc/self/exe",
						  offset_in_file(ask_probe));
	default:
		return bpf_program__attach(program);
	}
}

/* --- the target's process */

static void start_target(struct target *target, bool faults, unsigned int milliseconds)
{
	int ends[2];
	char byte;

	if (pipe2(ends, O_CLOEXEC))
		_exit(1);
	target->pid = fork();
	if (!target->pid) {
		close(ends[1]);
		if (faults)
			page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			_exit(1);
		if (read(ends[0], &byte, 1) == 1)
			down(LEVELS, milliseconds);
		_exit(0);
	}
	close(ends[0]);
	target->go = ends[1];
}

bool run_target(struct target *target)
{
	int status;

	if (write(target->go, "", 1) != 1)
		return false;
	close(target->go);
	return waitpid(target->pid, &status, 0) == target->pid && !status;
}

__u64 sum(const __u64 *of)
{
	__u64 all = 0;

	for (int i = 0; i < NR_ERRORS; i++)
		all += of[i];
	return all;
}

const char *prepare(struct loaded *self, const char *const *names, enum how how, int task, unsigned int milliseconds)
{
	struct bpf_link *link;

	self->programs = open_programs(names);
	if (!self->programs)
		return "open";
	self->got = self->programs->bss;
	start_target(&self->target, how == BY_PAGE_FAULT, milliseconds);
	self->got->target = self->target.pid;
	self->got->task = task;
	if (stacks__load(self->programs))
		return "load";
	for (unsigned int i = 0; names[i]; i++) {
		/* Only the first one is not attached by its section. */
		link = attach(bpf_object__find_program_by_name(self->programs->obj, names[i]),
			      i ? BY_SECTION : how, self->target.pid);
		if (!link)
			return names[i];
	}
	return NULL;
}

