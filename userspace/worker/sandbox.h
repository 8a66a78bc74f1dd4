/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sandbox: for processes that only compute and write to descriptor 1.
 *
 * The server process enters the sandbox once, which is slow, and forks a process for
 * each file, which closes it. Then the following holds even if a hostile file takes over
 * the forked process:
 *
 * - It is killed at any system call except write to descriptor 1, brk, mmap of private
 *   anonymous memory that is not executable, and exit_group.
 * - Its memory, CPU time and output are limited, and it cannot fork.
 * - If it could make other system calls nevertheless, it would be a user that has no
 *   other processes, without capabilities or a way to get any, in namespaces without
 *   network, files, or other processes than the server that forked it. That is the first
 *   process of the namespace, which it can neither kill nor inspect.
 */
#ifndef WORKER_SANDBOX_H
#define WORKER_SANDBOX_H

#include <stdint.h>

/**
 * struct sandbox - an entered sandbox
 *
 * @weak: WORKER_WEAK_* bits.
 * @whole: bytes of the server's address space.
 * @data: bytes of it that are private and writable.
 */
struct sandbox {
	unsigned int weak;
	uint64_t whole;
	uint64_t data;
};

/**
 * struct sandbox_limits - limits of one process
 *
 * @input: bytes mapped for reading.
 * @memory: bytes that may be allocated.
 * @output: bytes that may be written to descriptor 1.
 * @cpu_seconds: seconds of CPU time.
 */
struct sandbox_limits {
	uint64_t input;
	uint64_t memory;
	uint64_t output;
	unsigned int cpu_seconds;
};

/**
 * sandbox_enter() - drop all privileges that the server does not need
 * @sandbox: filled.
 *
 * If namespaces are available, returns in a new process; the old one waits for it and
 * exits with its status, or with 128 plus the signal. Descriptors from 3 on are closed.
 *
 * Return: NULL, or the name of the step that failed, with errno: then no untrusted data
 * may be read.
 */
const char *sandbox_enter(struct sandbox *sandbox);

/**
 * sandbox_close() - drop everything else
 * @sandbox: the sandbox that the server has entered.
 * @limits: limits of this process.
 *
 * Afterwards only brk and mmap can allocate memory; initialise all libraries that need
 * other system calls before. Descriptors from 2 on are closed.
 *
 * Return: NULL, or the name of the step that failed, with errno, as above.
 */
const char *sandbox_close(const struct sandbox *sandbox,
			  const struct sandbox_limits *limits);

#endif /* WORKER_SANDBOX_H */
