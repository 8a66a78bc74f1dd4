// SPDX-License-Identifier: GPL-2.0
/*
 * The trace events of samples: stacks that are taken at once, and what is lost. And
 * samples at the trace events of the module itself, and at probes inside its walk: nothing
 * loops, and the sums are exact.
 */
#include "attached.h"
#include "process.h"
#include "sampled.h"
#include "trace_events.h"

#define FAULTS	64

/* What the module has counted, in the order of names[]. */
struct counts {
	long of[6];
};

static const char * const names[6] = {
	"total_accepted", "total_delivered", "total_lost_full",
	"total_lost_closed", "total_untraced", "total_walks",
};

#define MEMBERS								\
	struct sampled s;						\
	struct traced t;						\
	struct taken taken;						\
	struct sframe_unwind_sample_stats stats;			\
	struct counts before;						\
	struct trace_line line;						\
	__u64 ips[MAX_FRAMES];						\
	bool offline

FIXTURE(events)
{
	MEMBERS;
};

FIXTURE(own)
{
	MEMBERS;
};

static struct counts read_counts(void)
{
	struct counts counts;

	for (unsigned int i = 0; i < 6; i++)
		counts.of[i] = module_counter(names[i]);
	return counts;
}

/* With one CPU: QEMU can execute code that another one has just modified. */
#define SET_UP()							\
	do {								\
		self->offline = set_online(1, 0);			\
		ASSERT_SAMPLED(&self->s, 256);				\
		ASSERT_ATTACHED(self->s.fd, 0);				\
		ASSERT_TRUE(start_traced(&self->t, TRACED_EVENTS, 16384)); \
		self->before = read_counts();				\
	} while (0)

#define TEAR_DOWN()							\
	do {								\
		end_sampled(&self->s);					\
		end_traced(&self->t);					\
		if (self->offline)					\
			set_online(1, 1);				\
	} while (0)

FIXTURE_SETUP(events)
{
	SET_UP();
}

FIXTURE_TEARDOWN(events)
{
	TEAR_DOWN();
}

static __u64 lost_by(const struct traced *t, const char *reason)
{
	return sum_of(t, "lost", "count", "reason", reason);
}

/* The next event of a stack that was taken at once. */
static bool next_at_once(const struct traced *t, struct trace_line *line)
{
	while (next_line(t, "stack", line)) {
		if (field_number(line, "at_once"))
			return true;
	}
	return false;
}

static struct perf_event_attr page_faults(void)
{
	return software(PERF_COUNT_SW_PAGE_FAULTS);
}

/* Stacks taken at once, and those that follow, are those of the records. */
TEST_F(events, stacks)
{
	struct perf_event_attr attr = page_faults();
	struct trace_line line = {};
	unsigned int at_once = 0, later = 0, nr;
	int ret;

	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	fault(FAULTS);
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	while ((ret = take(&self->s, &self->taken)) == 1) {
		const struct sframe_unwind_sample *head = &self->taken.head;

		if (self->taken.type == SFRAME_UNWIND_RECORD_USER_STACK) {
			later++;
			nr = traced_stack(&self->t, self->taken.cookie, false,
					  self->ips, &self->line);
		} else if (head->user == SFRAME_UNWIND_USER_AT_ONCE) {
			at_once++;
			ASSERT_TRUE(next_at_once(&self->t, &line));
			self->line = line;
			EXPECT_EQ(0, field_number(&line, "cookie"));
			EXPECT_EQ(0, field_number(&line, "first"));
			nr = field_ips(&line, self->ips, MAX_FRAMES);
		} else {
			continue;
		}
		ASSERT_EQ(self->taken.nr_user, nr);
		EXPECT_EQ(0, memcmp(self->taken.user, self->ips, nr * 8));
		EXPECT_EQ(head->pid, field_number(&self->line, "pid"));
		EXPECT_EQ(head->tid, field_number(&self->line, "tid"));
		EXPECT_TRUE(field_is(&self->line, "stop", "complete"));
	}
	ASSERT_EQ(0, ret);
	EXPECT_FALSE(next_at_once(&self->t, &line));
	EXPECT_EQ(self->stats.at_once, at_once);
	EXPECT_EQ(self->stats.stacks, later);
	EXPECT_LT(0, later);
	EXPECT_EQ(self->stats.stacks_asked,
		  sum_of(&self->t, "request", NULL, NULL, NULL));
	/* Kernels that do not tell whether mappings have changed, such as 6.1. */
	if (!at_once)
		SKIP(return, "no stack is taken at once");
}

