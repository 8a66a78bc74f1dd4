// SPDX-License-Identifier: GPL-2.0
/*
 * Attach sections to the files that observed programs have mapped. See exec_attach.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "exec_attach.h"
#include "exec_maps.h"
#include "exec_objects.h"

/* Most programs at the same time; each has an open file. */
#define MAX_PROGRAMS 200

/* Time after which a section that was sent is sent again, without a report. */
#define REPORT_NS 500000000ULL

/**
 * enum use_state - an object in a program
 *
 * @USE_NONE: no stack has ended in it.
 * @USE_OFFERED: the program may ask for its section.
 * @USE_SENT: it was sent to the program.
 * @USE_ATTACHED: it is attached.
 * @USE_REFUSED: it could not be attached.
 */
enum use_state {
	USE_NONE, USE_OFFERED, USE_SENT, USE_ATTACHED, USE_REFUSED
};

/**
 * struct use - an object in a program
 *
 * @state: see there.
 * @error: errno, with USE_REFUSED.
 * @id: id of the attachment, with USE_ATTACHED.
 * @time: when it was sent, or attached, in nanoseconds of CLOCK_MONOTONIC.
 */
struct use {
	enum use_state state;
	uint32_t error;
	uint64_t id;
	uint64_t time;
};

/**
 * struct program - a program that has requested stacks
 *
 * @pid: its process.
 * @pidfd: readable when it has ended.
 * @uses: by the number of the object.
 * @nr_uses: entries of @uses.
 */
struct program {
	pid_t pid;
	int pidfd;
	struct use *uses;
	uint32_t nr_uses;
};

/**
 * struct exec_attach
 *
 * @handle: the device.
 * @page: shared with the programs.
 * @is_on: not --no-attach.
 * @objects: files, by number.
 * @programs, @nr: the programs.
 * @missing: see exec_attach_judge().
 */
struct exec_attach {
	struct sframe_unwind *handle;
	struct exec_page *page;
	bool is_on;
	struct exec_objects objects;
	struct program programs[MAX_PROGRAMS];
	unsigned int nr;
	char missing[PATH_MAX + EXEC_REASON_SIZE];
};

_Static_assert(EXEC_MAX_CONVERSIONS == OBJECTS_MAX_CONVERSIONS, "the same");
_Static_assert(EXEC_BUILD_ID_SIZE == SFRAME_UNWIND_BUILD_ID_SIZE &&
	       EXEC_BUILD_ID_SIZE == EXEC_MAX_BUILD_ID, "the same");
_Static_assert(sizeof(struct exec_page) == 4096, "one page");

struct exec_attach *exec_attach_create(struct sframe_unwind *handle,
				       struct exec_page *page, bool is_on)
{
	struct exec_attach *attach = calloc(1, sizeof(*attach));
	struct sframe_unwind_query query;

	if (!attach)
		return NULL;
	attach->handle = handle;
	attach->page = page;
	attach->is_on = is_on;
	exec_objects_init(&attach->objects,
			  !sframe_unwind_query(handle, &query) &&
			  query.features & SFRAME_UNWIND_FEATURE_ATTACH_EXTENDED);
	return attach;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* --- programs */

/* Forget a program that has ended, or executes another one; detach its sections. */
static void forget(struct exec_attach *attach, struct program *program)
{
	for (uint32_t i = 0; i < program->nr_uses; i++)
		if (program->uses[i].state == USE_ATTACHED)
			sframe_unwind_detach(attach->handle,
					     program->uses[i].id);
	free(program->uses);
	close(program->pidfd);
	*program = attach->programs[--attach->nr];
}

static void forget_ended(struct exec_attach *attach)
{
	for (unsigned int i = attach->nr; i--;) {
		struct pollfd file = {
			.fd = attach->programs[i].pidfd,
			.events = POLLIN,
		};

		if (poll(&file, 1, 0) > 0)
			forget(attach, &attach->programs[i]);
	}
}

static struct program *find_program(struct exec_attach *attach, pid_t pid)
{
	for (unsigned int i = 0; i < attach->nr; i++)
		if (attach->programs[i].pid == pid)
			return &attach->programs[i];
	return NULL;
}

/* Returns the program, with a new entry if necessary; or NULL if there are too many. */
static struct program *get_program(struct exec_attach *attach, pid_t pid)
{
	struct program *program;
	int pidfd;

