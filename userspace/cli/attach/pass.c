// SPDX-License-Identifier: GPL-2.0
/*
 * Pass: a scan of /proc.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "pass.h"
#include "process.h"

bool pass_is_due(const struct pass *pass, uint64_t now)
{
	return pass_next(pass) <= now;
}

/* Returns the time between two passes, of which the first has taken @used_ns. */
static uint64_t pause_after(uint64_t used_ns, uint64_t min, uint64_t max)
{
	const uint64_t pause = PASS_SHARE * used_ns;

	return pause < min ? min : pause > max ? max : pause;
}

/* The first pass finds new processes as well. */
static uint64_t next_new(const struct pass *pass)
{
	if (pass->new.is_running)
		return 0;
	if (!(pass->wants_new || pass->new.proc) || !pass->nr_made || !pass->watch->all)
		return UINT64_MAX;
	return pass->new.ended_at + pause_after(pass->new.used_ns, PASS_NEW_MIN_NS,
						PASS_NEW_MAX_NS);
}

static uint64_t next_other(const struct pass *pass)
{
	const uint64_t rest = PASS_REST * pass->walked_ns;
	uint64_t pause;

	if (pass->is_running)
		return 0;
	if (!pass->poll_ns && !pass->wants_all && !pass->wants_missed)
		return UINT64_MAX;
	if (!pass->nr_made)
		return 0;
	pause = pass->poll_ns ? pass->poll_ns :
		pause_after(pass->used_ns, PASS_MIN_NS, PASS_MAX_NS);
	return pass->ended_at + (pause > rest ? pause : rest);
}

uint64_t pass_next(const struct pass *pass)
{
	const uint64_t new = next_new(pass), other = next_other(pass);

	return new < other ? new : other;
}

/*
 * Returns whether the user's queue is still too long to enter what a pass finds: at the
 * beginning of the pass, as it may find more than that.
 */
static bool is_behind(const struct pass *pass, struct user *user, bool is_new)
{
	if (is_new)
		return user->nr_processes >= PASS_MAX_NEW;
	if (user->pass != pass->nr_made + 1) {
		user->pass = pass->nr_made + 1;
		user->is_behind = user->nr_processes >= PASS_MAX_QUEUED;
	}
	return user->is_behind;
}

static void add_process(struct pass *pass, struct user *user, pid_t pid, bool is_new)
{
	struct seen_process *seen;

	if (!is_behind(pass, user, is_new) && user_is_served(user, now_ns()) &&
	    user_add_process(user, pid, 0, pass->is_first && !is_new))
		return;
	user->is_missed = true;
	seen = seen_find(&pass->seen, pid);
	if (seen)
		seen->code = 0;
}

/* --- watched processes and their descendants */

static void remember(struct pass *pass, pid_t pid, pid_t parent)
{
	if (pass->family.nr == pass->family.space) {
		const size_t space = 2 * pass->family.space + 256;
		pid_t (*pairs)[2] = realloc(pass->family.pairs,
					    space * sizeof(*pairs));

		if (!pairs)
			return;
		pass->family.pairs = pairs;
		pass->family.space = space;
	}
	pass->family.pairs[pass->family.nr][0] = pid;
	pass->family.pairs[pass->family.nr++][1] = parent;
}

static void add_children(struct pass *pass)
{
	size_t before;

	do {
		before = pass->watch->nr;
		for (size_t i = 0; i < pass->family.nr; i++)
			if (watch_has(pass->watch, pass->family.pairs[i][1]))
				watch_add(pass->watch,
					  pass->family.pairs[i][0]);
	} while (pass->watch->nr != before);
	pass->family.nr = 0;
	for (size_t i = 0; i < pass->watch->nr; i++)
		add_process(pass, users_of_process(pass->users,
						   pass->watch->pids[i]),
			    pass->watch->pids[i], false);
}

/* --- a pass */

