/* SPDX-License-Identifier: GPL-2.0 */
/* Process: data shared by the threads of one process of the storm. */
#ifndef STORM_PROCESS_H
#define STORM_PROCESS_H

#include <pthread.h>
#include <sys/types.h>

#include "code.h"
#include "library.h"
#include "shared.h"
#include "window.h"

#define NR_SLOTS	5	/* of a thread; the last one may have its table flipped */
#define NR_WINDOWS	8
#define MAX_THREADS	2
#define MAX_HOPS	8

/**
 * struct thread - a thread that runs chains
 *
 * @random: state of its random numbers.
 * @client: for stacks of its own.
 * @timer: client with a timer, or -1.
 * @lib: its shared objects; only one thread of a process has some.
 * @shadow, @depth: return addresses of the functions entered.
 * @window, @nr_windows: the last windows, for checks in any thread.
 * @array: of the chain.
 * @hops: of the chain: the slot, or NULL.
 * @child: forked and not yet reaped, or 0.
 * @generation: number of forks between the worker and this process.
 */
struct thread {
	pthread_t pthread;
	unsigned int nr;
	_Atomic pid_t tid;
	uint64_t random;
	int client;
	int timer;
	struct slot slot[NR_SLOTS];
	struct library lib[NR_LIBRARIES];
	bool has_libraries;
	uint64_t shadow[MAX_SHADOW];
	unsigned int depth;
	struct window window[NR_WINDOWS];
	unsigned int nr_windows;
	void *array[MAX_HOPS + 8];
	struct slot *hops[MAX_HOPS];
	unsigned int nr_hops;
	pid_t child;
	unsigned int generation;
};

/**
 * struct process - the process
 *
 * @thread, @nr_threads: those that run chains.
 * @stop: threads must end.
 * @lossy: the marker may be unmapped at any time.
 * @flips: bits of tables are being flipped.
 * @libraries: shared objects are loaded and unloaded.
 * @text, @text_end: the program's own code.
 * @window_ret: return address of run_chain().
 */
struct process {
	struct thread thread[MAX_THREADS];
	unsigned int nr_threads;
	atomic_bool stop;
	bool lossy;
	bool flips;
	bool libraries;
	bool child;
	uint64_t text;
	uint64_t text_end;
	uint64_t window_ret;
};

extern struct process process;

/*
 * At the start of every function between the thread's start and a window, to
 * record the return address. Such functions are never inlined.
 */
#define ENTER(thread)							\
	((thread)->shadow[(thread)->depth++] =				\
		 (uintptr_t)__builtin_return_address(0))

/* At the end of such a function. */
#define LEAVE(thread)	((thread)->depth--)

#define ON_THE_WAY	__attribute__((noinline, noclone))

#endif /* STORM_PROCESS_H */
