// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "cli/attach/clock.h"
#include "cli/profile/copies.h"
#include "cli/profile/copy_code.h"
#include "cli/profile/copy_look.h"
#include "cli/profile/copy_sections.h"
#include "cli/profile/history.h"
#include "cli/profile/ranges.h"
#include "sframe_unwind.h"

/* Bytes of all copies, and how long one is kept. */
#define COPIES_MAX	(64u << 20)
#define KEPT_NS		(60 * SECOND)

/*
 * Bytes for what has happened to processes. When they are used up, all of it is forgotten, as
 * it is when something was lost: what is new is what matters here. Processes that were there
 * before are looked at again when they have stacks to be completed.
 */
#define HISTORY_MAX	(64u << 20)

/*
 * How long no stack is completed when following what processes map has been too much: that takes
 * seconds, in which the rings are not read, and a process can cause it again and again.
 */
#define PAUSE_NS	(60 * SECOND)

/* How long stacks are walked through at a time: the rings are not read meanwhile. */
#define WORK_NS		(100 * MS)

/* Bytes of a copy: as much as the module makes. */
#define COPY_MAX	65536u

TAILQ_HEAD(copied_list, copied_stack);

/**
 * struct copies - all stacks
 *
 * @command: for messages.
 * @history: what processes have mapped.
 * @sections: SFrame data for that.
 * @code: the same for generated code, or NULL.
 * @look: at processes when what they have mapped was forgotten.
 * @waiting: stacks that are not over.
 * @over: those that are.
 * @size: bytes of all.
 * @is_lost: something that has happened to processes was lost.
 * @nr_files: of files whose inode is not known.
 * @since: what happened before is not followed, see forget().
 * @resume: when stacks are completed again, or 0.
 */
struct copies {
	const char *command;
	struct history *history;
	struct copy_sections *sections;
	struct copy_code *code;
	struct copy_look *look;
	struct copied_list waiting;
	struct copied_list over;
	size_t size;
	bool is_lost;
	uint64_t nr_files;
	uint64_t since;
	uint64_t resume;
};

struct copies *copies_create(const char *command, struct copy_code *code)
{
	struct copy_sections *sections = copy_sections_create(command);
	struct copies *copies;

	if (!sections) {
		copy_code_free(code);
		return NULL;
	}
	copies = table_allocate(sizeof(*copies));
	copies->command = command;
	copies->sections = sections;
	copies->code = code;
	copies->history = history_create(HISTORY_MAX);
	copies->look = copy_look_create();
	TAILQ_INIT(&copies->waiting);
	TAILQ_INIT(&copies->over);
	return copies;
}

static struct copied_list *list_of(struct copies *copies, const struct copied_stack *stack)
{
	return stack->is_over ? &copies->over : &copies->waiting;
}

void copies_remove(struct copies *copies, struct copied_stack *stack)
{
	TAILQ_REMOVE(list_of(copies, stack), stack, age);
	copies->size -= stack->size;
	ranges_put(stack->ranges);
	free(stack->copy);
	free(stack);
}

void copies_without_code(struct copies *copies)
{
	if (!copies)
		return;
	copy_code_free(copies->code);
	copies->code = NULL;
}

void copies_free(struct copies *copies)
{
	struct copied_stack *stack;

	if (!copies)
		return;
	while ((stack = TAILQ_FIRST(&copies->waiting)) ||
	       (stack = TAILQ_FIRST(&copies->over)))
		copies_remove(copies, stack);
	copy_sections_free(copies->sections);
	copy_code_free(copies->code);
	history_free(copies->history);
	copy_look_free(copies->look);
	free(copies);
}

void copies_follow(struct copies *copies,
		   const struct sframe_unwind_profile_record *record,
		   const struct object_inode *inode)
{
	struct object_inode unknown = { 0 };

	if (!copies || copies->resume)
		return;
	copies->is_lost |= record->kind == SFRAME_UNWIND_PROFILE_LOST;
	if (record->time < copies->since)
		return;
	if (!inode && record->kind == SFRAME_UNWIND_PROFILE_MAP &&
	    is_file_name(record->map.name)) {
		unknown.generation = ++copies->nr_files;
		inode = &unknown;
	}
	history_add_file(copies->history, record, inode);
	copy_look_follow(copies->look, record);
	copy_code_follow(copies->code, record);
}

