/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel: counters of the module, memory use and leak detection of the kernel. */
#ifndef STORM_KERNEL_H
#define STORM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

/* Value of a counter of the module, or -1. */
long kernel_counter(const char *name);

/*
 * Wait until no object of the module is left. Returns false, with a description
 * in @left, if some are.
 */
bool kernel_is_clean(char *left, size_t size);

/**
 * struct kernel_memory - memory used, in KiB
 */
struct kernel_memory {
	long available;
	long unreclaimable;
};

/* Measure after the kernel has completed deferred frees. */
struct kernel_memory kernel_measure(void);

/*
 * Whether this kernel has a leak detector. Such kernels keep freed memory for a
 * while, so that measurements are meaningless.
 */
bool kernel_finds_leaks(void);

/*
 * Run the leak detector and print what it finds. Returns whether it finds
 * nothing.
 */
bool kernel_leaks_nothing(void);

/* Print what the threads of @pid do in the kernel. */
void kernel_show_process(int pid);

#endif /* STORM_KERNEL_H */
