/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User: pending work on behalf of each user, and a budget of CPU time for it.
 *
 * A user is a real user ID, or 65,536 subordinate ones that were assigned together.
 * Each user has queues of bounded length; users are served in turn. The CPU time of
 * work for a user is charged to the user's credit of USER_BURST_NS, which is refilled
 * at the rate of one part in USER_SHARE of a CPU. While the credit is used up, the
 * user's mappings are not examined.
 *
 * If a queue is full, or the user is not served, only the fact is remembered
 * (is_missed): a later pass through the user's processes finds the mappings.
 */
#ifndef ATTACH_USER_H
#define ATTACH_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"
#include "mapping.h"
#include "recent.h"

#define USER_BURST_NS	((int64_t)(10 * SECOND))
#define USER_SHARE	20

/* Credit of root, and of trusted files; refilled at the same rate. */
#define USERS_BURST_NS	((int64_t)(300 * SECOND))

/* Credit at which a user is served again after it was used up. */
#define USER_RESUME_NS	((int64_t)(200 * MS))

/* Limits of one user's queues. */
#define USER_MAX_FILES		256U
#define USER_MAX_PROCESSES	4096U

/* Files in all queues. */
#define USERS_MAX_FILES		8192U

/* Users in the table. All further users are treated as one. */
#define USERS_MAX		1024U

/* Stands for the user of processes that ended before their user ID was read. */
#define USER_UNKNOWN	((uid_t)-1)
/* Stands for all users that did not fit into the table. */
#define USER_OTHERS	((uid_t)-2)

/**
 * struct queued_file - a mapping whose file is to be examined
 *
 * @is_first: it existed at the start of the command.
 */
struct queued_file {
	struct queued_file *next;
	bool is_first;
	struct mapping mapping;
};

/* A process whose mappings are to be examined, from address @from on. */
struct queued_process {
	pid_t pid;
	bool is_first;
	uint64_t from;
};

struct code_process;

/**
 * struct user
 *
 * @uid: real user ID; for subordinate user IDs, the first of them.
 * @next: next user in the hash bucket.
 * @turn_next: next user to be served; the users form a ring.
 * @credit_ns: CPU time that may be spent for the user; negative if overdrawn.
 * @credited_at: when the credit was last refilled.
 * @is_paused: the credit was used up, and has not reached USER_RESUME_NS again.
 * @blocked_until: do not serve the user before this time, because the server of a
 *	file did not answer.
 * @nr_blocked: how often that has happened; the time grows with it.
 * @nr_left: the user's children that even SIGKILL does not end.
 * @files, @last_file, @nr_files: queue of files.
 * @processes, @first_process, @nr_processes: queue of processes, a ring of
 *	@max_processes entries.
 * @recents: files that were examined for the user a short time ago.
 * @nr_reading: readers that are busy for the user.
 * @nr_jobs, @nr_waiting, @nr_trusted: the user's jobs, and those in the state JOB_WAIT
 *	with an untrusted and with a trusted file.
 * @nr_converting: workers that convert files of these jobs, or announced code.
 * @others_bytes: the user's part of jobs.others_bytes.
 * @codes, @nr_codes: for code.c: the user's processes of known runtimes.
 * @nr_quiet: for quiet.c: those that need no place there.
 * @nr_code_ranges: for code.c: ranges of these processes that are counted for the user.
 * @lost_ranges, @listed_ranges: for code.c: those of them that lost looks may have
 *	attached, after the last listing of attachments began, and before.
 * @misses_codes: for code.c: some of them had no place since the last retry.
 * @missed_codes_at, @missed_codes_last: for code.c: when that was first, and last.
 * @has_lost_codes: for code.c: events of them may have been lost since all were looked at.
 * @told_codes: for code.c: bits of the limits that have been told of.
 * @next_look: for code.c: time of the next look at one of them.
 * @has_worker: for code.c: one of the workers is for a look at one of them.
 * @has_looked: for job_ask.c: the last work for the user was such a look.
 * @nr_first: queue entries, requests, jobs and processes of runtimes that existed at the
 *	start.
 * @nr_first_codes: for code.c: those of them that are processes of runtimes.
 * @is_missed: a mapping of the user was skipped: a pass through the user's processes
 *	is needed.
 * @is_looked_at: for pass.c: the current pass includes this user.
 * @is_behind: for pass.c: the user's queue was still long when a pass first came to the user.
 * @pass: for pass.c: number of the pass that @is_behind is about.
 * @nr_new_looks: for pass.c: looks at the user's processes in a pass over new ones.
 * @new_pass: for pass.c: number of the pass that @nr_new_looks is about.
 * @missed_at: for pass.c: when the last pass began that was to find what was missed.
 * @again_at: when to look for it in the processes that this pass did not examine, as they
 *	had been examined before and seemed unchanged; 0: there are none.
 */
