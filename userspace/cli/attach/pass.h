/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pass: a look through /proc, for what was there before us, and for what has been
 * missed. It is made in steps of bounded length; a step enters processes into
 * the queues of their users.
 */
#ifndef ATTACH_PASS_H
#define ATTACH_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "user.h"
#include "watch.h"

/* How long a step takes at most, about. */
#define PASS_STEP_NS	(2 * MS)

/*
 * One part in this many of a processor's time is for passes, but for the least and
 * the longest time from one to the next.
 */
#define PASS_SHARE	20
#define PASS_MIN_NS	(500 * MS)
#define PASS_MAX_NS	(1500 * MS)

/*
 * Processes whose code is remembered, by number, and for how long one that seems
 * to have no other is not looked at again.
 */
#define PASS_SEEN	8192
#define PASS_SEEN_NS	(10 * SECOND)

struct pass_seen {
	pid_t pid;
	uint64_t code;
	uint64_t at;
};

/**
 * struct pass
 *
 * @users, @watch: given.
 * @wants_all, @wants_missed: a pass is wanted: of all processes of interest, or
 *	of those users who have missed something.
 * @wants_use: also of those that seem to have no other code than before.
 * @is_running: one is being made; @is_all: of all users' processes; @is_thorough:
 *	as @wants_use has it.
 * @is_first: the first one.
 * @poll_ns: if this is not 0, all processes are looked at that often.
 * @nr_made: passes that are complete.
 * @ended_at: when the last one was complete.
 * @used_ns: CPU time that the last one has taken in its steps, and that readers
 *	have taken for it, which they add.
 * @done, @whole: processes seen in this pass, and in the last one.
 * @seen, @proc, @family: our own.
 */
struct pass {
	struct users *users;
	struct watch *watch;
	bool wants_all;
	bool wants_missed;
	bool wants_use;
	bool is_running;
	bool is_all;
	bool is_thorough;
	bool is_first;
	uint64_t poll_ns;
	unsigned int nr_made;
	uint64_t ended_at;
	uint64_t used_ns;
	unsigned int done;
	unsigned int whole;
	struct pass_seen seen[PASS_SEEN];
	void *proc;
	struct {
		pid_t (*pairs)[2];
		size_t nr;
		size_t space;
	} family;
};

/* Is there something to do now? */
bool pass_is_due(const struct pass *pass, uint64_t now);

/* When there will be, UINT64_MAX if none is wanted. */
uint64_t pass_next(const struct pass *pass);

/* Do a part of it. Returns 0 or a negative errno: /proc cannot be read. */
int pass_step(struct pass *pass);

void pass_free(struct pass *pass);

#endif /* ATTACH_PASS_H */