/* Not so if a process has ended. */
static bool is_temporary(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static int begin(struct pass *pass)
{
	const uint64_t now = now_ns();
	struct user *user = NULL;

	pass->proc = opendir("/proc");
	if (!pass->proc)
		return -errno;
	pass->is_running = true;
	pass->is_first = !pass->nr_made;
	pass->is_all = pass->wants_all || pass->is_first || pass->poll_ns ||
		       !pass->watch->all;
	pass->is_thorough = pass->wants_use || pass->is_first;
	pass->wants_all = false;
	pass->wants_use = false;
	pass->wants_missed = false;
	pass->began_at = now;
	pass->used_ns = 0;
	pass->walked_ns = 0;
	pass->done = 0;
	/* Mappings missed from now on are left to the next pass. */
	while ((user = users_next(pass->users, user))) {
		const bool is_served = user_is_served(user, now);

		user->is_looked_at = pass->is_all ||
			(is_served && user_is_to_look_at(user, now));
		if (pass->is_all || user->is_missed)
			user->missed_at = now;
		if (!user->is_looked_at || !is_served)
			continue;
		user->is_missed = false;
		user->again_at = 0;
	}
	return 0;
}

static void end(struct pass *pass)
{
	struct user *user = NULL;

	while ((user = users_next(pass->users, user)))
		user->is_looked_at = false;
	if (!pass->watch->all)
		add_children(pass);
	closedir(pass->proc);
	pass->proc = NULL;
	seen_end_pass(&pass->seen, pass->began_at);
	pass->is_running = false;
	pass->nr_made++;
	pass->whole = pass->done;
	pass->ended_at = now_ns();
}

/*
 * Returns whether the process was examined recently and its code seems unchanged. If that
 * was before something was missed, it is to be examined again when it was not recently.
 */
static bool is_same_code(struct pass *pass, struct user *user, pid_t pid,
			 const struct process *process, bool is_new)
{
	/* After a pass over new processes, there is another one, which sees to that. */
	const uint64_t missed_at = is_new ? 0 :
				   pass->is_all ? pass->began_at : user->missed_at;
	const uint64_t now = now_ns();
	struct seen_process *seen = seen_enter(&pass->seen, pid, now);
	uint64_t again_at;
	bool is_recent;

	if (!seen)
		return false;
	is_recent = now < seen->at + PASS_SEEN_NS;
	if ((is_new || !pass->is_thorough) && seen->code == process->code &&
	    (is_recent || !user_is_modest(user))) {
		again_at = (is_recent ? seen->at : now) + PASS_SEEN_NS;
		if (seen->at < missed_at && user->again_at < again_at)
			user->again_at = again_at;
		return true;
	}
	seen->code = process->code;
	seen->at = now;
	return false;
}

/* --- users whose processes are left out of a pass over new ones */

static unsigned int *new_looks(struct pass *pass, struct user *user)
{
	if (user->new_pass != pass->new.nr) {
		user->new_pass = pass->new.nr;
		user->nr_new_looks = 0;
	}
	return &user->nr_new_looks;
}

static bool is_left_out(struct pass *pass, struct user *user)
{
	return *new_looks(pass, user) >= PASS_MAX_LOOKED || is_behind(pass, user, true) ||
	       !user_is_served(user, now_ns());
}

static void note_look(struct pass *pass, const struct process *process)
{
	struct user *user = users_get(pass->users, process->uid);

	/* Of the kernel's threads there may be many; there is one look at each. */
	if (process->has_memory || process->uid)
		++*new_looks(pass, user);
	pass->new.is_crowded |= is_left_out(pass, user);
}

/*
 * Returns whether the process is not to be looked at. Of a process with another effective user
 * ID it only knows that one; the pass over all processes, which is wanted too, comes to it.
 */
static bool leave_out(struct pass *pass, pid_t pid)
{
	struct user *user;
	uid_t owner;

	if (!pass->new.is_crowded || process_owner(pid, &owner))
		return false;
	user = users_get(pass->users, owner);
	if (!is_left_out(pass, user))
		return false;
	user->is_missed = true;
	return true;
}

/* --- looks */

/*
 * What a look takes is charged to the user of the process if that user was to be looked at,
 * or has done something since the last look. All others are only looked at because some
 * user has missed something, or events were lost, for which they need not be the cause.
 */
static void look_at(struct pass *pass, pid_t pid, bool is_new)
{
	const bool is_all = is_new || pass->is_all;
	const uint64_t now = now_ns(), before = cpu_ns();
	struct process process;
	struct user *user;
	bool is_charged;
	int err;

	err = process_read(pid, &process);
	if (is_temporary(err))
		pass->wants_all = true;
	if (is_new && !err)
		note_look(pass, &process);
	if (err || !process.has_memory)
		return;
	if (!pass->watch->all) {
		remember(pass, pid, process.parent);
		return;
	}
	user = users_get(pass->users, process.uid);
	/* Who is not looked at has missed nothing, also if not served now. */
	if (!is_all && !user->is_looked_at)
		return;
	is_charged = !is_all;
	if (!user_is_served(user, now)) {
		user->is_missed = true;
	} else if (!is_same_code(pass, user, pid, &process, is_new)) {
		add_process(pass, user, pid, is_new);
		is_charged = true;
	}
	if (is_charged)
		user_charge(user, cpu_ns() - before);
}

/*
 * Returns the next process ID of @proc, or 0 if there is none.
 */
static pid_t next_process(DIR *proc)
{
	const struct dirent *entry;
	pid_t pid;

	while ((entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		if (pid > 0)
			return pid;
	}
	return 0;
}

/* Note that the process exists. Returns what is remembered of it, or NULL. */
static struct seen_process *meet(struct pass *pass, pid_t pid)
{
	struct seen_process *seen = seen_find(&pass->seen, pid);

	if (seen)
		seen->met = now_ns();
	return seen;
}

static void note_step(struct pass *pass, uint64_t before)
{
	uint64_t used = cpu_ns() - before;

	if (used > PASS_STEP_MAX_NS)
		used = PASS_STEP_MAX_NS;
	pass->used_ns += used;
	pass->walked_ns += used;
}

static int step_other(struct pass *pass)
{
	const uint64_t before = cpu_ns();
	pid_t pid;
	int err;

	if (!pass->is_running) {
		err = begin(pass);
		if (err) {
			pass->ended_at = now_ns();
			return pass->nr_made && is_temporary(err) ? 0 : err;
		}
	}
	do {
		pid = next_process(pass->proc);
		if (!pid) {
			note_step(pass, before);
			end(pass);
			return 0;
		}
		pass->done++;
		meet(pass, pid);
		look_at(pass, pid, false);
	} while (cpu_ns() < before + PASS_STEP_NS);
	note_step(pass, before);
	return 0;
}

/* --- a pass over new processes */

/*
 * Note when a process was seen first, also if its code was not examined, as it is a thread of
 * the kernel, or as its user is not served. The latter's is_missed asks for another pass.
 */
static void note_seen(struct pass *pass, pid_t pid)
{
	const uint64_t now = now_ns();
	struct seen_process *seen = seen_enter(&pass->seen, pid, now);

	if (seen)
		seen->looked_at = now;
}

/* @seen: what is remembered of it, or NULL. */
static bool is_new_process(const struct seen_process *seen, uint64_t now)
{
	if (!seen)
		return true;
	return now < seen->since + PASS_NEW_NS &&
	       now >= seen->looked_at + (seen->looked_at - seen->since) / 2;
}

/*
 * Begin a pass, or go on with one. Without files or memory, the pass over all processes, which
 * is wanted too, finds them.
 */
static void begin_new(struct pass *pass)
{
	pass->new.is_running = true;
	pass->new.used_ns = 0;
	if (pass->new.proc)
		return;
	pass->wants_new = false;
	pass->new.nr++;
	pass->new.is_crowded = false;
	pass->new.began_at = now_ns();
	pass->new.proc = opendir("/proc");
}

static void end_new(struct pass *pass)
{
	if (pass->new.proc) {
		closedir(pass->new.proc);
		seen_end_pass(&pass->seen, pass->new.began_at);
	}
	pass->new.proc = NULL;
	pass->new.is_running = false;
}

static void step_new(struct pass *pass)
{
	const uint64_t before = cpu_ns(), now = now_ns();
	pid_t pid;

	if (!pass->new.is_running)
		begin_new(pass);
	do {
		pid = pass->new.proc ? next_process(pass->new.proc) : 0;
		if (!pid) {
			end_new(pass);
			break;
		}
		if (!is_new_process(meet(pass, pid), now))
			continue;
		if (!leave_out(pass, pid))
			look_at(pass, pid, true);
		note_seen(pass, pid);
	} while (cpu_ns() < before + PASS_STEP_NS);
	pass->new.used_ns += cpu_ns() - before;
	if (pass->new.used_ns >= PASS_NEW_PART_NS)
		pass->new.is_running = false;
	if (!pass->new.is_running)
		pass->new.ended_at = now_ns();
}

int pass_step(struct pass *pass)
{
	if (next_new(pass) > now_ns())
		return step_other(pass);
	step_new(pass);
	return 0;
}

void pass_lose_events(struct pass *pass)
{
	pass->wants_all = true;
	pass->wants_new = true;
	pass->lost_at = now_ns();
}

/*
 * One that is not remembered is new anyway. Whether or not something was lost may be told only
 * later, so the process is new in any case.
 */
void pass_note_exec(struct pass *pass, pid_t pid)
{
	struct seen_process *seen = seen_find(&pass->seen, pid);
	const uint64_t now = now_ns();

	if (seen) {
		seen->since = now;
		seen->looked_at = now;
		seen->code = 0;
	}
	if (now < pass->lost_at + PASS_NEW_NS)
		pass->wants_new = true;
}

void pass_free(struct pass *pass)
{
	if (pass->proc)
		closedir(pass->proc);
	if (pass->new.proc)
		closedir(pass->new.proc);
	free(pass->family.pairs);
}