/* The stack is over: completed, or cut for good. */
static void end(struct copies *copies, struct copied_stack *stack)
{
	TAILQ_REMOVE(&copies->waiting, stack, age);
	stack->is_over = true;
	TAILQ_INSERT_TAIL(&copies->over, stack, age);
}

/* Forget what has happened to processes, and stacks that refer to it. */
static void forget(struct copies *copies)
{
	struct copied_stack *stack;

	while ((stack = TAILQ_FIRST(&copies->waiting)))
		end(copies, stack);
	TAILQ_FOREACH(stack, &copies->over, age) {
		ranges_put(stack->ranges);
		stack->ranges = NULL;
	}
	/*
	 * What is read next may be earlier than what was forgotten, or lost, of the ring of another
	 * CPU: a process would have mapped what that has replaced.
	 */
	copies->since = now_ns();
	if (history_is_inexact(copies->history))
		copies->resume = copies->since + PAUSE_NS;
	/* The numbers of its files are those of the history. */
	copy_sections_free(copies->sections);
	history_free(copies->history);
	copies->sections = copy_sections_create(copies->command);
	copies->history = history_create(HISTORY_MAX);
	copy_look_begin(copies->look);
	copy_code_forget(copies->code, copies->since);
	copies->is_lost = false;
}

/*
 * Whether what is known of processes may be wrong: then code may be that of another file, whose
 * rules would find frames that there are not.
 */
static bool is_doubtful(const struct copies *copies)
{
	return copies->is_lost || history_is_full(copies->history) ||
	       history_is_inexact(copies->history);
}

/*
 * Find the section for the code that process @pid had at @pc, in @mapping, at @time. *@number is
 * set to a number that no other section has.
 */
static enum copy_section find_section(struct copies *copies, uint32_t pid, uint64_t time,
				      uint64_t pc, const struct mapping *mapping,
				      struct sfu_table *table, uint32_t *number)
{
	const struct history_object *object = history_object(copies->history, mapping->object);

	if (is_generated(object->name))
		return copy_code_find(copies->code, pid, time, pc, table, number);
	*number = mapping->object + 1;
	return copies->sections ? copy_sections_find(copies->sections, pc, mapping, object, pid,
						     table) : COPY_SECTION_NONE;
}

/*
 * Take a step. Returns whether there is another one to be taken at once. Otherwise, the
 * stack may be over.
 */
static bool step(struct copies *copies, struct copied_stack *stack)
{
	const uint64_t pc = copy_walk_pc(&stack->walk);
	const struct mapping *mapping = ranges_find(stack->ranges, pc);
	enum copy_section section = COPY_SECTION_NONE;
	enum copy_step step = COPY_CUT;
	struct sfu_table table;
	uint32_t number;

	if (mapping)
		section = find_section(copies, stack->pid, stack->time, pc, mapping, &table,
				       &number);
	else
		copy_look_at(copies->look, stack->pid);
	if (section == COPY_SECTION_LATER)
		return false;
	if (section == COPY_SECTION_HERE)
		step = copy_walk_step(&stack->walk, &table, number);
	if (step == COPY_STEPPED)
		return true;
	stack->is_complete = step != COPY_CUT;
	stack->stop = step == COPY_DEPTH ? SFRAME_UNWIND_STOP_DEPTH :
					   SFRAME_UNWIND_STOP_COMPLETE;
	end(copies, stack);
	return false;
}

static void walk(struct copies *copies, struct copied_stack *stack)
{
	while (step(copies, stack))
		;
}

/*
 * Returns whether there will be no section for the code where the stack was cut. Opens its
 * file, as it may be gone soon.
 */
static bool is_hopeless(struct copies *copies,
			const struct sframe_unwind_sample_record *record,
			const struct sframe_unwind_stack_copy *copy)
{
	const uint64_t pc = copy->ip - !copy->exact;
	const struct mapping *mapping;
	struct sfu_table table;
	uint64_t version;
	uint32_t number;

	if (!copies->sections || copies->resume)
		return true;
	mapping = process_find(history_process(copies->history, record->pid, record->time,
					       &version), pc);
	return mapping && find_section(copies, record->pid, record->time, pc, mapping, &table,
				       &number) == COPY_SECTION_NONE;
}

