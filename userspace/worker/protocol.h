/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protocol: between the worker and the daemon, or "exec", which are of the same build.
 *
 * Descriptor 0 of the worker is a socket (message.h). Each request is a message with
 * the descriptors of the snapshots and, last, of the result. The worker replies when the
 * process that converts them has ended; then the next request may follow. The worker ends
 * when the other end of the socket is closed; or, if its sandbox is not complete, when it
 * has got no request for some time.
 *
 * One process converts all snapshots of a request, so a snapshot that takes over the
 * process decides about the results of all others. A request with several must have only
 * snapshots of files that nobody but root can have written, or of objects of one program.
 *
 * The result is written sequentially from its beginning, for each snapshot in turn:
 *
 *	struct worker_header
 *	text, @text_size bytes, without a terminating zero
 *	a packed result (convert/output/packed.h), @packed_size bytes
 *	@nr_same struct worker_same
 *
 * with nothing after the last one. It is valid only if the status of the reply is 0.
 */
#ifndef WORKER_PROTOCOL_H
#define WORKER_PROTOCOL_H

#include <stdint.h>

#define WORKER_PROGRAM "sframe-unwind-convert-worker"

#define WORKER_MAGIC "SFUWORK1"

/* Most snapshots of a request. */
#define WORKER_MAX_SNAPSHOTS 16U

/**
 * struct worker_request - limits, all snapshots together, and options
 *
 * @memory: most bytes that may be allocated.
 * @output: most bytes of the result.
 * @cpu_seconds: most seconds of CPU time.
 * @max_rows: see struct sframe_unwind_convert_options.
 * @nice: added to the niceness.
 * @flags: see struct sframe_unwind_convert_options.
 * @nr_snapshots: 1 to WORKER_MAX_SNAPSHOTS.
 * @is_object: 1 if the snapshots are objects that one program has announced, see object.h,
 *	else 0.
 */
struct worker_request {
	uint64_t memory;
	uint64_t output;
	uint32_t cpu_seconds;
	uint32_t max_rows;
	int32_t nice;
	uint32_t flags;
	uint32_t nr_snapshots;
	uint32_t is_object;
};

/**
 * struct worker_reply - how a conversion ended
 *
 * @cpu_ns: CPU time used, in nanoseconds.
 * @status: WORKER_EXIT_*.
 * @is_last: do not send further requests to this worker: it has no sandbox, or has had a
 *	weak one for some time, and a new worker may get a better one.
 */
struct worker_reply {
	uint64_t cpu_ns;
	int32_t status;
	uint32_t is_last;
};

/* Bytes of the longest text. */
#define WORKER_MAX_TEXT 512

/*
 * Bits of @weak: parts of the sandbox that are missing.
 *
 * USER		a separate user
 * USER_NS	a user namespace
 * NAMESPACES	namespaces of the other types
 * ROOT		an empty root directory
 */
#define WORKER_WEAK_USER	0x01U
#define WORKER_WEAK_USER_NS	0x02U
#define WORKER_WEAK_NAMESPACES	0x04U
#define WORKER_WEAK_ROOT	0x08U

/**
 * struct worker_header - first bytes of a result
 *
 * @magic: WORKER_MAGIC, without the terminating zero.
 * @error: 0 or a negative errno.
 * @weak: WORKER_WEAK_* bits.
 * @text_size: bytes of the error's text; 0 without an error.
 * @nr_same: of an object: parts of it that are in its code; else 0.
 * @packed_size: bytes of the result; 0 with an error.
 * @code_start, @code_size: of an object: where its code is; else 0. The section is as if
 *	the code began at address 0.
 */
struct worker_header {
	char magic[8];
	int32_t error;
	uint32_t weak;
	uint32_t text_size;
	uint32_t nr_same;
	uint64_t packed_size;
	uint64_t code_start;
	uint64_t code_size;
};

/**
 * struct worker_same - bytes of an object that its code in the process has, too
 *
 * @object: where they are in the object.
 * @code: where they are in the code, from code_start on.
 * @size: how many.
 */
struct worker_same {
	uint32_t object;
	uint32_t code;
	uint32_t size;
};

/**
 * struct worker_part - one of the results of a request
 *
 * @index: its snapshot's index in the request.
 * @nr: snapshots of the request.
 */
struct worker_part {
	uint32_t index;
	uint32_t nr;
};

/* Exit statuses; if a signal ended the process, 128 plus the signal. */
#define WORKER_EXIT_DONE	0	/* the result or an error was written */
#define WORKER_EXIT_FAILED	1	/* nothing could be written */
#define WORKER_EXIT_USAGE	2	/* not started by the daemon */
#define WORKER_EXIT_CPU_TIME	3	/* the limit of CPU time was reached */
#define WORKER_EXIT_NO_PROCESS	4	/* fork() failed */
#define WORKER_EXIT_NO_EXEC	127
#define WORKER_EXIT_SIGNAL	128

#endif /* WORKER_PROTOCOL_H */
