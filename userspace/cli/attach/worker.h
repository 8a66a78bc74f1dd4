/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Worker: a conversion in a separate, untrusted process.
 *
 * The program libexec/sframe-unwind-convert-worker enters a sandbox: a separate user,
 * no privileges, empty namespaces, no files. It forks a process for each worker_start(),
 * which has a snapshot as descriptor 0, a memfd for the result as descriptor 1, and
 * no other descriptors. Memory and CPU time are limited, and the only system calls
 * permitted are write, brk, anonymous mmap and exit_group. All of this is in force
 * before the first byte of the snapshot is read. See worker/sandbox.h.
 *
 * The result is not trusted. It is examined here, by worker_result_read(), after the
 * process has ended and the memfd has been sealed: it must be a section without
 * defects.
 */
#ifndef ATTACH_WORKER_H
#define ATTACH_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sframe_unwind_convert.h>

#include "worker/protocol.h"

struct worker;

/**
 * struct worker_limits - limits of a conversion; 0 means the default
 *
 * @memory: bytes that it may allocate. Default: worker_usual_memory() of the bytes
 *	allocated to the snapshot.
 * @result_size: bytes that it may return. Default: 1 MiB and twice the bytes
 *	allocated to the snapshot.
 * @cpu_seconds: CPU time. Default: WORKER_CPU_SECONDS.
 * @wall_ms: wall-clock time. Default: WORKER_WALL_MS.
 * @nice: added to the niceness, 0 to 19.
 * @max_rows: see struct sframe_unwind_convert_options.
 * @is_extended: make an extended section.
 * @is_object: the snapshots are objects that one program has announced, not files: see
 *	worker/object.h.
 * @user: user on whose behalf it runs, to count children left behind: see child.h.
 */
struct worker_limits {
	uint64_t memory;
	uint64_t result_size;
	unsigned int cpu_seconds;
	unsigned int wall_ms;
	int nice;
	uint32_t max_rows;
	bool is_extended;
	bool is_object;
	uid_t user;
};

#define WORKER_CPU_SECONDS	30
#define WORKER_WALL_MS		60000

/**
 * worker_usual_memory() - most memory that a conversion of an honest file needs
 * @stored: bytes allocated to the snapshot.
 *
 * Return: bytes, at least 32 MiB and at most 768 MiB.
 */
uint64_t worker_usual_memory(uint64_t stored);

/**
 * struct worker_end - how a conversion ended
 *
 * @error: 0: there is a result, for worker_result_read(). Or a negative errno:
 *	-ETIMEDOUT the wall-clock time or the CPU time was exceeded,
 *	-EPROTO	ended by a signal, see @text, or with a wrong status: caused by the
 *		file,
 *	-EINTR	killed, perhaps by the OOM killer, or not started: not caused by the
 *		file, try again later,
 *	-ENOEXEC the worker cannot be run here: not caused by the file.
 * @text: the error, a sentence without the file's name, such as "takes more than
 *	30 s of CPU time to convert"; empty without an error.
 * @cpu_ns: CPU time used, in nanoseconds, with that of starting a server for it; if the
 *	wall-clock time was exceeded, the elapsed time.
 * @result_fd: memfd, sealed against all changes, to be closed, or -1.
 */
struct worker_end {
	int error;
	char text[128];
	uint64_t cpu_ns;
	int result_fd;
};

/*
 * Execute the program at @path, which must stay valid, instead of the one in the
 * directory of this program.
 */
void worker_set_program(const char *path);

/**
 * worker_start() - start a conversion
 * @worker: set to the worker, to be released by worker_finish() or worker_kill().
 * @snapshot_fd: memfd with the file or a snapshot of it, of the file's size and with
 *	its holes, sealed against writing, growing and shrinking. The caller may
 *	close it at once.
 * @limits: limits, or NULL for the defaults.
 *
 * Uses an idle server process, or forks and executes a new one. Does not block.
 *
 * Needs CAP_SETUID, CAP_SETGID and CAP_KILL to run the conversion as a separate user;
 * without them it runs as the caller's user. CAP_SETPCAP is used to empty its
 * bounding set, CAP_SYS_ADMIN to create namespaces where user namespaces are
 * forbidden; both are optional.
 *
 * Return: 0; -EBUSY if too many of the user's children have been left behind; -EINVAL
 * if the snapshot is not sealed; -ENOENT or -EACCES if the program is not at its
 * place; or another negative errno.
 */
