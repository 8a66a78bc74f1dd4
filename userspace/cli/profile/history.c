// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/history.h"
#include "cli/profile/jit_files.h"
#include "cli/profile/ranges.h"

#define KERNEL_NAME	"[kernel.kallsyms]"

/* Ranges that may be copied or moved; after that, mappings are not followed exactly. */
#define WORK_MAX	500000000ULL

/*
 * Bytes that are counted for a record: its change, the thread and process, and
 * their steps, in arrays that may be half empty.
 */
#define CHANGE_SIZE	(2 * (sizeof(struct change) + sizeof(struct thread) + \
			      sizeof(struct comm_step) + sizeof(struct step)) + \
			 sizeof(struct process) + 256)

/* For a process and for a thread, with what names keep of each. */
#define PROCESS_SIZE	(sizeof(struct process) + 256)
#define THREAD_SIZE	(2 * sizeof(struct thread) + 192)

enum change_kind {
	CHANGE_MAP,
	CHANGE_EXEC,
	CHANGE_FORK,
	CHANGE_COMM,
};

/**
 * struct change - one change, of all processes
 *
 * @time: when; changes of the same time are in the order of the file.
 * @order: their order in the file.
 * @kind: what.
 * @pid: the process.
 * @tid: the thread.
 * @ppid: for CHANGE_FORK: the parent, or the process itself for a new thread,
 *	or if the new process has mappings of its own.
 * @ptid: for CHANGE_FORK: the parent's thread.
 * @comm: for CHANGE_COMM: number of the name.
 * @mapping: for CHANGE_MAP.
 */
struct change {
	uint64_t time;
	uint32_t order;
	enum change_kind kind;
	uint32_t pid;
	uint32_t tid;
	uint32_t ppid;
	uint32_t ptid;
	uint32_t comm;
	struct mapping mapping;
};

/**
 * struct step - a change of one process
 *
 * @time: when.
 * @base: what it has mapped from now on, instead of all before; or NULL.
 * @mapping: what is mapped in addition, if @base is NULL.
 */
struct step {
	uint64_t time;
	struct ranges *base;
	struct mapping mapping;
};

/**
 * struct process - one process
 *
 * @steps: its changes.
 * @nr_steps: number of those.
 * @steps_room: room for those.
 * @nr_done: how many of them are in @now.
 * @now: what is mapped.
 * @version: changes with @now.
 */
struct process {
	struct step *steps;
	uint32_t nr_steps;
	uint32_t steps_room;
	uint32_t nr_done;
	struct ranges *now;
	uint64_t version;
};

struct comm_step {
	uint64_t time;
	uint32_t comm;
};

struct thread {
	struct comm_step *comms;
	uint32_t nr;
	uint32_t room;
};

/**
 * struct history - all processes
 *
 * @changes: all changes, until history_finish().
 * @nr_changes: number of those.
 * @changes_room: room for those.
 * @pids: numbers of processes.
 * @processes: the processes.
 * @processes_room: room for those.
 * @tids: numbers of threads.
 * @threads: the threads.
 * @threads_room: room for those.
 * @comms: names of threads.
 * @names: names of objects, with their build ID.
 * @objects: the objects.
 * @objects_room: room for those.
 * @jit_files: files that name code made at run time.
 * @kernel_text: address of _text, or 0.
 * @kernel: number of the kernel's object, or TABLE_NONE.
 * @next_version: for the next change of any process.
 * @usage: what following the mappings takes.
 * @limit: of @usage.bytes, and of @charged.
 * @charged: bytes that were counted.
 * @is_inexact: whether @usage became too much.
 * @is_live: see history_set_live().
 */
struct history {
	struct change *changes;
	uint32_t nr_changes;
	uint32_t changes_room;
	struct pairs pids;
	struct process **processes;
	uint32_t processes_room;
	struct pairs tids;
	struct thread *threads;
	uint32_t threads_room;
	struct strings comms;
	struct strings names;
	struct history_object **objects;
	uint32_t objects_room;
	struct jit_files jit_files;
	uint64_t kernel_text;
	uint32_t kernel;
	uint64_t next_version;
	struct ranges_usage usage;
	uint64_t limit;
	uint64_t charged;
	bool is_inexact;
	bool is_live;
};

struct history *history_create(uint64_t limit)
{
	struct history *history = table_allocate(sizeof(*history));

