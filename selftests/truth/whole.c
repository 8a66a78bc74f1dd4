// SPDX-License-Identifier: GPL-2.0
/*
 * whole: stop a program of a distribution repeatedly, and compare its whole
 * stack from the module, with sections attached to the program's files, with
 * the one that libdw's CFI unwinder finds at the same stop.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "whole_stop.h"

/* Maximum number of single steps after a stop; after most stops only some. */
#define MANY_STEPS	24
#define SOME_STEPS	2

/* Maximum time from one stop to the next, usually and sometimes. */
#define SHORT_USEC	8000
#define LONG_USEC	200000

/* Number of breakpoints set at the same time. */
#define ARMED		96

/* Each so many runs one is examined from its very first instruction on. */
#define FROM_START	6

/* Limit for the time that a program takes, by the time that it executes. */
#define PATIENCE_FACTOR	4

/* Limit for a step over a system call that may sleep. */
#define PATIENCE_USEC	500000

#define MAX_THREADS	64

/* In the flags of a thread, from the kernel's linux/sched.h. */
#define PF_IO_WORKER	0x10

static struct {
	char *const *argv;
	pid_t pid;			/* a running process, or 0 */
	uid_t user;
	unsigned long wanted, wanted_of_run;
	unsigned long spread;		/* of the first stops, in milliseconds */
	double percent;
	int signal;
	unsigned int nr_targets;
	struct target targets[MAX_THREADS];
	struct whole_stop stop;
} whole;

static unsigned long compared(void)
{
	return whole_results_compared(&whole.stop.results);
}

static bool is_done(void)
{
	return compared() >= whole.wanted || whole_now() > whole.stop.deadline;
}

/* Breakpoints affect all threads, but only a traced one survives them. */
static bool can_arm(const struct target *target)
{
	unsigned int threads = 0;
	struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", target->pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while ((entry = readdir(dir)))
		threads += entry->d_name[0] != '.';
	closedir(dir);
	return threads == 1;
}

static void arm(struct target *target)
{
	target_unbreak_all(target);
	if (!can_arm(target))
		return;
	for (int i = 0; i < ARMED; i++) {
		const uint64_t recent =
			whole.stop.recent[random_below(&whole.stop.random, MAX_RECENT)];
		const uint64_t at = i % 2 ?
			code_pick(&whole.stop.code, &whole.stop.random) :
			code_pick_near(&whole.stop.code, recent, &whole.stop.random);

		if (at)
			target_break(target, at);
	}
}

static enum method run_on(struct target *target)
{
	const unsigned int usec = 50 + random_below(&whole.stop.random,
			random_below(&whole.stop.random, 8) ? SHORT_USEC :
							 LONG_USEC);
	enum target_event event = target_continue(target, usec);
	const bool is_break = event == TARGET_TRAP;

	/* No signal may be delivered between a stop and its record. */
	while (event == TARGET_SIGNAL)
		event = target_step(target);
	return is_break ? METHOD_BREAK : METHOD_TIMER;
}

/* Sometimes send a signal, so that the next steps go through its handler. */
static void maybe_signal(const struct target *target)
{
	if (whole.signal && !random_below(&whole.stop.random, 8) &&
	    target_handles(target, whole.signal))
		tgkill(whole.pid ? whole.pid : whole.targets[0].pid,
		       target->pid, whole.signal);
}

static bool reload(struct target *target)
{
	target->executed = false;
	return target->pid && whole_stop_load(&whole.stop, target);
}

/* Before and after, @target is stopped if it is the only one, else it runs. */
static void round_of_stops(struct target *target)
{
	unsigned int steps = random_below(&whole.stop.random,
			random_below(&whole.stop.random, 4) ? SOME_STEPS :
							 MANY_STEPS);
	enum method method;

	if (whole.nr_targets > 1 &&
	    target_interrupt(target) == TARGET_EXITED)
		return;
	switch (random_below(&whole.stop.random, 4)) {
	case 0:
	case 1:
		arm(target);
		break;
	case 2:
		target_unbreak_all(target);
		break;
	}
	method = run_on(target);
	if (target->executed && !reload(target))
		return;
	while (target->pid && !is_done()) {
		if (!whole_stop_examine(&whole.stop, target, method) || !steps--)
			break;
		method = METHOD_STEP;
	}
	if (!target->pid)
		return;
	maybe_signal(target);
	if (whole.nr_targets > 1)
		target_release(target);
}

