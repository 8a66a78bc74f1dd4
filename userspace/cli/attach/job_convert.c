// SPDX-License-Identifier: GPL-2.0
/*
 * Job: conversion of files by workers. See job.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "worker.h"

/*
 * Limits of a conversion. The largest programs need half a second of CPU time, and
 * thirty times as much under emulation. The time is charged to the user.
 */
#define CPU_SECONDS	60
#define WALL_MS		120000

bool jobs_may_convert(const struct jobs *jobs, const struct user *user,
		      bool is_trusted)
{
	const unsigned int left = jobs->max_workers - jobs->nr_converting;

	if (!user->nr_converting && user_is_modest(user))
		return left;
	if (user->nr_converting && !is_trusted)
		return false;
	return left > 1;
}

/* Returns whether the same bytes of a trusted file are being converted or attached. */
static bool is_being_converted(const struct jobs *jobs, const struct job *job)
{
	const struct job *other;

	for (other = jobs->jobs; other; other = other->next)
		if ((other->state == JOB_CONVERT ||
		     (other->state == JOB_ATTACH && other->is_asked)) &&
		    other->file.is_trusted &&
		    !memcmp(&other->file.digest, &job->file.digest,
			    sizeof(job->file.digest)))
			return true;
	return false;
}

/* Returns whether @job may be converted in the same process as other files. */
static bool may_share(const struct jobs *jobs, const struct job *job)
{
	return job->state == JOB_WAIT && job->file.is_trusted &&
	       job->file.is_system && !job->is_alone &&
	       !is_being_converted(jobs, job);
}

/* Returns whether one of the @nr jobs has the same bytes as @job. */
static bool is_among(const struct job *job, struct job *const *chosen,
		     unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (!memcmp(&chosen[i]->file.digest, &job->file.digest,
			    sizeof(job->file.digest)))
			return true;
	return false;
}

/*
 * Find files to be converted by one worker: @first, and others of the same user if that
 * is possible, but not more than leaves some for other workers. All are files of this
 * system that nobody but root can have written: see worker_start_many(). Returns their number.
 */
static unsigned int choose(const struct jobs *jobs, struct job *first,
			   struct job *chosen[WORKER_MAX_SNAPSHOTS])
{
	const unsigned int left = jobs->max_workers - jobs->nr_converting;
	unsigned int nr = 1, most = first->user->nr_trusted / left;
	uint64_t bytes = first->file.nr_bytes;

	chosen[0] = first;
	if (!may_share(jobs, first))
		return 1;
	if (most > WORKER_MAX_SNAPSHOTS)
		most = WORKER_MAX_SNAPSHOTS;
	for (struct job *job = jobs->jobs; job && nr < most; job = job->next) {
		if (job->user != first->user || !may_share(jobs, job) ||
		    is_among(job, chosen, nr) ||
		    bytes + job->file.nr_bytes > JOBS_MAX_TOGETHER)
			continue;
		bytes += job->file.nr_bytes;
		chosen[nr++] = job;
	}
	return nr;
}

static void begin_converting(struct jobs *jobs, struct job *first)
{
	const bool is_trusted = first->file.is_trusted;
	const struct worker_limits limits = {
		.cpu_seconds = CPU_SECONDS,
		.wall_ms = WALL_MS,
		.nice = is_trusted || user_is_modest(first->user) ? 0 : 10,
		.is_extended = jobs->is_extended,
		.user = first->user->uid,
	};
	struct job *chosen[WORKER_MAX_SNAPSHOTS];
	int snapshots[WORKER_MAX_SNAPSHOTS];
	const unsigned int nr = choose(jobs, first, chosen);
	struct worker *worker;
	int err;

	for (unsigned int i = 0; i < nr; i++)
		snapshots[i] = chosen[i]->snapshot_fd;
	err = worker_start_many(&worker, snapshots, nr, &limits);
	if (err) {
		job_refuse(jobs, first, err, "no process to convert it",
			   strerror(-err));
		return;
	}
	for (unsigned int i = 0; i < nr; i++) {
		struct job *job = chosen[i];

		job_set_state(jobs, job, JOB_CONVERT);
		job->part = (struct worker_part){ .index = i, .nr = nr };
		job->together = i + 1 < nr ? chosen[i + 1] : NULL;
	}
	job_set_worker(jobs, first, worker);
}

