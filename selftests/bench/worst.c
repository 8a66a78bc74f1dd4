// SPDX-License-Identifier: GPL-2.0
/*
 * Worst: runs the scenarios, each in a process of its own, and measures them
 * from another process with a higher priority.
 *
 * usage: worst calls [WORD] | memory
 * 
 * Each scenario is run with the function tracer, to see the locks; without it,
 * for the total cost; with a process that wakes up all the time and measures
 * its latency; and, if it takes long, it is killed half way. Needs a machine
 * that counts instructions, with one CPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../include/wrappers.h"
#include "bench.h"
#include "locks.h"
#include "worst.h"

#define REPEAT		3

/* Shorter calls need not reschedule. */
#define LONG		100000

/* Nanoseconds between two readings of the clock. */
#define GRID		200000

/**
 * struct shared - shared by the process of a scenario and the one measuring it
 *
 * @tid: thread that runs the scenario.
 * @start: start of the run in cycles, or 0.
 * @end: end of the run, or 0.
 */
static struct shared {
	volatile pid_t tid;
	volatile uint64_t start;
	volatile uint64_t end;
} *shared;

static int shared_fd;
static int to_child[2], to_us[2];
static const struct scenario *scenario;

static uint64_t cycles(void)
{
	uint32_t low, high;

	asm volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* --- the process that runs scenarios */

static void put(int fd, char word)
{
	if (write(fd, &word, 1) != 1)
		die("pipe: %s", strerror(errno));
}

/* The next command, or 0 if the other process has exited. */
static char get(int fd)
{
	char word;

	return read(fd, &word, 1) == 1 ? word : 0;
}

static void run_once(bool traced)
{
	if (traced)
		locks_on();
	shared->start = cycles();
	scenario->run();
	shared->end = cycles();
	if (traced)
		locks_off();
}

/* A child executes the next command instead of this process, and may be killed. */
static bool run_in_copy(void)
{
	pid_t pid = fork();
	int status;
	char word;

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		shared->tid = getpid();
		if (scenario->flags & THREADS)
			scenario->setup();
		if (scenario->prepare)
			scenario->prepare();
		put(to_us[1], 'd');
		word = get(to_child[0]);
		run_once(word == 't');
		while (word == 'k')
			pause();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) || !WEXITSTATUS(status);
}

static void serve(void)
{
	bool good;
	char word;

	shared->tid = getpid();
	scenario->setup();
	put(to_us[1], 'd');
	while ((word = get(to_child[0]))) {
		good = true;
		switch (word) {
		case 'p':
			if (scenario->prepare)
				scenario->prepare();
			break;
		case 'n':
			scenario++;
			break;
		case 'r':
			run_once(false);
			break;
		case 't':
			run_once(true);
			break;
		case 'c':
			good = run_in_copy();
			break;
		}
		put(to_us[1], good ? 'd' : 'x');
	}
	_exit(0);
}

/* Program started by a scenario with LEAVES. */
static int executed(const char *fd)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd),
		      0);
	if (shared != MAP_FAILED)
		shared->end = cycles();
	return 0;
}

void run_exec(void)
{
	char fd[16];

	snprintf(fd, sizeof(fd), "%d", shared_fd);
	execl("/proc/self/exe", "worst", "executed", fd, NULL);
	die("execl: %s", strerror(errno));
}

/* --- the process that measures */

/**
 * struct result - measurements of a scenario
 *
 * @total: cycles that it takes.
 * @raw: including everything that happens meanwhile.
 * @gap: largest latency of another process.
 * @kill: cycles from a fatal signal to its effect.
 * @trace: the rest; for each lock the minimum of all runs.
 */
struct result {
	uint64_t total, raw, gap, kill;
	struct trace trace;
};

static pid_t child;

static pid_t spawn(void (*run)(void))
{
	pid_t pid;

	if (pipe(to_child) || pipe(to_us))
		die("pipe: %s", strerror(errno));
	shared->start = 0;
	shared->end = 0;
	pid = fork();
	if (!pid) {
		static const struct sched_param normal;

		sched_setscheduler(0, SCHED_OTHER, &normal);
		close(to_child[1]);
		close(to_us[0]);
		run();
		exit(0);
	}
	close(to_child[0]);
	close(to_us[1]);
	return pid;
}

static void reap(void)
{
	int status;

	close(to_child[1]);
	close(to_us[0]);
	if (child > 0)
		waitpid(child, &status, 0);
	child = 0;
}

/* Send a command. Returns false if the process is gone. */
static bool ask(char word)
{
	put(to_child[1], word);
	return get(to_us[0]) == 'd';
}

