/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Job: one file on its way from a mapping to an attachment. Its states:
 *
 *	JOB_FILE	a reader finds, opens and reads the file, and attaches the
 *			section if the cache has it
 *	JOB_ATTACH	a reader attaches a section: that of another file with the
 *			same bytes, from the cache, or made by a worker
 *	JOB_WAIT	waits for a worker
 *	JOB_CONVERT	a worker converts it
 *
 * A job ends early if the file turns out to be known, or needs no section. Each job
 * is on behalf of one user, and does not delay the jobs of other users.
 */
#ifndef ATTACH_JOB_H
#define ATTACH_JOB_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code.h"
#include "known.h"
#include "reader.h"
#include "report.h"
#include "user.h"
#include "worker/protocol.h"

/*
 * Most files waiting for a worker, then no more are read: untrusted ones of one user, and
 * trusted ones of one user once there are JOBS_MAX_TRUSTED of all users. One worker can
 * convert several trusted ones together.
 */
#define JOBS_MAX_WAITING	4U
#define JOBS_MAX_TRUSTED	(2 * WORKER_MAX_SNAPSHOTS)

/* Most bytes of the snapshots that one worker converts together. */
#define JOBS_MAX_TOGETHER	(2ULL << 20)

/* Jobs at the same time. */
#define JOBS_MAX		256U

/*
 * Workers at the same time: one more than processors, within these limits. One is
 * reserved for users without a worker.
 */
#define JOBS_MIN_WORKERS	3U
#define JOBS_MAX_WORKERS	8U

/* A file is not examined again for this time. */
#define JOBS_RECHECK_NS		SECOND

/* The files of one user may use one part in this many of the kernel's limits. */
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
 * @is_first: its mapping existed at the start of the command.
 * @is_asked: a reader is working on it.
 * @is_vdso: it is the vDSO, which has no file; @elf_fd is a copy of the image.
 * @is_same: it is to share the section of another file with the same bytes.
 * @has_digest: the snapshot is complete and @file.digest is valid.
 * @is_converted: a worker has made @result_fd; @part is the job's part of it.
 * @is_alone: it is not to be converted together with others, because that has failed.
 * @shared: the attachment that it shares; id is 0 if there is none.
 * @file: result of READER_FILE.
 * @elf_fd, @snapshot_fd, @result_fd: -1 if not open.
 * @others_bytes: its part of jobs.others_bytes.
 * @worker: in JOB_CONVERT, the worker. If it converts several files, only the first
 *	job has it, and @together is the next job.
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
	bool is_alone;
	struct {
		uint64_t id;
		uint64_t functions;
		uint64_t bytes;
	} shared;
	struct reader_file file;
	int elf_fd;
	int snapshot_fd;
	int result_fd;
	struct worker_part part;
	uint64_t others_bytes;
	struct worker *worker;
	struct job *together;
};

/**
 * struct jobs - all jobs, and their common data
 *
 * @codes: generated code of runtimes; NULL if the module cannot attach to it.
 * @follows: the module can attach to code that is announced to debuggers.
 * @is_polling: there are no events: what passes find may have changed.
 * @has_inodes: the module can attach to inodes.
 * @is_extended: the module accepts extended sections.
 * @can_switch: the module knows generated code that calls functions on another stack.
 * @max_attached, @max_memory: the kernel's limits.
 * @jobs, @nr: the jobs.
 * @nr_trusted: jobs in JOB_WAIT with a trusted file.
 * @nr_converting: workers, at most @max_workers.
 * @max_bytes: limit of one snapshot.
 * @nr_bytes: bytes of all snapshots.
 * @others_bytes: bytes of snapshots of untrusted files (those that other users than
 *	root can have written), including bytes reserved for snapshots being taken;
 *	at most @max_bytes and one byte for each.
 * @maps_ns: counter of the CPU time of examining processes.
 * @nr_lost: readers that were to attach something and did not reply.
 * @missed: files that were gone before they could be examined.
 * @forbidden: processes that may not be examined.
 * @wants_room: the kernel refused an attachment because of its limits.
 * @wants_bytes: a snapshot did not fit into @max_bytes.
 * @weakness: the part of the sandbox that conversions lack here, or NULL.
 * @fatal: a negative errno that concerns all files, -EPERM; @text is its message.
 */