bool job_convert_one(struct jobs *jobs, struct user *user)
{
	struct job *job, *first = NULL;

	if (!user->nr_waiting && !user->nr_trusted)
		return false;
	/* The list begins with the newest job; take the oldest. */
	for (job = jobs->jobs; job; job = job->next)
		if (job->user == user && job->state == JOB_WAIT &&
		    !is_being_converted(jobs, job))
			first = job;
	if (!first)
		return false;
	/* A file with the same bytes may have been converted meanwhile. */
	if (job_use_same(jobs, first))
		return true;
	if (!jobs_may_convert(jobs, first->user, first->file.is_trusted))
		return false;
	begin_converting(jobs, first);
	return true;
}

/* @job has its part of the worker's result. */
static void take_result(struct jobs *jobs, struct job *job, int result_fd)
{
	job->result_fd = fcntl(result_fd, F_DUPFD_CLOEXEC, 3);
	if (job->result_fd < 0) {
		job_refuse(jobs, job, -errno, "cannot be read",
			   strerror(errno));
		return;
	}
	job->is_converted = true;
	job_free_snapshot(jobs, job);
	job_set_state(jobs, job, JOB_ATTACH);
}

static void refuse_result(struct jobs *jobs, struct job *job,
			  const struct worker_end *end)
{
	/* One of several files is the cause, but it is not known which. */
	if (job->part.nr > 1) {
		job->is_alone = true;
		job_set_state(jobs, job, JOB_WAIT);
		return;
	}
	job_refuse(jobs, job, end->error, end->error == -ENOEXEC ?
		   "the converter does not run" :
		   "the converter failed on it", end->text);
}

static void end_converting(struct jobs *jobs, struct job *first,
			   struct worker_end *end)
{
	struct job *job, *next;

	job_set_worker(jobs, first, NULL);
	job_charge(jobs, first, end->cpu_ns);
	if (!end->error && !jobs->weakness)
		jobs->weakness = worker_weakness(end->result_fd);
	for (job = first; job; job = next) {
		next = job->together;
		job->together = NULL;
		if (end->error)
			refuse_result(jobs, job, end);
		else
			take_result(jobs, job, end->result_fd);
	}
	if (end->result_fd >= 0)
		close(end->result_fd);
}

/* Returns a job whose worker has ended, or NULL. */
static struct job *find_ended(const struct jobs *jobs, struct worker_end *end)
{
	for (struct job *job = jobs->jobs; job; job = job->next)
		if (job->worker && !worker_finish(job->worker, end))
			return job;
	return NULL;
}

void jobs_check_workers(struct jobs *jobs)
{
	struct worker_end end;
	struct job *job;

	/* The list changes each time. */
	while ((job = find_ended(jobs, &end)))
		end_converting(jobs, job, &end);
}

size_t jobs_files(const struct jobs *jobs, struct pollfd *files)
{
	size_t nr = 0;

	for (const struct job *job = jobs->jobs; job; job = job->next)
		if (job->worker && nr < JOBS_MAX_WORKERS)
			files[nr++] = (struct pollfd) {
				.fd = worker_fd(job->worker),
				.events = POLLIN,
			};
	return nr;
}

uint64_t jobs_next(const struct jobs *jobs)
{
	uint64_t next = UINT64_MAX;

	for (const struct job *job = jobs->jobs; job; job = job->next)
		if (job->worker && worker_deadline(job->worker) < next)
			next = worker_deadline(job->worker);
	return next;
}
