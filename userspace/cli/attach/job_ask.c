// SPDX-License-Identifier: GPL-2.0
/*
 * Job: what readers are asked, and in which order users are served. See job.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "job.h"

static void told_maps(struct jobs *jobs, struct user *user,
		      const struct queued_process *process,
		      const struct reader_reply *reply,
		      const unsigned char *rest, size_t size)
{
	struct reader_maps_entry entry;
	struct mapping mapping;
	uint64_t next;

	if (!reply) {
		user_block(user, now_ns());
		return;
	}
	user_charge(user, reply->cpu_ns);
	*jobs->maps_ns += reply->cpu_ns;
	jobs->forbidden += reply->error == -EACCES || reply->error == -EPERM;
	next = reply->maps.next;
	for (uint32_t i = 0; i < reply->maps.nr && size >= sizeof(entry); i++) {
		memcpy(&entry, rest, sizeof(entry));
		/* The user's processes come after the files, so there is room then. */
		if (user->nr_files >= USER_MAX_FILES) {
			next = entry.start;
			break;
		}
		rest += sizeof(entry);
		size -= sizeof(entry);
		if (!entry.name_size || entry.name_size > size)
			break;
		mapping = (struct mapping) {
			.pid = process->pid,
			.start = entry.start,
			.end = entry.end,
			.key = entry.key,
		};
		mapping_set_name(&mapping, (const char *)rest);
		rest += entry.name_size;
		size -= entry.name_size;
		job_found_mapping(jobs, mapping.pid, mapping.name,
				  process->is_first);
		jobs_add_mapping(jobs, &mapping, user, process->is_first);
	}
	if (next)
		user_add_process(user, process->pid, next, process->is_first);
}

/*
 * What a request to a reader is about: a file if @job is set, generated code if @code is
 * set, else a process.
 */
struct question {
	struct job *job;
	struct code_process *code;
	struct queued_process process;
};

void jobs_told(void *data, void *asked, struct user *user,
	       const struct reader_reply *reply, const unsigned char *rest,
	       size_t size, const int fds[2])
{
	struct question *question = asked;
	struct jobs *jobs = data;
	struct job *job = question->job;
	const uint64_t before = cpu_ns();

	if (question->code) {
		job_told_code(jobs, user, question->code, reply, rest, size);
	} else if (!job) {
		told_maps(jobs, user, &question->process, reply, rest, size);
		user->nr_first -= question->process.is_first;
	} else {
		if (reply && job->state == JOB_FILE)
			job->file = reply->file;
		if (reply)
			job_charge(jobs, job, reply->cpu_ns);
		if (job->state == JOB_FILE)
			job_told_file(jobs, job, reply, fds);
		else
			job_told_attached(jobs, job, reply);
	}
	free(question);
	user_charge(user, cpu_ns() - before);
}

static int ask(struct jobs *jobs, struct user *user,
	       const struct question *question,
	       const struct reader_request *request, const int fds[2])
{
	struct question *copy = malloc(sizeof(*copy));
	int err;

	if (!copy)
		return -ENOMEM;
	*copy = *question;
	err = readers_ask(jobs->readers, user, copy, request, fds);
	if (err)
		free(copy);
	return err;
}

/* Ask a reader for the user's next process. Returns whether there was one. */
static bool ask_process(struct jobs *jobs, struct user *user)
{
	struct reader_request request = { .what = READER_MAPS };
	const int fds[2] = { -1, -1 };
	struct question question = { 0 };
	struct queued_process *process = &question.process;

	if (!user_take_process(user, process))
		return false;
	request.mapping.pid = process->pid;
	request.mapping.start = process->from;
	if (ask(jobs, user, &question, &request, fds)) {
		user->is_missed = true;
		return false;
	}
	user->nr_first += process->is_first;
	return true;
}

/* Ask a reader for a look at a process of a runtime. Returns whether one was due. */
static bool ask_code(struct jobs *jobs, struct user *user)
{
	struct reader_request request = { 0 };
	const int fds[2] = { -1, -1 };
	struct question question = { 0 };

	question.code = job_begin_look(jobs, user, &request);
	if (!question.code)
		return false;
	if (!ask(jobs, user, &question, &request, fds))
		return true;
	job_cancel_look(jobs, user, question.code);
	return false;
}

/* Find the file that is likely to be that of the job's mapping, or NULL. */
static const struct known *find_likely(const struct jobs *jobs,
				       const struct job *job)
{
	const struct file_key *key = &job->mapping.key;
	const struct recent *recent;
	const struct known *known;

	known = known_find_inode(jobs->known, key->device, key->inode);
	if (known)
		return known;
	recent = recents_find(&job->user->recents, &job->mapping);
	if (recent)
		known = known_find_inode(jobs->known, recent->device,
					 recent->inode);
	return known ? known : known_find(jobs->known, key);
}

