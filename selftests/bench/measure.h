/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Measure: results of the test module's ioctl and of timed.S.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <linux/sframe_unwind.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../module/test/test.h"
#include "code.h"

/* In timed.S: like ioctl(2), but returns -errno, and stores the cycles it took. */
long timed_ioctl(long fd, long cmd, void *arg, uint64_t *cycles);
long timed_nothing(long fd, long cmd, void *arg, uint64_t *cycles);
long timed_fork(long a, long b, long c, uint64_t *cycles);

/* Report one measured value, for the tables. */
void report(double value, const char *name, ...)
	__attribute__((format(printf, 2, 3)));

/* Print one line of progress. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Like timed_ioctl(), called at the end of @chain, without its overhead. Exits
 * if the ioctl fails.
 */
uint64_t chain_ioctl(uintptr_t chain, int fd, long cmd, void *arg);

/* Like chain_ioctl(), but called directly. */
uint64_t plain_ioctl(int fd, long cmd, void *arg);

/* Cycles of a fork, until the parent returns. */
uint64_t measure_fork(void);

/*
 * Walk @repeat times by @what, from the end of @chain. Returns the minimum
 * cycles of a walk; 0 if this kernel has no such walker. @ips is NULL, or
 * receives @depth addresses.
 */
uint64_t walk(uintptr_t chain, int fd, enum sfu_bench_what what,
	      unsigned int depth, unsigned int repeat, uint64_t *ips);

/* Look up @pc @repeat times. Returns the minimum cycles of a lookup. */
uint64_t look_up(int fd, enum sfu_bench_what what, uint64_t pc,
		 unsigned int repeat);

/* Set the sections that SFU_BENCH_*_PLAIN use from now on. */
void set_plain(const struct sframe_unwind_register *sections, unsigned int nr);

/* Change the mappings, so that the module has to check them again. */
void change_mappings(void);

#endif /* BENCH_MEASURE_H */