struct jobs {
	struct users *users;
	struct known_files *known;
	struct readers *readers;
	struct report *report;
	struct codes *codes;
	bool follows;
	bool is_polling;
	bool has_inodes;
	bool is_extended;
	bool can_switch;
	uint32_t max_attached;
	uint64_t max_memory;
	struct job *jobs;
	unsigned int nr;
	unsigned int nr_trusted;
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

/* Set the limits. */
void jobs_init(struct jobs *jobs);

/*
 * Begin to attach to generated code. Returns whether there is memory for it. End with
 * codes_free().
 */
bool jobs_begin_code(struct jobs *jobs);

/* End all jobs. Does not block. */
void jobs_end(struct jobs *jobs);

/*
 * Handle a mapping that was found. @user is the user of its process; if it is NULL,
 * the user is looked up when needed.
 */
void jobs_add_mapping(struct jobs *jobs, const struct mapping *mapping,
		      struct user *user, bool is_first);

/*
 * Note that @pid has changed its mappings: call it for each event of a new one. @name is
 * the file's name, or NULL if it is memory without a file.
 */
void jobs_note_mapping(struct jobs *jobs, pid_t pid, const char *name);

/* Note a new process, or that one has ended, if it may be one of a runtime. */
void jobs_note_fork(struct jobs *jobs, pid_t child, pid_t parent);
void jobs_note_exit(struct jobs *jobs, pid_t pid);

/* Add a job for the vDSO. @fd is a copy of its image, and is closed by the job. */
void jobs_add_vdso(struct jobs *jobs, int fd);

/* Start all work that can be started now. */
void jobs_schedule(struct jobs *jobs);

/* Forget files that were refused for want of room, so that they are tried again. */
void jobs_forget_refused(struct jobs *jobs);

/*
 * Add the files again that were mapped again, and those whose retry is due. Returns whether a
 * retry is late, so that a pass is to find the mappings of its file.
 */
bool jobs_recheck(struct jobs *jobs, uint64_t now);

/*
 * If a snapshot did not fit, drop the waiting snapshots of users who are not served
 * now. Their files are read again when the users are served.
 */
void jobs_drop_waiting(struct jobs *jobs, uint64_t now);

/* Fill in the workers to poll, JOBS_MAX_WORKERS at most. Returns their number. */
size_t jobs_files(const struct jobs *jobs, struct pollfd *files);

/* Handle workers that have ended or reached their deadline. */
void jobs_check_workers(struct jobs *jobs);

/* Time by which jobs_check_workers() must be called next. */
uint64_t jobs_next(const struct jobs *jobs);

/* Callback for readers_create(), with a struct jobs as data. */
void jobs_told(void *data, void *job, struct user *user,
	       const struct reader_reply *reply, const unsigned char *rest,
	       size_t size, const int fds[2]);

/*
 * --- internals that job.c (lifetime, and mappings that are found), job_ask.c (readers, and
 * turns of users), job_file.c (results), job_convert.c (conversion) and job_code.c
 * (generated code) share
 */

/* Note that a process maps the file @name. */
void job_found_mapping(struct jobs *jobs, pid_t pid, const char *name,
		       bool is_first);

/*
 * Begin a look at a process of @user, if one is due: fills in the request. Returns the
 * process, or NULL.
 */
struct code_process *job_begin_look(struct jobs *jobs, struct user *user,
				    struct reader_request *request);

/* Instead of job_told_code() if no reader was asked. */
void job_cancel_look(struct jobs *jobs, struct user *user,
		     struct code_process *process);

/* Handle a reader's reply to that; NULL if there is none. */
void job_told_code(struct jobs *jobs, struct user *user,
		   struct code_process *process,
		   const struct reader_reply *reply,
		   const unsigned char *rest, size_t size);

/* Create a job, in JOB_FILE. Returns NULL without memory. */
struct job *job_create(struct jobs *jobs, struct user *user, bool is_first);
void job_end(struct jobs *jobs, struct job *job);
void job_set_state(struct jobs *jobs, struct job *job, enum job_state state);

/* Set the worker, or NULL when it has ended. The state is JOB_CONVERT. */
void job_set_worker(struct jobs *jobs, struct job *job, struct worker *worker);

/*
 * Limit for the snapshot of an untrusted file: half of the bytes that are left, so
 * that some are always left for the next one; and at most half of all bytes for one
 * user.
 */
uint64_t job_others_part(const struct jobs *jobs, const struct job *job);
/* Set the bytes that @job has of jobs.others_bytes. */
void job_set_others_bytes(struct jobs *jobs, struct job *job, uint64_t bytes);

/* Charge CPU time to the job's user or, for a trusted file, to the common budget. */
void job_charge(struct jobs *jobs, struct job *job, uint64_t ns);

/* Free the snapshot, which is not needed any more. */
void job_free_snapshot(struct jobs *jobs, struct job *job);

/*
 * Returns whether @user may have a worker, for a trusted file or for something else. One
 * worker is reserved for users who have none and have used little of their credit.
 */
bool jobs_may_convert(const struct jobs *jobs, const struct user *user,
		      bool is_trusted);

/* Start one conversion for @user. Returns whether a job of the user made progress. */
bool job_convert_one(struct jobs *jobs, struct user *user);

/* Handle a reader's reply for the job; NULL if it did not reply. */
void job_told_file(struct jobs *jobs, struct job *job,
		   const struct reader_reply *reply, const int fds[2]);
void job_told_attached(struct jobs *jobs, struct job *job,
		       const struct reader_reply *reply);

/*
 * Note that the file of @job has been examined, so that it is not examined again at once
 * if it is mapped again. Call it when the file is in the table of known files.
 */
void job_note_checked(struct jobs *jobs, const struct job *job);

/*
 * If another file with the same bytes is known, apply its result to @job. Returns
 * whether there is one; @job may have been ended.
 */
bool job_use_same(struct jobs *jobs, struct job *job);

/* Fill in a request to attach the section of @job. */
void job_fill_attach(const struct jobs *jobs, const struct job *job,
		     struct reader_request *request);

/*
 * Remember and report that the file was refused, and end the job. @reason is a
 * constant string, @text has details or is empty.
 */
void job_refuse(struct jobs *jobs, struct job *job, int error,
		const char *reason, const char *text);

#endif /* ATTACH_JOB_H */
