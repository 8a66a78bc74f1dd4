/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples: perf events, a client that samples at them, and its records.
 */
#ifndef SELFTESTS_SAMPLED_H
#define SELFTESTS_SAMPLED_H

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>

#include "common.h"

#define MAX_CPUS	8
#define MAX_KERNEL	127
#define MAX_COPY	8192

/* A client that takes samples, with the rings of all CPUs mapped. */
struct sampled {
	int fd;
	unsigned int nr_cpus;
	size_t ring_size;
	struct sframe_unwind_ring *control[MAX_CPUS];
	const unsigned char *records[MAX_CPUS];
	const struct sframe_unwind_stack_map *map;	/* or NULL */
	size_t map_size;
	unsigned int next;		/* ring that is read next */
	char message[192];
};

/* A record, taken apart. */
struct taken {
	unsigned int type;
	unsigned int cpu;
	struct sframe_unwind_sample head;	/* of either type */
	__u64 period, address, cookie;
	__u32 user_id, kernel_id;		/* in the stack map */
	__u64 ip, sp, fp;			/* registers */
	unsigned int nr_kernel, nr_user;
	__u64 kernel[MAX_KERNEL];
	__u64 user[MAX_FRAMES];
	__u8 how[MAX_FRAMES];
	unsigned char raw[256];
	unsigned int raw_size;
	struct sframe_unwind_stack_copy copy;	/* all 0 if there is none */
	__u64 stack[MAX_COPY / 8];		/* the first bytes of its stack */
};

static inline int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	attr->size = sizeof(*attr);
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1,
		       PERF_FLAG_FD_CLOEXEC);
}

/* The clock of the CPU, every @period ns. */
static inline struct perf_event_attr cpu_clock(__u64 period)
{
	return (struct perf_event_attr) {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period,
	};
}

/* Every event of the software counter @config. */
static inline struct perf_event_attr software(__u64 config)
{
	return (struct perf_event_attr) {
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.sample_period = 1,
	};
}

/* Every event of a tracepoint, "group/name"; its config is 0 if there is none. */
static inline struct perf_event_attr tracepoint(const char *name)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
	};
	unsigned long long id = 0;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	file = fopen(path, "re");
	if (file && fscanf(file, "%llu", &id) != 1)
		id = 0;
	if (file)
		fclose(file);
	attr.config = id;
	return attr;
}

/* Cause @nr page faults. Returns the address of the last one. */
static inline __u64 fault(unsigned int nr)
{
	char *pages = mmap(NULL, nr * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	madvise(pages, nr * PAGE, MADV_NOHUGEPAGE);
	for (unsigned int i = 0; i < nr; i++)
		((volatile char *)pages)[i * PAGE] = 1;
	munmap(pages, nr * PAGE);
	return (uintptr_t)pages + (nr - 1) * PAGE;
}

/*
 * Stay on CPU 0: rings are read one after the other, so that records of another CPU may come
 * earlier than older ones of this.
 */
static inline bool stay_on_one_cpu(void)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	return !sched_setaffinity(0, sizeof(cpu), &cpu);
}

static inline struct sframe_unwind_sampler sampler_of_pages(__u32 pages)
{
	return (struct sframe_unwind_sampler) {
		.size = sizeof(struct sframe_unwind_sampler),
		.ring_pages = pages,
		.clockid = CLOCK_MONOTONIC,
	};
}

static inline void *map_control(int fd, unsigned int cpu)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    SFRAME_UNWIND_RING_CONTROL(cpu));
}

static inline void *map_records(int fd, unsigned int cpu, size_t size)
{
	return mmap(NULL, 2 * size, PROT_READ, MAP_SHARED, fd,
		    SFRAME_UNWIND_RING_RECORDS(cpu));
}

static inline void *map_stack_map(int fd, size_t size, int prot)
{
	return mmap(NULL, size, prot, MAP_SHARED, fd, SFRAME_UNWIND_STACK_MAP);
}