static void fill_file_request(struct jobs *jobs, struct job *job,
			      struct reader_request *request)
{
	const struct known *known = find_likely(jobs, job);

	request->what = READER_FILE;
	request->max_bytes = jobs->max_bytes;
	job_set_others_bytes(jobs, job, 0);
	job_set_others_bytes(jobs, job, job_others_part(jobs, job));
	/* 0 would mean no limit. */
	request->max_others = job->others_bytes + 1;
	if (jobs->has_inodes && !job->is_vdso && !job->is_same)
		request->attach.flags = SFRAME_UNWIND_ATTACH_SYSTEM |
					SFRAME_UNWIND_ATTACH_REPLACE |
					SFRAME_UNWIND_ATTACH_INODE |
					(jobs->is_extended ?
					 SFRAME_UNWIND_ATTACH_EXTENDED : 0);
	if (job->is_vdso || !known || now_ns() >= known->retry_at)
		return;
	request->known = (struct reader_known) {
		.is_set = true,
		.device = known->device,
		.inode = known->inode,
		.size = known->size,
		.changed = known->changed,
	};
}

static bool ask_job(struct jobs *jobs, struct job *job)
{
	struct reader_request request = { .mapping = job->mapping };
	const struct question question = { .job = job };
	const int fds[2] = { job->elf_fd, job->result_fd };

	if (job->state == JOB_FILE)
		fill_file_request(jobs, job, &request);
	else
		job_fill_attach(jobs, job, &request);
	if (ask(jobs, job->user, &question, &request, fds)) {
		job->user->is_missed = true;
		job_end(jobs, job);
		return false;
	}
	job->is_asked = true;
	/*
	 * This is the last request of the job, and the reader closes the file. Had it
	 * done so already, closing a trusted file would still wait for no other user.
	 */
	if (job->state == JOB_ATTACH && job->is_converted &&
	    job->file.is_trusted) {
		close(job->elf_fd);
		job->elf_fd = -1;
	}
	return true;
}

/*
 * Returns whether another file of the user may wait for a worker. Files of users who are
 * not served now can use up JOBS_MAX_TRUSTED; the others still have JOBS_MAX_WAITING.
 */
static bool may_wait(const struct jobs *jobs, const struct user *user)
{
	return user->nr_waiting < JOBS_MAX_WAITING &&
	       (user->nr_trusted < JOBS_MAX_WAITING ||
		jobs->nr_trusted < JOBS_MAX_TRUSTED);
}

/* Give a reader work for a file or a process of @user. Returns whether there was any. */
static bool begin_files(struct jobs *jobs, struct user *user)
{
	struct queued_file *file;
	struct job *job;

	for (job = jobs->jobs; job; job = job->next)
		if (job->user == user && !job->is_asked &&
		    (job->state == JOB_FILE || job->state == JOB_ATTACH))
			return ask_job(jobs, job);
	if (may_wait(jobs, user) && jobs->nr < JOBS_MAX &&
	    (jobs->nr_bytes < jobs->max_bytes || !user->nr_jobs))
		file = user_take_file(jobs->users, user);
	else
		return false;
	if (!file)
		return ask_process(jobs, user);
	job = job_create(jobs, user, file->is_first);
	if (job)
		job->mapping = file->mapping;
	else
		user->is_missed = true;
	free(file);
	return job && ask_job(jobs, job);
}

/* Give a reader work for @user. Returns whether there was any. */
static bool begin_reading(struct jobs *jobs, struct user *user)
{
	/* In turn, so that files and generated code do not wait for each other. */
	user->has_looked = !user->has_looked && ask_code(jobs, user);
	return user->has_looked || begin_files(jobs, user) ||
	       ask_code(jobs, user);
}

/* --- turns of users */

/* Serve each user once at most. Returns whether any was served. */
static bool serve_each(struct jobs *jobs,
		       bool (*serve)(struct jobs *jobs, struct user *user),
		       uint64_t now)
{
	struct user *user = NULL, *served = NULL;

	while ((user = users_next(jobs->users, user)))
		if (user_is_served(user, now) && serve(jobs, user))
			served = user;
	if (served)
		users_set_turn(jobs->users, served);
	return served;
}

static bool read_one(struct jobs *jobs, struct user *user)
{
	return readers_has_room(jobs->readers, user) &&
	       begin_reading(jobs, user);
}

void jobs_schedule(struct jobs *jobs)
{
	const uint64_t now = now_ns();

	while (serve_each(jobs, job_convert_one, now))
		;
	while (serve_each(jobs, read_one, now))
		;
}
