// SPDX-License-Identifier: GPL-2.0
/*
 * truth: stop a program repeatedly, and compare its stack from the module with
 * the one that libdw's CFI unwinder finds at the same stop.
 *
 * At a stop the agent, a thread in the program, requests the main thread's
 * stack. The stack is taken when the main thread continues, before it executes
 * an instruction, so it is the stack of this stop, which libdw has unwound by
 * then.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "judge.h"
#include "points.h"
#include "tally.h"
#include "target.h"

enum method {
	METHOD_STEP,
	METHOD_TIMER,
	METHOD_BREAK,
	NR_METHODS
};

/*
 * Maximum number of single steps after a stop: through prologues, calls and
 * epilogues. After most stops only some.
 */
#define MANY_STEPS	24
#define SOME_STEPS	2

/* Maximum time from one stop to the next, usually and sometimes. */
#define SHORT_USEC	4000
#define LONG_USEC	100000

/* Number of breakpoints set at the same time. */
#define ARMED		128

/* Rounds without a stop in the program after which something must be wrong. */
#define MAX_IDLE	20000

struct results {
	unsigned long stops[NR_METHODS];	/* compared */
	unsigned long outside;		/* stops in objects without .sframe */
	unsigned long no_function;	/* stops in code of no known function */
	unsigned long disturbed;	/* a signal was delivered in between */
	unsigned long frames, deepest;
	unsigned long signals;		/* stacks through a signal handler */
	unsigned long unexplained;
	struct tally defects, harmless, ends;
};

static struct {
	const char *name, *agent;
	char *const *argv;
	int device;
	uint32_t record_size;
	struct sframe_unwind_stack *record;
	unsigned long wanted, deadline, warm_up;
	int signal;
	uint64_t random;
	struct target target;
	struct image image;
	struct all_points points;
	struct judge judge;
	uint64_t sequence;
	struct results results;
} truth;

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static unsigned long compared(void)
{
	const unsigned long *stops = truth.results.stops;

	return stops[METHOD_STEP] + stops[METHOD_TIMER] + stops[METHOD_BREAK];
}

static bool is_done(void)
{
	return compared() >= truth.wanted || now() > truth.deadline;
}

static void open_device(void)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };

	truth.device = open(SFRAME_UNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (truth.device < 0 ||
	    ioctl(truth.device, SFRAME_UNWIND_IOC_QUERY, &query)) {
		perror("truth: " SFRAME_UNWIND_DEVICE);
		exit(1);
	}
	truth.judge.max_depth = query.max_depth < MAX_DEPTH ? query.max_depth :
							      MAX_DEPTH;
	truth.record_size = query.max_record_size;
	truth.record = malloc(query.max_record_size);
	if (!truth.record)
		exit(1);
}

/* Read the record of this stop, if it has arrived; older ones are skipped. */
static bool read_record(void)
{
	while (read(truth.device, truth.record, truth.record_size) > 0) {
		if (truth.record->user_data == truth.sequence)
			return true;
	}
	return false;
}

static void report(const char *what, const struct table_fault *fault)
{
	printf("# %s: %s, seen first at stop %lu\n", truth.name, what,
	       compared());
	judge_print(&truth.judge, truth.record, fault, stdout);
	fflush(stdout);
}

static void count_end(void)
{
	char name[32];

	snprintf(name, sizeof(name), "stop reason %u", truth.record->stop);
	tally_count(&truth.results.ends, name);
}

static void judge_stop(enum method method)
{
	struct results *results = &truth.results;
	struct judgement judgement;

	judge_record(&truth.judge, truth.record, &judgement);
	results->stops[method]++;
	results->frames += judgement.frames;
	results->signals += judgement.signal;
	if (judgement.frames > results->deepest)
		results->deepest = judgement.frames;
	count_end();
	if (judgement.harmless[0] &&
	    tally_count(&results->harmless, judgement.harmless) == 1)
		report(judgement.harmless, &judgement.harmless_fault);
	if (judgement.verdict == VERDICT_DEFECT &&
	    tally_count(&results->defects, judgement.defect) == 1)
		report(judgement.defect, &judgement.fault);
	if (judgement.verdict == VERDICT_UNEXPLAINED &&
	    ++results->unexplained <= 5)
		report("UNEXPLAINED", &judgement.fault);
}

static bool is_in_known_function(struct object *object, uint64_t pc)
{
	return object_rule(object, pc)->answer != REF_NONE;
}