	history->kernel = TABLE_NONE;
	history->limit = limit;
	return history;
}

void history_set_live(struct history *history)
{
	history->is_live = true;
}

void history_charge(struct history *history, uint64_t bytes)
{
	history->charged += bytes;
}

bool history_is_full(const struct history *history)
{
	return history->charged > history->limit;
}

static struct process *get_process(struct history *history, uint32_t pid)
{
	const uint32_t old = history->pids.nr;
	const uint32_t nr = pairs_add(&history->pids, pid, 0);

	history->processes = table_grow(history->processes,
					&history->processes_room, nr,
					sizeof(struct process *));
	if (!history->processes[nr]) {
		history->processes[nr] = table_allocate(sizeof(struct process));
		history->processes[nr]->version = history->next_version++;
	}
	if (nr == old)
		history_charge(history, PROCESS_SIZE);
	return history->processes[nr];
}

static struct thread *get_thread(struct history *history, uint32_t tid)
{
	const uint32_t old = history->tids.nr;
	const uint32_t nr = pairs_add(&history->tids, tid, 0);

	history->threads = table_grow(history->threads, &history->threads_room,
				      nr, sizeof(struct thread));
	if (nr == old)
		history_charge(history, THREAD_SIZE);
	return &history->threads[nr];
}

/* @inode: its file, or NULL. */
static uint32_t add_object(struct history *history,
			   const struct sframe_unwind_profile_map *map,
			   uint32_t pid, const struct object_inode *inode)
{
	char key[64] = "", *text = NULL;
	struct history_object *object;
	uint32_t nr;

	/* Which of the files of this name it is. */
	if (map->build_id_size) {
		for (uint32_t i = 0; i < map->build_id_size; i++)
			snprintf(key + 2 * i, 3, "%02x", map->build_id[i]);
		inode = NULL;
	} else if (history->is_live) {
		snprintf(key, sizeof(key), "%u", pid);
	} else if (inode && (inode->inode || inode->generation)) {
		snprintf(key, sizeof(key), "%" PRIx64 ":%" PRIx64 ":%" PRIx64,
			 inode->device, inode->inode, inode->generation);
	}
	if (asprintf(&text, "%s %s", key, map->name) < 0)
		text = table_copy(map->name);
	nr = strings_add(&history->names, text);
	free(text);
	history->objects = table_grow(history->objects, &history->objects_room,
				      nr, sizeof(struct history_object *));
	if (history->objects[nr])
		return nr;
	object = table_allocate(sizeof(*object));
	object->name = table_copy(map->name);
	object->build_id_size = map->build_id_size;
	memcpy(object->build_id, map->build_id, sizeof(map->build_id));
	if (inode)
		object->inode = *inode;
	object->pid = pid;
	object->start = map->start;
	object->end = map->start + map->size;
	object->is_live = history->is_live;
	history->objects[nr] = object;
	history_charge(history, sizeof(*object) + 256 + 3 * strlen(map->name));
	return nr;
}

static void add_change(struct history *history, struct change change,
		       const struct sframe_unwind_profile_record *record)
{
	history->changes = table_grow(history->changes, &history->changes_room,
				      history->nr_changes, sizeof(change));
	change.time = record->time;
	change.order = history->nr_changes;
	change.pid = record->pid;
	change.tid = record->tid;
	history->changes[history->nr_changes++] = change;
	history_charge(history, CHANGE_SIZE);
}

/* Returns the number of a thread's name. */
static uint32_t add_name(struct history *history, const char *name)
{
	const uint32_t old = history->comms.pairs.nr;
	const uint32_t nr = strings_add(&history->comms, name);

	if (nr == old)
		history_charge(history, 64 + 2 * strlen(name));
	return nr;
}

static void add_map(struct history *history,
		    const struct sframe_unwind_profile_record *record,
		    const struct object_inode *inode)
{
	const struct sframe_unwind_profile_map *map = &record->map;
	struct change change = { .kind = CHANGE_MAP };
	uint64_t bytes;

	if (map->is_kernel) {
		if (!strncmp(map->name, KERNEL_NAME, strlen(KERNEL_NAME)) &&
		    history->kernel == TABLE_NONE) {
			history->kernel_text = map->offset;
			history->kernel = add_object(history, map, record->pid,
						     NULL);
		}
		return;
	}
	bytes = jit_files_add(&history->jit_files, record, history->is_live);
	history_charge(history, bytes);
	if (bytes)
		return;
	if (!map->is_code || !map->size || map->start + map->size < map->start)
		return;
	change.mapping = (struct mapping){
		.start = map->start,
		.end = map->start + map->size,
		.offset = map->offset,
		.object = add_object(history, map, record->pid, inode),
	};
	add_change(history, change, record);
}

