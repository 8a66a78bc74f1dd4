// SPDX-License-Identifier: GPL-2.0
/*
 * Kfuzz: runs random programs, which consist of calls of the device and of
 * calls that affect memory, threads and processes using it. Programs that
 * execute new code of the module are kept and mutated. Failures are reports of
 * the kernel's own checks, undocumented errors, malformed records, and anything
 * left in the module after all processes have ended.
 *
 * usage: kfuzz [-n] [-d DIR] [-c CALLS] [-s SECONDS] [-S SEED] [-w COMMAND]
 *        kfuzz [-n] -p FILE [TIMES]
 *
 *	-n	without coverage, for kernels without KCOV
 *	-d	directory for the recent and the kept programs and the coverage; .
 *	-c	number of calls; 1000000
 *	-s	stop after that many seconds; no limit
 *	-S	seed; default: random. Programs depend only on the seed and on the
 *		coverage of earlier programs
 *	-w	runs with the programs of each round, until SIGTERM
 *	-p	run the program in FILE, and print the results of its calls
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../storm/kernel.h"
#include "../include/random.h"
#include "calls.h"
#include "cover.h"
#include "job.h"
#include "shared.h"

/* Seconds between two checks that nothing is left. */
#define ROUND		15

/* Time limit of one program in milliseconds. */
#define LIMIT		5000

static const char *dir = ".";
static const char *beside;
static bool all_ok = true;
static unsigned int test_nr;

static void result(bool ok, const char *what)
{
	printf("%sok %u - %s\n", ok ? "" : "not ", ++test_nr, what);
	all_ok &= ok;
}

/* Write a setting, which some kernels do not have. */
static void set_up(const char *dir, const char *name, const char *value)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dir, name);
	file = fopen(path, "w");
	if (file && (fputs(value, file) < 0 || fclose(file)))
		warn("%s", path);
}

/* Fail only allocations and copies of the module, without reports. */
static void prepare_faults(uint64_t text)
{
	static const char * const dirs[] = {
		"failslab", "fail_page_alloc", "fail_usercopy"
	};
	char start[32], end[32];
	unsigned int i;

	snprintf(start, sizeof(start), "%#lx", text);
	snprintf(end, sizeof(end), "%#lx", text + COVER_SIZE);
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		set_up(dirs[i], "verbose", "0");
		set_up(dirs[i], "ignore-gfp-wait", "N");
		set_up(dirs[i], "require-start", start);
		set_up(dirs[i], "require-end", end);
	}
}

static unsigned long count_calls(void)
{
	unsigned long calls = 0;
	unsigned int i;

	for (i = 0; i < nr_call_types; i++)
		calls += atomic_load(&shared->calls[i]);
	return calls;
}

static void show(unsigned long seconds, uint64_t seed)
{
	unsigned long programs = 0, killed = 0;
	unsigned int i;

	printf("# %-16s %10s %10s\n", "call", "made", "succeeded");
	for (i = 0; i < nr_call_types; i++)
		printf("# %-16s %10lu %10lu\n", call_types[i].name,
		       atomic_load(&shared->calls[i]),
		       atomic_load(&shared->successes[i]));
	for (i = 0; i < NR_JOBS; i++) {
		programs += shared->job[i].programs;
		killed += shared->job[i].killed;
	}
	printf("# seed %#lx: %lu calls in %lu seconds, %lu programs, %lu killed\n",
	       seed, count_calls(), seconds, programs, killed);
	printf("# %u programs kept, %lu places of the module reached, %lu overflows\n",
	       atomic_load(&shared->nr_corpus), atomic_load(&shared->nr_covered),
	       atomic_load(&shared->overflows));
}

/*
 * Make the init process return to user space, by an orphan that exits as its
 * child. When one thread of a program overwrites the structure prepared by
 * another, a request can name any thread, and 1 is a common number.
 */