/*
 * Compare the stack at this stop, which takes one step. Returns false if the
 * target cannot be stepped from there.
 */
static bool examine(enum method method)
{
	enum target_event event = TARGET_INTERRUPTED;
	struct user_regs_struct regs;
	struct object *object;
	bool seen = false;
	int err;

	if (!target_registers(&truth.target, &regs))
		return false;
	object = image_object(&truth.image, regs.rip);
	if (!object || !is_in_known_function(object, regs.rip)) {
		if (object)
			truth.results.no_function++;
		else
			truth.results.outside++;
		return false;
	}
	judge_look(&truth.judge, &regs);
	truth.sequence++;
	err = target_request(&truth.target, truth.sequence,
			     truth.judge.max_depth);
	if (err) {
		fprintf(stderr, "truth: request: %s\n", strerror(-err));
		exit(1);
	}
	/*
	 * An interrupt sent earlier may stop it before it has executed
	 * anything.
	 */
	for (int tries = 0; !seen && event == TARGET_INTERRUPTED && tries < 10;
	     tries++) {
		event = target_step(&truth.target);
		seen = read_record();
	}
	if (seen && event != TARGET_SIGNAL)
		judge_stop(method);
	else
		truth.results.disturbed++;
	return event == TARGET_TRAP;
}

/* The return address of code outside of the objects, or 0. */
static uint64_t way_back(void)
{
	struct user_regs_struct regs;
	uint64_t word;

	if (!target_registers(&truth.target, &regs))
		return 0;
	/* At the entry of a function, or of the lazy-binding trampoline. */
	for (int i = 0; i < 3; i += 2) {
		if (memory_word(&truth.target.memory, regs.rsp + 8 * i,
				&word) && image_object(&truth.image, word))
			return word;
	}
	return 0;
}

/*
 * Run through code outside of the objects. Returns false if that takes too
 * long.
 */
static bool step_over(void)
{
	const uint64_t back = way_back();
	enum target_event event;
	struct user_regs_struct regs;

	if (!back)
		return false;
	target_break(&truth.target, back);
	event = target_continue(&truth.target, 20000);
	if (event == TARGET_EXITED)
		return false;
	target_unbreak(&truth.target, back);
	return target_registers(&truth.target, &regs) &&
	       event == TARGET_TRAP && image_object(&truth.image, regs.rip);
}

static bool can_go_on(void)
{
	return truth.target.pid && !truth.target.signal;
}

static void arm(void)
{
	target_unbreak_all(&truth.target);
	for (int i = 0; i < ARMED; i++) {
		const uint64_t at = points_pick(&truth.points, &truth.image,
						&truth.random);

		if (at)
			target_break(&truth.target, at);
	}
}

static enum method run_on(void)
{
	const unsigned int usec = 50 + random_below(&truth.random,
			random_below(&truth.random, 8) ? SHORT_USEC :
							 LONG_USEC);

	enum target_event event = target_continue(&truth.target, usec);
	const bool is_break = event == TARGET_TRAP;

	/* No signal may be delivered between a stop and its record. */
	while (event == TARGET_SIGNAL)
		event = target_step(&truth.target);
	return is_break ? METHOD_BREAK : METHOD_TIMER;
}

/* Sometimes send a signal, so that the next steps go through its handler. */
static void maybe_signal(void)
{
	if (truth.signal && !random_below(&truth.random, 8) &&
	    target_handles(&truth.target, truth.signal))
		tgkill(truth.target.pid, truth.target.pid, truth.signal);
}

static void round_of_stops(void)
{
	unsigned int steps = random_below(&truth.random,
			random_below(&truth.random, 4) ? SOME_STEPS :
							 MANY_STEPS);
	enum method method;

	switch (random_below(&truth.random, 4)) {
	case 0:
	case 1:
		arm();
		break;
	case 2:
		target_unbreak_all(&truth.target);
		break;
	}
	method = run_on();
	while (truth.target.pid && !is_done()) {
		if (!examine(method) && !(method == METHOD_STEP &&
					  can_go_on() && step_over()))
			break;
		if (!steps--)
			break;
		method = METHOD_STEP;
	}
	if (truth.target.pid)
		maybe_signal();
}

