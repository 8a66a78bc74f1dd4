// SPDX-License-Identifier: GPL-2.0
/*
 * Job: one file on its way from a mapping to an attachment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "cli/cli.h"
#include "closer.h"
#include "job.h"
#include "worker.h"

/* Limit of snapshots: one part in this many of the machine's memory, or MIN_SNAPSHOT. */
#define MEMORY_SHARE		8
#define MIN_SNAPSHOT		(64ULL << 20)

/* Memory files of more than this are closed by a closer, on behalf of MEMORY_USER. */
#define MAX_FREED		(16LL << 20)
#define MEMORY_USER		((uid_t)-6)

static uint64_t total_memory(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? 0 : (uint64_t)info.totalram * info.mem_unit;
}

void jobs_init(struct jobs *jobs)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t share = total_memory() / MEMORY_SHARE;

	jobs->max_workers = cpus + 1 < JOBS_MIN_WORKERS ? JOBS_MIN_WORKERS :
			    cpus + 1 > JOBS_MAX_WORKERS ? JOBS_MAX_WORKERS :
							  cpus + 1;
	jobs->max_bytes = share < MIN_SNAPSHOT ? MIN_SNAPSHOT : share;
}

/* --- lifetime */

/* Update the numbers of jobs by state. */
static void count(struct jobs *jobs, const struct job *job, int by)
{
	if (job->state == JOB_WAIT && job->file.is_trusted) {
		job->user->nr_trusted += by;
		jobs->nr_trusted += by;
	} else if (job->state == JOB_WAIT) {
		job->user->nr_waiting += by;
	} else if (job->state == JOB_CONVERT && job->worker) {
		job->user->nr_converting += by;
		jobs->nr_converting += by;
	}
}

void job_set_state(struct jobs *jobs, struct job *job, enum job_state state)
{
	count(jobs, job, -1);
	job->state = state;
	job->is_asked = false;
	count(jobs, job, 1);
}

void job_set_worker(struct jobs *jobs, struct job *job, struct worker *worker)
{
	count(jobs, job, -1);
	job->worker = worker;
	count(jobs, job, 1);
}

struct job *job_create(struct jobs *jobs, struct user *user, bool is_first)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->user = user;
	job->is_first = is_first;
	job->elf_fd = -1;
	job->snapshot_fd = -1;
	job->result_fd = -1;
	job->next = jobs->jobs;
	jobs->jobs = job;
	jobs->nr++;
	user->nr_jobs++;
	user->nr_first += is_first;
	return job;
}

uint64_t job_others_part(const struct jobs *jobs, const struct job *job)
{
	const uint64_t all = jobs->max_bytes, his = all / 2;
	const uint64_t used = jobs->others_bytes;
	const uint64_t part = used < all ? (all - used) / 2 : 0;
	const uint64_t his_used = job->user->others_bytes;
	const uint64_t his_part = his_used < his ? his - his_used : 0;

	return part < his_part ? part : his_part;
}

void job_set_others_bytes(struct jobs *jobs, struct job *job, uint64_t bytes)
{
	jobs->others_bytes += bytes - job->others_bytes;
	job->user->others_bytes += bytes - job->others_bytes;
	job->others_bytes = bytes;
}

/* Freeing much memory takes long, so a closer does that. */
static void close_memory(int fd)
{
	struct stat stat;

	if (fd < 0)
		return;
	if (!fstat(fd, &stat) && 512LL * stat.st_blocks > MAX_FREED)
		closer_close(fd, MEMORY_USER);
	else
		close(fd);
}

void job_free_snapshot(struct jobs *jobs, struct job *job)
{
	if (job->snapshot_fd < 0)
		return;
	close_memory(job->snapshot_fd);
	job->snapshot_fd = -1;
	jobs->nr_bytes -= job->file.nr_bytes;
	job_set_others_bytes(jobs, job, 0);
}

void job_end(struct jobs *jobs, struct job *job)
{
	struct job **link = &jobs->jobs;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	count(jobs, job, -1);
	jobs->nr--;
	job_set_others_bytes(jobs, job, 0);
	job->user->nr_jobs--;
	job->user->nr_first -= job->is_first;
	worker_kill(job->worker);
	closer_close(job->elf_fd, job->user->uid);
	job_free_snapshot(jobs, job);
	close_memory(job->result_fd);
	free(job);
}

void jobs_end(struct jobs *jobs)
{
	while (jobs->jobs)
		job_end(jobs, jobs->jobs);
}

void job_charge(struct jobs *jobs, struct job *job, uint64_t ns)
{
	if (job->file.is_trusted && !job->file.is_known)
		users_charge(jobs->users, ns);
	else
		user_charge(job->user, ns);
}

/* --- mappings */

/* Returns whether the same user has a job for that file. */
static bool is_under_way(const struct jobs *jobs, const struct mapping *mapping,
			 const struct user *user)
{
	const struct job *job;

	for (job = jobs->jobs; job; job = job->next)
		if (job->user == user && is_same_file(&job->mapping, mapping))
			return true;
	return false;
}

/* Have the file of @mapping examined, on behalf of @user. */
static void examine(struct jobs *jobs, const struct mapping *mapping,
		    struct user *user, bool is_first)
{
	if (!user_is_served(user, now_ns()))
		user->is_missed = true;
	else if (!is_under_way(jobs, mapping, user))
		user_add_file(jobs->users, user, mapping, is_first);
}

