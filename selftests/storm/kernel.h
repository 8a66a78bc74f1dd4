/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel: what the module and the kernel say of themselves. */
#ifndef STORM_KERNEL_H
#define STORM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

/* A counter of the module, or -1. */
long kernel_counter(const char *name);

/* Wait until nothing of the module lives; what does goes to @left. */
bool kernel_is_clean(char *left, size_t size);

/**
 * struct kernel_memory - in KiB
 */
struct kernel_memory {
	long available;
	long unreclaimable;
};

/* Measure when the kernel has freed what it frees late. */
struct kernel_memory kernel_measure(void);

/*
 * Has this kernel a detector of leaks? It keeps what is freed for a while, to
 * see who uses it yet, so that measuring tells nothing there.
 */
bool kernel_finds_leaks(void);

/* Have it look; what it finds goes to stdout. Is that nothing? */
bool kernel_leaks_nothing(void);

/* What thread @tid of @pid does in the kernel, to stdout. */
void kernel_show_process(int pid);

#endif /* STORM_KERNEL_H */
