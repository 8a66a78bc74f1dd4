/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenario: one use of the module, which can be repeated with something failing
 * in it.
 */
#ifndef FAULTS_SCENARIO_H
#define FAULTS_SCENARIO_H

#include <pthread.h>
#include <stdbool.h>

#include "../include/elf_map.h"

#define NR_BATCH	130	/* more than two leaves of a tree hold */

/* Result of a walk that ended early and reported so; not an errno. */
#define LESS		1000

/* Objects that scenarios work on, created for each run. */
struct world {
	int fd;			/* a non-blocking client */
	int other;		/* opened by the scenario */
	struct fake fake;
	struct stack stack;
	struct elf_base elf;
	struct elf_sframe sframe;
	int elf_fd;
	unsigned char *at;	/* address of the mapped file */
	unsigned char *pages;	/* for stacks and unusual places */
	struct sframe_unwind_attach attach;
	struct sframe_unwind_batch_entry entries[NR_BATCH];
	char message[256];
	int pipe[2];
	pid_t child, tid;
	__u32 map_pages;
	pthread_t thread;
	int uffd;
	unsigned int nr_left;		/* registrations or records still to be found */
	bool done;		/* the thread has finished */
};

/**
 * struct scenario - one use of the module
 *
 * @name: description.
 * @setup: creates what it needs, or NULL. Returns false on error.
 * @run: the use itself. Returns 0, an errno, or LESS. Can be called once more.
 * @undo: reverts what @run did, or NULL.
 */
struct scenario {
	const char *name;
	bool (*setup)(struct world *world);
	int (*run)(struct world *world);
	void (*undo)(struct world *world);
};

extern const struct scenario scenarios[];
extern const unsigned int nr_scenarios;

/* Returns NULL, or an error message. */
const char *make_world(struct world *world);

/* The errno of a system call that returned @ret, or 0. */
int result(long ret);

/*
 * Read all records. Returns the number of type @type. One of these reads may be
 * the failing call; the next one succeeds.
 */
int drain(int fd, int type);

/*
 * Walk from @code, which requests its stack, to its caller; with NULL only read
 * the stack that was requested. Returns 0, an errno, or LESS if the walk did
 * not reach request_at().
 */
int request_at(struct world *world, const void *code);
int read_caller(struct world *world);

/*
 * Write code that requests its stack with another stack pointer, called as
 * function(fd, cmd, arg, unused, sp).
 */
bool make_stack_switch(struct world *world);
long call_on_stack(struct world *world, void *sp);

/*
 * Accesses to user memory that really fail, at all places. Returns NULL or an
 * error message.
 */
const char *fail_accesses(void);

/* scenario_client.c */
int run_open(struct world *world);
void undo_open(struct world *world);
int run_open_as_other(struct world *world);
void undo_open_as_other(struct world *world);
int run_query(struct world *world);
int run_query_newer(struct world *world);
int run_counters(struct world *world);
int run_timer(struct world *world);
void undo_timer(struct world *world);
int run_deferred(struct world *world);
int run_fork(struct world *world);
int run_exec(struct world *world);

/* scenario_file.c */
void map_anew(struct world *world);
int run_discover(struct world *world);
bool setup_unmapped(struct world *world);
void undo_unmapped(struct world *world);
bool setup_bare(struct world *world);
bool setup_bare_system(struct world *world);
bool setup_bare_inode(struct world *world);
bool setup_bare_large(struct world *world);
bool setup_share(struct world *world);
int run_attach(struct world *world);
int run_detach(struct world *world);
void undo_attach(struct world *world);
void undo_detach(struct world *world);
bool setup_attached(struct world *world);
bool setup_range(struct world *world);
bool setup_range_of_other(struct world *world);
bool setup_range_noted(struct world *world);
bool setup_range_noted_attached(struct world *world);
bool setup_range_attached(struct world *world);
void undo_discover_range(struct world *world);
int run_list_attached(struct world *world);
bool setup_discovered(struct world *world);
int run_list(struct world *world);

/* scenario_listen.c */
int run_tell_added(struct world *world);
int run_tell_removed(struct world *world);
int run_tell_corrupt(struct world *world);
int run_tell_client(struct world *world);
bool setup_full(struct world *world);
int run_tell_loss(struct world *world);
int run_trace_stacks(struct world *world);

/* scenario_sample.c */
int run_sampler(struct world *world);
void undo_sampler(struct world *world);
bool setup_sampler(struct world *world);
int run_ring(struct world *world);
int run_stack_map(struct world *world);
int run_event(struct world *world);
bool setup_event(struct world *world);
bool setup_event_in_files(struct world *world);
int run_sample(struct world *world);
int run_clear(struct world *world);
int run_sample_calls(struct world *world);

/* scenario_section.c */
int run_register(struct world *world);
void undo_register(struct world *world);
bool setup_registered(struct world *world);
int run_refused(struct world *world);
bool setup_shared(struct world *world);
int run_unregister(struct world *world);
void undo_unregister(struct world *world);
int run_batch(struct world *world);
void undo_batch(struct world *world);
bool setup_batch(struct world *world);
int run_unregister_all(struct world *world);
void undo_unregister_all(struct world *world);
int run_unregister_batch(struct world *world);
bool setup_many(struct world *world);
int run_end_of_many(struct world *world);
void undo_end_of_many(struct world *world);
bool setup_events(struct world *world);
int run_events(struct world *world);
void undo_events(struct world *world);
int run_corrupt(struct world *world);
int run_unreadable(struct world *world);

/* scenario_table.c */
int run_register_table(struct world *world);
bool setup_table(struct world *world);
int run_table(struct world *world);
int run_lost_table(struct world *world);

/* scenario_walk.c */
int run_request(struct world *world);
bool setup_signal(struct world *world);
bool setup_waiting(struct world *world);
int run_read(struct world *world);
void undo_read(struct world *world);
bool setup_wrapped(struct world *world);
bool setup_stack_switch(struct world *world);
int run_vdso(struct world *world);
int run_no_code(struct world *world);
bool setup_thread(struct world *world);
int run_request_thread(struct world *world);
int run_request_again(struct world *world);
bool setup_reader(struct world *world);
int run_read_asleep(struct world *world);
int run_two_walks(struct world *world);
int run_own_stack(struct world *world);

#endif /* FAULTS_SCENARIO_H */
