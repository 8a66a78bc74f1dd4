// SPDX-License-Identifier: GPL-2.0
/*
 * Events: perf events of new mappings and processes.
 *
 * A dummy event on each CPU counts nothing, but puts a record of each new executable
 * mapping on that CPU, and of each fork and exit, into a ring that is shared with the kernel.
 * The records have device and inode numbers instead of build IDs.
 *
 * The kernel ends the event of a CPU that goes offline, also for a suspend, and does not tell:
 * no more records come when it is online again. So all are opened anew then.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "events.h"

#define RING_PAGES 32

/*
 * More than any record takes, with one that tells of losses before it: a name has PATH_MAX
 * bytes at most.
 */
#define MAX_RECORD 8192

/*
 * Bytes of the list of CPUs that are compared: all, as the kernel writes a page at most; and how
 * long a suspend lasts at least.
 */
#define CPUS_SIZE	4096
#define SUSPEND_NS	(100 * MS)

/**
 * struct events - a ring for each CPU
 *
 * @nr: number of events.
 * @files: their descriptors.
 * @rings: for each a page with the positions, followed by the ring's bytes.
 * @ring_size: bytes of a ring, a power of two.
 * @page_size: bytes of a page.
 * @first: ring to begin with.
 * @next_at: do not handle events before this time.
 * @behind_since: since when events have been left each time; 0: all have been handled.
 * @cpus_path: list of the CPUs that are online.
 * @cpus: what it was when the events were opened.
 * @suspended_ns: how long the machine had been suspended then.
 */
struct events {
	size_t nr;
	struct pollfd *files;
	struct perf_event_mmap_page **rings;
	size_t ring_size;
	size_t page_size;
	size_t first;
	uint64_t next_at;
	uint64_t behind_since;
	const char *cpus_path;
	char cpus[CPUS_SIZE];
	uint64_t suspended_ns;
};

/* The largest record; its size has 16 bits. */
union record {
	struct perf_event_header header;
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, size, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t prot, flags;
		char name[];
	} mmap;
	struct {
		struct perf_event_header header;
		uint32_t pid, parent, tid, parent_tid;
	} task;
	unsigned char bytes[65536];
};

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
		       PERF_FLAG_FD_CLOEXEC);
}

/* Returns 0, or a negative errno: -ENODEV if there is no such CPU now. */
static int open_ring(struct events *events, int cpu)
{
	void *ring;
	int fd;

	fd = open_event(cpu);
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

static uint64_t suspended_ns(void)
{
	const uint64_t now = now_ns();

	return clock_read(CLOCK_BOOTTIME) - now;
}

/* Read the list of CPUs, or an empty one. */
static void read_cpus(const char *path, char cpus[CPUS_SIZE])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	memset(cpus, 0, CPUS_SIZE);
	if (fd < 0)
		return;
	if (read(fd, cpus, CPUS_SIZE) < 0)
		cpus[0] = '\0';
	close(fd);
}

int events_open(struct events **to, const char *cpus_path)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct events *events = calloc(1, sizeof(*events));
	int err = 0;

	*to = NULL;
	if (!events)
		return -ENOMEM;
	/* Before the rings, so that no change in between is missed. */
	events->cpus_path = cpus_path;
	read_cpus(cpus_path, events->cpus);
	events->suspended_ns = suspended_ns();
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

bool events_reopen(struct events **events)
{
	const struct events *old = *events;
	struct events *new;
	char cpus[CPUS_SIZE];

	read_cpus(old->cpus_path, cpus);
	if (suspended_ns() < old->suspended_ns + SUSPEND_NS &&
	    !memcmp(cpus, old->cpus, sizeof(cpus)))
		return false;
	/* If that fails, the old ones still tell something until the next time, but not all. */
	if (events_open(&new, old->cpus_path))
		return true;
	events_close(*events);
	*events = new;
	return true;
}

const struct pollfd *events_files(const struct events *events, size_t *nr)
{
	*nr = events->nr;
	return events->files;
}

/* Copy bytes from the ring, which may wrap around. */
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

static void handle_mmap(const union record *record,
			const struct event_fns *fns, void *data)
{
	const char *name = record->mmap.name;
	struct mapping mapping = {
		.pid = record->mmap.pid,
		.generation = record->mmap.generation,
		.start = record->mmap.start,
		.end = record->mmap.start + record->mmap.size,
		.key.device = makedev(record->mmap.major, record->mmap.minor),
		.key.inode = record->mmap.inode,
	};

	/* Anonymous memory, and the vDSO and the like. */
	if (!mapping.key.inode || name[0] != '/') {
		fns->memory(data, record->mmap.pid);
		return;
	}
	mapping_set_name(&mapping, strncmp(name, "//", 2) ? name : "");
	fns->mapping(data, &mapping);
}

