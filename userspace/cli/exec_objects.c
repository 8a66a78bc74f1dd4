// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec_objects.h"

/* Most objects; each has two open files. */
#define MAX_OBJECTS 300

void exec_objects_init(struct exec_objects *objects, bool is_extended)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*objects = (struct exec_objects) {
		.nr_parallel = 1,
		.is_extended = is_extended,
	};
	if (cpus > 1)
		objects->nr_parallel = cpus < OBJECTS_MAX_CONVERSIONS ?
				       cpus : OBJECTS_MAX_CONVERSIONS;
}

static void close_object(struct exec_object *object)
{
	for (int i = 0; i < 2; i++) {
		if (object->files[i] >= 0)
			close(object->files[i]);
		object->files[i] = -1;
	}
}

void exec_objects_exit(struct exec_objects *objects)
{
	for (unsigned int i = 0; i < OBJECTS_MAX_CONVERSIONS; i++)
		if (objects->converting[i])
			exec_convert_cancel(&objects->conversions[i]);
	for (uint32_t i = 0; i < objects->nr; i++) {
		close_object(objects->objects[i]);
		free(objects->objects[i]->mapping.name);
		free(objects->objects[i]);
	}
	free(objects->objects);
	*objects = (struct exec_objects) { 0 };
}

static bool is_vdso(const struct exec_mapping *mapping)
{
	return !strcmp(mapping->name, EXEC_VDSO);
}

static bool is_same(const struct exec_mapping *a, const struct exec_mapping *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       is_vdso(a) == is_vdso(b);
}

static struct exec_object *add_object(struct exec_objects *objects)
{
	struct exec_object **more, *object;

	if (objects->nr == MAX_OBJECTS)
		return NULL;
	more = realloc(objects->objects, (objects->nr + 1) * sizeof(*more));
	if (!more)
		return NULL;
	objects->objects = more;
	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->files[0] = -1;
	object->files[1] = -1;
	more[objects->nr++] = object;
	return object;
}

/* The mapping by which the file can be opened. Returns 0 or -1. */
static int set_mapping(struct exec_object *object, pid_t pid,
		       const struct exec_mapping *mapping)
{
	char *name = strdup(mapping->name);

	if (!name)
		return -1;
	free(object->mapping.name);
	object->mapping = *mapping;
	object->mapping.name = name;
	object->pid = pid;
	return 0;
}

int64_t exec_objects_find(struct exec_objects *objects, pid_t pid,
			  const struct exec_mapping *mapping)
{
	struct exec_object *object;

	if (!mapping->inode && !is_vdso(mapping))
		return -1;
	for (uint32_t i = 0; i < objects->nr; i++)
		if (is_same(&objects->objects[i]->mapping, mapping))
			return i;
	object = add_object(objects);
	if (!object)
		return -1;
	if (set_mapping(object, pid, mapping)) {
		free(object);
		objects->nr--;
		return -1;
	}
	return objects->nr - 1;
}

void exec_objects_want(struct exec_objects *objects, struct exec_object *object,
		       pid_t pid, const struct exec_mapping *mapping,
		       bool wanted)
{
	/* A file that one process cannot open, another one may. */
	const bool is_new = object->state == OBJECT_NEW ||
			    (object->state == OBJECT_FAILED && wanted &&
			     object->converted.error == -ESRCH &&
			     object->pid != pid) ||
			    (object->state == OBJECT_OWN && wanted);

	object->is_wanted |= wanted;
	if (is_new && !set_mapping(object, pid, mapping))
		object->state = OBJECT_QUEUED;
	exec_objects_start(objects);
}

/* Returns the next object to be converted, or NULL. */
static struct exec_object *next_object(const struct exec_objects *objects)
{
	struct exec_object *next = NULL;

	for (uint32_t i = 0; i < objects->nr; i++) {
		struct exec_object *object = objects->objects[i];

		if (object->state == OBJECT_QUEUED &&
		    (!next || object->is_wanted > next->is_wanted))
			next = object;
	}
	return next;
}

static void start_object(struct exec_objects *objects, unsigned int place,
			 struct exec_object *object)
{
	const struct exec_wanted wanted = {
		.pid = object->pid,
		.mapping = &object->mapping,
		.anyway = object->is_wanted,
		.is_extended = objects->is_extended,
	};
	const int err = exec_convert_start(&objects->conversions[place], &wanted);

	object->state = OBJECT_CONVERTING;
	if (!err) {
		objects->converting[place] = object;
		return;
	}
	object->state = OBJECT_FAILED;
	object->converted.error = err;
	snprintf(object->converted.reason, sizeof(object->converted.reason),
		 "no child for its conversion: %s", strerror(-err));
}

void exec_objects_start(struct exec_objects *objects)
{
	struct exec_object *object;

	for (unsigned int i = 0; i < objects->nr_parallel; i++)
		while (!objects->converting[i] &&
		       (object = next_object(objects)))
			start_object(objects, i, object);
}

void exec_objects_poll(const struct exec_objects *objects,
		       struct pollfd files[OBJECTS_MAX_CONVERSIONS])
{
	for (unsigned int i = 0; i < OBJECTS_MAX_CONVERSIONS; i++)
		files[i] = (struct pollfd) {
			.fd = objects->converting[i] ?
			      objects->conversions[i].socket : -1,
			.events = POLLIN,
		};
}

static void finish_object(struct exec_objects *objects, unsigned int place)
{
	struct exec_object *object = objects->converting[place];
	struct exec_converted *converted = &object->converted;

	objects->converting[place] = NULL;
	exec_convert_finish(&objects->conversions[place], converted,
			    object->files);
	converted->reason[sizeof(converted->reason) - 1] = '\0';
	object->state = !converted->error ? OBJECT_READY : OBJECT_FAILED;
	if (converted->error == -EEXIST)
		object->state = object->is_wanted ? OBJECT_QUEUED : OBJECT_OWN;
}

bool exec_objects_run(struct exec_objects *objects,
		      const struct pollfd files[OBJECTS_MAX_CONVERSIONS])
{
	bool any = false;

	for (unsigned int i = 0; i < OBJECTS_MAX_CONVERSIONS; i++) {
		if (!files[i].revents || !objects->converting[i] ||
		    files[i].fd != objects->conversions[i].socket)
			continue;
		finish_object(objects, i);
		any = true;
	}
	exec_objects_start(objects);
	return any;
}
