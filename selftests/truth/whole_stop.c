// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "whole_stop.h"

/* Values of rax for a system call that is restarted if no handler runs. */
#define ERESTARTSYS		512
#define ERESTARTNOINTR		513
#define ERESTARTNOHAND		514
#define ERESTART_RESTARTBLOCK	516
#define SYSCALL_SIZE		2

/* Time between checks of what has been attached, in microseconds. */
#define INTERVAL_USEC		20000

/* More than any file takes, in seconds. */
#define ATTACH_SECONDS		300

unsigned long whole_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

uint64_t whole_usec(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000ull + time.tv_nsec / 1000;
}

void whole_stop_open(struct whole_stop *stop)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };

	stop->device = open(SFRAME_UNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (stop->device < 0 ||
	    ioctl(stop->device, SFRAME_UNWIND_IOC_QUERY, &query)) {
		perror("whole: " SFRAME_UNWIND_DEVICE);
		exit(1);
	}
	if (!(query.features & SFRAME_UNWIND_FEATURE_OTHER_PROCESS)) {
		fprintf(stderr, "whole: no stacks of other processes\n");
		exit(1);
	}
	stop->judge.max_depth = query.max_depth < MAX_DEPTH ? query.max_depth :
							      MAX_DEPTH;
	stop->record_size = query.max_record_size;
	stop->record = malloc(query.max_record_size);
	if (!stop->record)
		exit(1);
}

/*
 * Mappings
 */

/* Whether @object is named in a line "VERB OBJECT: TEXT" of the list. */
static bool is_in_list(FILE *list, const char *object)
{
	const size_t size = strlen(object);
	bool found = false;
	char line[1024];

	rewind(list);
	while (!found && fgets(line, sizeof(line), list)) {
		const char *name = strchr(line, ' ');

		found = name && !strncmp(name + 1, object, size) &&
			name[size + 1] == ':';
	}
	return found;
}

/* Whether code is mapped from the file, which may be mapped just to be read. */
static bool is_executable(const struct whole_stop *stop, const char *name)
{
	char path[32], line[1024], execute;
	bool found = false;
	FILE *maps;
	int at;

	snprintf(path, sizeof(path), "/proc/%d/maps", stop->image.pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		found = sscanf(line, "%*x-%*x %*c%*c%c%*c %*x %*s %*u %n",
			       &execute, &at) == 1 && execute == 'x' &&
			!strcmp(line + at, name);
	}
	fclose(maps);
	return found;
}

struct awaited {
	const struct whole_stop *stop;
	FILE *list;
	unsigned long deadline;
};

/* Any file with code counts, also without call frame information. */
static int await_object(Dwfl_Module *module, void **data, const char *name,
			Dwarf_Addr start, void *arg)
{
	const struct awaited *awaited = arg;

	(void)data;
	(void)start;
	name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL,
				NULL);
	if (name[0] != '/' || !is_executable(awaited->stop, name))
		return DWARF_CB_OK;
	while (!is_in_list(awaited->list, name)) {
		usleep(INTERVAL_USEC);
		if (whole_now() > awaited->deadline) {
			fprintf(stderr, "whole: %s: nothing is attached to %s\n",
				awaited->stop->name, name);
			return DWARF_CB_ABORT;
		}
	}
	return DWARF_CB_OK;
}

/* This time does not count. */
static void await_attached(struct whole_stop *stop)
{
	const unsigned long begin = whole_now();
	struct awaited awaited = {
		.stop = stop,
		.list = fopen(stop->attached, "re"),
		.deadline = begin + ATTACH_SECONDS,
	};

	if (!awaited.list) {
		perror(stop->attached);
		return;
	}
	dwfl_getmodules(stop->image.dwfl, await_object, &awaited, 0);
	fclose(awaited.list);
	stop->deadline += whole_now() - begin;
}

bool whole_stop_load(struct whole_stop *stop, struct target *target)
{
	if (stop->image.dwfl)
		image_unload(&stop->image);
	stop->image.whole = true;
	stop->judge.image = &stop->image;
	whole_forget(&stop->judge);
	if (!image_load(&stop->image, target->pid, &target->memory))
		return false;
	code_load(&stop->code, &stop->image);
	if (stop->attached)
		await_attached(stop);
	return true;
}