/*
 * Returns whether the thread works for io_uring in the kernel. It has no user stack, and never
 * comes back to user mode, where it could be stopped.
 */
static bool is_io_worker(pid_t pid, pid_t tid)
{
	unsigned int flags = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		flags = 0;
	fclose(file);
	return flags & PF_IO_WORKER;
}

/*
 * Trace all present threads of process @pid, except the first target if that is
 * traced already. Returns false after printing a message.
 */
static bool attach(pid_t pid)
{
	const pid_t first = whole.targets[0].pid;
	struct dirent *entry;
	char path[32];
	bool ok = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir) {
		perror("whole: no such process");
		return false;
	}
	while (ok && (entry = readdir(dir)) && whole.nr_targets < MAX_THREADS) {
		const pid_t tid = atoi(entry->d_name);
		int ret;

		if (!tid || tid == first || is_io_worker(pid, tid))
			continue;
		ret = target_attach(&whole.targets[whole.nr_targets], tid);
		if (!ret)
			whole.nr_targets++;
		else if (ret != -ESRCH)
			ok = false;
	}
	closedir(dir);
	if (!ok || !whole.nr_targets)
		fprintf(stderr, "whole: %s: cannot trace\n", whole.stop.name);
	return ok && whole.nr_targets;
}

/* Processor time of the process, in microseconds. */
static uint64_t used_usec(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
		return 0;
	return time.tv_sec * 1000000ull + time.tv_nsec / 1000;
}

/*
 * Let the program run for a random time, and not at all each FROM_START times.
 * What counts is the time that it executes, up to a limit if it sleeps.
 */
static void warm_up(struct target *target)
{
	const uint64_t usec = random_below(&whole.stop.random, FROM_START) ?
		random_below(&whole.stop.random, whole.spread * 1000 + 1) : 0;
	const uint64_t end = whole_usec() + PATIENCE_FACTOR * usec;

	while (target->pid && whole_usec() < end) {
		const uint64_t used = used_usec(target->pid);

		if (used >= usec)
			break;
		target_continue(target, usec - used + 1);
	}
}

static bool start(void)
{
	struct target *first = &whole.targets[0];

	whole.nr_targets = 0;
	first->pid = 0;
	if (whole.pid) {
		if (!attach(whole.pid))
			return false;
	} else {
		if (!target_start(first, whole.argv, NULL, whole.stop.device,
				  whole.user))
			return false;
		whole.nr_targets = 1;
		warm_up(first);
		if (!first->pid)
			return true;
		first->executed = false;
		if (!attach(first->pid))
			return false;
		if (whole.nr_targets > 1)
			target_release(first);
	}
	for (unsigned int i = 0; i < whole.nr_targets; i++)
		whole.targets[i].patience = PATIENCE_USEC;
	if (whole.pid && whole.nr_targets == 1)
		target_interrupt(first);
	if (whole_stop_load(&whole.stop, first))
		return true;
	/* It may have been ended by another thread of its own. */
	return !whole.pid && target_interrupt(first) == TARGET_EXITED;
}

/* More often the first one, which does the work. */
static struct target *pick_target(void)
{
	if (random_below(&whole.stop.random, 2))
		return &whole.targets[0];
	return &whole.targets[random_below(&whole.stop.random, whole.nr_targets)];
}

/* Others first, because a process ends when all its traced threads have. */
static void end(void)
{
	for (unsigned int i = whole.nr_targets; i-- > 0;) {
		if (whole.nr_targets > 1 && whole.targets[i].pid)
			target_interrupt(&whole.targets[i]);
		target_kill(&whole.targets[i]);
	}
	image_unload(&whole.stop.image);
}

