// SPDX-License-Identifier: GPL-2.0
/*
 * Job: results for a file. See job.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "closer.h"
#include "job.h"

/*
 * First and longest time after which a refused file is tried again: if other users or
 * processes caused the refusal (BUSY_), and otherwise.
 */
#define BUSY_RETRY_NS		SECOND
#define BUSY_MAX_RETRY_NS	(60 * SECOND)
#define RETRY_NS		(60 * SECOND)
#define MAX_RETRY_NS		(3600 * SECOND)

static const char no_room[] = "no room in the kernel";

/* --- entries in the table of known files */

static uint8_t group_of(const struct jobs *jobs, const struct job *job)
{
	return job->file.is_trusted ? KNOWN_TRUSTED :
				      known_group(jobs->known, job->user->uid);
}

static void begin_known(const struct jobs *jobs, const struct job *job,
			struct known *known)
{
	const struct reader_known *found = &job->file.known;
	const uint64_t now = now_ns();

	*known = (struct known) {
		.key = job->mapping.key,
		.generation = job->mapping.generation,
		.device = found->device,
		.inode = found->inode,
		.size = found->size,
		.changed = found->changed,
		.group = group_of(jobs, job),
		.checked_at = now,
		.used_at = now,
		.retry_at = UINT64_MAX,
	};
}

/* Put the result into the table, if the file has an inode of its own. */
static void keep(struct jobs *jobs, const struct job *job,
		 const struct known *known)
{
	if (!job->file.is_found)
		return;
	known_set(jobs->known, known);
	job_note_checked(jobs, job);
}

__attribute__((format(printf, 4, 5)))
static void tell(struct jobs *jobs, const struct job *job,
		 enum file_state state, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report_file(jobs->report, job->mapping.name, state, text);
}

/* Returns whether the same bytes always get this error. */
static bool is_final(int error)
{
	return error == -ENODATA || error == -EOPNOTSUPP || error == -EINVAL ||
	       error == -EFBIG;
}

/*
 * Returns whether the error is due to other processes, which use the file or have
 * taken the resources for reading or converting it.
 */
static bool is_busy(int error)
{
	return error == -EWOULDBLOCK || error == -ESTALE || error == -EINTR ||
	       error == -ENOEXEC || error == -EBUSY || error == -ENOMEM;
}

static void pass_over(struct jobs *jobs, struct job *job, enum file_state state,
		      const char *text)
{
	struct known known;

	begin_known(jobs, job, &known);
	known.state = state;
	keep(jobs, job, &known);
	tell(jobs, job, state, "%s", text);
	job_end(jobs, job);
}

void job_refuse(struct jobs *jobs, struct job *job, int error,
		const char *reason, const char *text)
{
	const struct known *before;
	struct known known;

	/* Nothing completes its own section; but that is used. */
	if (job->file.has_own && is_final(error)) {
		pass_over(jobs, job, FILE_OWN, "has its own .sframe");
		return;
	}
	begin_known(jobs, job, &known);
	before = known_find_inode(jobs->known, known.device, known.inode);
	known.state = FILE_REFUSED;
	known.reason = reason;
	known.digest = job->file.digest;
	known.has_digest = job->has_digest;
	known.is_final = known.has_digest && is_final(error);
	if (!known.is_final) {
		const unsigned int tries =
			before && before->state == FILE_REFUSED ?
				before->nr_tries : 0;
		const uint64_t longest = is_busy(error) ? BUSY_MAX_RETRY_NS :
							  MAX_RETRY_NS;
		uint64_t pause = (is_busy(error) ? BUSY_RETRY_NS :
						   RETRY_NS) << tries;

		if (pause > longest)
			pause = longest;
		known.nr_tries = tries < 12 ? tries + 1 : tries;
		known.retry_at = known.checked_at + pause;
		known.retry = mapping_place(&job->mapping);
	}
	keep(jobs, job, &known);
	report_refused(jobs->report, job->mapping.name, reason);
	tell(jobs, job, FILE_REFUSED, "%s", *text ? text : reason);
	job_end(jobs, job);
}

