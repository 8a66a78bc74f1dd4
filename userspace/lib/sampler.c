// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Samples at perf events, and the rings that they are read from.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handle.h"
#include "stack_map.h"

/**
 * struct ring - the ring of one CPU
 *
 * @control: its control page; another process that has it may write anything there.
 * @records: its records, mapped twice.
 * @cpu: number of the CPU.
 * @head: position up to which records may be read; of this round.
 * @tail: position of the first unread record.
 * @size: of the record at @tail; 0 if that has not been looked at.
 * @time: its time.
 */
struct ring {
	struct sframe_unwind_ring *control;
	const unsigned char *records;
	uint32_t cpu;
	uint64_t head;
	uint64_t tail;
	uint32_t size;
	uint64_t time;
};

/**
 * struct sframe_unwind_samples - a client that takes samples
 *
 * @fd: of the device.
 * @ring_size: bytes of records in a ring.
 * @copy: with SFRAME_UNWIND_SAMPLER_OVERWRITE, @ring_size bytes for the record that
 *	was returned last; else NULL.
 * @map: the stack map.
 * @file: the table of files, or NULL.
 * @max_files: number of its elements.
 * @last: the ring whose record was returned last, and is not freed yet; or NULL.
 * @nr: number of rings.
 * @ring: the rings.
 */
struct sframe_unwind_samples {
	int fd;
	size_t ring_size;
	unsigned char *copy;
	struct stack_map map;
	const struct sframe_unwind_file *file;
	uint32_t max_files;
	struct ring *last;
	unsigned int nr;
	struct ring ring[];
};

/* Map the ring of @cpu. Returns 0, or -EINVAL if there is no such CPU, or an errno. */
static int map_ring(struct sframe_unwind_samples *samples, uint32_t cpu)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring *ring = &samples->ring[samples->nr];
	void *control, *records;
	int err;

	control = mmap(NULL, page, samples->copy ? PROT_READ : PROT_READ | PROT_WRITE,
		       MAP_SHARED, samples->fd, (off_t)SFRAME_UNWIND_RING_CONTROL(cpu));
	if (control == MAP_FAILED)
		return -errno;
	records = mmap(NULL, 2 * samples->ring_size, PROT_READ, MAP_SHARED,
		       samples->fd, (off_t)SFRAME_UNWIND_RING_RECORDS(cpu));
	if (records == MAP_FAILED) {
		err = -errno;
		munmap(control, page);
		return err;
	}
	ring->control = control;
	ring->records = records;
	ring->cpu = cpu;
	samples->nr++;
	return 0;
}

static int map_rings(struct sframe_unwind_samples *samples, uint32_t nr_cpus)
{
	uint32_t cpu;
	int err;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		err = map_ring(samples, cpu);
		/* Numbers of CPUs may have gaps. */
		if (err && err != -EINVAL)
			return sfu_error_set(NULL, -err,
					     "the ring of CPU %u cannot be mapped: %s",
					     cpu, sfu_error_text(-err));
	}
	return 0;
}

static int map_stack_map(struct sframe_unwind_samples *samples, uint32_t pages)
{
	const int err = sfu_stack_map_open(&samples->map, samples->fd, pages);

	return err ? sfu_error_set(NULL, -err, "the stack map cannot be mapped: %s",
				   sfu_error_text(-err)) : 0;
}

static size_t size_of_files(uint32_t max)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t size = max * sizeof(struct sframe_unwind_file);

	return (size + page - 1) / page * page;
}

static int map_files(struct sframe_unwind_samples *samples, uint32_t max)
{
	void *at = mmap(NULL, size_of_files(max), PROT_READ, MAP_SHARED,
			samples->fd, (off_t)SFRAME_UNWIND_FILES);
	int err;

	if (at == MAP_FAILED) {
		err = errno;
		return sfu_error_set(NULL, err,
				     "the table of files cannot be mapped: %s",
				     sfu_error_text(err));
	}
	samples->file = at;
	samples->max_files = max;
	return 0;
}

/* Make the client of @fd, which is closed on failure. */
static int make_samples(struct sframe_unwind_samples **samples, int fd,
			struct sframe_unwind_sampler *how)
{
	struct sframe_unwind_samples *new;
	int err = 0;

