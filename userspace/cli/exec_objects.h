/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects: the files that observed programs have mapped, and their converted sections.
 */
#ifndef EXEC_OBJECTS_H
#define EXEC_OBJECTS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec_convert.h"
#include "exec_maps.h"

/**
 * enum exec_object_state
 *
 * @OBJECT_NEW: nothing is known.
 * @OBJECT_QUEUED: to be converted.
 * @OBJECT_CONVERTING: being converted.
 * @OBJECT_READY: has a section.
 * @OBJECT_OWN: has a .sframe of its own, and was not converted.
 * @OBJECT_FAILED: cannot be converted.
 */
enum exec_object_state {
	OBJECT_NEW, OBJECT_QUEUED, OBJECT_CONVERTING, OBJECT_READY, OBJECT_OWN,
	OBJECT_FAILED
};

/**
 * struct exec_object - one file
 *
 * @mapping: a mapping of it.
 * @pid: the process that has the mapping.
 * @state: see there.
 * @is_wanted: a stack ends in it: convert it before others, even with a .sframe.
 * @files: with OBJECT_READY, the file and the section.
 * @converted: with OBJECT_READY and OBJECT_FAILED.
 */
struct exec_object {
	struct exec_mapping mapping;
	pid_t pid;
	enum exec_object_state state;
	bool is_wanted;
	int files[2];
	struct exec_converted converted;
};

/* Conversions that run at the same time, at most. */
#define OBJECTS_MAX_CONVERSIONS 4

/**
 * struct exec_objects
 *
 * @objects: pointers to objects, which are not moved; numbered from 0.
 * @nr: number of objects.
 * @conversions, @converting: children, and the objects that they convert, or NULL.
 * @nr_parallel: conversions at the same time.
 * @is_extended: the module accepts extended sections.
 */
struct exec_objects {
	struct exec_object **objects;
	uint32_t nr;
	struct exec_conversion conversions[OBJECTS_MAX_CONVERSIONS];
	struct exec_object *converting[OBJECTS_MAX_CONVERSIONS];
	unsigned int nr_parallel;
	bool is_extended;
};

void exec_objects_init(struct exec_objects *objects, bool is_extended);

/* End all conversions and free everything. */
void exec_objects_exit(struct exec_objects *objects);

/*
 * Returns the number of the object that @pid has mapped at @mapping, with a new entry if
 * necessary; or -1 if it has no file, or if there are too many.
 */
int64_t exec_objects_find(struct exec_objects *objects, pid_t pid,
			  const struct exec_mapping *mapping);

/* Convert @object, if that has not been tried: @wanted by a stack of @pid, or ahead. */
void exec_objects_want(struct exec_objects *objects, struct exec_object *object,
		       pid_t pid, const struct exec_mapping *mapping,
		       bool wanted);

/* Start conversions of queued objects, as many as may run. */
void exec_objects_start(struct exec_objects *objects);

/* Fill @files with what to wait for. */
void exec_objects_poll(const struct exec_objects *objects,
		       struct pollfd files[OBJECTS_MAX_CONVERSIONS]);

/* Handle the conversions that have ended. Returns whether there was one. */
bool exec_objects_run(struct exec_objects *objects,
		      const struct pollfd files[OBJECTS_MAX_CONVERSIONS]);

#endif /* EXEC_OBJECTS_H */
