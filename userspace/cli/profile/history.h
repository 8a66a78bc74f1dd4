/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What processes had mapped, and how threads were called, at any time of a
 * profile: its records are not in the order of time.
 */
#ifndef CLI_PROFILE_HISTORY_H
#define CLI_PROFILE_HISTORY_H

#include "cli/profile/history_object.h"
#include "include/sframe_unwind_profile.h"

/**
 * struct mapping - one mapping
 *
 * @start: first address.
 * @end: address behind the last one.
 * @offset: offset in the file of @start.
 * @object: number of the object.
 */
struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t object;
};

struct history;
struct jit_file;
struct process;
struct ranges;

/*
 * @limit: bytes that may be kept of the profile before history_finish(), and as
 * many behind it. They are counted roughly, and go over it by what one record
 * takes.
 */
struct history *history_create(uint64_t limit);

/*
 * The records are about processes that are running. Files without a build ID are then
 * opened by the mapping of the process, not by their names.
 */
void history_set_live(struct history *history);

void history_free(struct history *history);

/* Count @bytes that were allocated for what the profile says. */
void history_charge(struct history *history, uint64_t bytes);

/* Whether more than the limit has been counted. */
bool history_is_full(const struct history *history);

/* Take over a record; samples are ignored. */
void history_add(struct history *history,
		 const struct sframe_unwind_profile_record *record);

/* The same; @inode: of a mapping's file, or NULL. */
void history_add_file(struct history *history,
		      const struct sframe_unwind_profile_record *record,
		      const struct object_inode *inode);

/* Call this after the last record, and before what is below. */
void history_finish(struct history *history);

/*
 * Instead of history_finish(), if further records follow that are later: call it
 * again after them.
 */
void history_update(struct history *history);

/* The same for changes until @time; later ones are left for the next call. */
void history_update_until(struct history *history, uint64_t time);

/*
 * Returns process @pid as it was at @time. Addresses that were found earlier
 * are valid as long as *@version stays the same.
 */
struct process *history_process(struct history *history, uint32_t pid,
				uint64_t time, uint64_t *version);

/* Returns what the process has mapped at @address, or NULL. */
const struct mapping *process_find(const struct process *process,
				   uint64_t address);

/* Returns all that it has mapped, with a reference; NULL if that is nothing. */
struct ranges *process_ranges(const struct process *process);

/* Returns the name of a thread, never NULL. Escape before printing. */
const char *history_comm(struct history *history, uint32_t pid, uint32_t tid,
			 uint64_t time);

/* Object @number. Its address is valid as long as the history. */
struct history_object *history_object(struct history *history, uint32_t number);

uint32_t history_objects(const struct history *history);

/* Returns the recorded address of the kernel's _text, or 0. */
uint64_t history_kernel_text(const struct history *history);

/* The kernel's own object, or NULL. */
const struct history_object *history_kernel(const struct history *history);

/* The files that name code which process @pid made at run time, or NULL. */
const struct jit_file *history_jit_file(const struct history *history,
					uint32_t pid);

bool history_is_live(const struct history *history);

/*
 * Whether mappings were not followed exactly: samples were too far from the order
 * of time, or the processes had too many.
 */
bool history_is_inexact(const struct history *history);

#endif /* CLI_PROFILE_HISTORY_H */
