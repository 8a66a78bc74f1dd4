// SPDX-License-Identifier: GPL-2.0
/*
 * Events: being told by perf of what processes map, as they do it.
 *
 * A dummy event on each CPU counts nothing, but tells of each new executable
 * mapping, of fork and of exit on that CPU, in a ring that is shared with the
 * kernel.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_events.h"

#define RING_PAGES 32

/**
 * struct events - a ring for each CPU
 *
 * @files: of the events, @nr of them.
 * @rings: page with positions, and behind it the bytes.
 * @ring_size: number of these bytes, a power of two.
 */
struct events {
	size_t nr;
	struct pollfd *files;
	struct perf_event_mmap_page **rings;
	size_t ring_size;
	size_t page_size;
};

/* The largest record; its size has 16 bits. */
union record {
	struct perf_event_header header;
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, size, offset;
		union {
			struct {
				uint32_t major, minor;
				uint64_t inode, generation;
			};
			struct {
				uint8_t build_id_size;
				uint8_t reserved[3];
				uint8_t build_id[20];
			};
		};
		uint32_t prot, flags;
		char name[];
	} mmap;
	struct {
		struct perf_event_header header;
		uint32_t pid, parent;
	} fork;
	unsigned char bytes[65536];
};

static int open_event(int cpu, bool with_build_id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
		.build_id = with_build_id,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
		       PERF_FLAG_FD_CLOEXEC);
}

/* Returns 0, or a negative errno: -ENODEV if there is no such CPU now. */
static int open_ring(struct events *events, int cpu)
{
	void *ring;
	int fd;

	fd = open_event(cpu, true);
	if (fd < 0 && errno == EINVAL)
		fd = open_event(cpu, false);
	if (fd < 0)
		return -errno;
	ring = mmap(NULL, events->page_size + events->ring_size,
		    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED) {
		const int err = errno;

		close(fd);
		return -err;
	}
	events->files[events->nr] = (struct pollfd) {
		.fd = fd,
		.events = POLLIN,
	};
	events->rings[events->nr++] = ring;
	return 0;
}

int events_open(struct events **to)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct events *events = calloc(1, sizeof(*events));
	int err = 0;

	*to = NULL;
	if (!events)
		return -ENOMEM;
	events->page_size = sysconf(_SC_PAGESIZE);
	events->ring_size = RING_PAGES * events->page_size;
	events->files = calloc(cpus, sizeof(*events->files));
	events->rings = calloc(cpus, sizeof(*events->rings));
	if (!events->files || !events->rings)
		err = -ENOMEM;
	for (long cpu = 0; !err && cpu < cpus; cpu++) {
		err = open_ring(events, cpu);
		if (err == -ENODEV)
			err = 0;
	}
	if (!err && !events->nr)
		err = -ENODEV;
	if (err) {
		events_close(events);
		return err;
	}
	*to = events;
	return 0;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->nr; i++) {
		munmap(events->rings[i], events->page_size + events->ring_size);
		close(events->files[i].fd);
	}
	free(events->files);
	free(events->rings);
	free(events);
}

const struct pollfd *events_files(const struct events *events, size_t *nr)
{
	*nr = events->nr;
	return events->files;
}

/* Copy from the ring, around its end. */
static void copy(const struct events *events,
		 const struct perf_event_mmap_page *ring, uint64_t at,
		 void *to, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)ring +
				     events->page_size;
	const size_t offset = at & (events->ring_size - 1);
	const size_t first = size < events->ring_size - offset ?
			     size : events->ring_size - offset;

	memcpy(to, bytes + offset, first);
	memcpy((unsigned char *)to + first, bytes, size - first);
}

static int handle_mmap(struct watch *watch, const union record *record)
{
	struct mapping mapping = {
		.pid = record->mmap.pid,
		.start = record->mmap.start,
		.end = record->mmap.start + record->mmap.size,
		.name = record->mmap.name,
	};

	/* Anonymous memory, the vDSO and the like. */
	if (mapping.name[0] != '/' || !strncmp(mapping.name, "//", 2))
		return 0;
	if (record->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID &&
	    record->mmap.build_id_size <= sizeof(record->mmap.build_id)) {
		mapping.build_id = record->mmap.build_id;
		mapping.build_id_size = record->mmap.build_id_size;
	}
	return watch_mapping(watch, &mapping);
}

/* What the child has mapped by now may have been told by another CPU before. */
static int handle_fork(struct watch *watch, const union record *record)
{
	const pid_t child = record->fork.pid, parent = record->fork.parent;

	if (watch->all || child == parent || !watch_has(watch, parent) ||
	    watch_has(watch, child) || watch_add(watch, child))
		return 0;
	return watch_process(watch, child);
}

static int handle(struct watch *watch, const union record *record,
		  bool *is_lost)
{
	switch (record->header.type) {
	case PERF_RECORD_MMAP2:
		return handle_mmap(watch, record);
	case PERF_RECORD_FORK:
		return handle_fork(watch, record);
	case PERF_RECORD_LOST:
		*is_lost = true;
		return 0;
	default:
		return 0;
	}
}

int events_handle(struct events *events, struct watch *watch, bool *is_lost)
{
	static union record record;
	int err = 0;

	*is_lost = false;
	for (size_t i = 0; !err && i < events->nr; i++) {
		struct perf_event_mmap_page *ring = events->rings[i];
		const uint64_t head = __atomic_load_n(&ring->data_head,
						      __ATOMIC_ACQUIRE);
		uint64_t tail = ring->data_tail;

		while (!err && head - tail >= sizeof(record.header)) {
			copy(events, ring, tail, &record.header,
			     sizeof(record.header));
			if (record.header.size < sizeof(record.header) ||
			    record.header.size > head - tail) {
				tail = head;
				*is_lost = true;
				break;
			}
			copy(events, ring, tail, &record, record.header.size);
			/* Names end inside their records, but let us be sure. */
			record.bytes[record.header.size] = '\0';
			tail += record.header.size;
			/* Room for others before work that takes its time. */
			__atomic_store_n(&ring->data_tail, tail,
					 __ATOMIC_RELEASE);
			err = handle(watch, &record, is_lost);
		}
		__atomic_store_n(&ring->data_tail, tail, __ATOMIC_RELEASE);
	}
	return err;
}