/* Also those that are in the stack map. */
TEST_F(events, mapped)
{
	struct sframe_unwind_sampler sampler = sampler_of_pages(16);
	struct perf_event_attr attr = page_faults();
	struct trace_line line = {};
	unsigned int nr = 0;

	end_sampled(&self->s);
	sampler.map_pages = 16;
	sampler.flags = SFRAME_UNWIND_SAMPLER_STACK_MAP;
	ASSERT_EQ(NULL, start_sampled(&self->s, &sampler));
	ASSERT_ATTACHED(self->s.fd, 0);
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	fault(FAULTS);
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	while (next_at_once(&self->t, &line)) {
		nr++;
		EXPECT_LE(2, field_ips(&line, self->ips, MAX_FRAMES));
	}
	EXPECT_EQ(self->stats.at_once, nr);
	if (!nr)
		SKIP(return, "no stack is taken at once");
}

TEST_F(events, lost_samples)
{
	struct perf_event_attr attr = page_faults();

	end_sampled(&self->s);
	ASSERT_SAMPLED(&self->s, 1);
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	fault(4 * FAULTS);
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_LT(0, self->stats.lost_full);
	EXPECT_EQ(self->stats.lost_full, lost_by(&self->t, "sample_full"));
	EXPECT_EQ(self->stats.stacks_lost, lost_by(&self->t, "full"));
}

TEST_F(events, no_ring)
{
	struct sframe_unwind_sampler sampler = sampler_of_pages(1);
	struct perf_event_attr attr = page_faults();
	struct sampled other = { .fd = open_client(0) };

	ASSERT_EQ(0, ioctl(other.fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler));
	ASSERT_LT(0, sample_at(&other, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&other));
	fault(FAULTS);
	ASSERT_EQ(0, stop(&other));
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_EQ(0, sample_stats(&other, &self->stats));
	EXPECT_LE(FAULTS, self->stats.lost_no_ring);
	EXPECT_EQ(self->stats.lost_no_ring, lost_by(&self->t, "sample_no_ring"));
	close(other.fd);
}

/*
 * Samples at the events of a request and its stack do not request the stack again, and so
 * cause no other event of the same cookie. With build IDs no stack is taken at once.
 */