/* It is 0 or -1 for a process outside of our PID namespace, or one that is gone. */
static bool has_pid(const union record *record)
{
	switch (record->header.type) {
	case PERF_RECORD_MMAP2:
		return (pid_t)record->mmap.pid > 0;
	case PERF_RECORD_FORK:
		return (pid_t)record->task.pid > 0 &&
		       (pid_t)record->task.parent > 0;
	case PERF_RECORD_EXIT:
		return (pid_t)record->task.pid > 0;
	default:
		return true;
	}
}

static bool handle(const union record *record, const struct event_fns *fns,
		   void *data)
{
	if (!has_pid(record))
		return false;
	switch (record->header.type) {
	case PERF_RECORD_MMAP2:
		handle_mmap(record, fns, data);
		return false;
	case PERF_RECORD_FORK:
		if (record->task.pid != record->task.parent)
			fns->fork(data, record->task.pid, record->task.parent);
		return false;
	case PERF_RECORD_EXIT:
		if (record->task.pid == record->task.tid)
			fns->exit(data, record->task.pid);
		return false;
	default:
		return record->header.type == PERF_RECORD_LOST;
	}
}

/**
 * struct step - when a step ends
 *
 * @now: a time before which it cannot have used all of its CPU time. That is faster to read.
 * @cpu: the CPU time at which it ends.
 */
struct step {
	uint64_t now;
	uint64_t cpu;
};

static bool has_time(const struct step *step)
{
	return now_ns() < step->now || cpu_ns() < step->cpu;
}

/*
 * Handle records until the ring is empty or at the end of @step; *@is_behind is set if some
 * are left. Returns whether any were lost, or may have been. The kernel tells of that only
 * before the next record of the same CPU, and there may be none for long.
 */
static bool handle_ring(const struct events *events,
			struct perf_event_mmap_page *ring, const struct step *step,
			const struct event_fns *fns, void *data, bool *is_behind)
{
	const uint64_t head = __atomic_load_n(&ring->data_head,
					      __ATOMIC_ACQUIRE);
	static union record record;
	const uint64_t first = ring->data_tail;
	uint64_t tail = first;
	bool is_lost = false;

	while (head - tail >= sizeof(record.header) && has_time(step)) {
		copy(events, ring, tail, &record.header,
		     sizeof(record.header));
		if (record.header.size < sizeof(record.header) ||
		    record.header.size > head - tail) {
			tail = head;
			is_lost = true;
			break;
		}
		copy(events, ring, tail, &record, record.header.size);
		/* Make sure that a name ends inside its record. */
		record.bytes[record.header.size] = '\0';
		tail += record.header.size;
		is_lost |= handle(&record, fns, data);
	}
	/* Until then, the kernel had no more room than behind @first. */
	__atomic_store_n(&ring->data_tail, tail, __ATOMIC_SEQ_CST);
	is_lost |= __atomic_load_n(&ring->data_head, __ATOMIC_SEQ_CST) - first >
		   events->ring_size - MAX_RECORD;
	*is_behind |= tail != head;
	return is_lost;
}

/* Drop all records. */
static void drop(const struct events *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		struct perf_event_mmap_page *ring = events->rings[i];
		const uint64_t head = __atomic_load_n(&ring->data_head,
						      __ATOMIC_ACQUIRE);

		__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
	}
}

/* Returns whether events have been left for too long, as they are now if @is_behind. */
static bool is_too_far_behind(struct events *events, bool is_behind)
{
	const uint64_t now = now_ns();

	if (!is_behind)
		events->behind_since = 0;
	else if (!events->behind_since)
		events->behind_since = now;
	return is_behind && now - events->behind_since >= EVENTS_BEHIND_NS;
}

/* Takes no system call. */
bool events_any(const struct events *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		const struct perf_event_mmap_page *ring = events->rings[i];

		if (__atomic_load_n(&ring->data_head, __ATOMIC_RELAXED) !=
		    ring->data_tail)
			return true;
	}
	return false;
}

bool events_handle(struct events *events, const struct event_fns *fns,
		   void *data)
{
	bool is_lost = false, is_behind;
	uint64_t before, pause;
	struct step step;
	size_t i;

	/* The loop comes here after every change, so do not read a clock for nothing. */
	if (!events_any(events)) {
		events->behind_since = 0;
		return false;
	}
	before = cpu_ns();
	step = (struct step) {
		.now = now_ns() + EVENTS_STEP_NS,
		.cpu = before + EVENTS_STEP_NS,
	};
	is_behind = false;
	for (i = 0; i < events->nr && has_time(&step); i++) {
		is_lost |= handle_ring(events, events->rings[events->first], &step,
				       fns, data, &is_behind);
		events->first = (events->first + 1) % events->nr;
	}
	if (is_too_far_behind(events, is_behind || i < events->nr)) {
		drop(events);
		events->behind_since = 0;
		is_lost = true;
	}
	pause = EVENTS_SHARE * (cpu_ns() - before);
	if (pause > EVENTS_MAX_PAUSE_NS)
		pause = EVENTS_MAX_PAUSE_NS;
	events->next_at = now_ns() + pause;
	return is_lost;
}

uint64_t events_next(const struct events *events)
{
	return events->next_at;
}
