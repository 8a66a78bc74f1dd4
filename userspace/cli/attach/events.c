// SPDX-License-Identifier: GPL-2.0
/*
 * Events: perf events of new mappings and processes.
 *
 * A dummy event on each CPU counts nothing, but puts a record of each new executable
 * mapping on that CPU, and of each fork and exit, into a ring that is shared with the kernel.
 * The records have device and inode numbers instead of build IDs.
 *
 * Whoever maps and unmaps a file fills these rings, and records of others are lost. So it is told
 * once more which processes execute programs, by a tracepoint with another ring on each CPU. Only
 * executions fill that one, and each takes far longer than to handle its record.
 * PERF_RECORD_COMM would not do: prctl(2) makes it, too. The tracepoint needs tracefs, which may
 * not be mounted; then only the first rings tell.
 *
 * The kernel ends the event of a CPU that goes offline, also for a suspend, and does not tell:
 * no more records come when it is online again. So all are opened anew then.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "events.h"

/*
 * Pages of a ring; and more than any of its records takes, with one that tells of losses before
 * it: a name has PATH_MAX bytes at most.
 */
#define RING_PAGES	32
#define MAX_RECORD	8192

/*
 * The same for executions. There is room for 4096: as many as a CPU could make between two calls
 * if each took 50 microseconds.
 */
#define EXEC_PAGES	16
#define MAX_EXEC	64

/*
 * Bytes of the list of CPUs that are compared: all, as the kernel writes a page at most; and how
 * long a suspend lasts at least.
 */
#define CPUS_SIZE	4096
#define SUSPEND_NS	(100 * MS)

/**
 * struct rings - a ring for each CPU, all for the same events
 *
 * @nr: number of rings.
 * @rings: for each a page with the positions, followed by the ring's bytes.
 * @size: bytes of a ring, a power of two.
 * @max_record: more than a record takes.
 * @first: ring to begin with.
 * @behind_since: since when events have been left each time; 0: all have been handled.
 */
struct rings {
	size_t nr;
	struct perf_event_mmap_page **rings;
	size_t size;
	size_t max_record;
	size_t first;
	uint64_t behind_since;
};

/**
 * struct events
 *
 * @nr: number of events.
 * @files: their descriptors: those of @changes, then those of @execs.
 * @changes: mappings, forks and exits.
 * @execs: executions; may be none.
 * @exec_id: the tracepoint of these, or 0.
 * @page_size: bytes of a page.
 * @next_at: do not handle events before this time.
 * @cpus_path: list of the CPUs that are online.
 * @cpus_fd: that file, which is read again and again; or -1.
 * @cpus: what it was when the events were opened.
 * @suspended_ns: how long the machine had been suspended then.
 */
struct events {
	size_t nr;
	struct pollfd *files;
	struct rings changes;
	struct rings execs;
	uint64_t exec_id;
	size_t page_size;
	uint64_t next_at;
	const char *cpus_path;
	int cpus_fd;
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
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
	} exec;
	unsigned char bytes[65536];
};

static const struct perf_event_attr change_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(change_attr),
	.config = PERF_COUNT_SW_DUMMY,
	.mmap = 1,
	.mmap2 = 1,
	.task = 1,
	.watermark = 1,
	.wakeup_watermark = 1,
};

/* Without what the tracepoint itself records, which has the name of the program. */
static const struct perf_event_attr exec_attr = {
	.type = PERF_TYPE_TRACEPOINT,
	.size = sizeof(exec_attr),
	.sample_period = 1,
	.sample_type = PERF_SAMPLE_TID,
	.wakeup_events = 1,
};

/* Returns 0, or a negative errno: -ENODEV if there is no such CPU now. */
static int open_ring(struct events *events, struct rings *rings,
		     const struct perf_event_attr *attr, int cpu)
{
	const int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1,
			       PERF_FLAG_FD_CLOEXEC);
	void *ring;

	if (fd < 0)
		return -errno;
	ring = mmap(NULL, events->page_size + rings->size,
		    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED) {
		const int err = errno;

		close(fd);
		return -err;
	}
	events->files[events->nr++] = (struct pollfd) {
		.fd = fd,
		.events = POLLIN,
	};
	rings->rings[rings->nr++] = ring;
	return 0;
}