	how->size = sizeof(*how);
	how->message = (uintptr_t)sfu_error_begin(NULL);
	how->message_size = ERROR_SIZE;
	if (ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, how)) {
		err = errno == ENOTTY ? EOPNOTSUPP : errno;
		err = sfu_error_end(err, "sampler");
		close(fd);
		return err;
	}
	new = calloc(1, sizeof(*new) + how->nr_cpus * sizeof(new->ring[0]));
	if (!new) {
		close(fd);
		return sfu_error_set(NULL, ENOMEM, "no memory for the rings");
	}
	new->fd = fd;
	new->ring_size = how->ring_pages * (size_t)sysconf(_SC_PAGESIZE);
	if (how->flags & SFRAME_UNWIND_SAMPLER_OVERWRITE) {
		new->copy = malloc(new->ring_size);
		if (!new->copy)
			err = sfu_error_set(NULL, ENOMEM, "no memory for a record");
	}
	if (!err)
		err = map_rings(new, how->nr_cpus);
	if (!err && how->flags & SFRAME_UNWIND_SAMPLER_STACK_MAP)
		err = map_stack_map(new, how->map_pages);
	if (!err && how->flags & SFRAME_UNWIND_SAMPLER_BUILD_IDS)
		err = map_files(new, how->max_files);
	if (err) {
		sframe_unwind_sampler_close(new);
		return err;
	}
	*samples = new;
	return 0;
}

int sframe_unwind_sampler_open(struct sframe_unwind_samples **samples,
			       struct sframe_unwind_sampler *how)
{
	int fd, err;

	*samples = NULL;
	fd = open(SFRAME_UNWIND_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		err = errno;
		return sfu_error_set(NULL, err, "%s: %s", SFRAME_UNWIND_DEVICE,
				     sfu_error_text(err));
	}
	return make_samples(samples, fd, how);
}

void sframe_unwind_sampler_close(struct sframe_unwind_samples *samples)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned int i;

	if (!samples)
		return;
	for (i = 0; i < samples->nr; i++) {
		munmap(samples->ring[i].control, page);
		munmap((void *)samples->ring[i].records, 2 * samples->ring_size);
	}
	sfu_stack_map_close(&samples->map);
	if (samples->file)
		munmap((void *)samples->file, size_of_files(samples->max_files));
	close(samples->fd);
	free(samples->copy);
	free(samples);
}

int sframe_unwind_sampler_fd(const struct sframe_unwind_samples *samples)
{
	return samples->fd;
}

int sframe_unwind_sampler_add(struct sframe_unwind_samples *samples, int perf_fd,
			      unsigned int flags, unsigned int fields,
			      uint32_t *id)
{
	struct sframe_unwind_sample_event event = {
		.size = sizeof(event),
		.flags = flags,
		.perf_fd = perf_fd,
		.fields = fields,
		.message = (uintptr_t)sfu_error_begin(NULL),
		.message_size = ERROR_SIZE,
	};

	if (ioctl(samples->fd, SFRAME_UNWIND_IOC_SAMPLE, &event))
		return sfu_error_end(errno, "sample");
	if (id)
		*id = event.id;
	return 0;
}

int sframe_unwind_sampler_control(struct sframe_unwind_samples *samples,
				  unsigned int flags, uint32_t id)
{
	struct sframe_unwind_sample_control control = {
		.size = sizeof(control),
		.flags = flags,
		.id = id,
		.message = (uintptr_t)sfu_error_begin(NULL),
		.message_size = ERROR_SIZE,
	};

	if (ioctl(samples->fd, SFRAME_UNWIND_IOC_SAMPLE_CONTROL, &control))
		return sfu_error_end(errno, "sample control");
	return 0;
}

int sframe_unwind_sampler_stats(struct sframe_unwind_samples *samples,
				struct sframe_unwind_sample_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	sfu_error_begin(NULL);
	if (ioctl(samples->fd, SFRAME_UNWIND_IOC_SAMPLE_STATS, stats))
		return sfu_error_end(errno, "sample stats");
	return 0;
}

