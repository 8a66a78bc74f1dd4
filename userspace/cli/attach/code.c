// SPDX-License-Identifier: GPL-2.0
/*
 * Code: processes with generated code, and when they are looked at.
 */
#include <stdlib.h>

#include "codes.h"

struct codes *codes_create(const struct code_fns *fns, uint32_t max_attached,
			   bool follows, bool has_events)
{
	struct codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return NULL;
	codes->fns = *fns;
	codes->max_ranges = max_attached / CODE_SHARE;
	codes->follows = follows;
	codes->has_events = has_events;
	return codes;
}

void codes_free(struct codes *codes)
{
	if (!codes)
		return;
	for (size_t i = 0; i < CODES_BUCKETS; i++) {
		while (codes->buckets[i]) {
			struct code_process *process = codes->buckets[i];

			codes->buckets[i] = process->next;
			free(process->ranges);
			free(process);
		}
	}
	quiet_remove(&codes->quiet, NULL, NULL);
	free(codes);
}

void codes_tell_limit(struct codes *codes, struct user *user,
		      enum codes_limit limit, pid_t pid)
{
	static const char * const texts[] = {
		[CODES_LIMIT_PROCESSES] = "too many processes of runtimes",
		[CODES_LIMIT_PROCESS] = "a process has generated code in too many places",
		[CODES_LIMIT_USER] = "processes have generated code in too many places",
	};
	const uint64_t now = now_ns();

	/* What is not told now is told the next time. */
	if (user->told_codes & 1U << limit || now < codes->told_at + CODE_TELL_NS)
		return;
	user->told_codes |= 1U << limit;
	codes->told_at = now;
	codes->fns.tell_limit(codes->fns.data, texts[limit], pid);
}

/* --- processes */

static struct code_process *find(const struct codes *codes, pid_t pid)
{
	struct code_process *process = codes->buckets[pid % CODES_BUCKETS];

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

bool codes_has(const struct codes *codes, pid_t pid, unsigned int *nr)
{
	const struct code_process *process = find(codes, pid);

	if (nr)
		*nr = process ? process->nr : 0;
	return process;
}

struct user *codes_user(const struct codes *codes, pid_t pid)
{
	const struct code_process *process = find(codes, pid);

	return process ? process->user : quiet_user(&codes->quiet, pid);
}

/* A user can have as many processes as are left to all others then. */
static bool has_place(const struct codes *codes, const struct user *user)
{
	return user->nr_codes < CODE_USER_MAX_PROCESSES &&
	       user->nr_codes < CODE_MAX_PROCESSES - codes->nr;
}

static struct code_process *add(struct codes *codes, struct user *user, pid_t pid)
{
	struct code_process **bucket = &codes->buckets[pid % CODES_BUCKETS];
	struct code_process *process;

