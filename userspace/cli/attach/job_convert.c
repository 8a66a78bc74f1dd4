// SPDX-License-Identifier: GPL-2.0
/*
 * Job: conversion of files by workers. See job.h.
 */
#include <errno.h>
#include <string.h>

#include "job.h"
#include "worker.h"

/*
 * Limits of a conversion. The largest programs need half a second of CPU time, and
 * thirty times as much under emulation. The time is charged to the user.
 */
#define CPU_SECONDS	60
#define WALL_MS		120000

/*
 * Returns whether @job may have a worker. One worker is reserved for users who have
 * none and have used little of their credit.
 */
static bool may_convert(const struct jobs *jobs, const struct job *job)
{
	const unsigned int left = jobs->max_workers - jobs->nr_converting;

	if (!job->user->nr_converting && user_is_modest(job->user))
		return left;
	if (job->user->nr_converting && !job->file.is_trusted)
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

static void begin_converting(struct jobs *jobs, struct job *job)
{
	const bool is_trusted = job->file.is_trusted;
	const struct worker_limits limits = {
		.cpu_seconds = CPU_SECONDS,
		.wall_ms = WALL_MS,
		.nice = is_trusted || user_is_modest(job->user) ? 0 : 10,
		.is_extended = jobs->is_extended,
		.user = job->user->uid,
	};
	int err;

	err = worker_start(&job->worker, job->snapshot_fd, &limits);
	if (err) {
		job->worker = NULL;
		job_refuse(jobs, job, err, "no process to convert it",
			   strerror(-err));
		return;
	}
	job_set_state(jobs, job, JOB_CONVERT);
}

bool job_convert_one(struct jobs *jobs, struct user *user)
{
	struct job *job, *first = NULL;

	if (!user->nr_waiting)
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
	if (!may_convert(jobs, first))
		return false;
	begin_converting(jobs, first);
	return true;
}

static void end_converting(struct jobs *jobs, struct job *job,
			   struct worker_end *end)
{
	job->worker = NULL;
	job_charge(jobs, job, end->cpu_ns);
	if (end->error) {
		job_refuse(jobs, job, end->error,
			   end->error == -ENOEXEC ?
				   "the converter does not run" :
				   "the converter failed on it",
			   end->text);
		return;
	}
	if (!jobs->weakness)
		jobs->weakness = worker_weakness(end->result_fd);
	job->result_fd = end->result_fd;
	job->is_converted = true;
	job_free_snapshot(jobs, job);
	job_set_state(jobs, job, JOB_ATTACH);
}

void jobs_check_workers(struct jobs *jobs)
{
	struct worker_end end;
	struct job *next;

	for (struct job *job = jobs->jobs; job; job = next) {
		next = job->next;
		if (job->state == JOB_CONVERT &&
		    !worker_finish(job->worker, &end))
			end_converting(jobs, job, &end);
	}
}

size_t jobs_files(const struct jobs *jobs, struct pollfd *files)
{
	size_t nr = 0;

	for (const struct job *job = jobs->jobs; job; job = job->next)
		if (job->state == JOB_CONVERT && nr < JOBS_MAX_WORKERS)
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
		if (job->state == JOB_CONVERT &&
		    worker_deadline(job->worker) < next)
			next = worker_deadline(job->worker);
	return next;
}
