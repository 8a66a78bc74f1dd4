/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples: rings of a client of the test module, for samples of an event that does not
 * occur by itself.
 */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include "bench.h"

#define RING_PAGE	4096UL
#define RING_PAGES	16
#define RING_BYTES	(RING_PAGES * RING_PAGE)

/* Events of the client that differ in what they record. */
enum kind {
	AT_ONCE,
	ALSO_LATER,
	NO_USER,
	NR_KINDS
};

/**
 * struct rings - the module's ring and perf's
 *
 * @fd: the client.
 * @perf_fd: perf event.
 * @control: control page of the client's ring.
 * @records: its records.
 * @perf: control page of perf's ring.
 * @id: events of the client.
 */
struct rings {
	int fd, perf_fd;
	struct sframe_unwind_ring *control;
	const unsigned char *records;
	struct perf_event_mmap_page *perf;
	uint32_t id[NR_KINDS];
};

/* Make the rings and events of client @fd, for stacks of @max_depth. Exits on failure. */
void open_rings(struct rings *rings, int fd, unsigned int max_depth);

#endif /* BENCH_SAMPLES_H */