void jobs_forget_refused(struct jobs *jobs)
{
	known_forget_refused(jobs->known, no_room);
}

/* --- replies to READER_FILE */

/* Store the reply in the job. The copy of the vDSO has no meaningful inode. */
static void take_file(struct jobs *jobs, struct job *job,
		      const struct reader_file *file, const int fds[2])
{
	job->file = *file;
	if (!users_have_credit(jobs->users))
		job->file.is_trusted = false;
	if (job->is_vdso) {
		job->file.is_found = false;
		job->file.is_trusted = true;
		job->file.known = (struct reader_known) { 0 };
		close(job->elf_fd);
	}
	if (!job->mapping.name[0])
		memcpy(job->mapping.name, file->name,
		       sizeof(job->mapping.name));
	job->elf_fd = fds[0];
	job->snapshot_fd = fds[1];
	job->has_digest = job->snapshot_fd >= 0;
	if (job->has_digest)
		jobs->nr_bytes += file->nr_bytes;
	job_set_others_bytes(jobs, job, job->snapshot_fd < 0 || file->is_trusted ?
						0 : file->nr_bytes);
}

static void handle_known(struct jobs *jobs, struct job *job)
{
	struct known *known = known_find_inode(jobs->known,
					       job->file.known.device,
					       job->file.known.inode);

	if (known) {
		known->checked_at = now_ns();
		/* The user who mapped it first need not be its owner. */
		if (job->file.is_trusted)
			known_set_group(jobs->known, known, KNOWN_TRUSTED);
		known_use(jobs->known, known, known->checked_at);
		known_found(jobs->known, known, &job->mapping);
		job_note_checked(jobs, job);
		job_end(jobs, job);
		return;
	}
	/* It was forgotten meanwhile: examine it as a new file. */
	job->file.is_known = false;
	job_set_state(jobs, job, JOB_FILE);
}

/* @is_short: the limit of the snapshot was lower than usual. */
static void handle_read_error(struct jobs *jobs, struct job *job,
			      const struct reader_reply *reply, bool is_short)
{
	const int error = reply->error;

	if (reply->stage == READER_FIND) {
		/* It is usual that a process has ended already. */
		jobs->missed += error != -ENOENT && error != -ESRCH &&
				error != -ENOTSUP;
		job_end(jobs, job);
	} else if (error == -EWOULDBLOCK) {
		job_refuse(jobs, job, error, "held by a lease", "");
	} else if (reply->stage == READER_OPEN) {
		job_refuse(jobs, job, error, "cannot be opened", reply->text);
	} else if (error == -EFBIG && is_short) {
		jobs->wants_bytes = true;
		job_refuse(jobs, job, -EBUSY, "no room to read it now", "");
	} else {
		job_refuse(jobs, job, error, error == -EFBIG ?
			   "too large to read" : "cannot be read",
			   reply->text);
	}
}

bool job_use_same(struct jobs *jobs, struct job *job)
{
	const struct known *same = known_find_digest(jobs->known,
						     &job->file.digest);

	if (!same)
		return false;
	if (same->state == FILE_REFUSED) {
		job_refuse(jobs, job, -EINVAL, same->reason, same->reason);
		return true;
	}
	job->shared.id = same->id;
	job->shared.functions = same->functions;
	job->shared.bytes = same->bytes;
	job_set_state(jobs, job, JOB_ATTACH);
	return true;
}

/*
 * Make room in the share of the kernel's limits that the job's files may use: one part
 * in JOBS_SHARE for each user, all but one part for trusted files. The least recently
 * used files are detached.
 */
static void make_own_room(struct jobs *jobs, const struct job *job)
{
	const unsigned int parts = job->file.is_trusted ? JOBS_SHARE - 1 : 1;
	const uint8_t group = group_of(jobs, job);
	unsigned int nr;
	uint64_t memory;

	do {
		known_group_attached(jobs->known, group, &nr, &memory);
	} while ((nr >= jobs->max_attached / JOBS_SHARE * parts ||
		  memory >= jobs->max_memory / JOBS_SHARE * parts) &&
		 known_forget_oldest(jobs->known, group, UINT64_MAX));
}

