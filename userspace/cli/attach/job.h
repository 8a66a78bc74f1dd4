/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Job: one file on its way from a mapping to an attachment.
 *
 *	JOB_FILE	a reader finds, opens and reads it, and attaches what the cache
 *			has
 *	JOB_ATTACH	a reader attaches: what another file with the same bytes
 *			has, what the cache has, or what a worker has made
 *	JOB_WAIT	for a worker
 *	JOB_CONVERT	by a worker
 *
 * A file of which all is known by then goes no further. Each job is on behalf of
 * one user, and keeps nobody else's waiting.
 */
#ifndef ATTACH_JOB_H
#define ATTACH_JOB_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "known.h"
#include "reader.h"
#include "report.h"
#include "user.h"

/* Files of one user that wait for a worker, before no more are read for him. */
#define JOBS_MAX_WAITING	4U

/* Jobs at once. */
#define JOBS_MAX		256U

/* Workers at once, by processors. One is not for those who have one already. */
#define JOBS_MIN_WORKERS	3U
#define JOBS_MAX_WORKERS	8U

/* How long a file that was looked at is not looked at again. */
#define JOBS_RECHECK_NS		SECOND

/* One part in this many of the kernel's room is for the files of one user. */
#define JOBS_SHARE		4

enum job_state {
	JOB_FILE,
	JOB_ATTACH,
	JOB_WAIT,
	JOB_CONVERT,
};

struct worker;

/**
 * struct job
 *
 * @is_first: does it belong to what was there at the start?
 * @is_asked: is a reader at it?
 * @is_vdso: no file, but a copy of what all processes have; @elf_fd.
 * @is_same: is it to share what is attached to another file?
 * @has_digest: has all of it been read?
 * @is_converted: has a worker made @result_fd of it?
 * @shared: what it shares: a file that is attached; its id is 0 if there is none.
 * @file: what a reader has found.
 * @elf_fd, @snapshot_fd, @result_fd: -1 if they are not there.
 * @others_bytes: its part of jobs.others_bytes.
 */
struct job {
	struct job *next;
	struct user *user;
	struct mapping mapping;
	enum job_state state;
	bool is_first;
	bool is_asked;
	bool is_vdso;
	bool is_same;
	bool has_digest;
	bool is_converted;
	struct {
		uint64_t id;
		uint64_t functions;
		uint64_t bytes;
	} shared;
	struct reader_file file;
	int elf_fd;
	int snapshot_fd;
	int result_fd;
	uint64_t others_bytes;
	struct worker *worker;
};

/**
 * struct jobs - all of them, and what they have in common
 *
 * @has_inodes: can the module attach to inodes?
 * @max_attached, @max_memory: the kernel's limits.
 * @jobs, @nr: the jobs. @nr_converting: those with a worker, of @max_workers.
 * @max_bytes: of one snapshot. @nr_bytes: of all that there are. @others_bytes: of
 *	those of files that not only root can have written, and may be of those that
 *	are being taken; not more than @max_bytes, but for a byte each.
 * @maps_ns: where the CPU time of looks at processes is added up.
 * @nr_lost: readers that were to attach something, and did not tell of it.
 * @missed: files that could not be looked at before they were gone.
 * @forbidden: processes that may not be looked at.
 * @wants_room: has the kernel no more room? @wants_bytes: was there none for a
 *	snapshot?
 * @weakness: what of the sandbox conversions do without here; NULL for nothing.
 * @fatal: a negative errno that concerns all files: -EPERM; with @text.
 */
struct jobs {
	struct users *users;
	struct known_files *known;
	struct readers *readers;
	struct report *report;
	bool has_inodes;
	uint32_t max_attached;
	uint64_t max_memory;
	struct job *jobs;
	unsigned int nr;
	unsigned int nr_converting;
	unsigned int max_workers;
	uint64_t max_bytes;
	uint64_t nr_bytes;
	uint64_t others_bytes;
	uint64_t *maps_ns;
	unsigned int nr_lost;
	unsigned int missed;
	unsigned int forbidden;
	bool wants_room;
	bool wants_bytes;
	const char *weakness;
	int fatal;
	char text[256];
};

