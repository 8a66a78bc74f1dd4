/* SPDX-License-Identifier: GPL-2.0 */
/* Shared: what the processes of a run have in common, in memory. */
#ifndef KFUZZ_SHARED_H
#define KFUZZ_SHARED_H

#include <stdatomic.h>

#include "program.h"
#include "run.h"

#define NR_JOBS		4
#define MAX_TYPES	64
#define MAX_CORPUS	4000

/* Bytes of the module's code that can be told apart. */
#define COVER_SIZE	(1UL << 20)

/* The memory's file, and the first one of the coverage's. */
#define FD_SHARED	200
#define FD_COVER	201

/**
 * struct job - one of the processes that make programs and have them run
 *
 * @program: runs now.
 * @child: that it runs in.
 * @random: state of its random numbers.
 * @programs: that it has run.
 * @killed: of these, because they took too long.
 * @world, @thread: of a program that goes on after exec.
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
 * struct shared
 *
 * @calls: made, by type.
 * @successes: of these.
 * @job: of each job.
 * @covered: whether the byte of the module's code behind a call of the coverage's
 *	function has been reached.
 * @nr_covered: of these.
 * @elsewhere: addresses that were not in the module's code.
 * @overflows: programs whose coverage did not fit.
 * @failed: 1 while @message is written, 2 when it has been.
 * @trace: print each call, as a program is repeated.
 * @limit: milliseconds that a program may take.
 * @corpus, @nr_corpus: programs that have reached something new.
 * @corpus_busy: one is being added.
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

/* Create the memory at FD_SHARED, or map what is there. */
void shared_create(void);
void shared_map(void);

/* Note a failure; the first one is kept. */
__attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

#endif /* KFUZZ_SHARED_H */