/* Let the client @fd take samples as @sampler says. Returns NULL or an error. */
static inline const char *start_sampled_by(int fd, struct sampled *s,
					   struct sframe_unwind_sampler *sampler)
{
	unsigned int cpu;

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	s->ring_size = sampler->ring_pages * PAGE;
	sampler->message = (uintptr_t)s->message;
	sampler->message_size = sizeof(s->message);
	if (s->fd < 0 || ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLER, sampler))
		return s->message;
	s->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	if (s->nr_cpus > MAX_CPUS || s->nr_cpus > sampler->nr_cpus)
		return "too many CPUs";
	for (cpu = 0; cpu < s->nr_cpus; cpu++) {
		s->control[cpu] = map_control(s->fd, cpu);
		s->records[cpu] = map_records(s->fd, cpu, s->ring_size);
		if (s->control[cpu] == MAP_FAILED ||
		    s->records[cpu] == MAP_FAILED)
			return "mmap failed";
	}
	s->map_size = (1 + 2 * sampler->map_pages) * PAGE;
	if (sampler->map_pages)
		s->map = map_stack_map(s->fd, s->map_size, PROT_READ);
	return s->map == MAP_FAILED ? "mmap of the stack map failed" : NULL;
}

/* Likewise, a new client. */
static inline const char *start_sampled(struct sampled *s,
					struct sframe_unwind_sampler *sampler)
{
	return start_sampled_by(open_client(0), s, sampler);
}

static inline void end_sampled(struct sampled *s)
{
	for (unsigned int cpu = 0; cpu < s->nr_cpus; cpu++) {
		munmap(s->control[cpu], PAGE);
		munmap((void *)s->records[cpu], 2 * s->ring_size);
	}
	if (s->map)
		munmap((void *)s->map, s->map_size);
	close(s->fd);
}

#define ASSERT_SAMPLED(s, pages)					\
	do {								\
		struct sframe_unwind_sampler sampler_ =			\
			sampler_of_pages(pages);			\
		const char *why_ = start_sampled(s, &sampler_);		\
		ASSERT_EQ(NULL, why_)					\
		{							\
			TH_LOG("%s: %s", why_, strerror(errno));	\
		}							\
	} while (0)

/* Sample at the perf event @perf_fd. Returns its id, or -1 with s->message. */
static inline int sample_fd(struct sampled *s, int perf_fd, __u32 fields,
			    __u32 flags)
{
	struct sframe_unwind_sample_event event = {
		.size = sizeof(event),
		.flags = flags,
		.perf_fd = perf_fd,
		.fields = fields,
		.message = (uintptr_t)s->message,
		.message_size = sizeof(s->message),
	};

	if (ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLE, &event))
		return -1;
	return event.id;
}

/* Sample at a new perf event, which is closed again. */
static inline int sample_at(struct sampled *s, struct perf_event_attr *attr,
			    pid_t pid, int cpu, __u32 fields)
{
	int perf_fd = perf_open(attr, pid, cpu), id;

	if (perf_fd < 0) {
		snprintf(s->message, sizeof(s->message), "perf_event_open: %s",
			 strerror(errno));
		return -1;
	}
	id = sample_fd(s, perf_fd, fields, 0);
	close(perf_fd);
	return id;
}

static inline int control(struct sampled *s, __u32 flags, __u32 id)
{
	struct sframe_unwind_sample_control arg = {
		.size = sizeof(arg),
		.flags = flags,
		.id = id,
	};

	return ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLE_CONTROL, &arg);
}

static inline int start(struct sampled *s)
{
	return control(s, SFRAME_UNWIND_SAMPLE_START, 0);
}

static inline int stop(struct sampled *s)
{
	return control(s, SFRAME_UNWIND_SAMPLE_STOP, 0);
}

static inline int sample_stats(struct sampled *s,
			       struct sframe_unwind_sample_stats *stats)
{
	memset(stats, 0xa5, sizeof(*stats));
	stats->size = sizeof(*stats);
	return ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLE_STATS, stats);
}

