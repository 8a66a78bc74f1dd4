/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of "record". */
#ifndef CLI_PROFILE_RECORD_H
#define CLI_PROFILE_RECORD_H

#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/profile/table.h"
#include "include/sframe_unwind_profile.h"

/**
 * struct record_event - an event to sample
 *
 * @name: as it was given, with modifiers.
 * @own_name: the same, if it has to be freed; or NULL.
 * @attr: its attributes; without period, unless the event says it.
 * @is_off_cpu: whether its samples stand for the time that a thread is blocked.
 * @ids: ids of its samples: one for each perf event.
 * @nr_ids: number of those.
 * @room: room for those.
 */
struct record_event {
	const char *name;
	char *own_name;
	struct perf_event_attr attr;
	bool is_off_cpu;
	uint32_t *ids;
	uint32_t nr_ids;
	uint32_t room;
};

/*
 * Parse an event: a name of perf list for software and hardware events, rN, a
 * tracepoint, or PMU/TERM,.../, with :u or :k behind. @command: for messages. Returns an exit
 * status, after a message if it is not CLI_OK.
 */
int record_parse_event(struct record_event *event, const char *command,
		       const char *name);

/*
 * Parse PMU/TERM,.../ in the first @length bytes of @name: see
 * sframe-unwind-record(1). Returns whether it is one, for which all is known.
 */
bool record_parse_pmu(struct perf_event_attr *attr, const char *name,
		      size_t length);

/* Print the names of events, one in a line. */
void record_list_events(void);

/* Print those of all PMUs, as PMU/NAME/. */
void record_list_pmus(void);

/* The event of --off-cpu: its name is that of perf. */
#define RECORD_OFF_CPU	"offcpu-time"

void record_off_cpu_event(struct record_event *event);

/**
 * struct record_targets - what to sample
 *
 * @tids: threads; none for everything.
 * @nr: number of those.
 * @room: room for those.
 * @cpus: only on these CPUs; none for all.
 * @nr_cpus: number of those.
 * @cpus_room: room for those.
 */
struct record_targets {
	pid_t *tids;
	uint32_t nr;
	uint32_t room;
	uint32_t *cpus;
	uint32_t nr_cpus;
	uint32_t cpus_room;
};

/*
 * Add threads: those of the processes in @list, numbers with commas, or if
 * @are_threads the threads themselves. @command: for messages, as in the functions
 * below. Returns an exit status.
 */
int record_add_targets(struct record_targets *targets, const char *command,
		       const char *list, bool are_threads);

/*
 * Returns whether @targets has all threads that the processes of its threads have now; so what
 * all of them do is followed.
 */
bool record_targets_are_processes(const struct record_targets *targets);

/* Add CPUs, numbers and ranges with commas. Returns an exit status. */
int record_add_cpus(struct record_targets *targets, const char *command,
		    const char *list);

/*
 * Add the threads that a cgroup and those below have now. @name: below the root of the
 * cgroup file system. Returns an exit status.
 */
int record_add_cgroup(struct record_targets *targets, const char *command,
		      const char *name);

void record_free_targets(struct record_targets *targets);

struct copies;
struct record_copy;
struct record_files;
struct record_jit;

/*
 * Write where the kernel is, and what processes that exist already have mapped, with the
 * names of their threads: of the targets, or of all. @files, @jit, @copies: take note of what
 * is mapped, or NULL. @is_interrupted: ends that at once.
 */
int record_existing(struct sframe_unwind_profile_writer *writer,
		    const struct record_targets *targets,
		    struct record_files *files, struct record_jit *jit,
		    struct copies *copies, const volatile sig_atomic_t *is_interrupted);

/*
 * What happens to processes while they are sampled, by perf's own records.
 */
struct record_changes;

struct record_waiting;

/*
 * @command: for messages. @switches: told when threads lose and get a CPU; or NULL.
 * @is_waited_for: whether record_changes_wait() will be called.
 * Returns an exit status, after a message if it is not CLI_OK.
 */
int record_changes_open(struct record_changes **changes, const char *command,
			const struct record_targets *targets,
			struct record_waiting *switches, bool is_waited_for);

/* Let @files, @jit and @copies, or NULL, take note of what is mapped. */
void record_changes_keep(struct record_changes *changes,
			 struct record_files *files, struct record_jit *jit,
			 struct copies *copies);

/*
 * Write what has happened. *@latest is raised to the time of the latest change.
 * Returns 0 or an error of the writer.
 */
int record_changes_write(struct record_changes *changes,
			 struct sframe_unwind_profile_writer *writer,
			 uint64_t *latest);

struct pollfd;

/*
 * Wait until something has happened that is to be written, or for one of @others, of which there
 * may be two, or for @ms milliseconds, or until a signal. Returns whether something may have
 * happened: at once if that cannot be told, because there are too many threads, or one of them has
 * ended, or switches are told.
 */
bool record_changes_wait(struct record_changes *changes, struct pollfd *others, uint32_t nr,
			 int ms);

/*
 * All that happened until then was written by the last record_changes_write(). What that has
 * written of later times may not be all: the CPUs' rings are read one after the other.
 */
uint64_t record_changes_until(const struct record_changes *changes);

