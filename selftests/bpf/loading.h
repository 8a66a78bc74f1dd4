/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loading: BPF programs of stacks.bpf.c are loaded and attached to a target, a child whose events they count.
 */
#ifndef SELFTESTS_BPF_LOADING_H
#define SELFTESTS_BPF_LOADING_H

#include <stdbool.h>
#include <sys/types.h>

#include "stacks.h"
#include "stacks.skel.h"

/* How a program gets its events. */
enum how { BY_SECTION, BY_TIMER, BY_PAGE_FAULT, BY_UPROBE };

/**
 * struct target - the child
 *
 * @pid: its PID.
 * @go: a byte that is written there, and it begins.
 */
struct target {
	pid_t pid;
	int go;
};

/**
 * struct loaded - programs that are loaded, and the target
 *
 * @programs: the programs.
 * @got: what they have counted.
 * @target: the target.
 */
struct loaded {
	struct stacks *programs;
	struct stacks__bss *got;
	struct target target;
};

/* Version * 100 + level. */
unsigned int kernel_version(void);

/* Whether BPF programs can call the module, as QUERY says. */
bool has_feature(void);

/* Open those programs whose names are in a list that NULL ends; returns NULL on failure. */
struct stacks *open_programs(const char *const *names);

/*
 * Open, load and attach programs, of which only the first one is attached as @how says; start a target that then causes
 * events for @milliseconds. Returns what has failed, or NULL.
 */
const char *prepare(struct loaded *self, const char *const *names, enum how how, int task, unsigned int milliseconds);

/* Let the target run, and wait for its end; returns whether that was a success. */
bool run_target(struct target *target);

/* The sum of NR_ERRORS counters. */
__u64 sum(const __u64 *of);

#endif /* SELFTESTS_BPF_LOADING_H */
