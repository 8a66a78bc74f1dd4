/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sandbox: a process that can compute, and write to descriptor 1.
 *
 * What follows holds for code that has been taken over by what it reads:
 *
 * - it makes no system call but write to descriptor 1, brk, mmap of private
 *   anonymous memory that is not executable, and exit_group, else it is killed;
 * - its memory, CPU time and output are limited, and it cannot fork;
 * - would it come by another system call, then as a user that nobody else is,
 *   without capabilities or a way to get any, in namespaces with no other process,
 *   no network, no file.
 */
#ifndef WORKER_SANDBOX_H
#define WORKER_SANDBOX_H

#include <stdint.h>

/**
 * struct sandbox - limits
 *
 * @memory: bytes that may be allocated beyond what is there now.
 * @output: bytes that may be written to descriptor 1.
 * @cpu_seconds: of CPU time.
 */
struct sandbox {
	uint64_t memory;
	uint64_t output;
	unsigned int cpu_seconds;
};

/**
 * sandbox_enter() - give up everything
 * @sandbox: limits.
 * @weak: set to WORKER_WEAK_* bits.
 *
 * Returns in a new process, of which the old one passes on the end: its status,
 * or 128 and the signal. All memory that libraries get by other calls than brk
 * and mmap has to be there before.
 *
 * Return: NULL, or what failed, with errno: then nothing of a stranger may be
 * touched.
 */
const char *sandbox_enter(const struct sandbox *sandbox, unsigned int *weak);

#endif /* WORKER_SANDBOX_H */