void history_add_file(struct history *history,
		      const struct sframe_unwind_profile_record *record,
		      const struct object_inode *inode)
{
	struct change change = { 0 };

	switch (record->kind) {
	case SFRAME_UNWIND_PROFILE_MAP:
		add_map(history, record, inode);
		break;
	case SFRAME_UNWIND_PROFILE_COMM:
		change.kind = CHANGE_COMM;
		change.comm = add_name(history, record->comm.name);
		add_change(history, change, record);
		if (record->comm.is_exec) {
			change.kind = CHANGE_EXEC;
			add_change(history, change, record);
		}
		break;
	case SFRAME_UNWIND_PROFILE_FORK:
		change.kind = CHANGE_FORK;
		change.ppid = record->task.has_own_maps ? record->pid :
							  record->task.ppid;
		change.ptid = record->task.ptid;
		add_change(history, change, record);
		break;
	default:
		break;
	}
}

void history_add(struct history *history,
		 const struct sframe_unwind_profile_record *record)
{
	history_add_file(history, record, NULL);
}

static int compare(const void *a, const void *b)
{
	const struct change *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return (left->order > right->order) - (left->order < right->order);
}

/* Whether following the mappings has already taken too much time or memory. */
static bool is_too_much(struct history *history)
{
	if (history->usage.moved <= WORK_MAX &&
	    history->usage.bytes <= history->limit)
		return false;
	history->is_inexact = true;
	return true;
}

static void add_step(struct process *process, const struct step *step)
{
	process->steps = table_grow(process->steps, &process->steps_room,
				    process->nr_steps, sizeof(*step));
	process->steps[process->nr_steps++] = *step;
}

static void do_step(struct history *history, struct process *process,
		    const struct step *step)
{
	if (step->base) {
		ranges_put(process->now);
		process->now = ranges_get(step->base);
	} else if (!is_too_much(history)) {
		process->now = ranges_own(process->now, &history->usage);
		ranges_add(process->now, &step->mapping);
	}
}

/* Go to the state after the last step. */
static void go_to_end(struct history *history, struct process *process)
{
	for (; process->nr_done < process->nr_steps; process->nr_done++)
		do_step(history, process,
			&process->steps[process->nr_done]);
	process->version = history->next_version++;
}

/* Add @step, and go to the state after it. */
static void add_and_do(struct history *history, struct process *process,
		       const struct step *step)
{
	add_step(process, step);
	go_to_end(history, process);
}

static void add_comm(struct history *history, uint32_t tid, uint64_t time,
		     uint32_t comm)
{
	struct thread *thread = get_thread(history, tid);

	thread->comms = table_grow(thread->comms, &thread->room, thread->nr,
				   sizeof(*thread->comms));
	thread->comms[thread->nr++] = (struct comm_step){ time, comm };
}

static void distribute_fork(struct history *history, const struct change *change)
{
	struct process *process = get_process(history, change->pid);
	struct thread *parent = get_thread(history, change->ptid);
	struct step step = { .time = change->time };
	struct process *parent_process;

	if (parent->nr)
		add_comm(history, change->tid, change->time,
			 parent->comms[parent->nr - 1].comm);
	if (change->pid == change->ppid)
		return;
	parent_process = get_process(history, change->ppid);
	go_to_end(history, parent_process);
	step.base = ranges_get(parent_process->now);
	if (!step.base)
		step.base = ranges_create(&history->usage);
	add_and_do(history, process, &step);
}

static void distribute(struct history *history, const struct change *change)
{
	struct step step = { .time = change->time };

	switch (change->kind) {
	case CHANGE_MAP:
		step.mapping = change->mapping;
		add_and_do(history, get_process(history, change->pid), &step);
		break;
	case CHANGE_EXEC:
		step.base = ranges_create(&history->usage);
		add_and_do(history, get_process(history, change->pid), &step);
		break;
	case CHANGE_COMM:
		add_comm(history, change->tid, change->time, change->comm);
		break;
	case CHANGE_FORK:
		distribute_fork(history, change);
		break;
	}
}

