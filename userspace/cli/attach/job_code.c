// SPDX-License-Identifier: GPL-2.0
/*
 * Job: generated code of processes of known runtimes. See code.h.
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

	jobs->codes = codes_create(&fns, jobs->max_attached);
	return jobs->codes;
}

void jobs_note_mapping(struct jobs *jobs, pid_t pid, const char *name)
{
	if (!jobs->codes || codes_change(jobs->codes, pid) ||
	    !name || !runtimes_find(name))
		return;
	codes_enter(jobs->codes, users_of_process(jobs->users, pid), pid,
		    false);
}

void job_found_mapping(struct jobs *jobs, struct user *user, pid_t pid,
		       const char *name, bool is_first)
{
	/* With events, each change is seen when it is made. */
	if (!jobs->codes || !runtimes_find(name) ||
	    (codes_has(jobs->codes, pid, NULL) && !jobs->is_polling))
		return;
	codes_enter(jobs->codes, user, pid, is_first);
}

void jobs_note_fork(struct jobs *jobs, pid_t child, pid_t parent)
{
	if (jobs->codes && codes_has(jobs->codes, parent, NULL))
		codes_enter(jobs->codes, users_of_process(jobs->users, child),
			    child, false);
}

void jobs_note_exit(struct jobs *jobs, pid_t pid)
{
	struct process process;

	if (!jobs->codes || !codes_has(jobs->codes, pid, NULL))
		return;
	/* It may not have ended completely, or its number may be used again. */
	if (process_read(pid, &process) || !process.has_memory)
		codes_remove(jobs->codes, pid);
	else
		codes_change(jobs->codes, pid);
}

struct code_process *job_begin_look(struct jobs *jobs, struct user *user,
				    struct reader_request *request)
{
	return jobs->codes ? codes_begin_look(jobs->codes, user, now_ns(),
					      request) : NULL;
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
		user_charge(user, reply->cpu_ns);
	} else {
		/* It may have attached something: see stray.h. */
		jobs->nr_lost++;
		user_block(user, now_ns());
	}
	before = process->nr;
	codes_end_look(jobs->codes, process, reply, rest, size);
	codes_has(jobs->codes, pid, &nr);
	if (nr == before)
		return;
	snprintf(name, sizeof(name), "process %d", (int)pid);
	snprintf(text, sizeof(text), "generated code in %u places", nr);
	report_file(jobs->report, name, FILE_ATTACHED, text);
}
