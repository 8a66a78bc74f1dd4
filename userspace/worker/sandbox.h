/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sandbox: processes that can compute, and write to descriptor 1.
 *
 * It is entered once, which takes long, by a process that forks another one for
 * each file; that one closes it behind itself. What follows holds for code of the
 * latter that has been taken over by what it reads:
 *
 * - it makes no system call but write to descriptor 1, brk, mmap of private
 *   anonymous memory that is not executable, and exit_group, else it is killed;
 * - its memory, CPU time and output are limited, and it cannot fork;
 * - would it come by another system call, then as a user that nobody else is,
 *   without capabilities or a way to get any, in namespaces with no network, no
 *   file, and no other process than the one that has forked it: the first of its
 *   namespace, which it can neither end nor look into.
 */
#ifndef WORKER_SANDBOX_H
#define WORKER_SANDBOX_H

#include <stdint.h>

/**
 * struct sandbox - that was entered
 *
 * @weak: WORKER_WEAK_* bits.
 * @whole: bytes of the address space.
 * @data: bytes of it that are private and can be written to.
 */
struct sandbox {
	unsigned int weak;
	uint64_t whole;
	uint64_t data;
};

/**
 * struct sandbox_limits - of one process
 *
 * @input: bytes that are mapped to be read.
 * @memory: bytes that may be allocated.
 * @output: bytes that may be written to descriptor 1.
 * @cpu_seconds: of CPU time.
 */
struct sandbox_limits {
	uint64_t input;
	uint64_t memory;
	uint64_t output;
	unsigned int cpu_seconds;
};

/**
 * sandbox_enter() - give up all that is not needed to serve
 * @sandbox: set.
 *
 * Returns in a new process, of which the old one passes on the end: its status,
 * or 128 and the signal. Descriptors from 3 on are closed.
 *
 * Return: NULL, or what failed, with errno: then nothing of a stranger may be
 * touched.
 */
const char *sandbox_enter(struct sandbox *sandbox);

/**
 * sandbox_close() - give up everything
 * @sandbox: that was entered, by the process that has forked this one.
 * @limits: of this one.
 *
 * All memory that libraries get by other calls than brk and mmap has to be there
 * before. Descriptors from 2 on are closed.
 *
 * Return: NULL, or what failed, with errno, as above.
 */
const char *sandbox_close(const struct sandbox *sandbox,
			  const struct sandbox_limits *limits);

#endif /* WORKER_SANDBOX_H */