int sframe_unwind_sampler_copy_stats(struct sframe_unwind_samples *samples,
				     struct sframe_unwind_sample_copy_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->stats.size = sizeof(*stats);
	sfu_error_begin(NULL);
	if (ioctl(samples->fd, SFRAME_UNWIND_IOC_SAMPLE_STATS, stats))
		return sfu_error_end(errno, "sample stats");
	return 0;
}

int sframe_unwind_sampler_clear(struct sframe_unwind_samples *samples)
{
	struct sframe_unwind_clear_stack_map clear = {
		.size = sizeof(clear),
		.message = (uintptr_t)sfu_error_begin(NULL),
		.message_size = ERROR_SIZE,
	};

	if (ioctl(samples->fd, SFRAME_UNWIND_IOC_CLEAR_STACK_MAP, &clear))
		return sfu_error_end(errno, "clear stack map");
	return 0;
}

int sframe_unwind_sampler_counts(const struct sframe_unwind_samples *samples,
				 bool previous,
				 int (*each)(const struct sframe_unwind_map_count *count,
					     void *data),
				 void *data)
{
	return samples->map.control ?
		       sfu_stack_map_counts(&samples->map, previous, each, data) :
		       -ENOENT;
}

const struct sframe_unwind_file *
sframe_unwind_sampler_file(const struct sframe_unwind_samples *samples,
			   uint64_t place)
{
	const uint64_t index = (place & ~SFRAME_UNWIND_PLACE_FILE) >>
			       SFRAME_UNWIND_PLACE_FILE_SHIFT;
	const struct sframe_unwind_file *file;

	if (!(place & SFRAME_UNWIND_PLACE_FILE) || index >= samples->max_files)
		return NULL;
	file = &samples->file[index];
	/* Pairs with the kernel's release: the build ID is there. */
	return __atomic_load_n(&file->build_id_size, __ATOMIC_ACQUIRE) ? file : NULL;
}

int sframe_unwind_sampler_find(const struct sframe_unwind_samples *samples,
			       uint32_t id,
			       const struct sframe_unwind_map_entry **stack)
{
	*stack = sfu_stack_map_find(&samples->map, id);
	return *stack ? 0 : -ENOENT;
}

/* Tell the kernel that everything before ring->tail has been read. */
static void give_back(const struct sframe_unwind_samples *samples,
		      struct ring *ring)
{
	if (samples->copy)
		return;
	__atomic_store_n(&ring->control->tail, ring->tail, __ATOMIC_RELEASE);
}

/* Drop what is in @ring. */
static int drop_records(const struct sframe_unwind_samples *samples,
			struct ring *ring)
{
	ring->tail = ring->head;
	ring->size = 0;
	give_back(samples, ring);
	return -EBADMSG;
}

/*
 * Returns false if the record at the tail has not been overwritten, so that what was
 * read of it before this call is valid. Else moves the tail to the oldest record, and
 * returns true.
 */
static bool is_overwritten(const struct sframe_unwind_samples *samples,
			   struct ring *ring)
{
	uint64_t oldest;

	if (!samples->copy)
		return false;
	/* Pairs with the kernel's barrier between @oldest and the new record. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	oldest = __atomic_load_n(&ring->control->oldest, __ATOMIC_ACQUIRE);
	if ((int64_t)(oldest - ring->tail) <= 0)
		return false;
	ring->tail = oldest;
	ring->size = 0;
	return true;
}

/* Load ring->head. Returns 0, or -EBADMSG if the kernel cannot have written it. */
static int load_head(struct sframe_unwind_samples *samples, struct ring *ring)
{
	is_overwritten(samples, ring);
	/* Pairs with the kernel's release: the records are complete. */
	ring->head = __atomic_load_n(&ring->control->head, __ATOMIC_ACQUIRE);
	/* With overwriting, it may be more: records may have been overwritten since. */
	if ((samples->copy || ring->head - ring->tail <= samples->ring_size) &&
	    ring->head % 8 == 0)
		return 0;
	ring->head -= ring->head % 8;
	return drop_records(samples, ring);
}

static const void *at_tail(const struct sframe_unwind_samples *samples,
			   const struct ring *ring)
{
	return ring->records + (ring->tail & (samples->ring_size - 1));
}

/*
 * Set size and time of the record at the tail, if there is one before ring->head. If all
 * records before ring->head have been overwritten, with @load the head is loaded again.
 * Returns 0 or -EBADMSG.
 */
static int look_at_tail(const struct sframe_unwind_samples *samples,
			struct ring *ring, bool load)
{
	struct sframe_unwind_user_stack record;

