// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of processes, by perf's records of a dummy event: one ring for each
 * CPU.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/attach/clock.h"
#include "cli/cli.h"
#include "cli/profile/copies.h"
#include "cli/profile/history_object.h"
#include "cli/profile/record.h"
#include "cli/profile/record_files.h"
#include "cli/profile/record_jit.h"

#define RING_PAGES	64u	/* of each CPU, and one */
#define RECORD_MAX	(PATH_MAX + 256u)	/* bytes of the kernel's largest record */

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID	(1 << 14)
#endif

#define OTHERS_MAX	2u	/* of record_changes_wait() */
#define WAITED_MAX	64u	/* threads whose changes are waited for */

/* What perf puts behind each record: pid and tid, time. */
#define TAIL_SIZE	16u

/**
 * struct ring - of one CPU
 *
 * @page: the control page, followed by the records; NULL if there is none.
 */
struct ring {
	struct perf_event_mmap_page *page;
};

/**
 * struct switched - a thread was taken from its CPU, or got one, or has ended
 *
 * @time: when.
 * @tid: the thread.
 * @what: which of them.
 */
struct switched {
	uint64_t time;
	uint32_t tid;
	enum record_switch what;
};

/**
 * struct record_changes - all rings
 *
 * @rings: the rings by number of the CPU.
 * @nr: number of those.
 * @polled: files of the rings, for poll(2), and those of others.
 * @is_silent: whether they do not tell of each change: there are too many, or a thread has
 *	ended that one of them belongs to, though others write to the same ring.
 * @fds: files of the events.
 * @nr_fds: number of those.
 * @room: room for those.
 * @switches: who is told of threads that do not run and run again, or NULL.
 * @switched: those of all rings that have not been told.
 * @nr_switched: number of those.
 * @switched_room: room for those.
 * @files: takes note of the files that are mapped, or NULL.
 * @jit: takes note of code made at run time, or NULL.
 * @copies: follows what is mapped, or NULL.
 * @latest: time of the latest change.
 * @until: when the last reading of the rings began.
 * @lost: number of changes that were lost.
 * @bytes: the current record.
 */
struct record_changes {
	struct ring *rings;
	uint32_t nr;
	struct pollfd *polled;
	bool is_silent;
	int *fds;
	uint32_t nr_fds;
	uint32_t room;
	struct record_waiting *switches;
	struct switched *switched;
	uint32_t nr_switched;
	uint32_t switched_room;
	struct record_files *files;
	struct record_jit *jit;
	struct copies *copies;
	uint64_t latest;
	uint64_t until;
	uint64_t lost;
	unsigned char bytes[65536];
};

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Events of one CPU share a ring: that of the first one. */
static int add_event(struct record_changes *changes, uint32_t cpu, int fd)
{
	struct ring *ring = &changes->rings[cpu];

	changes->fds = table_grow(changes->fds, &changes->room, changes->nr_fds,
				  sizeof(*changes->fds));
	changes->fds[changes->nr_fds++] = fd;
	if (ring->page) {
		/* The first one of the CPU: it is as many places before. */
		for (uint32_t i = 0; i < changes->nr_fds; i++)
			if (changes->fds[i] >= 0 &&
			    i % changes->nr == cpu % changes->nr)
				return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT,
					     changes->fds[i]) ? -errno : 0;
		return -EINVAL;
	}
	ring->page = mmap(NULL, (RING_PAGES + 1) * page_size(),
			  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring->page == MAP_FAILED) {
		ring->page = NULL;
		return -errno;
	}
	changes->polled[cpu].fd = fd;
	return 0;
}

static int open_target(struct record_changes *changes,
		       const struct perf_event_attr *attr, pid_t tid)
{
	int ret = 0;

	for (uint32_t cpu = 0; cpu < changes->nr && !ret; cpu++) {
		int fd = record_perf_open(attr, tid, cpu);

		/* Keep a place for each CPU, also for one that is offline. */
		if (fd == -ENODEV || (tid != -1 && fd == -ESRCH)) {
			changes->fds = table_grow(changes->fds, &changes->room,
						  changes->nr_fds, sizeof(int));
			changes->fds[changes->nr_fds++] = -1;
			continue;
		}
		ret = fd < 0 ? fd : add_event(changes, cpu, fd);
	}
	return ret;
}

