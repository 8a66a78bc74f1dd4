/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Following: one look at the code that a process announces. Shared by the two parts of
 * reader_announced.h: what is announced, and what is attached.
 */
#ifndef ATTACH_FOLLOWING_H
#define ATTACH_FOLLOWING_H

#include <stdbool.h>
#include <stdint.h>

#include "announced.h"
#include "reader_announced.h"
#include "reader_task.h"
#include "worker.h"

/* Most new objects of one look. */
#define FOLLOWING_MAX_NEW		WORKER_MAX_SNAPSHOTS

/*
 * Of these, the places of objects that have been tried before, if there are any: however
 * many others there are, they get their turn.
 */
#define FOLLOWING_MAX_AGAIN	2

/* Files of one process that announce code. */
#define FOLLOWING_MAX_FILES	4

/**
 * struct new_object - an object that has no section yet
 *
 * @fd: sealed memory file with a copy.
 * @bytes: the copy.
 * @is_answered: it is known whether it can be converted.
 * @is_late: it is not known, but it was tried by itself.
 * @converted: its section; NULL if it cannot be.
 * @is_found: it is still announced.
 * @same, @nr_same: what @bytes have of its code, as the worker says.
 * @code: copy of its code in the process, or NULL.
 * @range: its code, once it is converted. Its key is that of the object, see key_of().
 */
struct new_object {
	struct announced announced;
	int fd;
	const unsigned char *bytes;
	bool is_answered;
	bool is_late;
	struct sframe_unwind_converted *converted;
	bool is_found;
	struct reader_code_range range;
	struct worker_same *same;
	uint32_t nr_same;
	unsigned char *code;
};

/**
 * struct tried_object - an object that has been tried before
 *
 * @announced: where it is in the list, if @is_listed.
 * @is_taken: it is tried in this look.
 */
struct tried_object {
	struct reader_code_object object;
	struct announced announced;
	bool is_listed;
	bool is_taken;
};

/**
 * struct following - a look
 *
 * @memory: /proc/PID/mem.
 * @descriptors, @nr_descriptors: addresses of the lists.
 * @is_kept: which of the request's ranges are still announced.
 * @tried, @nr_tried: objects that have been tried before and have no section.
 * @objects, @nr: objects that are tried in this look.
 * @nr_bytes: of these.
 * @has_any: something is announced.
 * @nr_code_bytes: of the copies of their code.
 * @is_behind: the list has been read up to where the last look has ended.
 * @has_more: before that, there was no room for all.
 * @has_again: there was no room for one that has been tried before.
 * @next: where the next look goes on: the first object that there was no room for; or 0.
 * @ends_at: when all time is over.
 * @code_at: when the code of new objects began to be looked at.
 */
struct following {
	const struct reader_request *request;
	struct reader_code_reply *code;
	struct announced_ranges *ranges;
	int process;
	int memory;
	uint64_t descriptors[FOLLOWING_MAX_FILES];
	unsigned int nr_descriptors;
	bool is_kept[CODE_MAX_RANGES];
	struct tried_object tried[CODE_MAX_OBJECTS];
	unsigned int nr_tried;
	struct new_object objects[FOLLOWING_MAX_NEW];
	unsigned int nr;
	uint64_t nr_bytes;
	uint64_t nr_code_bytes;
	bool has_any;
	bool is_behind;
	bool has_more;
	bool has_again;
	uint64_t next;
	uint64_t ends_at;
	uint64_t code_at;
};

/*
 * Call @fn for what is announced, with the look as @data. Returns whether all lists have
 * been read to the end.
 */
bool following_list(struct following *following,
		    bool (*fn)(void *data, const struct announced *announced));

/* --- following_objects.c: objects that have been tried before */

/* Begin with those of the request; end with those of the reply. */
void following_begin_objects(struct following *following);
void following_end_objects(struct following *following);

/* Returns whether the announced object with @key has been tried before. Marks that. */
bool following_has_tried(struct following *following,
			 const struct announced *announced, uint64_t key);

/* After the list has been read to the end: forget those that are not in it. */
void following_forget_others(struct following *following);

/* The object with @key has a section. */
void following_forget(struct following *following, uint64_t key);

/*
 * The object has no section. @why is CODE_REFUSED or CODE_AMBIGUOUS. Its range is that of
 * @range, if that is not empty.
 */
void following_remember(struct following *following,
			const struct reader_code_range *range,
			enum reader_code_why why);

/* The same for CODE_LATER, unless it is refused now. @cost: see following_objects.c. */
void following_put_off(struct following *following,
		       const struct reader_code_range *range, unsigned int cost);

/* The attachment of @range has ended, but its object is still announced. */
void following_end_range(struct following *following,
			 const struct reader_code_range *range);

/* What it costs to try an object: its code is not usable, or it cannot be converted. */
#define FOLLOWING_COST_CODE	1
#define FOLLOWING_COST_CONVERT	4

/*
 * Returns whether another announced object has code there, too, as far as is known. One of
 * them was freed but is still announced, and nothing tells which. Those that are attached
 * to are detached.
 */
bool following_is_ambiguous(struct following *following,
			    const struct reader_code_range *range);

/* The object that has waited longest to be tried again, and is not taken; or NULL. */
struct tried_object *following_next_again(struct following *following);

/* --- following_convert.c and following_attach.c */

/*
 * Convert the new objects, as far as there is time. Returns whether that was tried: if not,
 * no object is the cause.
 */
bool following_convert(struct following *following, struct reader_reply *reply);

/*
 * Convert the new objects, and attach sections to their code. Returns whether that was
 * tried.
 */
bool following_attach(struct following *following, struct reader_reply *reply);

/* --- following_tell.c */

/* Tell whoever has asked for it that the object's code has a section, the file @section. */
void following_tell(const struct following *following, const struct new_object *object,
		    int section);

/* --- following_usable.c */

/*
 * Returns whether code there can be attached to now, or it is not known: not if it is not
 * mapped, or is writable, shared or of a file.
 */
bool following_is_usable(const struct following *following, uint64_t start,
			 uint64_t end);

#endif /* ATTACH_FOLLOWING_H */
