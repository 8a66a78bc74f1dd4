/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filter: a seccomp filter that is compiled once for all forked processes, one for each
 * program.
 */
#ifndef WORKER_FILTER_H
#define WORKER_FILTER_H

#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * filter_prepare() - compile the filter
 * @otherwise: what system calls cause that no rule allows, SCMP_ACT_*.
 * @add_rules: adds the rules. Returns 0 or a negative errno.
 *
 * Return: false with errno on failure.
 */
bool filter_prepare(uint32_t otherwise, int (*add_rules)(scmp_filter_ctx filter));

/*
 * Apply the filter to this process, irrevocably. Needs CAP_SYS_ADMIN or
 * PR_SET_NO_NEW_PRIVS. Returns false with errno on failure.
 */
bool filter_load(void);

#endif /* WORKER_FILTER_H */
