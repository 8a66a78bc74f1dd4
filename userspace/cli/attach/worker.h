/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Worker: a conversion in a process of its own, which is trusted with nothing.
 *
 * The program, libexec/sframe-unwind-convert-worker, enters a sandbox, a user of its
 * own, no privileges, empty namespaces, no files, and forks a process for each
 * conversion. That one has the snapshot as descriptor 0, a memfd for the result as
 * descriptor 1, and nothing else: limited memory and CPU time, and no system calls
 * but write, brk, anonymous mmap and exit_group, all that before it looks at the
 * first byte of the snapshot. See worker/sandbox.h.
 *
 * What it returns may be a lie. It has ended and the result is sealed when it is
 * looked at: that it is a section without defect is found out here.
 */
#ifndef ATTACH_WORKER_H
#define ATTACH_WORKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sframe_unwind_convert.h>

struct worker;

/**
 * struct worker_limits - what a conversion may take; 0 is the usual value
 *
 * @memory: bytes that it may allocate. By what is stored of the snapshot: see
 *	worker_usual_memory().
 * @result_size: bytes that it may return. 1 MiB and 2 for each stored one.
 * @cpu_seconds: of CPU time: WORKER_CPU_SECONDS.
 * @wall_ms: of wall-clock time: WORKER_WALL_MS.
 * @nice: added to the niceness, 0 to 19.
 * @max_rows: see struct sframe_unwind_convert_options.
 * @user: on whose behalf: for the count of those left behind, see child.h.
 */
struct worker_limits {
	uint64_t memory;
	uint64_t result_size;
	unsigned int cpu_seconds;
	unsigned int wall_ms;
	int nice;
	uint32_t max_rows;
	uid_t user;
};

#define WORKER_CPU_SECONDS	30
#define WORKER_WALL_MS		60000

/**
 * worker_usual_memory() - what an honest conversion needs at most
 * @stored: bytes of the snapshot that are stored.
 *
 * Return: bytes, at least 32 MiB and at most 768 MiB.
 */
uint64_t worker_usual_memory(uint64_t stored);

/**
 * struct worker_end - how it ended
 *
 * @error: 0: there is a result, for worker_result_read(). Or a negative errno:
 *	-ETIMEDOUT more than the wall-clock time or the CPU time,
 *	-EPROTO	ended by a signal, of which @text tells: the file has broken it,
 *	-EINTR	killed by somebody, or for want of memory on the machine, which says
 *		nothing of the file: try again later,
 *	-ENOEXEC the worker does not run here, which says nothing of the file.
 * @text: of an error, a sentence without the file's name: "takes more than 30 s
 *	of CPU time to convert". Else empty.
 * @cpu_ns: CPU time that it took, in nanoseconds; after more than the wall-clock
 *	time, that.
 * @result_fd: memfd, sealed against all changes, to be closed, or -1.
 */
struct worker_end {
	int error;
	char text[128];
	uint64_t cpu_ns;
	int result_fd;
};

/**
 * worker_start() - start a conversion
 * @worker: set to the worker, to be ended by worker_finish() or worker_kill().
 * @snapshot_fd: memfd with the file or a snapshot of it, of the file's size, its
 *	holes not stored, sealed against writing, growing and shrinking. The
 *	caller may close it at once.
 * @limits: or NULL for the usual ones.
 *
 * By a program that has made a conversion before, or else forks and executes. Waits
 * for nobody.
 *
 * Needs CAP_SETUID, CAP_SETGID and CAP_KILL to give it a user of its own; without
 * it runs as the caller's. CAP_SETPCAP empties its bounding set, CAP_SYS_ADMIN
 * gives it namespaces where user namespaces are forbidden; both can be done
 * without.
 *
 * Return: 0; -EBUSY if too many of the user's have been left behind; -EINVAL if
 * the snapshot is not sealed; -ENOENT or -EACCES if the program is not where it
 * should be; or another negative errno.
 */
int worker_start(struct worker **worker, int snapshot_fd,
		 const struct worker_limits *limits);

/* For poll(2): readable when something has changed: worker_finish() says what. */
int worker_fd(const struct worker *worker);

/* When its time is over, in nanoseconds of CLOCK_MONOTONIC. */
uint64_t worker_deadline(const struct worker *worker);

/**
 * worker_finish() - has it ended?
 * @worker: the worker. Gone, unless -EAGAIN is returned.
 * @end: set.
 *
 * To be called when worker_fd() is readable, and at the deadline. A few system
 * calls, whatever there is.
 *
 * Return: 0, or -EAGAIN: not yet.
 */
int worker_finish(struct worker *worker, struct worker_end *end);

/* Give it up. Returns at once. NULL is allowed. */
void worker_kill(struct worker *worker);

/* End the programs that have not been used for @ms, and wait for none. */
void workers_end_idle(unsigned int ms);

/**
 * worker_result_read() - what a worker says
 * @result_fd: from worker_finish().
 * @limits: that it had, for messages, or NULL.
 * @converted: set to the result, to be freed by sframe_unwind_converted_free(),
 *	or to NULL on failure.
 * @text: set to what is wrong, a sentence without the file's name, which may have
 *	bytes of the file: to be escaped. Or to the empty string.
 * @size: room in @text.
 *
 * Any process. Takes time and memory in proportion to the result: every function
 * and row of the section is examined.
 *
 * Return: 0, or a negative errno: those of sframe_unwind_convert_fd(), and
 * -ENOMEM	more than the memory that it may have; or we have none.
 * -EFBIG	more than the result may be.
 * -EPROTO	what it returned is no result: the file has broken the worker.
 * -ENOEXEC	it could not give up its privileges, and has not looked at the file.
 */
int worker_result_read(int result_fd, const struct worker_limits *limits,
		       struct sframe_unwind_converted **converted, char *text,
		       size_t size);

/**
 * worker_weakness() - what of the sandbox cannot be had here
 * @result_fd: of any worker.
 *
 * Return: a phrase to be told, such as "conversions run as this user", or NULL:
 * everything is as it should be. It is the worker's own word.
 */
const char *worker_weakness(int result_fd);

#endif /* ATTACH_WORKER_H */