struct user {
	uid_t uid;
	struct user *next;
	struct user *turn_next;
	int64_t credit_ns;
	uint64_t credited_at;
	bool is_paused;
	bool is_missed;
	bool is_looked_at;
	bool is_behind;
	unsigned int pass;
	unsigned int nr_new_looks;
	unsigned int new_pass;
	uint64_t missed_at;
	uint64_t again_at;
	uint64_t blocked_until;
	unsigned int nr_blocked;
	unsigned int nr_left;
	struct queued_file *files;
	struct queued_file *last_file;
	unsigned int nr_files;
	struct queued_process *processes;
	unsigned int first_process;
	unsigned int nr_processes;
	unsigned int max_processes;
	struct recents recents;
	unsigned int nr_reading;
	unsigned int nr_jobs;
	unsigned int nr_waiting;
	unsigned int nr_trusted;
	unsigned int nr_converting;
	uint64_t others_bytes;
	struct code_process *codes;
	unsigned int nr_codes;
	unsigned int nr_quiet;
	unsigned int nr_code_ranges;
	unsigned int lost_ranges;
	unsigned int listed_ranges;
	bool misses_codes;
	uint64_t missed_codes_at;
	uint64_t missed_codes_last;
	bool has_lost_codes;
	unsigned int told_codes;
	uint64_t next_look;
	bool has_worker;
	bool has_looked;
	unsigned int nr_first;
	unsigned int nr_first_codes;
};

struct users;

/* @subuid_path: /etc/subuid. Returns NULL without memory. */
struct users *users_create(const char *subuid_path);
void users_free(struct users *users);

/*
 * The user with that ID, or whose range of subordinate IDs it is in; never NULL.
 * Valid until users_forget_idle().
 */
struct user *users_get(struct users *users, uid_t uid);

/*
 * The user of a process; USER_UNKNOWN if it has ended. The result is cached, but so
 * briefly that no other process can have got the number meanwhile.
 */
struct user *users_of_process(struct users *users, pid_t pid);

/*
 * Free users without pending work and with full credit, and update nr_left of the
 * others. Call it periodically.
 */
void users_forget_idle(struct users *users, uint64_t now);

/*
 * Iterate over all users, beginning with the one whose turn it is: pass NULL as
 * @last first, then the previous result. Returns NULL at the end.
 */
struct user *users_next(struct users *users, const struct user *last);

/* Note that @user has been served last: the next turn is that of its successor. */
void users_set_turn(struct users *users, struct user *user);

/* Returns whether a pass is to be made over the processes of the user. */
bool user_is_to_look_at(const struct user *user, uint64_t now);

/* Returns whether it is for any user who is served now. */
bool users_any_missed(struct users *users, uint64_t now);

/* Charge CPU time to the user. */
void user_charge(struct user *user, uint64_t ns);

/*
 * Charge CPU time for a trusted file to the common credit: the file is examined only
 * once, whoever maps it first. users_have_credit() tells whether any is left.
 */
void users_charge(struct users *users, uint64_t ns);
bool users_have_credit(struct users *users);

/* Returns whether work may be done for the user now. */
bool user_is_served(struct user *user, uint64_t now);

/* Returns whether the user has more than half of a full credit. */
bool user_is_modest(const struct user *user);

/* Stop serving the user for a while, because a file server does not answer. */
void user_block(struct user *user, uint64_t now);

/*
 * Queue a file, unless it is queued already, or a process. If there is no room, set
 * is_missed; the latter returns whether there was.
 */
void user_add_file(struct users *users, struct user *user,
		   const struct mapping *mapping, bool is_first);
bool user_add_process(struct user *user, pid_t pid, uint64_t from,
		      bool is_first);

/* The next file, to be freed, or NULL. */
struct queued_file *user_take_file(struct users *users, struct user *user);

/* The next process. Returns whether there is one. */
bool user_take_process(struct user *user, struct queued_process *process);

/* Returns whether a user who is served now has pending work from the start. */
bool users_any_first(struct users *users, uint64_t now);

#endif /* ATTACH_USER_H */