static bool start(void)
{
	if (!target_start(&truth.target, truth.argv, truth.agent, truth.device,
			  0))
		return false;
	/*
	 * Threads that the program creates at its start are not traced, and
	 * must not hit breakpoints.
	 */
	if (truth.warm_up && target_continue(&truth.target, truth.warm_up *
					     1000) != TARGET_INTERRUPTED) {
		fprintf(stderr, "truth: %s does not warm up\n", truth.name);
		return false;
	}
	truth.judge.image = &truth.image;
	return image_load(&truth.image, truth.target.pid,
			  &truth.target.memory);
}

/* Run the program until it exits or enough stops have been compared. */
static bool run_program(void)
{
	const unsigned long before = compared();
	unsigned int idle = 0;
	bool ok = start();

	while (ok && truth.target.pid && !is_done()) {
		const unsigned long seen = compared();

		round_of_stops();
		idle = compared() == seen ? idle + 1 : 0;
		if (idle == MAX_IDLE) {
			fprintf(stderr, "truth: %s is never in its own code\n",
				truth.name);
			ok = false;
		}
	}
	if (ok && !truth.target.pid && (!WIFEXITED(truth.target.status) ||
					WEXITSTATUS(truth.target.status) ||
					compared() == before)) {
		fprintf(stderr, "truth: %s ended with status %#x after %lu stops\n",
			truth.name, truth.target.status, compared() - before);
		ok = false;
	}
	target_kill(&truth.target);
	image_unload(&truth.image);
	return ok;
}

static void print_tally(const char *what, const struct tally *tally)
{
	for (unsigned int i = 0; i < tally->nr; i++)
		printf("%s|%s|%s|%lu\n", what, truth.name,
		       tally->names[i].name, tally->names[i].count);
}

/* For the script that formats the table. */
static void print_results(unsigned long seconds)
{
	const struct results *r = &truth.results;
	unsigned long defects = 0;

	for (unsigned int i = 0; i < r->defects.nr; i++)
		defects += r->defects.names[i].count;
	printf("row|%s|%lu|%lu|%lu|%lu|%lu|%lu|%.1f|%lu|%lu|%lu|%lu|%lu|%lu\n",
	       truth.name, r->stops[METHOD_STEP], r->stops[METHOD_TIMER],
	       r->stops[METHOD_BREAK], compared(),
	       r->outside + r->no_function, r->frames,
	       compared() ? (double)r->frames / compared() : 0, r->deepest,
	       r->signals, r->disturbed, defects, r->unexplained, seconds);
	print_tally("defect", &r->defects);
	print_tally("harmless", &r->harmless);
	print_tally("end", &r->ends);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: truth [OPTION]... NAME AGENT PROGRAM [ARG]...\n"
		"  -n STOPS    to compare; default: 2000\n"
		"  -s SEED     of the random numbers\n"
		"  -t SECONDS  give up after that time\n"
		"  -w MSEC     let the program run for so long first\n"
		"  -g SIGNAL   that the program has a handler for\n"
		"Its stdout is thrown away. NAME is for the messages.\n");
	exit(2);
}

static void read_options(int argc, char **argv)
{
	int option;

	truth.wanted = 2000;
	truth.random = 1;
	truth.deadline = 600;
	while ((option = getopt(argc, argv, "+n:s:t:w:g:")) != -1) {
		switch (option) {
		case 'n':
			truth.wanted = strtoul(optarg, NULL, 0);
			break;
		case 's':
			truth.random = strtoul(optarg, NULL, 0);
			break;
		case 't':
			truth.deadline = strtoul(optarg, NULL, 0);
			break;
		case 'w':
			truth.warm_up = strtoul(optarg, NULL, 0);
			break;
		case 'g':
			truth.signal = strtoul(optarg, NULL, 0);
			break;
		default:
			usage();
		}
	}
	if (argc - optind < 3)
		usage();
	truth.name = argv[optind];
	truth.agent = argv[optind + 1];
	truth.argv = argv + optind + 2;
}

int main(int argc, char **argv)
{
	const unsigned long begin = now();
	sigset_t child;
	bool ok = true;

	read_options(argc, argv);
	truth.deadline += begin;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	open_device();

	while (ok && !is_done())
		ok = run_program();
	print_results(now() - begin);
	points_free(&truth.points);
	free(truth.record);
	if (compared() < truth.wanted)
		fprintf(stderr, "truth: %s: only %lu of %lu stops compared\n",
			truth.name, compared(), truth.wanted);
	return !ok || truth.results.unexplained || compared() < truth.wanted;
}