/* A program that ended before its first stop is stopped earlier next time. */
static bool is_ended_well(const struct target *first, unsigned long stops)
{
	if (!whole.pid && WIFEXITED(first->status) &&
	    !WEXITSTATUS(first->status)) {
		if (stops)
			return true;
		whole.spread -= whole.spread / 4;
		if (whole.spread > 10)
			return true;
	}
	fprintf(stderr, "whole: %s ended with status %#x after %lu stops\n",
		whole.stop.name, first->status, stops);
	return false;
}

/* Run the program until it exits or enough stops have been compared. */
static bool run_program(void)
{
	struct target *first = &whole.targets[0];
	const unsigned long before = compared();
	bool ok = start();

	while (ok && first->pid && !is_done() &&
	       (whole.pid || compared() - before < whole.wanted_of_run)) {
		struct target *target = pick_target();

		if (target->pid)
			round_of_stops(target);
	}
	if (ok && !first->pid)
		ok = is_ended_well(first, compared() - before);
	end();
	return ok;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: whole [OPTION]... NAME {-p PID | PROGRAM [ARG]...}\n"
		"  -n STOPS    to compare; default: 1000\n"
		"  -s SEED     of the random numbers\n"
		"  -t SECONDS  give up after that time\n"
		"  -g SIGNAL   that the program has a handler for\n"
		"  -p PID      a program that runs already, with all its threads\n"
		"  -f          ask for frame pointers where nothing else is known\n"
		"  -c PERCENT  of the stacks must be complete if they can; default: 99.9\n"
		"  -a FILE     wait until this output of 'sframe-unwind attach -v' names all\n"
		"              that is mapped\n"
		"  -w MSEC     let the program run for up to so long before the first stop\n"
		"  -r STOPS    to compare before the program is started again; default: 15\n"
		"  -u UID      of the user to start the program as\n"
		"The stdout of PROGRAM is thrown away. NAME is for the messages.\n");
	exit(2);
}

static void read_options(int argc, char **argv)
{
	int option;

	whole.wanted = 1000;
	whole.stop.random = 1;
	whole.stop.deadline = 600;
	whole.percent = 99.9;
	whole.wanted_of_run = 15;
	while ((option = getopt(argc, argv, "+n:s:t:g:p:fc:a:w:r:u:")) != -1) {
		switch (option) {
		case 'n':
			whole.wanted = strtoul(optarg, NULL, 0);
			break;
		case 's':
			whole.stop.random = strtoul(optarg, NULL, 0);
			break;
		case 't':
			whole.stop.deadline = strtoul(optarg, NULL, 0);
			break;
		case 'g':
			whole.signal = strtoul(optarg, NULL, 0);
			break;
		case 'p':
			whole.pid = strtoul(optarg, NULL, 0);
			break;
		case 'f':
			whole.stop.judge.fallback = true;
			break;
		case 'c':
			whole.percent = strtod(optarg, NULL);
			break;
		case 'a':
			whole.stop.attached = optarg;
			break;
		case 'w':
			whole.spread = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			whole.wanted_of_run = strtoul(optarg, NULL, 0);
			break;
		case 'u':
			whole.user = strtoul(optarg, NULL, 0);
			break;
		default:
			usage();
		}
	}
	if (argc - optind < 1 || (argc - optind == 1) != !!whole.pid)
		usage();
	whole.stop.name = argv[optind];
	whole.argv = argv + optind + 1;
}

int main(int argc, char **argv)
{
	const unsigned long begin = whole_now();
	sigset_t child;
	bool ok = true;

	read_options(argc, argv);
	whole.stop.deadline += begin;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	whole_stop_open(&whole.stop);

	while (ok && !is_done())
		ok = run_program();
	whole_results_print(&whole.stop.results, whole.stop.name, whole_now() - begin);
	free(whole.stop.record);
	if (compared() < whole.wanted) {
		fprintf(stderr, "whole: %s: only %lu of %lu stops compared\n",
			whole.stop.name, compared(), whole.wanted);
		ok = false;
	}
	if (!whole_results_are_good(&whole.stop.results, whole.percent)) {
		fprintf(stderr, "whole: %s: stacks are different or not complete\n",
			whole.stop.name);
		ok = false;
	}
	return !ok;
}