/* Set limits. */
void jobs_init(struct jobs *jobs);

/* Give up all of them; waits for none. */
void jobs_end(struct jobs *jobs);

/*
 * A mapping is there. @user is whose process it is of, or NULL to find out if it
 * matters.
 */
void jobs_add_mapping(struct jobs *jobs, const struct mapping *mapping,
		      struct user *user, bool is_first);

/* The vDSO, of which @fd has a copy, the jobs' own from now on. */
void jobs_add_vdso(struct jobs *jobs, int fd);

/* Begin what can be begun. */
void jobs_schedule(struct jobs *jobs);

/* Those that were refused for want of room may come again. */
void jobs_forget_refused(struct jobs *jobs);

/* Look again at what was mapped again, and at what is to be tried again. */
void jobs_recheck(struct jobs *jobs, uint64_t now);

/*
 * If there was no room for somebody's snapshot, give up those of users who are not
 * served now: their files are looked at again when they are.
 */
void jobs_drop_waiting(struct jobs *jobs, uint64_t now);

/* Fill in the workers to poll, JOBS_MAX_WORKERS at most. Returns their number. */
size_t jobs_files(const struct jobs *jobs, struct pollfd *files);

/* Take what workers that have ended, or whose time is over, have made. */
void jobs_check_workers(struct jobs *jobs);

/* When that is to be done next at the latest. */
uint64_t jobs_next(const struct jobs *jobs);

/* For readers_create(), with a struct jobs as data. */
void jobs_told(void *data, void *job, struct user *user,
	       const struct reader_reply *reply, const unsigned char *rest,
	       size_t size, const int fds[2]);

/*
 * --- between the parts of jobs: job.c is their life, job_file.c what becomes of
 * files, job_convert.c their conversion
 */

/* Begin one, in JOB_FILE. Returns NULL without memory. */
struct job *job_create(struct jobs *jobs, struct user *user, bool is_first);
void job_end(struct jobs *jobs, struct job *job);
void job_set_state(struct jobs *jobs, struct job *job, enum job_state state);

/*
 * What the snapshot of a file that not only root can have written may have: half of
 * what is left, so that something is left for the next one, whoever has taken how
 * much; and not more than half of all for one user. And what @job has of it.
 */
uint64_t job_others_part(const struct jobs *jobs, const struct job *job);
void job_set_others_bytes(struct jobs *jobs, struct job *job, uint64_t bytes);

/* Charge CPU time to whoever is to be charged for it. */
void job_charge(struct jobs *jobs, struct job *job, uint64_t ns);

/* Its snapshot has been of use, or will not be any more. */
void job_free_snapshot(struct jobs *jobs, struct job *job);

/* Begin one conversion for @user. Returns whether there was one that may begin. */
bool job_convert_one(struct jobs *jobs, struct user *user);

/* A reader's answer of that job; NULL if there is none. */
void job_told_file(struct jobs *jobs, struct job *job,
		   const struct reader_reply *reply, const int fds[2]);
void job_told_attached(struct jobs *jobs, struct job *job,
		       const struct reader_reply *reply);

/*
 * Go on with what is known of another file with the same bytes. Returns whether
 * there is one; @job may have been ended.
 */
bool job_use_same(struct jobs *jobs, struct job *job);

/* Ask to attach what @job is. */
void job_fill_attach(const struct jobs *jobs, const struct job *job,
		     struct reader_request *request);

/* It was refused, for a constant @reason; end the job. */
void job_refuse(struct jobs *jobs, struct job *job, int error,
		const char *reason, const char *text);

#endif /* ATTACH_JOB_H */