static void wake_first_process(void)
{
	const pid_t pid = fork();

	if (!pid) {
		fork();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/*
 * Whether no objects are left without processes, and all requests were
 * delivered.
 */
static bool is_clean(void)
{
	char left[512];
	long accepted;

	wake_first_process();
	if (!kernel_is_clean(left, sizeof(left))) {
		fail("left in the module:%s", left);
		return false;
	}
	accepted = kernel_counter("total_accepted");
	if (accepted != kernel_counter("total_delivered") +
			kernel_counter("total_lost_full") +
			kernel_counter("total_lost_closed") +
			kernel_counter("total_lost_exited")) {
		fail("%ld requests accepted, others have ended", accepted);
		return false;
	}
	return true;
}

static pid_t start_beside(void)
{
	const pid_t pid = fork();

	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		execl("/bin/sh", "sh", "-c", beside, NULL);
		err(2, "sh");
	}
	return pid;
}

/* Run all jobs concurrently. */
static void run_round(void)
{
	const pid_t beside_pid = beside ? start_beside() : 0;
	pid_t pid[NR_JOBS];
	unsigned int i;
	int status;

	for (i = 0; i < NR_JOBS; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			err(2, "fork");
		if (!pid[i]) {
			job_run(i, ROUND);
			_exit(0);
		}
	}
	for (i = 0; i < NR_JOBS; i++) {
		waitpid(pid[i], &status, 0);
		if (status)
			fail("job %u ended with status %#x", i, status);
	}
	if (!beside)
		return;
	kill(beside_pid, SIGTERM);
	waitpid(beside_pid, &status, 0);
	if (status)
		fail("%s ended with status %#x", beside, status);
}

static void write_corpus(void)
{
	static char text[PROGRAM_TEXT];
	char name[512];
	unsigned int i;
	FILE *file;

	snprintf(name, sizeof(name), "%s/kept", dir);
	file = fopen(name, "w");
	for (i = 0; file && i < atomic_load(&shared->nr_corpus); i++) {
		program_print(&shared->corpus[i], text);
		fprintf(file, "# program %u\n%s", i, text);
	}
	if (file)
		fclose(file);
}

static void fuzz(unsigned long calls, unsigned long seconds, uint64_t seed,
		 bool covers)
{
	const time_t start = time(NULL);
	time_t shown = start;
	char name[512];
	unsigned int i;

	for (i = 0; i < NR_JOBS; i++)
		shared->job[i].random = seed + i;
	printf("# seed %#lx\n", seed);
	fflush(stdout);
	do {
		run_round();
		if (is_clean() && time(NULL) - shown >= 30) {
			shown = time(NULL);
			printf("# after %ld s: %lu calls, %u kept, %lu places\n",
			       shown - start, count_calls(),
			       atomic_load(&shared->nr_corpus),
			       atomic_load(&shared->nr_covered));
			fflush(stdout);
		}
	} while (!atomic_load(&shared->failed) && count_calls() < calls &&
		 (!seconds || time(NULL) - start < (time_t)seconds));
	show(time(NULL) - start, seed);
	write_corpus();
	snprintf(name, sizeof(name), "%s/covered", dir);
	if (covers && !cover_write(name))
		warn("%s", name);
	if (atomic_load(&shared->failed))
		printf("# %s\n", shared->message);
	result(!atomic_load(&shared->failed),
	       "no undocumented error, no bad record, nothing left");
	if (!seconds)
		result(count_calls() >= calls, "as many calls as were asked for");
	if (covers) {
		result(atomic_load(&shared->nr_covered), "coverage was noted");
		result(!atomic_load(&shared->elsewhere),
		       "all of it in the module's code");
	}
}

static void repeat(const char *file, unsigned int times)
{
	FILE *from = fopen(file, "r");

	if (!from)
		err(2, "%s", file);
	program_read(&shared->job[0].program, from);
	fclose(from);
	shared->trace = true;
	while (times-- && !atomic_load(&shared->failed)) {
		if (job_run_program(0))
			is_clean();
	}
	if (atomic_load(&shared->failed))
		printf("# %s\n", shared->message);
	result(!atomic_load(&shared->failed), "the program");
}

int main(int argc, char **argv)
{
	unsigned long calls = 1000000, seconds = 0;
	const char *program = NULL;
	bool covers = true;
	uint64_t seed = 0;
	int option;

	if (argc == 3 && !strcmp(argv[1], "-x")) {
		shared_map();
		run_rest(atoi(argv[2]));
	}
	getrandom(&seed, sizeof(seed), 0);
	while ((option = getopt(argc, argv, "nd:c:s:S:w:p:")) != -1) {
		switch (option) {
		case 'n':
			covers = false;
			break;
		case 'd':
			dir = optarg;
			break;
		case 'c':
			calls = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seconds = strtoul(optarg, NULL, 0);
			break;
		case 'S':
			seed = strtoul(optarg, NULL, 0);
			break;
		case 'w':
			beside = optarg;
			break;
		case 'p':
			program = optarg;
			break;
		default:
			return 2;
		}
	}
	shared_create();
	shared->limit = LIMIT;
	prepare_faults(cover_text());
	if (covers)
		cover_init();
	if (program) {
		repeat(program, optind < argc ? atoi(argv[optind]) : 1);
	} else {
		job_init(dir);
		fuzz(calls, seconds, seed, covers);
	}
	printf("1..%u\n", test_nr);
	return !all_ok;
}