/* Sleep until @when. Returns the latency. */
static uint64_t sleep_until(uint64_t when)
{
	const struct timespec at = { when / 1000000000, when % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	return now_ns() - when;
}

static bool is_over(void)
{
	int status;

	if (shared->end)
		return true;
	if (waitpid(child, &status, WNOHANG) != child)
		return false;
	shared->end = cycles();
	child = 0;
	return true;
}

/*
 * Wait for the end of the run that has been started, measuring latencies.
 * Returns the largest.
 */
static uint64_t watch(void)
{
	const uint64_t first = now_ns(), first_cycles = cycles();
	uint64_t when = first, late, gap = 0, expected;

	do {
		when += GRID;
		late = sleep_until(when);
		expected = first_cycles + (when - first);
		if (shared->start && expected >= shared->start &&
		    (!shared->end || expected < shared->end) && late > gap)
			gap = late;
		while (when < now_ns())
			when += GRID;
	} while (!is_over());
	return gap;
}

/* Keep the minimum of each hold, and add new ones. */
static void merge(struct trace *to, const struct trace *from)
{
	unsigned int i, j;

	if (from->total < to->total || !to->events)
		to->total = from->total;
	to->events = from->events;
	if (from->dropped > to->dropped)
		to->dropped = from->dropped;
	for (i = 0; i < from->nr; i++) {
		const struct hold *hold = &from->hold[i];

		for (j = 0; j < to->nr; j++) {
			if (to->hold[j].site == hold->site &&
			    to->hold[j].function == hold->function)
				break;
		}
		if (j == MAX_HOLDS)
			die("locks are taken at too many places");
		if (j == to->nr)
			to->hold[to->nr++] = *hold;
		else if (hold->cycles < to->hold[j].cycles)
			to->hold[j].cycles = hold->cycles;
	}
}

/* Run it, and read the trace. Returns false if it could not be run. */
static bool trace_once(struct result *result)
{
	static struct trace trace;
	uint64_t raw;

	shared->start = 0;
	shared->end = 0;
	if (!ask(scenario->flags & COPY ? 'c' : 'p'))
		return false;
	locks_begin(shared->tid);
	put(to_child[1], 't');
	if (scenario->flags & ONCE)
		result->gap = watch();
	if (scenario->flags & LEAVES)
		locks_off();
	else if (get(to_us[0]) != 'd')
		return false;
	raw = shared->end - shared->start;
	if (!result->raw || raw < result->raw)
		result->raw = raw;
	locks_read(&trace, shared->start, shared->end,
		   scenario->flags & BASE);
	merge(&result->trace, &trace);
	/* The tracer makes it longer. */
	if (raw)
		result->gap = (double)result->gap * trace.total / raw;
	return true;
}

/* Run it without the tracer. */
static bool run_plain(struct result *result)
{
	uint64_t raw;

	shared->start = 0;
	shared->end = 0;
	if (!ask(scenario->flags & COPY ? 'c' : 'p') || !ask('r'))
		return false;
	raw = shared->end - shared->start;
	if (raw < result->raw)
		result->raw = raw;
	return true;
}

/* Run it once more while reading the clock all the time, which disturbs it. */
static bool run_watched(struct result *result)
{
	shared->start = 0;
	shared->end = 0;
	if (!ask(scenario->flags & COPY ? 'c' : 'p'))
		return false;
	put(to_child[1], 'r');
	result->gap = watch();
	return get(to_us[0]) == 'd';
}

static bool kill_once(struct result *result)
{
	static struct trace trace;
	uint64_t when, late, meant;

	shared->start = 0;
	shared->end = 0;
	if (!ask('c'))
		return false;
	locks_begin(shared->tid);
	locks_on();
	put(to_child[1], 'k');
	when = now_ns() + result->raw / 2;
	late = sleep_until(when);
	meant = cycles() - late;
	kill(shared->tid, SIGKILL);
	if (get(to_us[0]) != 'd')
		return false;
	locks_off();
	locks_read(&trace, 0, ~0ULL, false);
	if (!trace.died)
		die("%s: was not killed", scenario->name);
	/*
	 * Without a start the thread was killed before it ran: nothing delayed
	 * that.
	 */
	result->kill = trace.died > meant ? trace.died - meant : 0;
	return true;
}

static void report_result(const struct result *result)
{
	static const char *const kinds[] = { "sleep", "spin", "irq" };
	static const char *const owners[] = { "own", "around", "other" };
	unsigned int i;

	printf("total\t%s\t%lu\n", scenario->name, result->total);
	printf("records\t%s\t%lu\n", scenario->name, result->trace.events);
	printf("dropped\t%s\t%lu\n", scenario->name, result->trace.dropped);
	printf("gap\t%s\t%lu\n", scenario->name, result->gap);
	if (result->kill != ~0ULL)
		printf("kill\t%s\t%lu\n", scenario->name, result->kill);
	if (scenario->base)
		printf("base\t%s\t%s\n", scenario->name, scenario->base);
	for (i = 0; i < result->trace.nr; i++) {
		const struct hold *hold = &result->trace.hold[i];

		printf("hold\t%s\t%s %s\t%s\t%s\t%lu\n", scenario->name,
		       hold->function, locks_name(hold->site),
		       kinds[hold->kind], owners[hold->owner], hold->cycles);
	}
	fflush(stdout);
}

static bool measure(struct result *result)
{
	const bool once = scenario->flags & ONCE;
	int i;

	memset(result, 0, sizeof(*result));
	result->kill = ~0ULL;
	locks_set_functions(true);
	for (i = 0; i < (once ? 1 : REPEAT); i++) {
		if (!trace_once(result))
			return false;
		/* Long runs vary little. */
		if (result->raw > 100 * LONG)
			break;
	}
	locks_set_functions(false);
	for (i = 0; i < REPEAT && !once && result->raw < 100 * LONG; i++) {
		if (!run_plain(result))
			return false;
	}
	/*
	 * Long runs are disturbed by others; for short ones the subtracted cost
	 * of records is too inexact.
	 */
	result->total = result->raw < 100 * LONG && !once ?
				result->raw : result->trace.total;
	if (once || result->total <= LONG)
		return true;
	return run_watched(result) &&
	       (scenario->flags & NO_KILL || kill_once(result));
}

/* Measure the cost of one record, with a call that always causes the same ones. */
static void setup_cost(void)
{
}

#define CALLS		40

static void ask_for_stats(void)
{
	struct sframe_unwind_stats counters;
	static int fd = -1;
	int i;

	if (fd < 0)
		fd = new_client();
	for (i = 0; i < CALLS; i++)
		stats(fd, &counters);
}

static void find_cost(void)
{
	static const struct scenario calls =
		SCENARIO("cost", setup_cost, NULL, ask_for_stats);
	static struct result result;
	uint64_t with, each;
	int i;

	scenario = &calls;
	child = spawn(serve);
	if (get(to_us[0]) != 'd')
		die("nothing can be run");
	for (i = 0; i < 10; i++) {
		if (!trace_once(&result))
			die("nothing can be traced");
	}
	with = result.raw;
	locks_set_functions(false);
	for (i = 0; i < 10; i++) {
		if (!run_plain(&result))
			die("nothing can be run");
	}
	reap();
	each = (with - result.raw) / result.trace.events;
	locks_set_cost(each);
	printf("cost\tone record\t%lu\n", each);
	fflush(stdout);
	if (result.trace.events < 2 * CALLS || each < 50 || each > 5000)
		die("%lu records of %u calls, of %lu cycles each",
		    result.trace.events, CALLS, each);
}

/* Run the scenarios from @first on that match, in as few processes as possible. */
static void run_all(const struct scenario *first, const char *only)
{
	static struct result result;
	const struct scenario *at, *running = NULL;
	uint64_t began;

	for (at = first; at->name; at++) {
		if (only && !strstr(at->name, only))
			continue;
		scenario = at;
		began = now_ns();
		if (!running || running->setup != at->setup ||
		    at->flags & (ONCE | THREADS)) {
			if (running)
				reap();
			child = spawn(serve);
			if (get(to_us[0]) != 'd') {
				printf("failed\t%s\n", at->name);
				reap();
				running = NULL;
				continue;
			}
			running = at;
		}
		/* The process is at the scenario that it ran last. */
		for (; running < at; running++) {
			if (!ask('n'))
				break;
		}
		if (measure(&result))
			report_result(&result);
		else
			printf("failed\t%s\n", at->name);
		say("%s: %.1f s", at->name, (now_ns() - began) / 1e9);
		if (at->flags & ONCE || !shared->end) {
			reap();
			running = NULL;
		}
	}
	if (running)
		reap();
}

static void be_preferred(void)
{
	static const struct sched_param first = { .sched_priority = 50 };
	static const struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
	static const struct rlimit files = { 65536, 65536 };

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("SCHED_FIFO: %s", strerror(errno));
	/* Lift the limits, because the worst case must not depend on them. */
	setrlimit(RLIMIT_MEMLOCK, &most);
	setrlimit(RLIMIT_NOFILE, &files);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *only = argc > 2 ? argv[2] : NULL;

	if (!strcmp(what, "executed") && only)
		return executed(only);
	if (!strcmp(what, "memory")) {
		worst_memory();
		return 0;
	}
	if (strcmp(what, "calls"))
		die("calls or memory?");
	shared_fd = memfd_create("worst", 0);
	if (shared_fd < 0 || ftruncate(shared_fd, 4096))
		die("memfd: %s", strerror(errno));
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd,
		      0);
	if (shared == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	be_preferred();
	locks_init();
	find_cost();
	run_all(worst_sections, only);
	run_all(worst_walks, only);
	run_all(worst_files, only);
	return 0;
}