/* These are the rings that were opened last. */
static void close_rings(struct events *events, struct rings *rings)
{
	while (rings->nr) {
		munmap(rings->rings[--rings->nr],
		       events->page_size + rings->size);
		close(events->files[--events->nr].fd);
	}
	free(rings->rings);
	rings->rings = NULL;
}

/* Returns 0, or a negative errno: then there are none. */
static int open_rings(struct events *events, struct rings *rings,
		      const struct perf_event_attr *attr, long cpus)
{
	int err = 0;

	rings->rings = calloc(cpus, sizeof(*rings->rings));
	if (!rings->rings)
		return -ENOMEM;
	for (long cpu = 0; !err && cpu < cpus; cpu++) {
		err = open_ring(events, rings, attr, cpu);
		if (err == -ENODEV)
			err = 0;
	}
	if (!err && !rings->nr)
		err = -ENODEV;
	if (err)
		close_rings(events, rings);
	return err;
}

/* Without these, programs are still told by their mappings. */
static void open_execs(struct events *events, long cpus)
{
	struct perf_event_attr attr = exec_attr;

	attr.config = events->exec_id;
	if (events->exec_id)
		open_rings(events, &events->execs, &attr, cpus);
}

uint64_t events_exec_id(void)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/events/sched/sched_process_exec/id",
		"/sys/kernel/debug/tracing/events/sched/sched_process_exec/id",
	};
	unsigned long long id = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !id; i++) {
		FILE *file = fopen(paths[i], "re");

		if (!file)
			continue;
		if (fscanf(file, "%llu", &id) != 1)
			id = 0;
		fclose(file);
	}
	return id;
}

static uint64_t suspended_ns(void)
{
	const uint64_t now = now_ns();

	return clock_read(CLOCK_BOOTTIME) - now;
}

/* Read the list of CPUs, or an empty one. */
static void read_cpus(int fd, char cpus[CPUS_SIZE])
{
	memset(cpus, 0, CPUS_SIZE);
	if (fd >= 0 && pread(fd, cpus, CPUS_SIZE, 0) < 0)
		cpus[0] = '\0';
}

int events_open(struct events **to, const char *cpus_path, uint64_t exec_id)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct events *events = calloc(1, sizeof(*events));
	int err;

	*to = NULL;
	if (!events)
		return -ENOMEM;
	/* Before the rings, so that no change in between is missed. */
	events->cpus_path = cpus_path;
	events->cpus_fd = open(cpus_path, O_RDONLY | O_CLOEXEC);
	read_cpus(events->cpus_fd, events->cpus);
	events->suspended_ns = suspended_ns();
	events->exec_id = exec_id;
	events->page_size = sysconf(_SC_PAGESIZE);
	events->changes.size = RING_PAGES * events->page_size;
	events->changes.max_record = MAX_RECORD;
	events->execs.size = EXEC_PAGES * events->page_size;
	events->execs.max_record = MAX_EXEC;
	events->files = calloc(2 * cpus, sizeof(*events->files));
	err = events->files ?
	      open_rings(events, &events->changes, &change_attr, cpus) : -ENOMEM;
	if (err) {
		events_close(events);
		return err;
	}
	open_execs(events, cpus);
	*to = events;
	return 0;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	close_rings(events, &events->execs);
	close_rings(events, &events->changes);
	if (events->cpus_fd >= 0)
		close(events->cpus_fd);
	free(events->files);
	free(events);
}