	/* The number may be that of an earlier process. */
	forget_ended(attach);
	program = find_program(attach, pid);
	if (program || attach->nr == MAX_PROGRAMS)
		return program;
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return NULL;
	program = &attach->programs[attach->nr++];
	*program = (struct program) { .pid = pid, .pidfd = pidfd };
	return program;
}

/* Returns the program's use of the object, or NULL if out of memory. */
static struct use *get_use(struct program *program, uint32_t number)
{
	struct use *uses;

	if (number >= program->nr_uses) {
		uses = realloc(program->uses, (number + 1) * sizeof(*uses));
		if (!uses)
			return NULL;
		memset(uses + program->nr_uses, 0,
		       (number + 1 - program->nr_uses) * sizeof(*uses));
		program->uses = uses;
		program->nr_uses = number + 1;
	}
	return &program->uses[number];
}

void exec_attach_free(struct exec_attach *attach)
{
	if (!attach)
		return;
	while (attach->nr)
		forget(attach, &attach->programs[attach->nr - 1]);
	exec_objects_exit(&attach->objects);
	free(attach);
}

void exec_attach_begin(struct exec_attach *attach, pid_t pid, bool ahead)
{
	struct program *program = find_program(attach, pid);
	struct exec_maps maps;

	if (program)
		forget(attach, program);
	if (!ahead || !attach->is_on || !exec_maps_are_ours(pid) ||
	    exec_maps_read(&maps, pid))
		return;
	for (size_t i = 0; i < maps.nr; i++) {
		const int64_t number = exec_objects_find(&attach->objects, pid,
							 &maps.mappings[i]);

		if (number >= 0)
			exec_objects_want(&attach->objects,
					  attach->objects.objects[number], pid,
					  &maps.mappings[i], false);
	}
	exec_maps_free(&maps);
}

/* --- judging stacks */

__attribute__((format(printf, 2, 3)))
static enum exec_verdict lacks(struct exec_attach *attach, const char *format,
			       ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(attach->missing, sizeof(attach->missing), format, list);
	va_end(list);
	return EXEC_PRINT;
}

static const char *refusal(uint32_t error)
{
	switch (error) {
	case ENOMEM:
		return "no memory for its section, or more than RLIMIT_MEMLOCK allows";
	case ENOSPC:
		return "no room for its section: the limit of the module is reached";
	}
	return strerror(error);
}

static void offer(struct exec_attach *attach, struct use *use)
{
	use->state = USE_OFFERED;
	__atomic_add_fetch(&attach->page->offers, 1, __ATOMIC_RELEASE);
}

/* Returns whether the address of frame @i has led to a return address that is none. */
static bool is_wrong(const struct sframe_unwind_stack *stack, unsigned int i)
{
	return i + 1 == sframe_unwind_stack_frames(stack) &&
	       stack->stop == SFRAME_UNWIND_STOP_BAD_ADDRESS;
}

/*
 * The object of frame @i has a section: judge by what the program has done with that.
 */
static enum exec_verdict judge_use(struct exec_attach *attach,
				   struct program *program, uint32_t number,
				   const char *name,
				   const struct sframe_unwind_stack *stack,
				   unsigned int i)
{
	struct use *use = program ? get_use(program, number) : NULL;

	if (!use)
		return lacks(attach, "%s: too many programs or no memory",
			     name);
	switch (use->state) {
	case USE_NONE:
		offer(attach, use);
		lacks(attach, "%s: being attached, ask again", name);
		return EXEC_RETRY;
	case USE_OFFERED:
	case USE_SENT:
		/* The program may have failed to ask, or to report. */
		if (use->state == USE_OFFERED ||
		    now_ns() > use->time + REPORT_NS)
			offer(attach, use);
		lacks(attach, "%s: has not been attached in the program", name);
		return EXEC_RETRY_LATER;
	case USE_ATTACHED:
		if (stack->time < use->time) {
			lacks(attach, "%s: has been attached, ask again", name);
			return EXEC_RETRY;
		}
		return lacks(attach, "%s: its call frame information has %s for this code",
			     name, is_wrong(stack, i) ? "a wrong rule, or none," : "no rule");
	case USE_REFUSED:
		break;
	}
	return lacks(attach, "%s: %s", name, refusal(use->error));
}

/* A rule for the address of frame @i is missing. Returns what to do about that. */
static enum exec_verdict judge_frame(struct exec_attach *attach,
				     const struct sframe_unwind_stack *stack,
				     unsigned int i, const struct exec_maps *maps)
{
	const uint64_t address = sframe_unwind_stack_lookup(stack, i);
	const struct exec_mapping *mapping = exec_maps_find(maps, address);
	const pid_t pid = stack->pid;
	struct exec_object *object;
	int64_t number;

	if (!mapping || (!mapping->inode && strcmp(mapping->name, EXEC_VDSO)))
		return lacks(attach, "code that no file has, at 0x%llx",
			     (unsigned long long)address);
	if (!attach->is_on)
		return lacks(attach, "%s: no SFrame data, and --no-attach is given",
			     mapping->name);
	number = exec_objects_find(&attach->objects, pid, mapping);
	if (number < 0)
		return lacks(attach, "%s: too many files", mapping->name);
	object = attach->objects.objects[number];
	exec_objects_want(&attach->objects, object, pid, mapping, true);
	if (object->state == OBJECT_READY)
		return judge_use(attach, get_program(attach, pid), number,
				 mapping->name, stack, i);
	if (object->state == OBJECT_FAILED)
		return lacks(attach, "%s", object->converted.reason);
	lacks(attach, "%s: being converted, ask again", mapping->name);
	return EXEC_HOLD;
}

/*
 * Returns whether the rule for the address of frame @i is missing, or may be: instead of
 * a rule, the frame pointer may have led to an address that is none.
 */
static bool is_missing(const struct sframe_unwind_stack *stack, unsigned int i)
{
	if (i + 1 == sframe_unwind_stack_frames(stack))
		return stack->stop == SFRAME_UNWIND_STOP_NO_RULE ||
		       is_wrong(stack, i);
	return (sframe_unwind_stack_how(stack, i + 1) &
		~SFRAME_UNWIND_FRAME_UNSURE) == SFRAME_UNWIND_FRAME_FP;
}

/* Of all missing rules, the first about which something can be done decides. */
static enum exec_verdict judge_frames(struct exec_attach *attach,
				      const struct sframe_unwind_stack *stack,
				      const struct exec_maps *maps)
{
	const unsigned int nr = sframe_unwind_stack_frames(stack);
	char first[sizeof(attach->missing)] = "";
	enum exec_verdict verdict;

	for (unsigned int i = 0; i < nr; i++) {
		if (!is_missing(stack, i))
			continue;
		verdict = judge_frame(attach, stack, i, maps);
		if (verdict != EXEC_PRINT)
			return verdict;
		if (!*first)
			memcpy(first, attach->missing, sizeof(first));
	}
	memcpy(attach->missing, first, sizeof(first));
	return EXEC_PRINT;
}

static bool misses_any(const struct sframe_unwind_stack *stack)
{
	for (unsigned int i = 0; i < sframe_unwind_stack_frames(stack); i++)
		if (is_missing(stack, i))
			return true;
	return false;
}

enum exec_verdict exec_attach_judge(struct exec_attach *attach,
				    const struct sframe_unwind_stack *stack,
				    const char **missing)
{
	enum exec_verdict verdict;
	struct exec_maps maps;

	*missing = NULL;
	if (stack->stop == SFRAME_UNWIND_STOP_PENDING)
		return EXEC_RETRY_LATER;
	if (!misses_any(stack))
		return EXEC_PRINT;
	*missing = attach->missing;
	if (!stack->pid)
		return lacks(attach, "the process is in another PID namespace");
	if (!exec_maps_are_ours(stack->pid))
		return lacks(attach, "the process has another user, or may not be inspected");
	if (exec_maps_read(&maps, stack->pid))
		return lacks(attach, "the process's mappings cannot be read");
	verdict = judge_frames(attach, stack, &maps);
	exec_maps_free(&maps);
	return verdict;
}

/* --- questions of programs */

/* Returns the parent of @pid, or 0. */
static pid_t find_parent(pid_t pid)
{
	char path[64], *line = NULL;
	int parent = 0;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (getline(&line, &size, file) > 0 &&
	       sscanf(line, "PPid: %d", &parent) != 1)
		;
	free(line);
	fclose(file);
	return parent;
}

static void note_report(struct program *program,
			const struct exec_report *report)
{
	struct use *use;

	if (!report->section || report->section > program->nr_uses)
		return;
	use = &program->uses[report->section - 1];
	if (use->state != USE_SENT)
		return;
	use->state = report->error ? USE_REFUSED : USE_ATTACHED;
	use->error = report->error;
	use->id = report->id;
	use->time = now_ns();
}

/* Returns the id of an attachment of the object in any program, or 0. */
static uint64_t find_attachment(const struct exec_attach *attach,
				uint32_t number)
{
	for (unsigned int i = 0; i < attach->nr; i++) {
		const struct program *program = &attach->programs[i];

		if (number < program->nr_uses &&
		    program->uses[number].state == USE_ATTACHED)
			return program->uses[number].id;
	}
	return 0;
}

static void send_section(const struct exec_attach *attach, uint32_t number,
			 struct exec_section *section,
			 int files[EXEC_NR_SECTION_FILES])
{
	const struct exec_object *object = attach->objects.objects[number];
	const struct exec_converted *converted = &object->converted;

	section->section = number + 1;
	section->build_id_size = converted->build_id_size;
	memcpy(section->build_id, converted->build_id,
	       sizeof(section->build_id));
	files[EXEC_ELF] = object->files[0];
	/* It was converted anyway because its own section lacks a rule. */
	if (converted->has_own)
		section->flags |= SFRAME_UNWIND_ATTACH_PREFER;
	/* The vDSO has no file: by its build ID, and not shared. */
	if (object->mapping.inode) {
		section->flags |= SFRAME_UNWIND_ATTACH_INODE;
		section->share_id = find_attachment(attach, number);
	}
	if (section->share_id) {
		section->flags |= SFRAME_UNWIND_ATTACH_SHARE;
	} else {
		if (converted->is_extended)
			section->flags |= SFRAME_UNWIND_ATTACH_EXTENDED;
		section->size = converted->size;
		files[EXEC_SFRAME] = object->files[1];
	}
}

void exec_attach_answer(struct exec_attach *attach, pid_t asker,
			const struct exec_report *report,
			struct exec_section *section,
			int files[EXEC_NR_SECTION_FILES])
{
	struct program *program = find_program(attach, find_parent(asker));

	*section = (struct exec_section) { 0 };
	for (int i = 0; i < EXEC_NR_SECTION_FILES; i++)
		files[i] = -1;
	if (!program)
		return;
	note_report(program, report);
	for (uint32_t i = 0; i < program->nr_uses; i++) {
		if (program->uses[i].state != USE_OFFERED ||
		    attach->objects.objects[i]->state != OBJECT_READY)
			continue;
		program->uses[i].state = USE_SENT;
		program->uses[i].time = now_ns();
		send_section(attach, i, section, files);
		return;
	}
}

void exec_attach_poll(const struct exec_attach *attach,
		      struct pollfd files[EXEC_MAX_CONVERSIONS])
{
	exec_objects_poll(&attach->objects, files);
}

bool exec_attach_run(struct exec_attach *attach,
		     const struct pollfd files[EXEC_MAX_CONVERSIONS])
{
	return exec_objects_run(&attach->objects, files);
}
