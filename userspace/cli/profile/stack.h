/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of "stack". */
#ifndef CLI_PROFILE_STACK_H
#define CLI_PROFILE_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sframe_unwind.h"

/**
 * struct stack_thread - a thread whose stack is wanted
 *
 * @pid: its process.
 * @tid: the thread.
 * @comm: its name; escape before printing.
 * @state: its state, a letter as in proc(5).
 * @is_read: whether name and state have been read.
 * @stack: its stack, or NULL.
 * @why: why it has none, or NULL.
 * @kernel: the kernel's part of the stack, lines of text, or NULL.
 * @has_ended: whether it had ended when it was asked, or before it answered.
 * @is_wanted: whether to ask for its stack, again.
 * @is_pending: whether it has been asked, and not answered.
 */
struct stack_thread {
	pid_t pid;
	pid_t tid;
	char comm[32];
	char state;
	bool is_read;
	struct sframe_unwind_stack *stack;
	const char *why;
	char *kernel;
	bool has_ended;
	bool is_wanted;
	bool is_pending;
};

/**
 * struct stack_threads - all of them, those of one process one after the other
 *
 * @list: the threads.
 * @nr: number of those.
 * @room: room for those.
 */
struct stack_threads {
	struct stack_thread *list;
	uint32_t nr;
	uint32_t room;
};

/*
 * Add the threads of the processes in @list, numbers with commas, or if
 * @are_threads the threads themselves. Returns an exit status, after a message if
 * it is not CLI_OK.
 */
int stack_add_targets(struct stack_threads *threads, const char *list,
		      bool are_threads);

/* Add the threads of all processes but those of this process and of the kernel. */
void stack_add_all(struct stack_threads *threads);

/* Read again what state a thread is in, and how it is called; 'X' if it has ended. */
void stack_read_state(struct stack_thread *thread);

/* The same for the threads of which that has not been read yet. */
void stack_read_rest(struct stack_threads *threads);

/* Returns whether the cgroup of a thread is frozen, so that it runs no more. */
bool stack_is_frozen(const struct stack_thread *thread);

/* Read the kernel's part of its stack, if that is permitted. */
void stack_read_kernel(struct stack_thread *thread);

void stack_free_threads(struct stack_threads *threads);

/**
 * struct stack_options - what to ask for, and what to print
 *
 * @max_depth: frames of a stack, or 0 for as many as the device allows.
 * @no_fallback: without frame pointers.
 * @no_interrupt: leave threads asleep.
 * @no_attach: attach nothing.
 * @no_names: print only addresses.
 * @no_demangle: leave names as they are.
 * @build_ids: print build IDs.
 * @kernel: print the kernel's part of all stacks.
 */
struct stack_options {
	uint32_t max_depth;
	bool no_fallback;
	bool no_interrupt;
	bool no_attach;
	bool no_names;
	bool no_demangle;
	bool build_ids;
	bool kernel;
};

/* What is needed to print stacks. */
struct stack_names;

struct stack_names *stack_names_create(const struct stack_options *options);

void stack_names_free(struct stack_names *names);

/*
 * Look up the names of the stacks that there are already, at the first call. Those of others
 * are found faster then, since most are in the same objects.
 */
void stack_names_prepare(struct stack_names *names,
			 const struct stack_threads *threads);

/*
 * Get the stacks of all threads that can be asked; prepare @names while waiting. Returns
 * CLI_OK, or another exit status after a message if nothing can be asked.
 */
int stack_ask(struct stack_threads *threads, struct stack_names *names,
	      const struct stack_options *options);

/* Print the stacks. */
void stack_show(const struct stack_threads *threads, struct stack_names *names);

#endif /* CLI_PROFILE_STACK_H */
