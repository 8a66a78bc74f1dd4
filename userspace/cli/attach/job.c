// SPDX-License-Identifier: GPL-2.0
/*
 * Job: one file on its way from a mapping to an attachment.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

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

/*
 * Retry one file of each group, since each search goes through the whole group: so whoever
 * has many files refused delays no retries of others.
 */
static void retry_files(struct jobs *jobs, uint64_t now)
{
	for (unsigned int group = 0; group < KNOWN_GROUPS; group++) {
		const struct known *known = known_take_retry(jobs->known, group, now);
		struct mapping mapping;

		if (!known)
			continue;
		mapping = (struct mapping) {
			.pid = known->retry.pid,
			.start = known->retry.start,
			.end = known->retry.end,
			.key = known->key,
		};
		examine_again(jobs, &mapping);
	}
}

bool jobs_recheck(struct jobs *jobs, uint64_t now)
{
	struct user *user = NULL;
	struct mapping mapping;

	known_take_rechecks(jobs->known, now, examine_again, jobs);
	while ((user = users_next(jobs->users, user)))
		while (recents_take_recheck(&user->recents, now, &mapping))
			examine_again(jobs, &mapping);
	retry_files(jobs, now);
	return known_take_late(jobs->known);
}
