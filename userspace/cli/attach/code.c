// SPDX-License-Identifier: GPL-2.0
/*
 * Code: generated code of processes of known runtimes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "code.h"

#define NR_BUCKETS 512

/**
 * struct codes
 *
 * @max_ranges: limit of @nr_reserved.
 * @nr: number of processes.
 * @nr_reserved: sum of nr_code_ranges of all users.
 * @has_lost: events were lost since @lost_at, when that was last handled.
 * @told_at: when a limit was last told of.
 */
struct codes {
	struct code_fns fns;
	struct code_process *buckets[NR_BUCKETS];
	unsigned int max_ranges;
	unsigned int nr;
	unsigned int nr_reserved;
	bool has_lost;
	uint64_t lost_at;
	uint64_t told_at;
};

enum limit {
	LIMIT_PROCESSES,
	LIMIT_PROCESS,
	LIMIT_USER,
};

struct codes *codes_create(const struct code_fns *fns, uint32_t max_attached)
{
	struct codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return NULL;
	codes->fns = *fns;
	codes->max_ranges = max_attached / CODE_SHARE;
	return codes;
}

void codes_free(struct codes *codes)
{
	if (!codes)
		return;
	for (size_t i = 0; i < NR_BUCKETS; i++) {
		while (codes->buckets[i]) {
			struct code_process *process = codes->buckets[i];

			codes->buckets[i] = process->next;
			free(process->ranges);
			free(process);
		}
	}
	free(codes);
}