static void examine_again(void *data, const struct mapping *mapping)
{
	struct jobs *jobs = data;

	examine(jobs, mapping, users_of_process(jobs->users, mapping->pid),
		false);
}

/*
 * Returns whether the file of @mapping is known for certain, only root can have written
 * it, and it has just been examined. Then it does not matter whose mapping that is. Most
 * mappings are of such files, and looking up the user would take longer than the rest.
 */
static bool is_checked_for_all(struct jobs *jobs, const struct mapping *mapping,
			       uint64_t now)
{
	struct known *known = known_find_mapped(jobs->known, mapping);

	if (!known)
		return false;
	known_use(jobs->known, known, now);
	if (known->group != KNOWN_TRUSTED ||
	    now >= known->checked_at + JOBS_RECHECK_NS)
		return false;
	known_add_recheck(jobs->known, known, mapping,
			  known->checked_at + JOBS_RECHECK_NS);
	return true;
}

/*
 * Returns whether the file of @mapping has just been examined for @user; with
 * @is_trusted, only if none but root can have written it.
 */
static bool is_checked_for(struct jobs *jobs, const struct mapping *mapping,
			   struct user *user, bool is_trusted, uint64_t now)
{
	struct recent *recent = recents_find(&user->recents, mapping);
	struct known *known;

	if (!recent)
		return false;
	known = known_find_inode(jobs->known, recent->device, recent->inode);
	if (!known || (is_trusted && known->group != KNOWN_TRUSTED))
		return false;
	known_use(jobs->known, known, now);
	if (now >= recent->checked_at + JOBS_RECHECK_NS)
		return false;
	recents_add_recheck(&user->recents, recent, mapping,
			    recent->checked_at + JOBS_RECHECK_NS);
	return true;
}

void jobs_add_mapping(struct jobs *jobs, const struct mapping *mapping,
		      struct user *user, bool is_first)
{
	struct user *root = users_get(jobs->users, 0);
	const uint64_t now = now_ns();

	if (is_checked_for_all(jobs, mapping, now))
		return;
	/* In a full table of users, root may be one of USER_OTHERS. */
	if (!root->uid && is_checked_for(jobs, mapping, root, true, now))
		return;
	if (!user)
		user = users_of_process(jobs->users, mapping->pid);
	if (!is_checked_for(jobs, mapping, user, false, now))
		examine(jobs, mapping, user, is_first);
}

void job_note_checked(struct jobs *jobs, const struct job *job)
{
	const struct reader_known *found = &job->file.known;
	const struct known *known = known_find_mapped(jobs->known,
						      &job->mapping);
	struct mapping displaced;

	/* See is_checked_for_all(). */
	if (known && known->group == KNOWN_TRUSTED &&
	    known->device == found->device && known->inode == found->inode)
		return;
	if (recents_add(&job->user->recents, &job->mapping, found->device,
			found->inode, now_ns(), &displaced))
		examine_again(jobs, &displaced);
}

void jobs_add_vdso(struct jobs *jobs, int fd)
{
	struct job *job = job_create(jobs, users_get(jobs->users, 0), true);

	if (!job) {
		close(fd);
		return;
	}
	mapping_set_name(&job->mapping, "[vdso]");
	job->is_vdso = true;
	job->is_alone = true;
	job->elf_fd = fd;
}

void jobs_drop_waiting(struct jobs *jobs, uint64_t now)
{
	struct job *job, *next;

	if (!jobs->wants_bytes)
		return;
	jobs->wants_bytes = false;
	for (job = jobs->jobs; job; job = next) {
		next = job->next;
		if (job->is_asked || job->is_vdso || job->snapshot_fd < 0 ||
		    job->state == JOB_CONVERT || user_is_served(job->user, now))
			continue;
		user_add_file(jobs->users, job->user, &job->mapping,
			      job->is_first);
		job_end(jobs, job);
	}
}

void jobs_recheck(struct jobs *jobs, uint64_t now)
{
	struct user *user = NULL;
	const struct known *known;
	struct mapping mapping;

	known_take_rechecks(jobs->known, now, examine_again, jobs);
	while ((user = users_next(jobs->users, user)))
		while (recents_take_recheck(&user->recents, now, &mapping))
			examine_again(jobs, &mapping);
	/* One retry at a time, because each searches the whole table. */
	known = known_take_retry(jobs->known, now);
	if (!known)
		return;
	mapping = (struct mapping) {
		.pid = known->retry.pid,
		.start = known->retry.start,
		.end = known->retry.end,
		.key = known->key,
	};
	examine_again(jobs, &mapping);
}

/* --- readers */

static void told_maps(struct jobs *jobs, struct user *user,
		      const struct queued_process *process,
		      const struct reader_reply *reply,
		      const unsigned char *rest, size_t size)
{
	struct reader_maps_entry entry;
	struct mapping mapping;

	if (!reply) {
		user_block(user, now_ns());
		return;
	}
	user_charge(user, reply->cpu_ns);
	*jobs->maps_ns += reply->cpu_ns;
	jobs->forbidden += reply->error == -EACCES || reply->error == -EPERM;
	for (uint32_t i = 0; i < reply->maps.nr && size >= sizeof(entry); i++) {
		memcpy(&entry, rest, sizeof(entry));
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
	if (reply->maps.next)
		user_add_process(user, process->pid, reply->maps.next,
				 process->is_first);
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
	codes_cancel_look(jobs->codes, question.code);
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