	if (!has_place(codes, user))
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->user = user;
	process->announces = codes->follows;
	process->look_at = UINT64_MAX;
	process->next = *bucket;
	*bucket = process;
	process->of_user = user->codes;
	process->of_user_before = &user->codes;
	if (user->codes)
		user->codes->of_user_before = &process->of_user;
	else
		user->next_look = UINT64_MAX;
	user->codes = process;
	user->nr_codes++;
	codes->nr++;
	return process;
}

void codes_leave_bucket(struct codes *codes, struct code_process *process)
{
	struct code_process **link = &codes->buckets[process->pid % CODES_BUCKETS];

	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
}

void codes_drop(struct codes *codes, struct code_process *process)
{
	*process->of_user_before = process->of_user;
	if (process->of_user)
		process->of_user->of_user_before = process->of_user_before;
	process->user->nr_codes--;
	codes->nr--;
	codes_set_first(process, false);
	codes_set_reserved(codes, process, 0);
	free(process->ranges);
	free(process);
}

void codes_detach_all(struct codes *codes, struct code_process *process)
{
	for (unsigned int i = 0; i < process->nr; i++)
		codes->fns.detach(codes->fns.data, process->ranges[i].id);
	process->nr = 0;
	process->weight = 0;
}

/* The process has ended, or is another user's now. */
static void forget(struct codes *codes, struct code_process *process)
{
	codes_leave_bucket(codes, process);
	codes_detach_all(codes, process);
	/* The end of the look drops it. */
	if (process->is_asked)
		process->is_removed = true;
	else
		codes_drop(codes, process);
}

static void look_soon(struct code_process *process, uint64_t at)
{
	/* The end of a look sets the time of the next one. */
	if (!process->is_changed && !process->is_asked)
		codes_set_look(process, at);
	process->is_changed = true;
	process->is_quiet = false;
	process->is_forked = false;
}

static void change(struct code_process *process, uint64_t now)
{
	const uint64_t soon = now + CODE_SETTLE_NS;

	look_soon(process, soon > process->not_before ?
			   soon : process->not_before);
}

/* A process of the user is to be found again. */
static void miss(struct user *user, uint64_t now)
{
	/* Others that come later do not put off the retry of this one. */
	if (!user->misses_codes)
		user->missed_codes_at = now;
	user->misses_codes = true;
	user->missed_codes_last = now;
}

void codes_enter(struct codes *codes, struct user *user, pid_t pid,
		 bool is_first)
{
	struct code_process *process = find(codes, pid);
	const uint64_t now = now_ns();

	/* Its number is used again, or it has changed its user. */
	if (process && process->user != user) {
		forget(codes, process);
		process = NULL;
	}
	if (process) {
		change(process, now);
		return;
	}
	quiet_take(&codes->quiet, pid);
	process = add(codes, user, pid);
	if (!process) {
		codes_tell_limit(codes, user, CODES_LIMIT_PROCESSES, pid);
		miss(user, now);
		return;
	}
	process->is_changed = true;
	process->entered_at = now;
	process->first_until = now + CODE_FIRST_NS;
	codes_set_first(process, is_first);
	codes_set_look(process, is_first ? now : now + CODE_SETTLE_NS);
}

void codes_fork(struct codes *codes, struct user *user, pid_t child)
{
	const bool is_new = !find(codes, child);
	struct code_process *process;

	codes_enter(codes, user, child, false);
	process = find(codes, child);
	if (process)
		process->is_forked = is_new;
}

bool codes_change(struct codes *codes, pid_t pid)
{
	struct user *user = codes_user(codes, pid);

	if (user)
		codes_enter(codes, user, pid, false);
	return user;
}

void codes_lose_events(struct codes *codes)
{
	codes->has_lost = true;
}

/* Returns whether all processes of @user have to be looked at because of lost events. */
static bool is_to_look(const struct user *user)
{
	return user->has_lost_codes && user_is_modest(user);
}

/*
 * It may have ended, and nobody would ever know. Returns whether to find the user's quiet
 * processes again.
 */
static bool finds_again(void *data, struct user *user)
{
	const uint64_t *now = data;

	if (!is_to_look(user))
		return false;
	miss(user, *now);
	return true;
}

/* Note for whom events may have been lost. */
static void note_lost(struct codes *codes, struct users *users, uint64_t now)
{
	struct user *user = NULL;

	if (!codes->has_lost || now < codes->lost_at + CODE_LOST_NS)
		return;
	codes->has_lost = false;
	codes->lost_at = now;
	while ((user = users_next(users, user)))
		user->has_lost_codes = user->nr_codes || user->nr_quiet;
}

/*
 * Any process can have changed. Who loses events on purpose must not use up the credit of
 * all others: half of it is left for what they do themselves. Whoever has less has to wait
 * until he has more, but not for ever: nothing else looks at a quiet process.
 */
static void check_lost(struct codes *codes, struct users *users, uint64_t now)
{
	struct code_process *process;
	struct user *user = NULL;
	bool has_any = false;

	note_lost(codes, users, now);
	while ((user = users_next(users, user)))
		has_any |= is_to_look(user);
	if (!has_any)
		return;
	quiet_remove(&codes->quiet, finds_again, &now);
	while ((user = users_next(users, user))) {
		if (!is_to_look(user))
			continue;
		user->has_lost_codes = false;
		for (process = user->codes; process; process = process->of_user)
			change(process, now);
	}
}

bool codes_is_new(const struct codes *codes, pid_t pid)
{
	const struct code_process *process = find(codes, pid);

	return process && (process->is_forked ||
			   now_ns() < process->entered_at + CODE_NEW_NS);
}

void codes_remove(struct codes *codes, pid_t pid)
{
	struct code_process *process = find(codes, pid);
	const uint64_t before = cpu_ns();
	struct user *user;

	quiet_take(&codes->quiet, pid);
	if (!process)
		return;
	user = process->user;
	forget(codes, process);
	user_charge(user, cpu_ns() - before);
}

/* --- periodic work */

/* Let a pass find the processes that had no place, if there is one now. */
static void check_missed(const struct codes *codes, struct user *user, uint64_t now)
{
	if (!user->misses_codes || now < user->missed_codes_at + CODE_RETRY_NS ||
	    !has_place(codes, user))
		return;
	/* This pass does not examine the last ones again yet. */
	user->misses_codes = now < user->missed_codes_last + CODE_RETRY_NS;
	user->missed_codes_at = user->missed_codes_last;
	user->is_missed = true;
}

void codes_check(struct codes *codes, struct users *users, uint64_t now)
{
	struct code_process *process;
	struct user *user = NULL;
	bool is_coming, is_done;

	check_lost(codes, users, now);
	while ((user = users_next(users, user))) {
		check_missed(codes, user, now);
		for (process = user->codes; process; process = process->of_user) {
			if (now >= process->first_until)
				codes_set_first(process, false);
			if (!process->text.is_set || process->is_asked)
				continue;
			is_done = codes->fns.text_is_done(codes->fns.data,
							  &process->text,
							  &is_coming);
			/* What "ready" waits for has no pause. */
			if (is_done != process->text.is_done)
				look_soon(process, process->is_first ?
						   now : process->not_before);
			else if (!is_done && !is_coming && !process->is_changed)
				codes_set_first(process, false);
			/*
			 * All files from the start have been examined, but this one could
			 * not be: it was gone when a reader came, and can be so for ever.
			 */
			else if (!is_done && user->nr_first == user->nr_first_codes)
				codes_set_first(process, false);
		}
	}
}

uint64_t codes_next(struct users *users, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	struct user *user = NULL;

	/* What is due and has not begun waits for a reader. */
	while ((user = users_next(users, user)))
		if (user->codes && user->next_look > now &&
		    user->next_look < next && user_is_served(user, now))
			next = user->next_look;
	return next;
}

unsigned int codes_for_each(const struct codes *codes,
			    void (*fn)(void *data, uint64_t id), void *data)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < CODES_BUCKETS; i++) {
		const struct code_process *process = codes->buckets[i];

		for (; process; process = process->next) {
			nr += process->nr;
			for (unsigned int j = 0; fn && j < process->nr; j++)
				fn(data, process->ranges[j].id);
		}
	}
	return nr;
}

unsigned int codes_processes(const struct codes *codes)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < CODES_BUCKETS; i++)
		for (const struct code_process *process = codes->buckets[i];
		     process; process = process->next)
			nr += process->nr > 0;
	return nr;
}
