// SPDX-License-Identifier: GPL-2.0
/*
 * Storm: many processes at the same time change, lose and damage their
 * registrations, while stacks are taken of them all the time. No stack may be
 * wrong, and nothing may be left in the kernel.
 *
 * usage: storm [-s SEED] [-p PROCESSES] SECONDS
 *        PROCESSES: continue until that many have lived; twice SECONDS at most
 *        storm -w SEED		only one worker, to repeat a failure
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../include/random.h"
#include "code.h"
#include "kernel.h"
#include "library.h"
#include "shared.h"
#include "window.h"
#include "worker.h"

#define MAX_WORKERS	8
#define MS		1000000UL

/* Variation of memory use without a leak, in KiB. */
#define SLAB_TOLERANCE		3072
#define MEMORY_TOLERANCE	24576

/* Duration of a fork in µs on the machine for which times here were chosen. */
#define USUAL_FORK	1500

/* A worker: when to kill it, and when it must have ended. */
static struct started {
	pid_t pid;
	uint64_t seed;
	uint64_t kill;
	uint64_t overdue;
} workers[MAX_WORKERS];

static unsigned int test_nr;
static bool all_ok = true;

static void result(bool ok, const char *what)
{
	printf("%sok %u - %s\n", ok ? "" : "not ", ++test_nr, what);
	all_ok &= ok;
}

/* Make copies of the shared objects: three kinds, two of each. */
static void copy_libraries(void)
{
	char self[512], command[1200];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	unsigned int i;

	strcpy(shared->dir, "/tmp/storm.XXXXXX");
	if (length < 0 || !mkdtemp(shared->dir))
		err(2, "%s", shared->dir);
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	for (i = 0; i < NR_LIBRARIES; i++) {
		snprintf(command, sizeof(command), "cp '%s/lib%u.so' %s/lib%u.so",
			 self, i % 3, shared->dir, i);
		if (system(command))
			errx(2, "%s failed", command);
	}
}

static void remove_libraries(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", shared->dir);
	if (system(command))
		warnx("%s failed", command);
}

static void measure_speed(void)
{
	uint64_t start, best = UINT64_MAX;
	int i;

	/* The minimum, because other load delays some. */
	for (i = 0; i < 40; i++) {
		pid_t pid;

		start = now();
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
		if (now() - start < best)
			best = now() - start;
	}
	shared->factor = best / 1000 / USUAL_FORK;
	if (shared->factor < 1)
		shared->factor = 1;
	if (shared->factor > 30)
		shared->factor = 30;
}

static void start_worker(struct started *worker, uint64_t *random)
{
	char seed[32];
	uint64_t time = now();

	worker->seed = random_next(random);
	worker->kill = 0;
	if (random_percent(random, 30))
		worker->kill = time + (50 + random_below(random, 2000)) * MS *
				      shared->factor;
	worker->overdue = time + 60000 * MS * shared->factor;
	snprintf(seed, sizeof(seed), "0x%lx", worker->seed);
	worker->pid = fork();
	if (worker->pid < 0)
		err(2, "fork");
	if (!worker->pid) {
		execl("/proc/self/exe", "storm", "worker", seed, NULL);
		_exit(3);
	}
	count_one(COUNT_FORKS);
	count_one(COUNT_EXECS);
}

/* Reap ended processes, including orphans. Returns the number of workers left. */
static unsigned int reap(void)
{
	unsigned int i, nr = 0;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (i = 0; i < MAX_WORKERS; i++) {
			if (workers[i].pid == pid)
				workers[i].pid = 0;
		}
		if (!has_failed())
			worker_reaped(pid, status);
	}
	for (i = 0; i < MAX_WORKERS; i++)
		nr += workers[i].pid != 0;
	return nr;
}

