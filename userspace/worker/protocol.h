/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protocol: between who starts a worker and the worker, both of one build.
 *
 * Descriptor 0 of the worker is a socket (message.h). Each request is a message
 * with two descriptors, the snapshot and the result, and is answered when the
 * process that converts it has ended; the next one may follow. The worker ends
 * when the other end is closed.
 *
 * The result is written from its beginning and in order:
 *
 *	struct worker_header
 *	text, @text_size bytes, without a terminating zero
 *	a packed result (convert/packed.h), @packed_size bytes
 *
 * and nothing behind it. It counts only if the status of the reply is 0.
 */
#ifndef WORKER_PROTOCOL_H
#define WORKER_PROTOCOL_H

#include <stdint.h>

#define WORKER_PROGRAM "sframe-unwind-convert-worker"

#define WORKER_MAGIC "SFUWORK1"

/**
 * struct worker_request - what to do with a snapshot
 *
 * @memory: bytes that may be allocated.
 * @output: bytes of the result.
 * @cpu_seconds: of CPU time.
 * @max_rows: of the conversion.
 * @nice: added to the niceness.
 */
struct worker_request {
	uint64_t memory;
	uint64_t output;
	uint32_t cpu_seconds;
	uint32_t max_rows;
	int32_t nice;
	uint32_t reserved;
};

/**
 * struct worker_reply - how that ended
 *
 * @cpu_ns: CPU time that it took.
 * @status: WORKER_EXIT_*.
 * @is_last: is the worker of no use for another file? It had no sandbox for this
 *	one, or a weak one for some time; the next worker may have it.
 */
struct worker_reply {
	uint64_t cpu_ns;
	int32_t status;
	uint32_t is_last;
};

/* Bytes of the longest text. */
#define WORKER_MAX_TEXT 512

/*
 * Bits of @weak: what the worker has not got.
 *
 * USER		a user of its own
 * USER_NS	a user namespace
 * NAMESPACES	namespaces of the other kinds
 * ROOT		an empty root directory
 */
#define WORKER_WEAK_USER	0x01U
#define WORKER_WEAK_USER_NS	0x02U
#define WORKER_WEAK_NAMESPACES	0x04U
#define WORKER_WEAK_ROOT	0x08U

/**
 * struct worker_header - first bytes of a result
 *
 * @magic: WORKER_MAGIC, without its zero.
 * @error: 0 or a negative errno.
 * @weak: WORKER_WEAK_* bits.
 * @text_size: bytes of the error's text; 0 without an error.
 * @reserved: 0.
 * @packed_size: bytes of the result; 0 with an error.
 */
struct worker_header {
	char magic[8];
	int32_t error;
	uint32_t weak;
	uint32_t text_size;
	uint32_t reserved;
	uint64_t packed_size;
};

/* Exit statuses; those of programs that signals end are 128 and the signal. */
#define WORKER_EXIT_DONE	0	/* there is a result, or an error in it */
#define WORKER_EXIT_FAILED	1	/* not even that could be written */
#define WORKER_EXIT_USAGE	2	/* not started by us */
#define WORKER_EXIT_CPU_TIME	3	/* it has had all that it may have */
#define WORKER_EXIT_NO_PROCESS	4	/* there was none to convert it */
#define WORKER_EXIT_NO_EXEC	127
#define WORKER_EXIT_SIGNAL	128

#endif /* WORKER_PROTOCOL_H */