void history_update_until(struct history *history, uint64_t time)
{
	struct change *list = history->changes;
	uint32_t nr = 0;

	if (!history->nr_changes)
		return;
	qsort(list, history->nr_changes, sizeof(*list), compare);
	for (; nr < history->nr_changes && list[nr].time <= time; nr++)
		distribute(history, &list[nr]);
	history->nr_changes -= nr;
	memmove(list, list + nr, history->nr_changes * sizeof(*list));
	for (uint32_t i = 0; i < history->nr_changes; i++)
		list[i].order = i;
}

void history_update(struct history *history)
{
	history_update_until(history, UINT64_MAX);
}

void history_finish(struct history *history)
{
	history_update(history);
	free(history->changes);
	history->changes = NULL;
	history->charged = 0;
	history->changes_room = 0;
	for (uint32_t i = 0; i < history->pids.nr; i++) {
		struct process *process = history->processes[i];

		ranges_put(process->now);
		process->now = NULL;
		process->nr_done = 0;
	}
}

/* Go to the state of @time. */
static void go_to(struct history *history, struct process *process,
		  uint64_t time)
{
	uint32_t done = process->nr_done;

	if (done && process->steps[done - 1].time > time) {
		if (is_too_much(history))
			return;
		history->usage.moved += ranges_nr(process->now) + done;
		ranges_put(process->now);
		process->now = NULL;
		done = 0;
		process->version = history->next_version++;
	}
	if (done < process->nr_steps && process->steps[done].time <= time)
		process->version = history->next_version++;
	for (; done < process->nr_steps && process->steps[done].time <= time;
	     done++)
		do_step(history, process, &process->steps[done]);
	process->nr_done = done;
}

struct process *history_process(struct history *history, uint32_t pid,
				uint64_t time, uint64_t *version)
{
	struct process *process = get_process(history, pid);

	go_to(history, process, time);
	*version = process->version;
	return process;
}

const struct mapping *process_find(const struct process *process,
				   uint64_t address)
{
	return ranges_find(process->now, address);
}

struct ranges *process_ranges(const struct process *process)
{
	return ranges_get(process->now);
}

const char *history_comm(struct history *history, uint32_t pid, uint32_t tid,
			 uint64_t time)
{
	const struct thread *thread = get_thread(history, tid);
	uint32_t low = 0, high;
	static char text[32];

	if (!thread->nr && tid != pid)
		thread = get_thread(history, pid);
	for (high = thread->nr; low < high; ) {
		const uint32_t middle = low + (high - low) / 2;

		if (thread->comms[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	if (thread->nr)
		return history->comms.texts[thread->comms[low ? low - 1 : 0]
						    .comm];
	if (!tid)
		return "swapper";
	snprintf(text, sizeof(text), ":%" PRIu32, tid);
	return text;
}

struct history_object *history_object(struct history *history, uint32_t number)
{
	return history->objects[number];
}

uint32_t history_objects(const struct history *history)
{
	return history->names.pairs.nr;
}

uint64_t history_kernel_text(const struct history *history)
{
	return history->kernel_text;
}

const struct history_object *history_kernel(const struct history *history)
{
	return history->kernel == TABLE_NONE ? NULL :
	       history->objects[history->kernel];
}

const struct jit_file *history_jit_file(const struct history *history,
					uint32_t pid)
{
	return jit_files_find(&history->jit_files, pid);
}

bool history_is_live(const struct history *history)
{
	return history->is_live;
}

bool history_is_inexact(const struct history *history)
{
	return history->is_inexact;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	for (uint32_t i = 0; i < history->pids.nr; i++) {
		struct process *process = history->processes[i];

		for (uint32_t j = 0; j < process->nr_steps; j++)
			ranges_put(process->steps[j].base);
		ranges_put(process->now);
		free(process->steps);
		free(process);
	}
	for (uint32_t i = 0; i < history->tids.nr; i++)
		free(history->threads[i].comms);
	for (uint32_t i = 0; i < history->names.pairs.nr; i++) {
		free(history->objects[i]->name);
		free(history->objects[i]);
	}
	jit_files_free(&history->jit_files);
	free(history->changes);
	free(history->processes);
	free(history->threads);
	free(history->objects);
	pairs_free(&history->pids);
	pairs_free(&history->tids);
	strings_free(&history->comms);
	strings_free(&history->names);
	free(history);
}