static inline int sample_copy_stats(struct sampled *s,
				    struct sframe_unwind_sample_copy_stats *stats)
{
	memset(stats, 0xa5, sizeof(*stats));
	stats->stats.size = sizeof(*stats);
	return ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLE_STATS, stats);
}

/* Whether the sums that always hold do. Sampling must be stopped. */
static inline bool adds_up(const struct sframe_unwind_sample_stats *stats)
{
	return stats->seen == stats->samples + stats->lost_full +
			      stats->lost_no_ring + stats->lost_recursion &&
	       stats->stacks_asked == stats->stacks + stats->stacks_pending +
				      stats->stacks_lost &&
	       stats->samples >= stats->at_once + stats->later + stats->refused;
}

#define EXPECT_ADDS_UP(s)						\
	do {								\
		struct sframe_unwind_sample_stats stats_;		\
		EXPECT_EQ(0, sample_stats(s, &stats_));			\
		EXPECT_TRUE(adds_up(&stats_))				\
		{							\
			TH_LOG("seen %llu = %llu + full %llu + ring %llu + recursion %llu?", \
			       stats_.seen, stats_.samples, stats_.lost_full, \
			       stats_.lost_no_ring, stats_.lost_recursion); \
			TH_LOG("asked %llu = %llu + pending %llu + lost %llu?", \
			       stats_.stacks_asked, stats_.stacks,	\
			       stats_.stacks_pending, stats_.stacks_lost); \
		}							\
	} while (0)

static inline const __u64 *take_frames(struct taken *t, const __u64 *word)
{
	unsigned int i;

	memcpy(t->user, word, t->nr_user * 8);
	word += t->nr_user;
	for (i = 0; i < t->nr_user; i++)
		t->how[i] = i ? SFRAME_UNWIND_FRAME_SFRAME :
				SFRAME_UNWIND_FRAME_REGS;
	if (t->head.fields & SFRAME_UNWIND_SAMPLE_HOW) {
		memcpy(t->how, word, t->nr_user);
		word += (t->nr_user + 7) / 8;
	}
	return word;
}

static inline const __u64 *take_sample_apart(struct taken *t, const void *from)
{
	const __u64 *word = from + sizeof(t->head);

	memcpy(&t->head, from, sizeof(t->head));
	t->nr_kernel = t->head.nr_kernel;
	t->nr_user = t->head.nr_user;
	t->raw_size = t->head.raw_size;
	if (t->nr_kernel > MAX_KERNEL || t->nr_user > MAX_FRAMES)
		return NULL;
	if (t->head.fields & SFRAME_UNWIND_SAMPLE_PERIOD)
		t->period = *word++;
	if (t->head.fields & SFRAME_UNWIND_SAMPLE_ADDRESS)
		t->address = *word++;
	if (t->head.fields & SFRAME_UNWIND_SAMPLE_REGISTERS) {
		t->ip = *word++;
		t->sp = *word++;
		t->fp = *word++;
	}
	if (t->head.fields & SFRAME_UNWIND_SAMPLE_COOKIE)
		t->cookie = *word++;
	if (t->head.fields & SFRAME_UNWIND_SAMPLE_MAPPED) {
		t->user_id = *word;
		t->kernel_id = *word++ >> 32;
	}
	memcpy(t->kernel, word, t->nr_kernel * 8);
	word = take_frames(t, word + t->nr_kernel);
	if (t->raw_size <= sizeof(t->raw))
		memcpy(t->raw, word, t->raw_size);
	return word + (t->raw_size + 7) / 8;
}