/* Kill the worker at its time. Returns false if it should have ended by now. */
static bool look_after(struct started *worker)
{
	const uint64_t time = now();

	if (!worker->pid)
		return true;
	if (worker->kill && time > worker->kill) {
		kill(worker->pid, SIGKILL);
		count_one(COUNT_KILLS);
		worker->kill = 0;
	}
	if (time < worker->overdue)
		return true;
	printf("# worker 0x%lx hangs:\n", worker->seed);
	kernel_show_process(worker->pid);
	return false;
}

static void kill_all(void)
{
	int i, status;

	for (i = 0; i < MAX_WORKERS; i++) {
		if (workers[i].pid)
			kill(workers[i].pid, SIGKILL);
	}
	/* The kernel kills their children (PR_SET_PDEATHSIG). */
	for (i = 0; i < 2000 && waitpid(-1, &status, WNOHANG) >= 0; i++)
		usleep(5000);
}

static bool is_alone(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == -1 &&
	       errno == ECHILD;
}

/* Number of processes that have lived so far, or live now. */
static unsigned long count_processes(void)
{
	return atomic_load(&shared->count[COUNT_FORKS]);
}

/*
 * Run the storm for @time, and up to twice as long until there have been
 * @processes. Then wait for its end. Returns false on a failure.
 */
static bool blow(uint64_t time, unsigned long processes, uint64_t *random)
{
	const uint64_t end = now() + time, last = end + time;
	bool well = true, blowing = true;
	uint64_t calm;
	int i;

	while (well && !has_failed() && (reap() || blowing)) {
		blowing = now() < end ||
			  (now() < last && count_processes() < processes);
		for (i = 0; i < MAX_WORKERS; i++) {
			well &= look_after(&workers[i]);
			if (!workers[i].pid && blowing)
				start_worker(&workers[i], random);
		}
		usleep(3000);
	}
	/* The failed process may still be writing its message. */
	for (i = 0; i < 1000 && atomic_load(&shared->failed) == 1; i++)
		usleep(5000);
	if (!well || has_failed())
		kill_all();
	/* Orphans may still be exiting. */
	calm = now();
	while (well && !has_failed() && !is_alone()) {
		reap();
		usleep(3000);
		if (now() > calm + 60000 * MS * shared->factor) {
			printf("# orphans do not end\n");
			well = false;
		}
	}
	return well && !has_failed();
}

#define COUNT_TEXT(name, text)	text,
static const char * const count_texts[NR_COUNTS] = { COUNTS(COUNT_TEXT) };

