/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the bench that run in a VM. Each reports values by name, from
 * which table.awk makes tables.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdio.h>

#include "measure.h"

#define MAX_DEPTH	128

void measure_walks(int fd);
void measure_samples(int fd);
void measure_at_once(int fd);
void measure_backtrace(int fd);
void measure_extended(int fd);
void measure_lookups(int fd);
void measure_many(int fd);
void measure_table(int fd);

#endif /* BENCH_BENCH_H */