/* Number of changes that were lost, because nobody read them in time. */
uint64_t record_changes_lost(const struct record_changes *changes);

void record_changes_close(struct record_changes *changes);

/* perf_event_open(2). Returns a file or -errno. */
int record_perf_open(const struct perf_event_attr *attr, pid_t tid, int cpu);

/* Say why perf_event_open() failed with @error, and what to do. Returns CLI_TROUBLE. */
int record_complain(const char *command, const char *event, int error);

/*
 * Samples whose user stack follows later, or that stand for the time until their
 * thread runs again.
 */
struct record_waiting *record_waiting_create(void);

/* Stacks that are cut and have a copy are completed by @copies, which must stay. */
void record_waiting_use(struct record_waiting *waiting, struct copies *copies);

void record_waiting_free(struct record_waiting *waiting);

struct sframe_unwind_sample_record;

/* User frames that a stack may have: as many as the module allows. */
#define RECORD_DEPTH	512u

/*
 * Make a sample of @from, without the user's frames; those of the kernel are put into
 * @frames, which has room for SFRAME_UNWIND_PROFILE_FRAMES.
 */
void record_sample_begin(struct sframe_unwind_profile_record *record,
			 const struct sframe_unwind_sample_record *from,
			 uint32_t event, uint64_t *frames);

/*
 * Add the user's frames, from a sample or a record of its user stack. @frames and @how have
 * room for as many; all frames are in @frames then.
 */
void record_sample_set_user(struct sframe_unwind_profile_record *record,
			    const struct sframe_unwind_sample_record *user,
			    uint64_t *frames, uint8_t *how);

struct copy_walk;

/*
 * Add the frames that @walk has found behind these, and end the stack because of @stop.
 * @frames, @how: as before; not those of the sample.
 */
void record_sample_add_user(struct sframe_unwind_profile_record *record,
			    const struct copy_walk *walk, uint32_t stop,
			    uint64_t *frames, uint8_t *how);

/* Returns the number of a reason in struct record_counts. */
uint32_t record_sample_reason(uint32_t stop);

/*
 * Take over a record of the sampler, and write samples that are complete. @copy: what it has
 * of a stack that is cut, or NULL; @event: number of the event; @is_off_cpu: whether it is
 * --off-cpu's. Returns 0 or an error of the writer.
 */
int record_waiting_add(struct record_waiting *waiting,
		       const struct sframe_unwind_sample_record *from,
		       const struct record_copy *copy, uint32_t event, bool is_off_cpu,
		       struct sframe_unwind_profile_writer *writer);

/**
 * enum record_switch - what happened to a thread
 *
 * @RECORD_BLOCKED: it waits for something.
 * @RECORD_PREEMPTED: another one has its CPU; it could run.
 * @RECORD_RUNS: it runs again.
 * @RECORD_ENDED: it has ended.
 */
enum record_switch {
	RECORD_BLOCKED,
	RECORD_PREEMPTED,
	RECORD_RUNS,
	RECORD_ENDED,
};

/*
 * Tell of a thread, in the order of time of each. Returns 0 or an error of the
 * writer.
 */
int record_waiting_switch(struct record_waiting *waiting, pid_t tid,
			  uint64_t time, enum record_switch what,
			  struct sframe_unwind_profile_writer *writer);

/*
 * What is told from now on was read later than what was told before: threads that have
 * ended long before are forgotten.
 */
void record_waiting_begin_round(struct record_waiting *waiting);

/* Time of the oldest sample that waits; UINT64_MAX if none does. */
uint64_t record_waiting_oldest(const struct record_waiting *waiting);

/*
 * Go on with completing stacks, without waiting, and write the samples of those that are
 * completed, or cannot be. @is_urgent: see copies_work(). Only with record_waiting_use().
 */
int record_waiting_complete(struct record_waiting *waiting, bool is_urgent,
			    struct sframe_unwind_profile_writer *writer);

/*
 * Write the samples that still wait, without user stacks; those of blocked threads
 * stand for the time until @time.
 */
int record_waiting_end(struct record_waiting *waiting, uint64_t time,
		       struct sframe_unwind_profile_writer *writer);

/*
 * Reasons why stacks are cut: enum sframe_unwind_stop, and those of
 * SFRAME_UNWIND_PROFILE_STOP_*.
 */
enum {
	RECORD_REFUSED = 16,
	RECORD_LATE,
	RECORD_OTHER,
	RECORD_REASONS,
};

/**
 * struct record_counts - of samples that were written
 *
 * @samples: all.
 * @complete: those whose user stack goes to its outermost frame, or that have
 *	none.
 * @waiting: those that wait for a user stack.
 * @completed: those whose user stack was cut, and completed.
 * @not_completed: those whose user stack was cut, and could not be completed by its copy.
 * @threads: threads that are followed, for --off-cpu.
 * @cut: the others by the reason.
 */
struct record_counts {
	uint64_t samples;
	uint64_t complete;
	uint64_t waiting;
	uint64_t completed;
	uint64_t not_completed;
	uint64_t threads;
	uint64_t cut[RECORD_REASONS];
};

const struct record_counts *record_counts(const struct record_waiting *waiting);

#endif /* CLI_PROFILE_RECORD_H */