/*
 * Whether the last frame is in a file that libdw does not know yet, because the
 * program has loaded it meanwhile.
 */
static bool is_outdated(const struct whole_stop *stop, pid_t pid)
{
	const struct truth_stack *truth = &stop->judge.truth;
	unsigned long start, end, pc;
	char path[32], line[512];
	bool found = false;
	FILE *file;

	if (!truth->nr)
		return false;
	pc = truth->frames[stop->judge.sure ? stop->judge.sure - 1 : 0].pc;
	if (dwfl_addrmodule(stop->image.dwfl, pc))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		found = sscanf(line, "%lx-%lx", &start, &end) == 2 &&
			pc >= start && pc < end && strchr(line, '/');
	}
	fclose(file);
	return found;
}

/*
 * One stop
 */

static void remember(struct whole_stop *stop)
{
	const struct truth_stack *truth = &stop->judge.truth;

	for (unsigned int i = 0; i < 4 && truth->nr; i++)
		stop->recent[random_below(&stop->random, MAX_RECENT)] =
			truth->frames[random_below(&stop->random,
						   truth->nr)].pc;
}

/* Unwind by libdw. Returns false if the thread has been killed. */
static bool look(struct whole_stop *stop, struct target *target)
{
	struct user_regs_struct regs;
	long result;

	if (!target_registers(target, &regs))
		return false;
	/*
	 * As the kernel does at the return to user space, before the stack is
	 * taken.
	 */
	result = -(long)regs.rax;
	if ((long)regs.orig_rax >= 0 &&
	    (result == ERESTARTSYS || result == ERESTARTNOINTR ||
	     result == ERESTARTNOHAND || result == ERESTART_RESTARTBLOCK)) {
		regs.rip -= SYSCALL_SIZE;
		regs.rax = regs.orig_rax;
	}
	stop->image.pid = target->pid;
	stop->image.memory = &target->memory;
	whole_look(&stop->judge, &regs);
	if (is_outdated(stop, target->pid)) {
		if (!whole_stop_load(stop, target))
			return false;
		whole_look(&stop->judge, &regs);
	}
	remember(stop);
	return true;
}

/* Returns false if the thread has been killed. */
static bool request(struct whole_stop *stop, pid_t tid)
{
	struct sframe_unwind_request request = {
		.size = sizeof(request),
		.flags = stop->judge.fallback ?
			 SFRAME_UNWIND_REQUEST_FP_FALLBACK : 0,
		.tid = tid,
		.max_depth = stop->judge.max_depth,
		.user_data = ++stop->sequence,
	};

	if (!ioctl(stop->device, SFRAME_UNWIND_IOC_REQUEST, &request))
		return true;
	if (errno != ESRCH) {
		perror("whole: request");
		exit(1);
	}
	return false;
}

/* Read the record of this stop, if it has arrived; older ones are skipped. */
static bool read_record(struct whole_stop *stop)
{
	while (read(stop->device, stop->record, stop->record_size) > 0) {
		if (stop->record->record.type == SFRAME_UNWIND_RECORD_STACK &&
		    stop->record->user_data == stop->sequence)
			return true;
	}
	return false;
}

static void judge_stop(struct whole_stop *stop, enum method method)
{
	struct whole_judgement judgement;

	whole_record(&stop->judge, stop->record, &judgement);
	if (!whole_results_add(&stop->results, method, &judgement))
		return;
	printf("# %s: %s: %s, seen first at stop %lu\n", stop->name,
	       whole_verdict_name(judgement.verdict), judgement.place,
	       whole_results_compared(&stop->results));
	whole_print(&stop->judge, stop->record, stdout);
	fflush(stdout);
}

bool whole_stop_examine(struct whole_stop *stop, struct target *target,
			enum method method)
{
	enum target_event event = TARGET_INTERRUPTED;
	bool seen = false;

	if (!look(stop, target) || !request(stop, target->pid)) {
		target_step(target);
		return false;
	}
	/*
	 * An interrupt sent earlier may stop it before it has executed
	 * anything.
	 */
	for (int tries = 0; !seen && event == TARGET_INTERRUPTED && tries < 10;
	     tries++) {
		event = target_step(target);
		seen = read_record(stop);
	}
	if (seen && event != TARGET_SIGNAL)
		judge_stop(stop, method);
	else
		stop->results.disturbed++;
	return event == TARGET_TRAP;
}
