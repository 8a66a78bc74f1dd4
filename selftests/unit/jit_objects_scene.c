// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit_objects_scene.h"

struct jit_table table;
struct jit_result result;

static bool make(void *data, const struct jit_made *made)
{
	(void)data;
	if (jit_check_range(made->start, made->size) || !made->name ||
	    !*made->name || strlen(made->name) >= JIT_NAME_SIZE)
		tap_fail("an impossible function");
	jit_table_add(&table, made->start, made->size, made->time, made->name);
	return true;
}

static bool end(void *data, uint32_t number, uint64_t time)
{
	(void)data;
	if (number >= table.nr)
		tap_fail("function %u ends", number);
	else
		jit_table_end(&table, number, time);
	return true;
}

void parse_fd(int fd, uint64_t size)
{
	static const struct jit_ops ops = { .make = make, .end = end };

	jit_table_free(&table);
	jit_parse_objects(fd, size, &ops, NULL, &result);
	jit_table_finish(&table);
}

void parse(const struct made_objects *file)
{
	const int fd = memfd_create("objects", MFD_CLOEXEC);

	if (write(fd, file->bytes, file->size) != (ssize_t)file->size)
		exit(1);
	parse_fd(fd, file->size);
	close(fd);
}

const char *name_at(uint64_t address, uint64_t time)
{
	const struct jit_function *found = jit_table_find(&table, address, time);

	return found ? jit_table_name(&table, found) : "none";
}
