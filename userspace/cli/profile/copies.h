/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks that the module has cut, because the files that they are in have just been loaded,
 * or their code generated, and there are no SFrame data yet: they are completed here, by the
 * copies that it made, as soon as there are the data.
 */
#ifndef CLI_PROFILE_COPIES_H
#define CLI_PROFILE_COPIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cli/profile/copy_walk.h"
#include "include/sframe_unwind_profile.h"

struct copies;
struct copy_code;
struct object_inode;
struct ranges;
struct sframe_unwind_sample_record;
struct waiting;

LIST_HEAD(copied_samples, waiting);

/* The copy in a record of the sampler, with @size bytes of the stack, see its library. */
struct record_copy {
	const struct sframe_unwind_stack_copy *copy;
	uint32_t size;
};

/**
 * struct copied_stack - a stack that is to be completed
 *
 * @age: in the list of all, the oldest first.
 * @samples: samples that have it; of who has added it.
 * @pid: the process.
 * @time: when it was unwound.
 * @since: when it was added, in nanoseconds.
 * @is_new: @ranges is not known yet: what it mapped last may not have been read.
 * @ranges: what the process had mapped.
 * @size: bytes of this.
 * @is_over: whether it is completed, or never will be.
 * @is_complete: it is completed: @walk has the frames behind those of the module.
 * @stop: with that, enum sframe_unwind_stop.
 * @walk: the walk, through @copy.
 * @copy: memory for that, and for the frames.
 */
struct copied_stack {
	TAILQ_ENTRY(copied_stack) age;
	struct copied_samples samples;
	uint32_t pid;
	uint64_t time;
	uint64_t since;
	bool is_new;
	struct ranges *ranges;
	size_t size;
	bool is_over;
	bool is_complete;
	uint32_t stop;
	struct copy_walk walk;
	unsigned char *copy;
};

/*
 * Returns NULL, after a message, if no stacks can be completed. @code: sections of generated
 * code, taken over; or NULL.
 */
struct copies *copies_create(const char *command, struct copy_code *code);

/* Complete no stacks in generated code. @copies may be NULL. */
void copies_without_code(struct copies *copies);

/* The stacks that are left must have no samples. */
void copies_free(struct copies *copies);

/*
 * Follow what processes map. @inode: see history_add_file(). Without that, a file is taken for
 * another one than all others: deleted ones, and those in memory, may have the same name.
 * @copies may be NULL.
 */
void copies_follow(struct copies *copies,
		   const struct sframe_unwind_profile_record *record,
		   const struct object_inode *inode);

/* The file to poll for what helps to complete stacks; or -1. @copies may be NULL. */
int copies_file(const struct copies *copies);

/*
 * Another round begins: what was followed tells what the stacks are in that were added in the
 * last one. What has happened after @until may not be complete, and is left for the next round:
 * that is when the reading of it began, by CLOCK_MONOTONIC.
 */
void copies_begin_round(struct copies *copies, uint64_t until);

/*
 * Add the stack of @record, which was cut, with its copy @from. @depth: frames that it may have
 * in all. Returns it, to be removed with copies_remove() when it is over; or NULL if it cannot be
 * completed. If there is too much, the oldest one is over.
 */
struct copied_stack *copies_add(struct copies *copies,
				const struct sframe_unwind_sample_record *record,
				const struct record_copy *from, uint32_t depth);

/* Walk as far as there are data. @is_urgent: nothing follows, see copy_sections_work(). */
void copies_work(struct copies *copies, bool is_urgent);

/* Returns a stack that is over, or NULL. */
struct copied_stack *copies_next(struct copies *copies);

/* Returns whether there are stacks that are not over. */
bool copies_are_left(const struct copies *copies);

/* Free a stack, which has no samples any more. */
void copies_remove(struct copies *copies, struct copied_stack *stack);

#endif /* CLI_PROFILE_COPIES_H */
