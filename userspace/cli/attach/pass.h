/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pass: a scan of /proc, for processes that existed before the command, and for
 * mappings that it missed. A pass is made in steps of bounded length; a step enters
 * processes into the queues of their users.
 *
 * A pass over new processes is made sooner when events were lost, and between the steps of
 * another pass: most mappings are those of programs that start. A process that executes a
 * program is new again.
 */
#ifndef ATTACH_PASS_H
#define ATTACH_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "seen.h"
#include "user.h"
#include "watch.h"

/*
 * Approximate limit of the CPU time of a step, and what counts of it at most. On a virtual
 * machine, the time in which it does not run is CPU time of what was running; and who ends a
 * large process at the right moment leaves it to the step to free the memory.
 */
#define PASS_STEP_NS		(5 * MS)
#define PASS_STEP_MAX_NS	(10 * PASS_STEP_NS)

/*
 * Passes use one part in this many of a processor's time; the time between two
 * passes is also limited to this range.
 */
#define PASS_SHARE	20
#define PASS_MIN_NS	(500 * MS)
#define PASS_MAX_NS	(750 * MS)

/*
 * It is longer, this many times the time of the pass's own steps, if there are so many processes
 * that passes would take more than a tenth of a processor's time.
 */
#define PASS_REST	9

/*
 * The same for the time between two passes over new processes. Whenever one has used
 * PASS_NEW_PART_NS, it pauses in the same way before it goes on, so that other passes are made
 * meanwhile, and it uses a tenth of a processor's time at most, however many processes are
 * started.
 */
#define PASS_NEW_MIN_NS		(100 * MS)
#define PASS_NEW_MAX_NS		(400 * MS)
#define PASS_NEW_PART_NS	(35 * MS)

/*
 * How long a process is new after it was first seen, or has executed a program, which is longer
 * than that takes to start; and how long after events were lost a program may have lost some.
 * After a look at it, passes over new processes leave it alone for half of its age then.
 */
#define PASS_NEW_NS	(2 * SECOND)

/*
 * Looks at processes of one user in a pass over new ones, then those that are left are only
 * counted as missed, without a look. So are those of a user who is not served, or of whom no
 * more are entered: whoever starts processes must not keep the pass from those of others.
 */
#define PASS_MAX_LOOKED	256U

/* Processes in the queue of one user, then no new ones are entered. */
#define PASS_MAX_NEW	64U

/* The same for a user to be left out of another pass. More than passes over new ones enter. */
#define PASS_MAX_QUEUED	(2 * PASS_MAX_NEW)

/*
 * A process whose code seems unchanged is not examined again for so long; after that, it is
 * once, see user.again_at, unless its user has used up more than half of the credit. It is
 * only examined because events were lost, for which others may be the cause.
 */
#define PASS_SEEN_NS	(10 * SECOND)

/**
 * struct pass
 *
 * @users, @watch: set by the caller.
 * @seen: what is remembered of processes; its key is set by the caller.
 * @wants_all: request a pass over all watched processes.
 * @wants_new: request a pass over new processes.
 * @wants_missed: request a pass over the processes of users who are to be looked at.
 * @wants_use: include processes whose code seems unchanged.
 * @lost_at: when events were lost last.
 * @is_running: a pass is in progress.
 * @is_all: the pass is over the processes of all users.
 * @is_thorough: the pass includes processes whose code seems unchanged.
 * @is_first: the pass is the first one.
 * @poll_ns: if not 0, make a pass over all processes this often.
 * @nr_made: number of complete passes.
 * @began_at: when the last pass began.
 * @ended_at: when the last pass was complete.
 * @used_ns: CPU time of the last pass's steps, and of the readers since it began, which may
 *	have worked for passes over new processes, too.
 * @walked_ns: CPU time of the last pass's steps only.
 * @done, @whole: processes seen in this pass, and in the last one.
 * @proc, @new, @family: internal. new.nr is the number of passes over new processes that have
 *	begun; new.is_crowded: in this one, processes of some user are left out.
 */
struct pass {
	struct users *users;
	struct watch *watch;
	bool wants_all;
	bool wants_new;
	bool wants_missed;
	bool wants_use;
	uint64_t lost_at;
	bool is_running;
	bool is_all;
	bool is_thorough;
	bool is_first;
	uint64_t poll_ns;
	unsigned int nr_made;
	uint64_t began_at;
	uint64_t ended_at;
	uint64_t used_ns;
	uint64_t walked_ns;
	unsigned int done;
	unsigned int whole;
	struct seen seen;
	void *proc;
	struct {
		void *proc;
		bool is_running;
		bool is_crowded;
		unsigned int nr;
		uint64_t began_at;
		uint64_t ended_at;
		uint64_t used_ns;
	} new;
	struct {
		pid_t (*pairs)[2];
		size_t nr;
		size_t space;
	} family;
};

/* Returns whether a step is due now. */
bool pass_is_due(const struct pass *pass, uint64_t now);

/* Time of the next step; UINT64_MAX if no pass is wanted. */
uint64_t pass_next(const struct pass *pass);

/*
 * Make a step. Returns 0, or a negative errno if /proc cannot be read. If that lacks files or
 * memory, which may be there later, only the first pass fails.
 */
int pass_step(struct pass *pass);

/* Events were lost: request the passes that find what they would have told. */
void pass_lose_events(struct pass *pass);

/*
 * The process has executed a program. If events were lost, a pass over new ones comes to it, which
 * charges its user.
 */
void pass_note_exec(struct pass *pass, pid_t pid);

void pass_free(struct pass *pass);

#endif /* ATTACH_PASS_H */