static void handle_attached(struct jobs *jobs, struct job *job,
			    const struct reader_attached *attached)
{
	const bool is_shared = job->shared.id && !job->is_converted &&
			       !attached->bytes;
	char filled[128] = "";
	struct known known;

	if (attached->is_own) {
		pass_over(jobs, job, FILE_OWN,
			  "its own .sframe covers all of its code");
		return;
	}
	if (attached->own_missing || attached->own_wrong)
		snprintf(filled, sizeof(filled),
			 "; fills in %" PRIu64 " bytes of code without a rule in its own .sframe, corrects %" PRIu64,
			 attached->own_missing, attached->own_wrong);
	begin_known(jobs, job, &known);
	known.state = FILE_ATTACHED;
	known.has_digest = true;
	known.digest = job->file.digest;
	known.id = attached->id;
	known.functions = is_shared ? job->shared.functions :
				      attached->functions;
	known.bytes = is_shared ? job->shared.bytes : attached->bytes;
	known.memory = attached->memory;
	known.from_cache = attached->from_cache;
	known.completes = job->file.has_own;
	known_set(jobs->known, &known);
	if (job->file.is_found)
		job_note_checked(jobs, job);
	tell(jobs, job, FILE_ATTACHED, "%" PRIu64 " functions, %" PRIu64
	     " bytes, %" PRIu64 " of kernel memory%s%s", known.functions,
	     known.bytes, known.memory, filled,
	     attached->from_cache ? ", from the cache" :
	     is_shared ? ", the same as another file's" : "");
	job_end(jobs, job);
}

/*
 * A reader has attached the section from the cache at once. If another file has the
 * same bytes, detach it again, so that both files share one section.
 */
static void handle_attached_at_once(struct jobs *jobs, struct job *job,
				    const struct reader_attached *attached)
{
	const struct known *same = attached->is_own ? NULL :
		known_find_digest(jobs->known, &job->file.digest);

	if (!same || (same->device == job->file.known.device &&
		      same->inode == job->file.known.inode)) {
		make_own_room(jobs, job);
		handle_attached(jobs, job, attached);
		return;
	}
	known_detach(jobs->known, attached->id);
	job->is_same = true;
	job_set_state(jobs, job, JOB_FILE);
}

void job_told_file(struct jobs *jobs, struct job *job,
		   const struct reader_reply *reply, const int fds[2])
{
	const bool is_short = job->others_bytes < jobs->max_bytes / 2;

	job->is_asked = false;
	if (!reply) {
		jobs->nr_lost++;
		jobs->missed++;
		user_block(job->user, now_ns());
		job_end(jobs, job);
		return;
	}
	take_file(jobs, job, &reply->file, fds);
	if (reply->error) {
		handle_read_error(jobs, job, reply, is_short &&
				  !reply->file.is_trusted);
	} else if (job->file.is_known) {
		handle_known(jobs, job);
	} else if (job->file.elf_status) {
		pass_over(jobs, job, FILE_FOREIGN, job->file.elf.problem ?
			  job->file.elf.problem : "cannot be read");
	} else if (job->file.is_attached) {
		handle_attached_at_once(jobs, job, &reply->attached);
	} else {
		make_own_room(jobs, job);
		if (!job_use_same(jobs, job))
			job_set_state(jobs, job, job->file.is_uncached ?
				      JOB_WAIT : JOB_ATTACH);
	}
}

/* --- attaching */

void job_fill_attach(const struct jobs *jobs, const struct job *job,
		     struct reader_request *request)
{
	struct reader_attach *attach = &request->attach;