/*
 * Each thread takes a file for each CPU. The program to run, which exists already,
 * keeps the limit.
 */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int record_changes_open(struct record_changes **result, const char *command,
			const struct record_targets *targets,
			struct record_waiting *switches, bool is_waited_for)
{
	/* With each change, the kernel wakes those who wait for any event of the ring. */
	const bool is_silent = !is_waited_for || switches || targets->nr > WAITED_MAX;
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.inherit = targets->nr != 0,
		.exclude_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.context_switch = !!switches,
		.build_id = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = is_silent ? 65536 : 1,
	};
	struct record_changes *changes = table_allocate(sizeof(*changes));
	int ret = 0;

	*result = changes;
	raise_file_limit();
	changes->switches = switches;
	changes->is_silent = is_silent;
	changes->nr = sysconf(_SC_NPROCESSORS_CONF);
	changes->rings = table_allocate(changes->nr * sizeof(struct ring));
	changes->polled = table_allocate((changes->nr + OTHERS_MAX) * sizeof(struct pollfd));
	for (uint32_t i = 0; i < changes->nr; i++)
		changes->polled[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	if (!targets->nr)
		ret = open_target(changes, &attr, -1);
	for (uint32_t i = 0; i < targets->nr && !ret; i++)
		ret = open_target(changes, &attr, targets->tids[i]);
	return ret ? record_complain(command, "changes of processes", ret) : CLI_OK;
}

void record_changes_keep(struct record_changes *changes,
			 struct record_files *files, struct record_jit *jit,
			 struct copies *copies)
{
	changes->files = files;
	changes->jit = jit;
	changes->copies = copies;
}