bool events_reopen(struct events **events)
{
	struct events *old = *events, *new;
	char cpus[CPUS_SIZE];

	if (old->cpus_fd < 0)
		old->cpus_fd = open(old->cpus_path, O_RDONLY | O_CLOEXEC);
	read_cpus(old->cpus_fd, cpus);
	if (suspended_ns() < old->suspended_ns + SUSPEND_NS &&
	    !memcmp(cpus, old->cpus, sizeof(cpus)))
		return false;
	/* If that fails, the old ones still tell something until the next time, but not all. */
	if (events_open(&new, old->cpus_path, old->exec_id))
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
static void copy(const struct events *events, const struct rings *rings,
		 const struct perf_event_mmap_page *ring, uint64_t at,
		 void *to, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)ring +
				     events->page_size;
	const size_t offset = at & (rings->size - 1);
	const size_t first = size < rings->size - offset ?
			     size : rings->size - offset;

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
	case PERF_RECORD_SAMPLE:
		return (pid_t)record->exec.pid > 0;
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
	case PERF_RECORD_SAMPLE:
		fns->exec(data, record->exec.pid);
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
static bool handle_ring(const struct events *events, const struct rings *rings,
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
		copy(events, rings, ring, tail, &record.header,
		     sizeof(record.header));
		if (record.header.size < sizeof(record.header) ||
		    record.header.size > head - tail) {
			tail = head;
			is_lost = true;
			break;
		}
		copy(events, rings, ring, tail, &record, record.header.size);
		/* Make sure that a name ends inside its record. */
		record.bytes[record.header.size] = '\0';
		tail += record.header.size;
		is_lost |= handle(&record, fns, data);
	}
	/* Until then, the kernel had no more room than behind @first. */
	__atomic_store_n(&ring->data_tail, tail, __ATOMIC_SEQ_CST);
	is_lost |= __atomic_load_n(&ring->data_head, __ATOMIC_SEQ_CST) - first >
		   rings->size - rings->max_record;
	*is_behind |= tail != head;
	return is_lost;
}

/* Drop all records. */
static void drop(const struct rings *rings)
{
	for (size_t i = 0; i < rings->nr; i++) {
		struct perf_event_mmap_page *ring = rings->rings[i];
		const uint64_t head = __atomic_load_n(&ring->data_head,
						      __ATOMIC_ACQUIRE);

		__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
	}
}

/* Returns whether events have been left for too long, as they are now if @is_behind. */
static bool is_too_far_behind(struct rings *rings, bool is_behind)
{
	const uint64_t now = now_ns();

	if (!is_behind)
		rings->behind_since = 0;
	else if (!rings->behind_since)
		rings->behind_since = now;
	return is_behind && now - rings->behind_since >= EVENTS_BEHIND_NS;
}

/* Handle those of all CPUs, until the end of @step. Returns whether any were lost. */
static bool handle_rings(const struct events *events, struct rings *rings,
			 const struct step *step, const struct event_fns *fns,
			 void *data)
{
	bool is_lost = false, is_behind = false;
	size_t i;

	for (i = 0; i < rings->nr && has_time(step); i++) {
		is_lost |= handle_ring(events, rings, rings->rings[rings->first],
				       step, fns, data, &is_behind);
		rings->first = (rings->first + 1) % rings->nr;
	}
	if (is_too_far_behind(rings, is_behind || i < rings->nr)) {
		drop(rings);
		rings->behind_since = 0;
		is_lost = true;
	}
	return is_lost;
}

static bool has_any(const struct rings *rings)
{
	for (size_t i = 0; i < rings->nr; i++) {
		const struct perf_event_mmap_page *ring = rings->rings[i];

		if (__atomic_load_n(&ring->data_head, __ATOMIC_RELAXED) !=
		    ring->data_tail)
			return true;
	}
	return false;
}

/* Takes no system call. */
bool events_any(const struct events *events)
{
	return has_any(&events->changes) || has_any(&events->execs);
}

bool events_handle(struct events *events, const struct event_fns *fns,
		   void *data)
{
	uint64_t before, pause;
	struct step step;
	bool is_lost;

	/* The loop comes here after every change, so do not read a clock for nothing. */
	if (!events_any(events)) {
		events->changes.behind_since = 0;
		events->execs.behind_since = 0;
		return false;
	}
	before = cpu_ns();
	step = (struct step) {
		.now = now_ns() + EVENTS_STEP_NS,
		.cpu = before + EVENTS_STEP_NS,
	};
	/* First those that few can fill, which take little time. */
	is_lost = handle_rings(events, &events->execs, &step, fns, data);
	is_lost |= handle_rings(events, &events->changes, &step, fns, data);
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