TEST_F(events, one_stack)
{
	struct perf_event_attr at_request = tracepoint("sframe_unwind/request");
	struct perf_event_attr at_stack = tracepoint("sframe_unwind/stack");
	struct sframe_unwind_sampler sampler = sampler_of_pages(16);
	struct sframe_unwind_request req = request_self();
	const int fd = open_client(0);
	struct stack stack;

	end_sampled(&self->s);
	sampler.flags = SFRAME_UNWIND_SAMPLER_BUILD_IDS;
	sampler.max_files = 1;
	ASSERT_EQ(NULL, start_sampled(&self->s, &sampler));
	ASSERT_ATTACHED(fd, 0);
	ASSERT_LT(0, sample_at(&self->s, &at_request, 0, -1, 0));
	ASSERT_LT(0, sample_at(&self->s, &at_stack, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	ASSERT_EQ(0, request(fd, &req));
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_STACK(fd, &stack);
	close(fd);
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_ADDS_UP(&self->s);
	ASSERT_TRUE(stop_traced(&self->t));
	EXPECT_EQ(2, self->stats.refused);
	EXPECT_EQ(0, self->stats.stacks_asked);
	EXPECT_EQ(1, find_line(&self->t, "request", "cookie", req.cookie,
			       &self->line));
	EXPECT_EQ(1, find_line(&self->t, "stack", "cookie", req.cookie,
			       &self->line));
	EXPECT_EQ(1, sum_of(&self->t, "stack", NULL, NULL, NULL));
}

/* --- samples at what the module itself does */

FIXTURE_VARIANT(own)
{
	/* Tracepoints, or functions if there is no slash. */
	const char *at[4];
	bool at_lost;
};

FIXTURE_SETUP(own)
{
	SET_UP();
}

FIXTURE_TEARDOWN(own)
{
	TEAR_DOWN();
}

FIXTURE_VARIANT_ADD(own, none) {
};

FIXTURE_VARIANT_ADD(own, stack) {
	.at = { "sframe_unwind/stack" },
};

FIXTURE_VARIANT_ADD(own, request) {
	.at = { "sframe_unwind/request" },
};

FIXTURE_VARIANT_ADD(own, all_of_them) {
	.at = { "sframe_unwind/stack", "sframe_unwind/request",
		"sframe_unwind/lost" },
	.at_lost = true,
};

/* Inside of requesting, walking, delivering, and of taking a sample. */
FIXTURE_VARIANT_ADD(own, walk) {
	.at = { "sfu_walk_user", "sfu_consumer_begin", "sfu_consumer_deliver",
		"sfu_walk_at_once" },
};

FIXTURE_VARIANT_ADD(own, tracing) {
	.at = { "sfu_trace_stack_now", "sfu_trace_request_now",
		"sframe_unwind/stack", "sfu_sampler_stack" },
};

static struct perf_event_attr kprobe(const char *function)
{
	struct perf_event_attr attr = {
		.config1 = (uintptr_t)function,
		.sample_period = 1,
	};
	FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "re");

	if (file && fscanf(file, "%u", &attr.type) != 1)
		attr.type = 0;
	if (file)
		fclose(file);
	return attr;
}

/*
 * Everything that was accepted, delivered, taken at once or lost is an event, or counted
 * as an event that was not traced.
 */
TEST_F(own, sums)
{
	struct sframe_unwind_request req = request_self();
	struct perf_event_attr faults = page_faults(), clock = cpu_clock(200000);
	struct counts now;
	__u64 happened, traced, untraced, told;
	unsigned int i;
	int fd;

	ASSERT_LT(0, sample_at(&self->s, &faults, 0, -1, 0));
	ASSERT_LT(0, sample_at(&self->s, &clock, 0, -1, 0));
	for (i = 0; i < 4 && variant->at[i]; i++) {
		struct perf_event_attr attr = strchr(variant->at[i], '/') ?
			tracepoint(variant->at[i]) : kprobe(variant->at[i]);

		ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0))
		{
			TH_LOG("%s: %s: %s", variant->at[i], self->s.message,
			       strerror(errno));
		}
	}
	fd = open_client(0);
	ASSERT_EQ(0, start(&self->s));
	for (i = 0; i < 200; i++) {
		fault(4);
		/* Unread ones are lost. */
		if (!request(fd, &req))
			continue;
		ASSERT_EQ(EAGAIN, errno);
	}
	ASSERT_EQ(0, stop(&self->s));
	close(fd);
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_ADDS_UP(&self->s);
	now = read_counts();
	for (i = 0; i < 6; i++)
		now.of[i] -= self->before.of[i];
	ASSERT_TRUE(stop_traced(&self->t));

	/* Stacks lost after NMIs are counted by the sampler only; here are none. */
	ASSERT_EQ(0, self->stats.stacks_pending);
	happened = now.of[0] + now.of[1] + now.of[2] + now.of[3] +
		   self->stats.at_once + self->stats.lost_full +
		   self->stats.lost_no_ring + self->stats.lost_recursion;
	told = lost_by(&self->t, "untraced");
	traced = sum_of(&self->t, "request", NULL, NULL, NULL) +
		 sum_of(&self->t, "stack", NULL, "first", "0") +
		 sum_of(&self->t, "lost", "count", NULL, NULL) - told;
	untraced = now.of[4];
	TH_LOG("%llu happened, %llu traced, %llu not, of which %llu are told; %llu at once, %llu recursions",
	       happened, traced, untraced, told, self->stats.at_once,
	       self->stats.lost_recursion);
	EXPECT_EQ(happened, traced + untraced);
	EXPECT_LE(told, untraced);
	if (!variant->at_lost)
		EXPECT_EQ(untraced, told);
	EXPECT_LE(400, traced);
	/* No loop. */
	EXPECT_GT(100000, happened);
	/* The samples there took stacks at once, which are not traced; or none. */
	if (variant->at[0] && strchr(variant->at[0], '/'))
		EXPECT_LT(0, untraced + self->stats.refused);
	if (!variant->at[0])
		EXPECT_EQ(0, untraced);
}

TEST_HARNESS_MAIN
