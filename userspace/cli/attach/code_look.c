// SPDX-License-Identifier: GPL-2.0
/*
 * Code: looks at processes, and the ranges that they attach to.
 */
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "codes.h"

/* --- what is reserved */

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
	if (nr < process->weight && !user->lost_ranges && !user->listed_ranges)
		nr = process->weight;
	return nr;
}

/* Find the user's process to look at, and the time of the next one. */
static struct code_process *find_due(struct user *user, uint64_t now)
{
	struct code_process *process, *due = NULL;

	user->next_look = UINT64_MAX;
	for (process = user->codes; process; process = process->of_user) {
		if (process->is_asked ||
		    (process->announces && user->has_worker))
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
	code->follows = codes->follows;
	code->objects = process->objects;
	code->next = process->next_object;
	code->text = process->text;
	code->text.is_done = process->text.is_set &&
		codes->fns.text_is_done(codes->fns.data, &process->text,
					&is_coming);
	code->nr = process->nr;
	if (process->nr)
		memcpy(code->ranges, process->ranges,
		       process->nr * sizeof(*process->ranges));
	process->text.is_done = code->text.is_done;
	process->began_at = now;
	process->is_asked = true;
	process->is_forked = false;
	process->is_changed = false;
	process->nr_allowed = code->max;
	codes_set_reserved(codes, process, code->max > process->weight ?
				     code->max : process->weight);
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

/* Returns whether announced code is among @process that was not among the @nr ranges @old. */
static bool has_new_object(const struct code_process *process,
			   const struct reader_code_range *old, unsigned int nr)
{
	for (unsigned int i = 0; i < process->nr; i++)
		if (process->ranges[i].object &&
		    !has_id(old, nr, process->ranges[i].id))
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
	process->weight = 0;
	if (process->ranges && nr) {
		memcpy(process->ranges, entries, nr * sizeof(*old));
		process->nr = nr;
	}
	for (unsigned int i = 0; i < process->nr; i++)
		process->weight += process->ranges[i].weight;
	process->has_new = has_new_object(process, old, nr_old);
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
	uint64_t pause = (process->has_new ? CODE_PAUSE_NEW : CODE_PAUSE) *
			 (reply ? reply->cpu_ns : 0);

	/* Some announce code only after it is executable. */
	if (process->is_quiet)
		recheck = CODE_PARTIAL_NS;
	else if (is_partial && CODE_PARTIAL_NS << process->nr_partial < CODE_RECHECK_NS)
		recheck = CODE_PARTIAL_NS << process->nr_partial++;
	else if (!is_partial)
		process->nr_partial = 0;
	if (pause < CODE_MIN_NS)
		pause = CODE_MIN_NS;
	if (pause > CODE_MAX_NS || has_failed)
		pause = CODE_MAX_NS;
	process->not_before = now + pause;
	codes_set_look(process, process->is_changed || pause > recheck ?
			  process->not_before : now + recheck);
	codes_set_first(process, !has_failed &&
			   is_still_first(codes, process, now));
}

/* Returns whether the process itself has as much as one can have. */
static bool is_process_full(const struct code_process *process)
{
	unsigned int places = 0;

	for (unsigned int i = 0; i < process->nr; i++)
		places += !process->ranges[i].object;
	return places >= CODE_MAX_PLACES || process->weight >= CODE_MAX_RANGES;
}

/*
 * Note whether the process is quiet. Returns whether it needs no place any more: it was so
 * in the look before, too. Without events, it is found again.
 */
static bool becomes_quiet(struct codes *codes, struct code_process *process,
			  bool is_quiet)
{
	const bool was_quiet = process->is_quiet;

	process->is_quiet = is_quiet && !process->is_changed && !process->nr;
	if (!process->is_quiet || !was_quiet)
		return false;
	if (!codes->has_events ||
	    quiet_add(&codes->quiet, process->user, process->pid))
		return true;
	/* Without room, it keeps its place: the next look is no sooner than any. */
	process->is_quiet = false;
	return false;
}

/* The process has no ranges, and gives its place back. */
static void leave(struct codes *codes, struct code_process *process)
{
	codes_leave_bucket(codes, process);
	codes_drop(codes, process);
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
		process->objects = code->objects;
		process->next_object = code->next;
		/* No worker was reserved for it. */
		process->is_changed |= code->has_changed ||
				       (code->announces && !process->announces);
		process->announces = code->announces;
	} else {
		lose(codes, process);
	}
	codes_set_reserved(codes, process, process->weight);
	if (process->is_removed) {
		codes_detach_all(codes, process);
		codes_drop(codes, process);
		return;
	}
	/* If it has changed during the look, it may be one of a runtime now. */
	if (code && !code->is_runtime && !process->is_changed) {
		codes_detach_all(codes, process);
		leave(codes, process);
		return;
	}
	if (becomes_quiet(codes, process, code && !has_failed && code->is_quiet)) {
		leave(codes, process);
		return;
	}
	if (code && code->is_full)
		codes_tell_limit(codes, process->user, is_process_full(process) ?
			   CODES_LIMIT_PROCESS : CODES_LIMIT_USER, process->pid);
	set_next_look(codes, process, reply, has_failed);
}

void codes_cancel_look(struct codes *codes, struct code_process *process)
{
	process->is_asked = false;
	codes_set_reserved(codes, process, process->weight);
	set_next_look(codes, process, NULL, true);
}