static uint64_t get_u64(const unsigned char *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static uint32_t get_u32(const unsigned char *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static void parse_map(struct sframe_unwind_profile_record *record,
		      const unsigned char *at, unsigned int misc)
{
	struct sframe_unwind_profile_map *map = &record->map;

	record->kind = SFRAME_UNWIND_PROFILE_MAP;
	map->start = get_u64(at + 8);
	map->size = get_u64(at + 16);
	map->offset = get_u64(at + 24);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID && at[32] <= 20) {
		map->build_id_size = at[32];
		memcpy(map->build_id, at + 36, at[32]);
	}
	map->is_code = get_u32(at + 56) >> 2 & 1;	/* PROT_EXEC */
	map->name = (const char *)at + 64;
}

/*
 * Parse a record of the kernel, which is well-formed; the byte behind it is 0.
 * Returns whether it is one that is written.
 */
static bool parse(struct sframe_unwind_profile_record *record,
		  const unsigned char *bytes)
{
	struct perf_event_header header;
	const unsigned char *at = bytes + sizeof(header), *tail;

	memset(record, 0, sizeof(*record));
	memcpy(&header, bytes, sizeof(header));
	if (header.type == PERF_RECORD_LOST) {
		record->kind = SFRAME_UNWIND_PROFILE_LOST;
		record->lost = get_u64(at + 8);
		record->source = SFRAME_UNWIND_PROFILE_NONE;
		return true;
	}
	if (header.size < sizeof(header) + 8 + TAIL_SIZE)
		return false;
	tail = bytes + header.size - TAIL_SIZE;
	record->source = SFRAME_UNWIND_PROFILE_NONE;
	record->pid = get_u32(at);
	record->tid = get_u32(at + 4);
	record->cpu = SFRAME_UNWIND_PROFILE_NONE;
	record->time = get_u64(tail + 8);
	switch (header.type) {
	case PERF_RECORD_MMAP2:
		parse_map(record, at, header.misc);
		return record->map.is_code;
	case PERF_RECORD_COMM:
		record->kind = SFRAME_UNWIND_PROFILE_COMM;
		record->comm.is_exec = !!(header.misc &
					  PERF_RECORD_MISC_COMM_EXEC);
		record->comm.name = (const char *)at + 8;
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		record->kind = header.type == PERF_RECORD_FORK ?
			       SFRAME_UNWIND_PROFILE_FORK :
			       SFRAME_UNWIND_PROFILE_EXIT;
		record->task.ppid = get_u32(at + 4);
		record->tid = get_u32(at + 8);
		record->task.ptid = get_u32(at + 12);
		return true;
	default:
		return false;
	}
}

/* Copy @size bytes from position @from, which may wrap around. */
static void copy(unsigned char *to, const struct ring *ring, uint64_t from,
		 size_t size)
{
	const size_t whole = RING_PAGES * page_size();
	const unsigned char *data = (void *)ring->page;
	const size_t at = from % whole;
	const size_t first = size < whole - at ? size : whole - at;

	data += page_size();
	memcpy(to, data + at, first);
	memcpy(to + first, data, size - first);
}

static void add_switched(struct record_changes *changes, uint64_t time,
			 uint32_t tid, enum record_switch what)
{
	changes->switched = table_grow(changes->switched,
				       &changes->switched_room,
				       changes->nr_switched,
				       sizeof(*changes->switched));
	changes->switched[changes->nr_switched++] = (struct switched){
		time, tid, what,
	};
}

/* A record of a switch contains only the tail that all records have: thread and time. */
static void add_switch(struct record_changes *changes,
		       const struct perf_event_header *header)
{
	const unsigned char *tail = changes->bytes + header->size - TAIL_SIZE;
	enum record_switch what = RECORD_RUNS;

	if (!changes->switches || header->size < sizeof(*header) + TAIL_SIZE)
		return;
	if (header->misc & PERF_RECORD_MISC_SWITCH_OUT)
		what = header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ?
		       RECORD_PREEMPTED : RECORD_BLOCKED;
	add_switched(changes, get_u64(tail + 8), get_u32(tail + 4), what);
}

static int compare(const void *a, const void *b)
{
	const struct switched *left = a, *right = b;

	return (left->time > right->time) - (left->time < right->time);
}

/*
 * Threads move from CPU to CPU, so the rings must be merged. What came while they
 * were read, after @until, may not be complete: leave it for the next time.
 */
static int tell_switches(struct record_changes *changes, uint64_t until,
			 struct sframe_unwind_profile_writer *writer)
{
	struct switched *list = changes->switched;
	uint32_t nr = 0;
	int ret = 0;

	if (!changes->nr_switched)
		return 0;
	qsort(list, changes->nr_switched, sizeof(*list), compare);
	for (; nr < changes->nr_switched && list[nr].time <= until && !ret; nr++)
		ret = record_waiting_switch(changes->switches, list[nr].tid,
					    list[nr].time, list[nr].what,
					    writer);
	changes->nr_switched -= nr;
	memmove(list, list + nr, changes->nr_switched * sizeof(*list));
	return ret;
}

/*
 * Without a build ID, the record has device, inode number and the generation of the inode,
 * which differs if another file gets the same inode number.
 */
static struct object_inode get_inode(const struct record_changes *changes,
				     const struct sframe_unwind_profile_record *record)
{
	const unsigned char *at = changes->bytes +
				  sizeof(struct perf_event_header);

	if (record->kind != SFRAME_UNWIND_PROFILE_MAP || record->map.build_id_size)
		return (struct object_inode){ 0 };
	return (struct object_inode){
		.device = makedev(get_u32(at + 32), get_u32(at + 36)),
		.inode = get_u64(at + 40),
		.generation = get_u64(at + 48),
	};
}

static void add_file(struct record_changes *changes,
		     struct sframe_unwind_profile_record *record,
		     const struct object_inode *inode)
{
	if (record->kind != SFRAME_UNWIND_PROFILE_MAP)
		return;
	if (!record->map.build_id_size)
		record_files_complete(changes->files, record, inode->device,
				      inode->inode, inode->generation);
	record_files_add(changes->files, record);
}

static int write_one(struct record_changes *changes,
		     const struct perf_event_header *header,
		     struct sframe_unwind_profile_writer *writer)
{
	struct sframe_unwind_profile_record record;
	struct object_inode inode;

	if (header->type == PERF_RECORD_SWITCH ||
	    header->type == PERF_RECORD_SWITCH_CPU_WIDE) {
		add_switch(changes, header);
		return 0;
	}
	if (!parse(&record, changes->bytes))
		return 0;
	if (record.kind == SFRAME_UNWIND_PROFILE_LOST)
		changes->lost += record.lost;
	if (record.time > changes->latest)
		changes->latest = record.time;
	inode = get_inode(changes, &record);
	if (changes->files)
		add_file(changes, &record, &inode);
	if (changes->jit)
		record_jit_add(changes->jit, &record);
	copies_follow(changes->copies, &record, &inode);
	if (record.kind == SFRAME_UNWIND_PROFILE_EXIT && changes->switches)
		add_switched(changes, record.time, record.tid, RECORD_ENDED);
	return sframe_unwind_profile_write(writer, &record);
}

/*
 * Returns whether a record may not have fitted into the ring before what is behind @tail was read.
 * The kernel tells that only with the next record of the same CPU, which may come much later.
 */
static bool has_been_full(const struct ring *ring, uint64_t tail)
{
	/* What did not fit was written while the kernel saw the old tail. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) - tail >
	       RING_PAGES * page_size() - RECORD_MAX;
}

static int write_ring(struct record_changes *changes, const struct ring *ring,
		      struct sframe_unwind_profile_writer *writer)
{
	const uint64_t head = __atomic_load_n(&ring->page->data_head,
					      __ATOMIC_ACQUIRE);
	static const struct sframe_unwind_profile_record lost = {
		.kind = SFRAME_UNWIND_PROFILE_LOST,
	};
	const uint64_t begin = ring->page->data_tail;
	struct perf_event_header header;
	uint64_t tail = begin;
	int ret = 0;

	while (tail < head && !ret) {
		copy((unsigned char *)&header, ring, tail, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		copy(changes->bytes, ring, tail, header.size);
		changes->bytes[header.size] = '\0';
		ret = write_one(changes, &header, writer);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	if (has_been_full(ring, begin))
		copies_follow(changes->copies, &lost, NULL);
	return ret;
}

int record_changes_write(struct record_changes *changes,
			 struct sframe_unwind_profile_writer *writer,
			 uint64_t *latest)
{
	int ret = 0;

	if (changes->switches)
		record_waiting_begin_round(changes->switches);
	changes->until = now_ns();
	for (uint32_t i = 0; i < changes->nr && !ret; i++)
		if (changes->rings[i].page)
			ret = write_ring(changes, &changes->rings[i], writer);
	if (!ret)
		ret = tell_switches(changes, changes->until, writer);
	if (changes->latest > *latest)
		*latest = changes->latest;
	return ret;
}

bool record_changes_wait(struct record_changes *changes, struct pollfd *others, uint32_t nr,
			 int ms)
{
	struct pollfd *polled = changes->polled;
	bool has_changed = changes->is_silent;

	if (has_changed)
		return true;
	memcpy(polled + changes->nr, others, nr * sizeof(*others));
	if (poll(polled, changes->nr + nr, ms) <= 0)
		return false;
	for (uint32_t i = 0; i < changes->nr; i++) {
		has_changed |= !!(polled[i].revents & POLLIN);
		changes->is_silent |= !!(polled[i].revents & (POLLHUP | POLLERR));
	}
	memcpy(others, polled + changes->nr, nr * sizeof(*others));
	return has_changed;
}

uint64_t record_changes_until(const struct record_changes *changes)
{
	return changes->until;
}

uint64_t record_changes_lost(const struct record_changes *changes)
{
	return changes->lost;
}

void record_changes_close(struct record_changes *changes)
{
	if (!changes)
		return;
	for (uint32_t i = 0; i < changes->nr; i++)
		if (changes->rings[i].page)
			munmap(changes->rings[i].page,
			       (RING_PAGES + 1) * page_size());
	for (uint32_t i = 0; i < changes->nr_fds; i++)
		if (changes->fds[i] >= 0)
			close(changes->fds[i]);
	free(changes->rings);
	free(changes->polled);
	free(changes->switched);
	free(changes->fds);
	free(changes);
}