static inline const __u64 *take_short_apart(struct taken *t, const void *from)
{
	struct sframe_unwind_short_sample sample;

	memcpy(&sample, from, sizeof(sample));
	t->head.record = sample.record;
	t->head.time = sample.time;
	t->head.pid = sample.pid;
	t->head.tid = sample.tid;
	t->head.event = sample.event;
	t->head.entry_nr = sample.entry_nr;
	t->head.entry = sample.entry;
	t->head.user = sample.user;
	t->head.stop = sample.stop;
	t->head.kernel_cut = sample.kernel_cut;
	t->user_id = sample.user_id;
	t->kernel_id = sample.kernel_id;
	t->type = SFRAME_UNWIND_RECORD_SAMPLE;
	if (sample.record.size == sizeof(sample))
		return from + sizeof(sample);
	memcpy(&t->cookie, from + sizeof(sample), sizeof(t->cookie));
	t->head.fields = SFRAME_UNWIND_SAMPLE_COOKIE;
	return from + sizeof(sample) + sizeof(t->cookie);
}

static inline const __u64 *take_copy(struct taken *t, const void *from)
{
	memcpy(&t->copy, from, sizeof(t->copy));
	memcpy(t->stack, from + sizeof(t->copy),
	       t->copy.size < MAX_COPY ? t->copy.size : MAX_COPY);
	return from + sizeof(t->copy) + t->copy.size;
}

static inline const __u64 *take_stack_apart(struct taken *t, const void *from)
{
	struct sframe_unwind_user_stack stack;
	const __u64 *word = from + sizeof(stack);

	memcpy(&stack, from, sizeof(stack));
	t->head.record = stack.record;
	t->head.time = stack.time;
	t->head.pid = stack.pid;
	t->head.tid = stack.tid;
	t->head.fields = stack.fields;
	t->head.stop = stack.stop;
	t->cookie = stack.cookie;
	t->nr_user = stack.nr_user;
	if (stack.fields & SFRAME_UNWIND_SAMPLE_MAPPED) {
		t->user_id = *word++;
	} else {
		if (t->nr_user > MAX_FRAMES)
			return NULL;
		word = take_frames(t, word);
	}
	return stack.fields & SFRAME_UNWIND_SAMPLE_COPY ? take_copy(t, word) : word;
}

/*
 * Take the next record of the ring of @cpu apart. Returns 1; 0 if there is none;
 * or -1 if it is invalid.
 */
static inline int take_from(struct sampled *s, unsigned int cpu,
			    struct taken *t)
{
	struct sframe_unwind_ring *ring = s->control[cpu];
	const __u64 head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	const __u64 tail = ring->tail;
	const void *from = s->records[cpu] + tail % s->ring_size;
	const struct sframe_unwind_record *record = from;
	const __u64 *end = NULL;

	if (tail == head)
		return 0;
	memset(t, 0, sizeof(*t));
	t->cpu = cpu;
	t->type = record->type;
	if (record->size % 8 || record->size > head - tail || record->reserved)
		return -1;
	if (t->type == SFRAME_UNWIND_RECORD_SAMPLE)
		end = take_sample_apart(t, from);
	else if (t->type == SFRAME_UNWIND_RECORD_USER_STACK)
		end = take_stack_apart(t, from);
	else if (t->type == SFRAME_UNWIND_RECORD_SHORT_SAMPLE)
		end = take_short_apart(t, from);
	if ((const void *)end != from + record->size)
		return -1;
	__atomic_store_n(&ring->tail, tail + record->size, __ATOMIC_RELEASE);
	return 1;
}

/* Take the next record of any ring apart. Returns as take_from(). */
static inline int take(struct sampled *s, struct taken *t)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < s->nr_cpus; i++) {
		ret = take_from(s, s->next, t);
		if (!ret)
			s->next = (s->next + 1) % s->nr_cpus;
	}
	return ret;
}

/* Take the next sample, skipping stacks. Returns as take_from(). */
static inline int take_sample(struct sampled *s, struct taken *t)
{
	int ret;

	do {
		ret = take(s, t);
	} while (ret == 1 && t->type != SFRAME_UNWIND_RECORD_SAMPLE);
	return ret;
}

#endif /* SELFTESTS_SAMPLED_H */
