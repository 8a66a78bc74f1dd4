// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of the table of selftests/vm/sample/table: samples of one process at each kind of event.
 *
 * usage: sample_table NAME PID SECONDS
 */
#include <time.h>

#include "sampled.h"

#define RING_PAGES	256
#define NR_STACKS	(1u << 20)

/* A user stack that is not taken at once, and the samples that share it. */
struct later {
	__u64 cookie;
	__u32 samples;
	bool is_there;
	bool is_complete;
};

static struct later stacks[NR_STACKS];
static struct taken t;

/* What the samples at one event have come to. */
struct sums {
	unsigned long user;		/* whose user stack is there */
	unsigned long complete;
};

/* Returns the stack with @cookie, a new one if there is none. */
static struct later *stack_of(__u64 cookie)
{
	for (__u32 i = cookie * 0x9e3779b97f4a7c15ULL >> 44, n = 0; n < NR_STACKS;
	     i = (i + 1) % NR_STACKS, n++) {
		if (stacks[i].cookie && stacks[i].cookie != cookie)
			continue;
		stacks[i].cookie = cookie;
		return &stacks[i];
	}
	fprintf(stderr, "sample_table: too many stacks\n");
	exit(1);
}

static void add_record(struct sums *sums)
{
	const bool is_complete = t.head.stop == SFRAME_UNWIND_STOP_COMPLETE;

	if (t.type == SFRAME_UNWIND_RECORD_USER_STACK) {
		stack_of(t.cookie)->is_there = true;
		stack_of(t.cookie)->is_complete = is_complete;
	} else if (t.head.user == SFRAME_UNWIND_USER_AT_ONCE) {
		sums->user++;
		sums->complete += is_complete;
	} else if (t.head.user == SFRAME_UNWIND_USER_LATER) {
		stack_of(t.cookie)->samples++;
	}
}

static void read_all(struct sampled *s, struct sums *sums)
{
	int ret;

	while ((ret = take(s, &t)) == 1)
		add_record(sums);
	if (!ret)
		return;
	fprintf(stderr, "sample_table: a record is invalid\n");
	exit(1);
}

static double percent(unsigned long part, unsigned long whole)
{
	return whole ? 100.0 * part / whole : 100;
}

static void print_row(const char *name, const char *event, struct sums *sums,
		      const struct sframe_unwind_sample_stats *stats)
{
	for (__u32 i = 0; i < NR_STACKS; i++) {
		if (stacks[i].is_there)
			sums->user += stacks[i].samples;
		if (stacks[i].is_complete)
			sums->complete += stacks[i].samples;
	}
	printf("| %s | %s | %llu | ", name, event, stats->samples);
	if (sums->user)
		printf("%.2f | %.2f", percent(sums->complete, sums->user),
		       percent(stats->at_once, stats->at_once + stats->later +
					       stats->refused));
	else
		printf("| ");
	printf(" | %llu, %llu, %llu, %llu, %llu |\n", stats->lost_full,
	       stats->lost_no_ring, stats->lost_recursion, stats->refused,
	       stats->stacks_lost);
	fflush(stdout);
}

/* Sample the process @pid for @seconds. Returns 0, or 1 after a message. */
static int sample(const char *name, const char *event,
		  struct perf_event_attr *attr, pid_t pid, long seconds)
{
	struct sframe_unwind_sampler sampler = sampler_of_pages(RING_PAGES);
	struct sframe_unwind_sample_stats stats;
	struct sums sums = {};
	struct sampled s;
	const char *why = start_sampled(&s, &sampler);
	time_t end;

	memset(stacks, 0, sizeof(stacks));
	if (why || sample_at(&s, attr, pid, -1, 0) < 0 || start(&s)) {
		fprintf(stderr, "sample_table: %s, %s: %s\n", name, event,
			why ?: s.message);
		return 1;
	}
	for (end = time(NULL) + seconds; time(NULL) < end; usleep(5000))
		read_all(&s, &sums);
	if (stop(&s) || sample_stats(&s, &stats)) {
		perror("sample_table");
		return 1;
	}
	/* Of threads that wait for something, stacks may be pending. */
	read_all(&s, &sums);
	print_row(name, event, &sums, &stats);
	end_sampled(&s);
	if (adds_up(&stats))
		return 0;
	fprintf(stderr, "sample_table: %s, %s: the sums are wrong\n", name, event);
	return 1;
}

int main(int argc, char **argv)
{
	struct perf_event_attr task_clock = software(PERF_COUNT_SW_TASK_CLOCK);
	struct perf_event_attr clock = cpu_clock(1000000);
	struct {
		const char *name;
		struct perf_event_attr attr;
	} events[] = {
		{ "cpu-clock", clock },
		{ "task-clock", task_clock },
		{ "page-faults", software(PERF_COUNT_SW_PAGE_FAULTS) },
		{ "context-switches", software(PERF_COUNT_SW_CONTEXT_SWITCHES) },
		{ "raw_syscalls:sys_enter", tracepoint("raw_syscalls/sys_enter") },
	};
	int status = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: sample_table NAME PID SECONDS\n");
		return 2;
	}
	events[1].attr.sample_period = 1000000;
	for (unsigned int i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		status |= sample(argv[1], events[i].name, &events[i].attr,
				 atoi(argv[2]), atol(argv[3]));
	return status;
}
