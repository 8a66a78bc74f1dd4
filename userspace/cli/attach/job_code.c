// SPDX-License-Identifier: GPL-2.0
/*
 * Job: generated code of processes. See code.h.
 */
#include <stdio.h>

#include "job.h"
#include "process.h"
#include "runtimes.h"

static void detach(void *data, uint64_t id)
{
	const struct jobs *jobs = data;

	known_detach(jobs->known, id);
}

static bool text_is_done(void *data, const struct reader_code_text *text,
			 bool *is_coming)
{
	const struct jobs *jobs = data;
	const struct known *known = known_find_inode(jobs->known, text->device,
						     text->inode);

	*is_coming = !known;
	return known && (known->state == FILE_ATTACHED ||
			 known->state == FILE_OWN);
}

static void tell_limit(void *data, const char *what, pid_t pid)
{
	const struct jobs *jobs = data;

	report_limit(jobs->report, what, pid);
}

bool jobs_begin_code(struct jobs *jobs)
{
	const struct code_fns fns = {
		.detach = detach,
		.text_is_done = text_is_done,
		.tell_limit = tell_limit,
		.data = jobs,
	};

	jobs->codes = codes_create(&fns, jobs->max_attached, jobs->follows,
				   !jobs->is_polling);
	return jobs->codes;
}

/* Returns whether processes that map the file @name can have code that is looked at. */
static bool generates_code(const struct jobs *jobs, const char *name)
{
	return runtimes_find(name) || (jobs->follows && runtimes_announce(name));
}

/* Enter the process for the user whose it is now, who may not be the one of a pass before. */
static void enter(struct jobs *jobs, pid_t pid, bool is_first)
{
	struct user *user = users_of_process(jobs->users, pid);

	/* Else it has ended. */
	if (user->uid != USER_UNKNOWN)
		codes_enter(jobs->codes, user, pid, is_first);
}

void jobs_note_mapping(struct jobs *jobs, pid_t pid, const char *name)
{
	if (!jobs->codes)
		return;
	if (name && generates_code(jobs, name))
		enter(jobs, pid, false);
	else
		codes_change(jobs->codes, pid);
}

void job_found_mapping(struct jobs *jobs, pid_t pid, const char *name,
		       bool is_first)
{
	struct user *user;

	if (!jobs->codes || !generates_code(jobs, name))
		return;
	user = codes_user(jobs->codes, pid);
	/* With events, each change is seen when it is made. */
	if (!user || jobs->is_polling ||
	    user != users_of_process(jobs->users, pid))
		enter(jobs, pid, is_first);
}

/*
 * Anyone can fork, and be forked, much faster than /proc can be read. The child is the
 * parent's user's until a look at it ends; it may even have ended already, if its end was
 * handled before, from another CPU's ring.
 */
void jobs_note_fork(struct jobs *jobs, pid_t child, pid_t parent)
{
	struct user *user = jobs->codes ? codes_user(jobs->codes, parent) : NULL;

	if (user)
		codes_fork(jobs->codes, user, child);
}

void jobs_note_exit(struct jobs *jobs, pid_t pid)
{
	struct user *user = jobs->codes ? codes_user(jobs->codes, pid) : NULL;
	struct process process;
	uint64_t before;

	if (!user)
		return;
	if (codes_is_new(jobs->codes, pid)) {
		codes_remove(jobs->codes, pid);
		return;
	}
	before = cpu_ns();
	/* It may not have ended completely, or its number may be used again. */
	if (process_read(pid, &process) || !process.has_memory)
		codes_remove(jobs->codes, pid);
	else
		codes_change(jobs->codes, pid);
	user_charge(user, cpu_ns() - before);
}

/* Reserve a worker for the look at @process, or give it back. */
static void set_worker(struct jobs *jobs, struct user *user,
		       struct code_process *process, bool has_worker)
{
	jobs->nr_converting += has_worker - process->has_worker;
	user->nr_converting += has_worker - process->has_worker;
	process->has_worker = has_worker;
	user->has_worker = has_worker;
}

struct code_process *job_begin_look(struct jobs *jobs, struct user *user,
				    struct reader_request *request)
{
	struct code_process *process;

	request->code.can_switch = jobs->can_switch;
	if (!jobs->codes)
		return NULL;
	process = codes_begin_look(jobs->codes, user, now_ns(), request);
	if (!process)
		return NULL;
	if (process->announces)
		set_worker(jobs, user, process,
			   jobs_may_convert(jobs, user, false));
	request->code.may_convert = process->has_worker;
	request->code.nice = user_is_modest(user) ? 0 : 10;
	return process;
}

void job_cancel_look(struct jobs *jobs, struct user *user,
		     struct code_process *process)
{
	if (process->has_worker)
		set_worker(jobs, user, process, false);
	codes_cancel_look(jobs->codes, process);
}

/*
 * Real time of a look in which its worker was of no use to anybody: what it reads can make
 * it wait. That is charged, too, as looks of several users could have all workers else. It
 * is no fault of the user if a worker gets no CPU time, or the reader for a moment.
 */
static uint64_t waited(const struct code_process *process,
		       const struct reader_reply *reply)
{
	const uint64_t passed = now_ns() - process->began_at;
	const uint64_t used = reply->code.worker_ns + READER_LATE_NS;

	return process->has_worker && passed > used ? passed - used : 0;
}

void job_told_code(struct jobs *jobs, struct user *user,
		   struct code_process *process,
		   const struct reader_reply *reply,
		   const unsigned char *rest, size_t size)
{
	const pid_t pid = process->pid;
	unsigned int before, nr;
	char name[32], text[64];

	if (reply) {
		user_charge(user, reply->cpu_ns + waited(process, reply));
		jobs->wants_room |= reply->code.is_refused;
	} else {
		/* It may have attached something: see stray.h. */
		jobs->nr_lost++;
		user_block(user, now_ns());
		/* Its worker has ended with the reader, and had this time at most. */
		if (process->has_worker)
			user_charge(user, now_ns() - process->began_at);
	}
	if (process->has_worker)
		set_worker(jobs, user, process, false);
	before = process->nr;
	codes_end_look(jobs->codes, process, reply, rest, size);
	/* It can have got other credentials without a new mapping. */
	if (codes_user(jobs->codes, pid) == user &&
	    users_of_process(jobs->users, pid) != user)
		enter(jobs, pid, false);
	codes_has(jobs->codes, pid, &nr);
	if (nr == before)
		return;
	snprintf(name, sizeof(name), "process %d", (int)pid);
	snprintf(text, sizeof(text), "generated code in %u places", nr);
	report_file(jobs->report, name, FILE_ATTACHED, text);
}