	if (ring->size || ring->tail == ring->head)
		return 0;
	do {
		/* The oldest record may be one that came after the head was loaded. */
		if ((int64_t)(ring->head - ring->tail) < (int64_t)sizeof(record)) {
			if (!samples->copy)
				return drop_records(samples, ring);
			ring->head = load ?
				     __atomic_load_n(&ring->control->head,
						     __ATOMIC_ACQUIRE) :
				     ring->tail;
			if (ring->tail == ring->head)
				return 0;
		}
		/* What all types of records begin with. */
		memcpy(&record, at_tail(samples, ring), sizeof(record));
	} while (is_overwritten(samples, ring));
	if (record.record.size < sizeof(record) || record.record.size % 8 ||
	    record.record.size > ring->head - ring->tail)
		return drop_records(samples, ring);
	ring->size = record.record.size;
	ring->time = record.time;
	return 0;
}

_Static_assert(offsetof(struct sframe_unwind_sample, time) ==
	       offsetof(struct sframe_unwind_user_stack, time), "time");

/*
 * Find the ring with the oldest record. Returns 0 with *@oldest, which is NULL if
 * there are no records, or -EBADMSG.
 */
static int find_oldest(struct sframe_unwind_samples *samples, bool load,
		       struct ring **oldest)
{
	unsigned int i;
	int err;

	*oldest = NULL;
	for (i = 0; i < samples->nr; i++) {
		struct ring *ring = &samples->ring[i];

		err = load ? load_head(samples, ring) : 0;
		if (!err)
			err = look_at_tail(samples, ring, load);
		if (err)
			return err;
		if (ring->size && (!*oldest || ring->time < (*oldest)->time))
			*oldest = ring;
	}
	return 0;
}

/* Go on to the record behind the one at the tail. */
static void skip_record(const struct sframe_unwind_samples *samples,
			struct ring *ring)
{
	ring->tail += ring->size;
	ring->size = 0;
	give_back(samples, ring);
}

/* Types of records that are not known are not returned. */
static bool is_known(const struct sframe_unwind_record *record)
{
	return record->type == SFRAME_UNWIND_RECORD_SAMPLE ||
	       record->type == SFRAME_UNWIND_RECORD_SHORT_SAMPLE ||
	       record->type == SFRAME_UNWIND_RECORD_USER_STACK;
}

/*
 * Returns the record at the tail; or NULL if it was overwritten, and the tail has
 * been moved on.
 */
static const void *take_record(const struct sframe_unwind_samples *samples,
			       struct ring *ring)
{
	if (!samples->copy)
		return at_tail(samples, ring);
	memcpy(samples->copy, at_tail(samples, ring), ring->size);
	return is_overwritten(samples, ring) ? NULL : samples->copy;
}

int sframe_unwind_sampler_read(struct sframe_unwind_samples *samples,
			       struct sframe_unwind_sample_record *record)
{
	struct ring *ring = samples->last;
	const void *from;
	int err;

	do {
		if (ring)
			skip_record(samples, ring);
		samples->last = NULL;
		/*
		 * Load the heads only when all records up to the last ones are
		 * read: else those of the first rings would be read before older
		 * ones of others.
		 */
		err = find_oldest(samples, false, &ring);
		if (!err && !ring)
			err = find_oldest(samples, true, &ring);
		if (err || !ring)
			return err;
		from = take_record(samples, ring);
	} while (!from || !is_known(from));

	err = sframe_unwind_sample_parse(from, ring->size, record);
	if (err)
		return drop_records(samples, ring);
	sfu_stack_map_resolve(&samples->map, record);
	record->cpu = ring->cpu;
	samples->last = ring;
	return 1;
}

const struct sframe_unwind_stack_copy *
sframe_unwind_sampler_copy(const struct sframe_unwind_samples *samples, uint32_t *size)
{
	const struct ring *ring = samples->last;

	*size = 0;
	if (!ring)
		return NULL;
	return sframe_unwind_sample_copy(samples->copy ? samples->copy :
							 at_tail(samples, ring),
					 ring->size, size);
}
