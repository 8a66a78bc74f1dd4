/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User: what is to be done on behalf of each, and what that may cost.
 *
 * A user is a real user ID, or all subordinate ones that are given to somebody
 * together, of which there are 65,536 by default. Each has a queue of his own, of
 * bounded length, and they are served in turn. What is done for him is charged to
 * him as CPU time: he has a credit of USER_BURST_NS, which comes back at the rate
 * of one part in USER_SHARE of a CPU. While it is used up, what he maps is left for
 * later.
 *
 * What does not fit, or is left for later, is only remembered as a fact: a look
 * through his processes makes up for it.
 */
#ifndef ATTACH_USER_H
#define ATTACH_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"
#include "mapping.h"

#define USER_BURST_NS	((int64_t)(10 * SECOND))
#define USER_SHARE	20

/* What may be spent for root, and on files of root's; it comes back as slowly. */
#define USERS_BURST_NS	((int64_t)(300 * SECOND))

/* With this much he is served again after his credit was used up. */
#define USER_RESUME_NS	((int64_t)(200 * MS))

/* Things in one user's queue: files, and processes. */
#define USER_MAX_FILES		256U
#define USER_MAX_PROCESSES	4096U

/* Files in all queues. */
#define USERS_MAX_FILES		8192U

/* Users at once. Beyond these, they are one. */
#define USERS_MAX		1024U

/* Whose processes have ended before it was known whose they are. */
#define USER_UNKNOWN	((uid_t)-1)
/* All of those for whom there was no more room. */
#define USER_OTHERS	((uid_t)-2)

/**
 * struct queued_file - a mapping whose file is to be looked at
 *
 * @is_first: does it belong to what was there at the start?
 */
struct queued_file {
	struct queued_file *next;
	bool is_first;
	struct mapping mapping;
};

/* A process whose mappings are to be looked at, from an address on. */
struct queued_process {
	pid_t pid;
	bool is_first;
	uint64_t from;
};

/**
 * struct user
 *
 * @uid: real user ID; of subordinate ones, the first.
 * @next: in its bucket.
 * @turn_next: the next one to be served, in a circle.
 * @credit_ns: CPU time that may be spent for him; negative if more was.
 * @credited_at: when it was last raised.
 * @is_paused: has it been used up, and not come back far enough?
 * @blocked_until, @nr_blocked: file servers that he maps files of do not answer:
 *	he is left alone until then, longer each time.
 * @nr_left: children that got stuck for him, and that even SIGKILL does not end.
 * @files, @last_file, @nr_files: the queue.
 * @processes, @first_process, @nr_processes: the same of processes, in a ring of
 *	@max_processes.
 * @nr_reading: readers that are busy for him.
 * @nr_jobs, @nr_waiting, @nr_converting: his jobs, and those in these states: see
 *	job.h.
 * @others_bytes: his part of jobs.others_bytes.
 * @nr_first: of all of these, those that were there at the start.
 * @is_missed: something of his was passed over: look through his processes.
 * @is_looked_at, @is_behind, @pass: for pass.c: whether the present pass does that,
 *	or cannot, as the last one is not through; and which one that was said of.
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
	unsigned int nr_reading;
	unsigned int nr_jobs;
	unsigned int nr_waiting;
	unsigned int nr_converting;
	uint64_t others_bytes;
	unsigned int nr_first;
};

struct users;

/* @subuid_path: /etc/subuid. Returns NULL without memory. */
struct users *users_create(const char *subuid_path);
void users_free(struct users *users);

/*
 * The user with that ID, or whose range it is in; never NULL. Valid until
 * users_forget_idle().
 */
struct user *users_get(struct users *users, uid_t uid);

/*
 * The user of a process; USER_UNKNOWN if it has ended. What was found out is used
 * again for a moment.
 */
struct user *users_of_process(struct users *users, pid_t pid);

/*
 * Forget those of whom there is nothing to remember, and count the children that
 * got stuck for each. Now and then.
 */
void users_forget_idle(struct users *users, uint64_t now);

/*
 * The one whose turn it is, and each one after him until all have been there:
 * NULL then. Begin with @last NULL.
 */
struct user *users_next(struct users *users, const struct user *last);

/* It is @user who has been served: the next turn is that of the one behind him. */
void users_set_turn(struct users *users, struct user *user);

/* Has anybody missed something who is served again? */
bool users_any_missed(struct users *users, uint64_t now);

/* Charge CPU time to him. */
void user_charge(struct user *user, uint64_t ns);

/*
 * Charge CPU time to all, for a file that only root can have written: it is spent
 * once, whoever maps the file first. users_have_credit() says whether there is
 * any for that.
 */
void users_charge(struct users *users, uint64_t ns);
bool users_have_credit(struct users *users);

/* May anything be done for him now? */
bool user_is_served(struct user *user, uint64_t now);

/* Has he more than half of what he may use at once? */
bool user_is_modest(const struct user *user);

/* A file server does not answer: leave him alone for a while. */
void user_block(struct user *user, uint64_t now);

/*
 * Remember a file or a process, unless it is there already or there is no room:
 * then that something was missed.
 */
void user_add_file(struct users *users, struct user *user,
		   const struct mapping *mapping, bool is_first);
void user_add_process(struct user *user, pid_t pid, uint64_t from,
		      bool is_first);

/* The next file, to be freed, or NULL. */
struct queued_file *user_take_file(struct users *users, struct user *user);

/* The next process. Returns whether there is one. */
bool user_take_process(struct user *user, struct queued_process *process);

/* Has he things to do that were there at the start, and that can be done? */
bool users_any_first(struct users *users, uint64_t now);

#endif /* ATTACH_USER_H */
