/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Measure: what the module's hidden ioctl and timed.S tell.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <linux/sframe_unwind.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../module/test/test.h"
#include "code.h"

/* Of timed.S: like ioctl(2), but -errno, and with the cycles it took. */
long timed_ioctl(long fd, long cmd, void *arg, uint64_t *cycles);
long timed_nothing(long fd, long cmd, void *arg, uint64_t *cycles);
long timed_fork(long a, long b, long c, uint64_t *cycles);

/* One measured value, for the tables. */
void report(double value, const char *name, ...)
	__attribute__((format(printf, 2, 3)));

/* One line for who reads along. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Like timed_ioctl(), from the end of @chain, without what is not its own. Exits
 * if the ioctl fails.
 */
uint64_t chain_ioctl(uintptr_t chain, int fd, long cmd, void *arg);

/* The same from here. */
uint64_t plain_ioctl(int fd, long cmd, void *arg);

/* A fork, until the parent is back. */
uint64_t measure_fork(void);

/*
 * Walk by @what, @repeat times, from the end of @chain. Returns the least
 * cycles of one; 0 if this kernel has no such walker. @ips is NULL, or gets
 * @depth addresses.
 */
uint64_t walk(uintptr_t chain, int fd, enum sfu_bench_what what,
	      unsigned int depth, unsigned int repeat, uint64_t *ips);

/* Look @pc up, @repeat times. Returns the least cycles of one. */
uint64_t look_up(int fd, enum sfu_bench_what what, uint64_t pc,
		 unsigned int repeat);

/* The sections that SFU_BENCH_*_PLAIN know from now on. */
void set_plain(const struct sframe_unwind_register *sections, unsigned int nr);

/* Change the mappings, so that the module has to look at them again. */
void change_mappings(void);

#endif /* BENCH_MEASURE_H */
