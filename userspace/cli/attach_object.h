/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects: files with code, and the sections that were attached to them. Files
 * with the same build ID and the same executable segments are one object, as
 * they are for the kernel.
 */
#ifndef ATTACH_OBJECT_H
#define ATTACH_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <sframe_unwind.h>

/* What became of an object. */
enum object_state {
	OBJECT_ATTACHED,
	OBJECT_OWN,		/* has a .sframe of its own */
	OBJECT_FOREIGN,		/* no program or shared object of x86-64 */
	OBJECT_REFUSED,		/* cannot be converted or attached */
	OBJECT_NR_STATES
};

struct object;
struct objects;

/**
 * typedef object_told_fn - told of each new object
 * @data: from the creator of the table.
 * @name: the file's name.
 * @state: enum object_state.
 * @text: what there is to say of it.
 */
typedef void (*object_told_fn)(void *data, const char *name,
			       enum object_state state, const char *text);

/* Called now and then during long work. */
typedef void (*object_busy_fn)(void *data, const char *name);

/**
 * struct object_totals - of all objects in a table
 *
 * @nr: objects, by state.
 * @functions: of those attached.
 * @bytes: of sections.
 * @memory: of the kernel.
 * @from_cache: objects that needed no conversion.
 * @detached: objects that were given up to make room.
 */
struct object_totals {
	unsigned int nr[OBJECT_NR_STATES];
	uint64_t functions;
	uint64_t bytes;
	uint64_t memory;
	unsigned int from_cache;
	unsigned int detached;
};

/* Returns a table that attaches by @handle, for all processes, or NULL. */
struct objects *objects_create(struct sframe_unwind *handle,
			       object_told_fn told, object_busy_fn busy,
			       void *data);

void objects_free(struct objects *objects);

/*
 * The object that the file with @stat was found to be, if it has been looked at
 * since it was changed; marks it as used. Returns whether it is known.
 */
bool objects_know(struct objects *objects, const struct stat *stat);

/*
 * Look at an open file, and attach a section if it wants one. With @build_id,
 * of @build_id_size bytes, it should have that one; *@is_other tells that it has
 * another. Returns 0, also if the object is refused, or a negative errno that
 * concerns all objects: -EPERM or -EBADF, having complained.
 */
int objects_look(struct objects *objects, int fd, const struct stat *stat,
		 const char *name, const unsigned char *build_id,
		 size_t build_id_size, bool *is_other);

/*
 * The kernel had no room for an object since the last call: somebody should mark
 * those in use, calling objects_begin_use() first and then, with every file
 * that a process maps, objects_know(), and call objects_end_use().
 */
bool objects_want_room(struct objects *objects);
void objects_begin_use(struct objects *objects);

/* Detach what was not marked, and forget what was refused for want of room. */
void objects_end_use(struct objects *objects);

const struct object_totals *objects_totals(const struct objects *objects);

/* Print why objects were refused, how many, and one of each, to stdout. */
void objects_print_refused(const struct objects *objects);

#endif /* ATTACH_OBJECT_H */