static void tell_limit(struct codes *codes, struct user *user, enum limit limit,
		       pid_t pid)
{
	static const char * const texts[] = {
		[LIMIT_PROCESSES] = "too many processes of runtimes",
		[LIMIT_PROCESS] = "a process has generated code in too many places",
		[LIMIT_USER] = "processes have generated code in too many places",
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
	struct code_process *process = codes->buckets[pid % NR_BUCKETS];

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

	return process ? process->user : NULL;
}

static void set_look(struct code_process *process, uint64_t at)
{
	process->look_at = at;
	if (at < process->user->next_look)
		process->user->next_look = at;
}

static void set_first(struct code_process *process, bool is_first)
{
	process->user->nr_first += is_first - process->is_first;
	process->user->nr_first_codes += is_first - process->is_first;
	process->is_first = is_first;
}

static void set_reserved(struct codes *codes, struct code_process *process,
			 unsigned int nr)
{
	codes->nr_reserved += nr - process->nr_reserved;
	process->user->nr_code_ranges += nr - process->nr_reserved;
	process->nr_reserved = nr;
}

/*
 * No reply to a look: as much as it was allowed to attach may be attached, besides what
 * the process had, which still counts for the process. A look that was not allowed to
 * attach anything has lost nothing, however often that happens.
 */
static void lose(struct codes *codes, const struct code_process *process)
{
	codes->nr_reserved += process->nr_allowed;
	process->user->nr_code_ranges += process->nr_allowed;
	process->user->lost_ranges += process->nr_allowed;
}

void codes_begin_listing(struct users *users)
{
	struct user *user = NULL;

	while ((user = users_next(users, user))) {
		/* A reader that was killed but has not ended may still attach something. */
		if (children_has_left(user->uid))
			continue;
		user->listed_ranges += user->lost_ranges;
		user->lost_ranges = 0;
	}
}

void codes_end_listing(struct codes *codes, struct users *users)
{
	struct user *user = NULL;

	while ((user = users_next(users, user))) {
		codes->nr_reserved -= user->listed_ranges;
		user->nr_code_ranges -= user->listed_ranges;
		user->listed_ranges = 0;
	}
}

/* A user can have as many processes as are left to all others then. */
static bool has_place(const struct codes *codes, const struct user *user)
{
	return user->nr_codes < CODE_USER_MAX_PROCESSES &&
	       user->nr_codes < CODE_MAX_PROCESSES - codes->nr;
}

static struct code_process *add(struct codes *codes, struct user *user, pid_t pid)
{
	struct code_process **bucket = &codes->buckets[pid % NR_BUCKETS];
	struct code_process *process;

	if (!has_place(codes, user))
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->user = user;
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

/* From now on, its number may be that of another process. */
static void leave_bucket(struct codes *codes, struct code_process *process)
{
	struct code_process **link = &codes->buckets[process->pid % NR_BUCKETS];

	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
}

/* Free @process, which is in no bucket any more. Its ranges have been detached. */
static void drop(struct codes *codes, struct code_process *process)
{
	*process->of_user_before = process->of_user;
	if (process->of_user)
		process->of_user->of_user_before = process->of_user_before;
	process->user->nr_codes--;
	codes->nr--;
	set_first(process, false);
	set_reserved(codes, process, 0);
	free(process->ranges);
	free(process);
}

static void detach_all(struct codes *codes, struct code_process *process)
{
	for (unsigned int i = 0; i < process->nr; i++)
		codes->fns.detach(codes->fns.data, process->ranges[i].id);
	process->nr = 0;
}

/* The process has ended, or is another user's now. */
static void forget(struct codes *codes, struct code_process *process)
{
	leave_bucket(codes, process);
	detach_all(codes, process);
	/* The end of the look drops it. */
	if (process->is_asked)
		process->is_removed = true;
	else
		drop(codes, process);
}

void codes_enter(struct codes *codes, struct user *user, pid_t pid,
		 bool is_first)
{
	struct code_process *process = find(codes, pid);
	const uint64_t now = now_ns();

	/* Its number is used again, or it has changed its user. */
	if (process && process->user != user)
		forget(codes, process);
	if (codes_change(codes, pid))
		return;
	process = add(codes, user, pid);
	if (!process) {
		tell_limit(codes, user, LIMIT_PROCESSES, pid);
		/* Others that come later do not put off the retry of this one. */
		if (!user->misses_codes)
			user->missed_codes_at = now;
		user->misses_codes = true;
		user->missed_codes_last = now;
		return;
	}
	process->is_changed = true;
	process->entered_at = now;
	process->first_until = now + CODE_FIRST_NS;
	set_first(process, is_first);
	set_look(process, is_first ? now : now + CODE_SETTLE_NS);
}

static void look_soon(struct code_process *process, uint64_t at)
{
	/* The end of a look sets the time of the next one. */
	if (!process->is_changed && !process->is_asked)
		set_look(process, at);
	process->is_changed = true;
	process->is_forked = false;
}

static void change(struct code_process *process, uint64_t now)
{
	const uint64_t soon = now + CODE_SETTLE_NS;

	look_soon(process, soon > process->not_before ?
			   soon : process->not_before);
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
	struct code_process *process = find(codes, pid);

	if (process)
		change(process, now_ns());
	return process;
}

void codes_lose_events(struct codes *codes)
{
	codes->has_lost = true;
}

/*
 * Any process can have changed. Who loses events on purpose must not use up the credit of
 * all others: half of it is left for what they do themselves.
 */
static void check_lost(struct codes *codes, struct users *users, uint64_t now)
{
	struct code_process *process;
	struct user *user = NULL;

	if (!codes->has_lost || now < codes->lost_at + CODE_LOST_NS)
		return;
	codes->has_lost = false;
	codes->lost_at = now;
	while ((user = users_next(users, user))) {
		if (!user_is_modest(user))
			continue;
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

	if (!process)
		return;
	user = process->user;
	forget(codes, process);
	user_charge(user, cpu_ns() - before);
}

/* --- looks */

static unsigned int left_of(unsigned int max, unsigned int used)
{
	return used < max ? max - used : 0;
}

/* How many ranges the process may have after a look. */
static unsigned int allowed(const struct codes *codes,
			    const struct code_process *process)
{
	const struct user *user = process->user;
	const unsigned int all = codes->nr_reserved - process->nr_reserved;
	const unsigned int his = user->nr_code_ranges - process->nr_reserved;
	const unsigned int left = left_of(codes->max_ranges, all) / 2;
	const unsigned int his_left = left_of(codes->max_ranges /
					      CODE_USER_SHARE, his);
	unsigned int nr = CODE_MAX_RANGES;

	if (nr > left)
		nr = left;
	if (nr > his_left)
		nr = his_left;
	/* It may keep what it has; but if that is lost, it would be attached once more. */
	if (nr < process->nr && !user->lost_ranges && !user->listed_ranges)
		nr = process->nr;
	return nr;
}

/* Find the user's process to look at, and the time of the next one. */
static struct code_process *find_due(struct user *user, uint64_t now)
{
	struct code_process *process, *due = NULL;

	user->next_look = UINT64_MAX;
	for (process = user->codes; process; process = process->of_user) {
		if (process->is_asked)
			continue;
		if (process->look_at <= now &&
		    (!due || process->look_at < due->look_at))
			due = process;
	}
	for (process = user->codes; process; process = process->of_user)
		if (!process->is_asked && process != due &&
		    process->look_at < user->next_look)
			user->next_look = process->look_at;
	return due;
}

struct code_process *codes_begin_look(struct codes *codes, struct user *user,
				      uint64_t now,
				      struct reader_request *request)
{
	struct reader_code *code = &request->code;
	struct code_process *process;
	bool is_coming;

	if (!user->codes || now < user->next_look)
		return NULL;
	process = find_due(user, now);
	if (!process)
		return NULL;
	request->what = READER_CODE;
	request->mapping.pid = process->pid;
	code->max = allowed(codes, process);
	code->text = process->text;
	code->text.is_done = process->text.is_set &&
		codes->fns.text_is_done(codes->fns.data, &process->text,
					&is_coming);
	code->nr = process->nr;
	if (process->nr)
		memcpy(code->ranges, process->ranges,
		       process->nr * sizeof(*process->ranges));
	process->text.is_done = code->text.is_done;
	process->is_asked = true;
	process->is_forked = false;
	process->is_changed = false;
	process->nr_allowed = code->max;
	set_reserved(codes, process, code->max > process->nr ?
				     code->max : process->nr);
	return process;
}

static bool has_id(const struct reader_code_range *ranges, unsigned int nr,
		   uint64_t id)
{
	for (unsigned int i = 0; i < nr; i++)
		if (ranges[i].id == id)
			return true;
	return false;
}

/* Detach those of the @nr ranges @old that are not in @process. */
static void detach_old(struct codes *codes, const struct code_process *process,
		       const struct reader_code_range *old, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (!has_id(process->ranges, process->nr, old[i].id))
			codes->fns.detach(codes->fns.data, old[i].id);
}

/*
 * Put the @nr ranges at @entries in the place of those of @process. Returns whether there
 * was memory; if not, they are detached.
 */
static bool replace_ranges(struct codes *codes, struct code_process *process,
			   const unsigned char *entries, unsigned int nr)
{
	struct reader_code_range *old = process->ranges, range;
	const unsigned int nr_old = process->nr;

	process->ranges = calloc(nr ? nr : 1, sizeof(*process->ranges));
	process->nr = 0;
	if (process->ranges && nr) {
		memcpy(process->ranges, entries, nr * sizeof(*old));
		process->nr = nr;
	}
	detach_old(codes, process, old, nr_old);
	for (unsigned int i = 0; !process->ranges && i < nr; i++) {
		memcpy(&range, entries + i * sizeof(range), sizeof(range));
		if (!has_id(old, nr_old, range.id))
			codes->fns.detach(codes->fns.data, range.id);
	}
	free(old);
	return process->ranges;
}

/* The process counts as first until the section of its runtime's file is attached. */
static bool is_still_first(const struct codes *codes,
			   const struct code_process *process, uint64_t now)
{
	bool is_coming = false;

	if (!process->is_first || now >= process->first_until)
		return false;
	return process->text.is_set && !process->text.is_done &&
	       (codes->fns.text_is_done(codes->fns.data, &process->text,
					&is_coming) || is_coming);
}

static void set_next_look(struct codes *codes, struct code_process *process,
			  const struct reader_reply *reply, bool has_failed)
{
	const uint64_t now = now_ns();
	const bool is_partial = reply && reply->code.is_partial;
	uint64_t recheck = CODE_RECHECK_NS;
	uint64_t pause = CODE_PAUSE * (reply ? reply->cpu_ns : 0);

	if (is_partial && CODE_PARTIAL_NS << process->nr_partial < CODE_RECHECK_NS)
		recheck = CODE_PARTIAL_NS << process->nr_partial++;
	else if (!is_partial)
		process->nr_partial = 0;
	if (pause < CODE_MIN_NS)
		pause = CODE_MIN_NS;
	if (pause > CODE_MAX_NS || has_failed)
		pause = CODE_MAX_NS;
	process->not_before = now + pause;
	set_look(process, process->is_changed || pause > recheck ?
			  process->not_before : now + recheck);
	set_first(process, !has_failed &&
			   is_still_first(codes, process, now));
}

void codes_end_look(struct codes *codes, struct code_process *process,
		    const struct reader_reply *reply,
		    const unsigned char *entries, size_t size)
{
	const struct reader_code_reply *code = reply ? &reply->code : NULL;
	const unsigned int max = size / sizeof(struct reader_code_range);
	bool has_failed = !reply || reply->error;
	unsigned int nr = 0;

	process->is_asked = false;
	if (code) {
		/* What there was time or room for this time. */
		if (code->nr > process->nr)
			process->nr_partial = 0;
		nr = code->nr < max ? code->nr : max;
		has_failed |= !replace_ranges(codes, process, entries, nr);
		process->text = code->text;
		process->is_changed |= code->has_changed;
	} else {
		lose(codes, process);
	}
	set_reserved(codes, process, process->nr);
	if (process->is_removed) {
		detach_all(codes, process);
		drop(codes, process);
		return;
	}
	/* If it has changed during the look, it may be one of a runtime now. */
	if (code && !code->is_runtime && !process->is_changed) {
		detach_all(codes, process);
		leave_bucket(codes, process);
		drop(codes, process);
		return;
	}
	if (code && code->is_full)
		tell_limit(codes, process->user, process->nr >= CODE_MAX_RANGES ?
			   LIMIT_PROCESS : LIMIT_USER, process->pid);
	set_next_look(codes, process, reply, has_failed);
}

void codes_cancel_look(struct codes *codes, struct code_process *process)
{
	process->is_asked = false;
	set_reserved(codes, process, process->nr);
	set_next_look(codes, process, NULL, true);
}

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
				set_first(process, false);
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
				set_first(process, false);
			/*
			 * All files from the start have been examined, but this one could
			 * not be: it was gone when a reader came, and can be so for ever.
			 */
			else if (!is_done && user->nr_first == user->nr_first_codes)
				set_first(process, false);
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

	for (size_t i = 0; i < NR_BUCKETS; i++) {
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

	for (size_t i = 0; i < NR_BUCKETS; i++)
		for (const struct code_process *process = codes->buckets[i];
		     process; process = process->next)
			nr += process->nr > 0;
	return nr;
}