static void show(unsigned long seconds, uint64_t seed)
{
	static const char * const totals[] = {
		"total_walks", "total_accepted", "total_delivered",
		"total_lost_full", "total_lost_closed", "total_lost_exited",
		"total_corrupt", "total_stale"
	};
	unsigned int i;

	printf("# %-42s %12lu\n", "seconds", seconds);
	printf("# %-42s %#12lx\n", "seed", seed);
	printf("# %-42s %12u\n", "slower than usual by", shared->factor);
	printf("# %-42s %12.1f\n", "processes per second",
	       (double)shared->count[COUNT_FORKS] / seconds);
	for (i = 0; i < NR_COUNTS; i++)
		printf("# %-42s %12lu\n", count_texts[i],
		       (unsigned long)shared->count[i]);
	for (i = 0; i < NR_STOPS; i++) {
		if (shared->stops[i])
			printf("# stops: %-35s %12lu\n", stop_text(i) ?: "unknown",
			       (unsigned long)shared->stops[i]);
	}
	for (i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		printf("# module: %-34s %12ld\n", totals[i],
		       kernel_counter(totals[i]));
}

static void judge_accounts(void)
{
	const long accepted = kernel_counter("total_accepted");
	const long sum = kernel_counter("total_delivered") +
			 kernel_counter("total_lost_full") +
			 kernel_counter("total_lost_closed") +
			 kernel_counter("total_lost_exited");

	if (accepted != sum)
		printf("# accepted %ld, delivered and lost %ld\n", accepted,
		       sum);
	result(accepted == sum && accepted > 0,
	       "each request was delivered or lost");
}

static void judge_memory(const struct kernel_memory *before)
{
	struct kernel_memory after;

	if (kernel_finds_leaks()) {
		result(kernel_leaks_nothing(), "the kernel finds no leak");
		return;
	}
	after = kernel_measure();
	printf("# SUnreclaim %ld KiB, then %ld; MemAvailable %ld KiB, then %ld\n",
	       before->unreclaimable, after.unreclaimable, before->available,
	       after.available);
	result(after.unreclaimable - before->unreclaimable < SLAB_TOLERANCE &&
	       before->available - after.available < MEMORY_TOLERANCE,
	       "the kernel has lost no memory");
}

/* If something never happened, the storm has not tested it. */
static void judge_variety(void)
{
	bool ok = true;
	int i;

	for (i = 0; i < NR_COUNTS; i++) {
		/* Reuse of an address and empty stacks are not required. */
		if (!shared->count[i] && i != COUNT_REUSED && i != COUNT_EMPTY) {
			printf("# never: %s\n", count_texts[i]);
			ok = false;
		}
	}
	if (kernel_counter("total_stale") < 1 ||
	    kernel_counter("total_corrupt") < 1) {
		printf("# never: a section removed as stale, and as corrupt\n");
		ok = false;
	}
	result(ok, "everything happened");
}

static int run(unsigned int seconds, unsigned long processes, uint64_t seed)
{
	const uint64_t start = now();
	const unsigned int warm_up = seconds / 4 < 30 ? seconds / 4 + 1 : 30;
	struct kernel_memory memory;
	uint64_t random = seed;
	char left[256];
	bool ok;

	shared_create();
	images_create();
	copy_libraries();
	measure_speed();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	printf("# seed %#lx, %u seconds, slower than usual by %u\n", seed,
	       seconds, shared->factor);
	ok = blow(warm_up * 1000 * MS, 0, &random);
	if (ok) {
		memory = kernel_measure();
		ok = blow((seconds - warm_up) * 1000 * MS, processes, &random);
	}
	if (has_failed()) {
		char *line, *rest = shared->message;

		printf("# seed %#lx\n", seed);
		while ((line = strsep(&rest, "\n")))
			printf("# %s\n", line);
	}
	result(ok, "every stack is right, no process failed");
	result(is_alone(), "all processes have ended");
	if (processes)
		result(count_processes() >= processes,
		       "as many processes have lived as shall");
	ok = kernel_is_clean(left, sizeof(left));
	if (!ok)
		printf("# left:%s\n", left);
	result(ok, "nothing is left in the module");
	judge_accounts();
	if (!has_failed() && all_ok) {
		judge_memory(&memory);
		judge_variety();
	}
	show((now() - start) / 1000 / MS, seed);
	remove_libraries();
	return all_ok ? 0 : 1;
}

/* Repeat the worker of a failure, with its own images and shared objects. */
static int run_one(uint64_t seed)
{
	int ret;

	shared_create();
	images_create();
	copy_libraries();
	measure_speed();
	ret = worker_run(seed);
	remove_libraries();
	return ret;
}

int main(int argc, char **argv)
{
	uint64_t seed = (uint64_t)time(NULL) << 20 ^ getpid();
	unsigned long processes = 0;
	int option;

	if (argc > 1 && (!strcmp(argv[1], "worker") ||
			 !strcmp(argv[1], "after-exec"))) {
		shared_map();
		return argc > 2 ? worker_run(strtoul(argv[2], NULL, 0)) :
				  worker_after_exec();
	}
	while ((option = getopt(argc, argv, "p:s:w:")) != -1) {
		switch (option) {
		case 'p':
			processes = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoul(optarg, NULL, 0);
			break;
		case 'w':
			return run_one(strtoul(optarg, NULL, 0));
		default:
			return 2;
		}
	}
	setlinebuf(stdout);
	if (optind + 1 != argc || atoi(argv[optind]) < 2) {
		fprintf(stderr, "usage: storm [-s SEED] [-p PROCESSES] SECONDS | -w SEED\n");
		return 2;
	}
	return run(atoi(argv[optind]), processes, seed);
}