int worker_start(struct worker **worker, int snapshot_fd,
		 const struct worker_limits *limits);

/**
 * worker_start_many() - start conversions of several files in one process
 * @snapshots: as @snapshot_fd of worker_start(), @nr of them.
 * @nr: 1 to WORKER_MAX_SNAPSHOTS.
 *
 * As worker_start(); the default limits are the sums over all snapshots. A file that takes
 * over the process makes the results of all of them, so it is only for files that nobody
 * but root can have written, and for objects of one program. If one of them breaks the
 * process, there is no result at all.
 */
int worker_start_many(struct worker **worker, const int *snapshots,
		      unsigned int nr, const struct worker_limits *limits);

/* For poll(2): when it is readable, call worker_finish(). */
int worker_fd(const struct worker *worker);

/* End of its wall-clock time, in nanoseconds of CLOCK_MONOTONIC. */
uint64_t worker_deadline(const struct worker *worker);

/**
 * worker_finish() - finish a conversion that has ended
 * @worker: the worker; freed unless -EAGAIN is returned.
 * @end: filled.
 *
 * Call it when worker_fd() is readable, and at the deadline. Takes a few system
 * calls, regardless of the size of the result.
 *
 * Return: 0, or -EAGAIN if the conversion has not ended.
 */
int worker_finish(struct worker *worker, struct worker_end *end);

/* Abort a conversion. Returns at once. @worker may be NULL. */
void worker_kill(struct worker *worker);

/* End the idle server processes, without waiting for them. */
void workers_end_idle(void);

/*
 * End the idle server processes that have been idle for @ms, and collect all that have
 * ended. Returns whether there are others: then call it again, for instance after a second.
 */
bool workers_end_unused(unsigned int ms);

/* In a child that is to have workers of its own: forget the servers of its parent. */
void workers_forget(void);

/*
 * Have one idle server process: a new one needs several times as long for its sandbox
 * as for a conversion. End all others that have been idle for @ms. Call it periodically.
 * The first one is started by worker_start(), and so is one after a server that has ended
 * while it was idle.
 */
void workers_keep_spare(unsigned int ms);

/**
 * worker_result_read() - read and examine the result of a worker
 * @result_fd: from worker_finish().
 * @limits: limits of the conversion, for messages, or NULL.
 * @converted: set to the result, to be freed by sframe_unwind_converted_free(),
 *	or to NULL on failure.
 * @text: set to the error, a sentence without the file's name, or to the empty
 *	string. May have bytes of the file, so escape it.
 * @size: size of @text in bytes.
 *
 * May be called in any process. Takes time and memory in proportion to the result:
 * every function and row of the section is examined.
 *
 * Return: 0, or a negative errno: those of sframe_unwind_convert_fd(), and
 * -ENOMEM	the conversion exceeded its memory limit, or this process has none.
 * -EFBIG	the result exceeded its size limit.
 * -EPROTO	the worker returned no valid result: the file has broken it.
 * -ENOEXEC	the worker could not drop its privileges, and did not read the file.
 */
int worker_result_read(int result_fd, const struct worker_limits *limits,
		       struct sframe_unwind_converted **converted, char *text,
		       size_t size);

/* The same for one of the results of worker_start_many(). */
int worker_result_read_part(int result_fd, const struct worker_part *part,
			    const struct worker_limits *limits,
			    struct sframe_unwind_converted **converted,
			    char *text, size_t size);

/* After that: where the code of the object is. It can be anywhere. */
void worker_result_code(int result_fd, const struct worker_part *part,
			uint64_t *start, uint64_t *size);

/*
 * And what the object has of it: sets *@same, to be freed, to *@nr parts, which may say
 * anything. Returns 0, or -ENOMEM or -EPROTO.
 */
int worker_result_same(int result_fd, const struct worker_part *part,
		       struct worker_same **same, uint32_t *nr);

/**
 * worker_weakness() - the part of the sandbox that is not available here
 * @result_fd: result of any worker.
 *
 * Return: a phrase to print, such as "conversions run as this user", or NULL if the
 * sandbox is complete. This is the worker's own claim.
 */
const char *worker_weakness(int result_fd);

#endif /* ATTACH_WORKER_H */
