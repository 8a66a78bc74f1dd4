/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Change the mappings, so that all rules have to be checked again: the next stack that
 * is requested is not taken at once, but by a walk.
 */
#ifndef SELFTESTS_CHANGE_MAPPINGS_H
#define SELFTESTS_CHANGE_MAPPINGS_H

#include <sys/mman.h>

static __attribute__((noinline, unused)) void change_mappings(void)
{
	munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
}

#endif /* SELFTESTS_CHANGE_MAPPINGS_H */
