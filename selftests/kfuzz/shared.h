/* SPDX-License-Identifier: GPL-2.0 */
/* Shared: memory shared by all processes of a run. */
#ifndef KFUZZ_SHARED_H
#define KFUZZ_SHARED_H

#include <stdatomic.h>

#include "program.h"
#include "run.h"

#define NR_JOBS		4
#define MAX_TYPES	64
#define MAX_CORPUS	4000

/* Bytes of the module's code covered by the bitmap. */
#define COVER_SIZE	(1UL << 20)

/* Descriptor of the shared memory, and the first one of the coverage. */
#define FD_SHARED	200
#define FD_COVER	201

/**
 * struct job - one of the processes that generate and run programs
 *
 * @program: the current program.
 * @child: process that runs it.
 * @random: state of its random numbers.
 * @programs: number of programs run.
 * @killed: number of these that were killed at the time limit.
 * @world, @thread: saved state of a program that continues after exec.
 */
struct job {
	struct program program;
	_Atomic pid_t child;
	uint64_t random;
	uint64_t programs;
	uint64_t killed;
	struct world world;
	struct thread thread;
};

/**
 * struct shared - the shared memory
 *
 * @calls: number of calls by type.
 * @successes: number of these that succeeded.
 * @job: the jobs.
 * @covered: for each byte of the module's code, whether a call of KCOV's
 *	function that returns there was executed.
 * @nr_covered: number of these.
 * @elsewhere: number of addresses outside of the module's code.
 * @overflows: number of programs whose coverage did not fit.
 * @failed: 1 while @message is being written, 2 afterwards.
 * @trace: print each call, to repeat a program.
 * @limit: time limit of a program in milliseconds.
 * @corpus, @nr_corpus: programs that executed new code.
 * @corpus_busy: a program is being added.
 */
struct shared {
	atomic_ulong calls[MAX_TYPES];
	atomic_ulong successes[MAX_TYPES];
	struct job job[NR_JOBS];
	atomic_uchar covered[COVER_SIZE];
	atomic_ulong nr_covered;
	atomic_ulong elsewhere;
	atomic_ulong overflows;
	atomic_int failed;
	char message[4096];
	bool trace;
	unsigned int limit;
	atomic_flag corpus_busy;
	atomic_uint nr_corpus;
	struct program corpus[MAX_CORPUS];
};

extern struct shared *shared;

/* Create the memory at FD_SHARED, or map the existing one. */
void shared_create(void);
void shared_map(void);

/* Report a failure; only the first one is kept. */
__attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

#endif /* KFUZZ_SHARED_H */