/*
 * Returns whether the copy goes on where the frames of @record end: the stack map may not have
 * them any more. All processes of other PID namespaces have the number 0.
 */
static bool fits(const struct sframe_unwind_sample_record *record,
		 const struct sframe_unwind_stack_copy *copy)
{
	return record->pid && record->nr_frames &&
	       record->frames[record->nr_frames - 1] == copy->ip;
}

struct copied_stack *copies_add(struct copies *copies,
				const struct sframe_unwind_sample_record *record,
				const struct record_copy *from, uint32_t depth)
{
	const uint32_t size = from->size < COPY_MAX ? from->size : COPY_MAX;
	const uint32_t max = depth > record->nr_frames ? depth - record->nr_frames : 0;
	struct sframe_unwind_stack_copy *copy;
	struct copied_stack *stack;

	if (!fits(record, from->copy) || is_hopeless(copies, record, from->copy))
		return NULL;
	stack = table_allocate(sizeof(*stack));
	*stack = (struct copied_stack){
		.pid = record->pid,
		.since = now_ns(),
		.time = record->time,
		.is_new = true,
		.size = sizeof(*stack) + sizeof(*copy) + size +
			max * (sizeof(uint64_t) + 1),
	};
	stack->copy = table_allocate(sizeof(*copy) + size + max * (sizeof(uint64_t) + 1));
	copy = (void *)stack->copy;
	memcpy(copy, from->copy, sizeof(*copy) + size);
	copy_walk_begin(&stack->walk, copy, size,
			(uint64_t *)(stack->copy + sizeof(*copy) + size),
			stack->copy + sizeof(*copy) + size + max * sizeof(uint64_t), max);
	TAILQ_INSERT_TAIL(&copies->waiting, stack, age);
	copies->size += stack->size;
	/* Those that are over are removed after each round. */
	if (copies->size > COPIES_MAX && !TAILQ_EMPTY(&copies->waiting))
		end(copies, TAILQ_FIRST(&copies->waiting));
	return stack;
}

int copies_file(const struct copies *copies)
{
	return copies ? copy_code_file(copies->code) : -1;
}

void copies_begin_round(struct copies *copies, uint64_t until)
{
	struct copied_stack *stack;
	uint64_t version;

	if (copies->resume && now_ns() >= copies->resume) {
		copies->resume = 0;
		/* What was read in this round was not followed, either. */
		copies->since = now_ns();
		copy_code_forget(copies->code, copies->since);
	}
	if (is_doubtful(copies)) {
		forget(copies);
		return;
	}
	copy_look_take(copies->look, copies->history, until);
	history_update_until(copies->history, until);
	copy_code_take(copies->code, until);
	TAILQ_FOREACH_REVERSE(stack, &copies->waiting, copied_list, age) {
		if (!stack->is_new)
			break;
		stack->is_new = false;
		stack->ranges = process_ranges(history_process(copies->history, stack->pid,
							       stack->time, &version));
	}
	if (is_doubtful(copies))
		forget(copies);
}

void copies_work(struct copies *copies, bool is_urgent)
{
	const uint64_t start = now_ns();
	struct copied_stack *stack, *next;
	uint64_t now = start;

	if (copies->sections)
		copy_sections_work(copies->sections, is_urgent);
	for (stack = TAILQ_FIRST(&copies->waiting); stack && now - start < WORK_NS;
	     stack = next) {
		next = TAILQ_NEXT(stack, age);
		if (!stack->is_new)
			walk(copies, stack);
		now = now_ns();
		if (!stack->is_over && now - stack->since > KEPT_NS)
			end(copies, stack);
	}
}

struct copied_stack *copies_next(struct copies *copies)
{
	return TAILQ_FIRST(&copies->over);
}

bool copies_are_left(const struct copies *copies)
{
	return !TAILQ_EMPTY(&copies->waiting);
}
