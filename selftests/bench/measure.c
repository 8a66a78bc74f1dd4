// SPDX-License-Identifier: GPL-2.0
/*
 * Measure: results of the test module's ioctl and of timed.S.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "measure.h"

static const struct sframe_unwind_register *plain_sections;
static unsigned int nr_plain_sections;

void report(double value, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	vprintf(name, args);
	va_end(args);
	printf("\t%.3f\n", value);
	fflush(stdout);
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "bench: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
}

/* Overhead of timed.S itself. */
static uint64_t nothing(void)
{
	static uint64_t least;
	uint64_t cycles;
	int i;

	for (i = 0; !least && i < 64; i++)
		timed_nothing(0, 0, NULL, &cycles);
	for (i = 0; i < 64; i++) {
		timed_nothing(0, 0, NULL, &cycles);
		if (!least || cycles < least)
			least = cycles;
	}
	return least;
}

uint64_t chain_ioctl(uintptr_t chain, int fd, long cmd, void *arg)
{
	long (*call)(long, long, void *, uint64_t *) = (void *)chain;
	const uint64_t base = nothing();
	uint64_t cycles;
	long ret = call(fd, cmd, arg, &cycles);

	if (ret < 0)
		die("ioctl 0x%lx: %s", cmd, strerror(-ret));
	return cycles - base;
}

uint64_t plain_ioctl(int fd, long cmd, void *arg)
{
	return chain_ioctl((uintptr_t)timed_ioctl, fd, cmd, arg);
}

uint64_t measure_fork(void)
{
	const uint64_t base = nothing();
	uint64_t cycles;
	int status;
	long pid = timed_fork(0, 0, 0, &cycles);

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		die("fork: %s", strerror(errno));
	return cycles - base;
}

static struct sfu_bench_spec spec_for(enum sfu_bench_what what,
				      unsigned int depth, unsigned int repeat)
{
	return (struct sfu_bench_spec) {
		.size = sizeof(struct sfu_bench_spec),
		.what = what,
		.repeat = repeat,
		.max_depth = depth,
		.sections = (uintptr_t)plain_sections,
		.nr_sections = nr_plain_sections,
	};
}

uint64_t walk(uintptr_t chain, int fd, enum sfu_bench_what what,
	      unsigned int depth, unsigned int repeat, uint64_t *ips)
{
	long (*call)(long, long, void *, uint64_t *) = (void *)chain;
	struct sfu_bench_spec spec = spec_for(what, depth, repeat);
	uint64_t cycles;
	long ret;

	spec.ips = (uintptr_t)ips;
	ret = call(fd, SFU_BENCH_IOC_RUN, &spec, &cycles);
	if (ret == -EOPNOTSUPP)
		return 0;
	if (ret < 0)
		die("walk %d: %s", what, strerror(-ret));
	if (spec.nr != depth)
		die("walk %d found %u frames of %u", what, spec.nr, depth);
	return spec.cycles;
}

uint64_t look_up(int fd, enum sfu_bench_what what, uint64_t pc,
		 unsigned int repeat)
{
	struct sfu_bench_spec spec = spec_for(what, 1, repeat);

	spec.address = pc;
	plain_ioctl(fd, SFU_BENCH_IOC_RUN, &spec);
	return spec.cycles;
}

void set_plain(const struct sframe_unwind_register *sections, unsigned int nr)
{
	plain_sections = sections;
	nr_plain_sections = nr;
}

void change_mappings(void)
{
	static unsigned char *page;
	static int prot;

	if (!page) {
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		if (page == MAP_FAILED)
			die("mmap: %s", strerror(errno));
	}
	prot ^= PROT_READ;
	if (mprotect(page, 4096, prot))
		die("mprotect: %s", strerror(errno));
}