	request->what = READER_ATTACH;
	attach->flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	/*
	 * The section has the rules of the file's own .sframe, unless that is empty,
	 * malformed or of a version unknown to the kernel.
	 */
	if (job->file.elf.sframe_size)
		attach->flags |= SFRAME_UNWIND_ATTACH_PREFER;
	if (jobs->has_inodes)
		attach->flags |= SFRAME_UNWIND_ATTACH_REPLACE;
	if (jobs->has_inodes && !job->is_vdso) {
		attach->flags |= SFRAME_UNWIND_ATTACH_INODE;
		attach->share_id = job->is_converted ? 0 : job->shared.id;
		if (attach->share_id)
			attach->flags |= SFRAME_UNWIND_ATTACH_SHARE;
	}
	if (jobs->is_extended && !(attach->flags & SFRAME_UNWIND_ATTACH_SHARE))
		attach->flags |= SFRAME_UNWIND_ATTACH_EXTENDED;
	attach->is_trusted = job->file.is_trusted;
	attach->is_converted = job->is_converted;
	attach->part = job->part;
	attach->elf = job->file.elf;
	attach->digest = job->file.digest;
	if (job->file.is_trusted && !job->is_vdso) {
		request->known = job->file.known;
		request->mount = job->file.mount;
	}
}

static const char *conversion_reason(int error)
{
	switch (error) {
	case -ENODATA:
		return "no call frame information";
	case -EOPNOTSUPP:
		return "not a linked program or shared object of x86-64";
	case -EINVAL:
		return "malformed file or call frame information";
	case -EFBIG:
		return "too large for SFrame";
	case -ENOMEM:
		return "no memory to convert it";
	case -EPROTO:
	case -ENOEXEC:
		return "the converter failed on it";
	default:
		return "cannot be read";
	}
}

static void handle_kernel_error(struct jobs *jobs, struct job *job,
				const struct reader_reply *reply)
{
	if (reply->error == -EPERM) {
		jobs->fatal = reply->error;
		memcpy(jobs->text, reply->text, sizeof(jobs->text));
		job_end(jobs, job);
	} else if (reply->error == -ENOSPC || reply->error == -ENOMEM) {
		jobs->wants_room |= reply->error == -ENOSPC;
		job_refuse(jobs, job, reply->error, no_room, reply->text);
	} else if (reply->error == -ESTALE) {
		job_refuse(jobs, job, reply->error,
			   "changed while it was read", reply->text);
	} else {
		/* -EIO is not final: the bytes need not be the cause. */
		job_refuse(jobs, job, -EIO, "refused by the kernel",
			   reply->text);
	}
}

/* Begin again, to convert the file by itself. Its snapshot is gone. */
static void read_again(struct job *job)
{
	closer_close(job->elf_fd, job->user->uid);
	close(job->result_fd);
	job->elf_fd = -1;
	job->result_fd = -1;
	job->is_converted = false;
	job->is_alone = true;
}

void job_told_attached(struct jobs *jobs, struct job *job,
		       const struct reader_reply *reply)
{
	job->is_asked = false;
	if (!reply) {
		jobs->nr_lost++;
		user_block(job->user, now_ns());
		job_refuse(jobs, job, -ETIMEDOUT, "cannot be read",
			   "the file takes too long to read");
	} else if (!reply->error) {
		handle_attached(jobs, job, &reply->attached);
	} else if (reply->stage == READER_OPEN) {
		handle_read_error(jobs, job, reply, false);
	} else if (reply->stage == READER_CACHE) {
		job_set_state(jobs, job, JOB_WAIT);
	} else if (reply->stage == READER_RESULT && job->part.nr > 1 &&
		   (reply->error == -EPROTO || reply->error == -ENOMEM ||
		    reply->error == -EFBIG)) {
		/* Another file may be the cause: they share the room for results. */
		read_again(job);
		job_set_state(jobs, job, JOB_FILE);
	} else if (reply->stage == READER_RESULT) {
		/* -ENOMEM here is the worker's limit, so it is not due to others. */
		job_refuse(jobs, job, reply->error == -ENOMEM ? -EIO :
			   reply->error, conversion_reason(reply->error),
			   reply->text);
	} else if (job->shared.id && !job->is_converted) {
		/* The attachment to share is gone: attach a new one. */
		job->shared.id = 0;
		job_set_state(jobs, job, JOB_ATTACH);
	} else {
		handle_kernel_error(jobs, job, reply);
	}
}
