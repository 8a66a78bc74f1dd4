// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attach/child.h"
#include "cli/attach/clock.h"
#include "cli/profile/jit_child.h"
#include "cli/profile/jit_reader.h"
#include "cli/profile/object_file.h"
#include "worker/message.h"

/* Bytes of names that a file may have before they are cut. */
#define NAMES_MAX	(128u << 20)
#define NAME_SHORT	64u

/* Messages that a file may take: each item is told by some bytes of it. */
#define MESSAGES_FREE	16u
#define MESSAGE_LEAST	4096u

/**
 * struct served - a child that reads a file
 *
 * @reading: what is read.
 * @bytes: the last message, or what is left of it.
 * @left: bytes of that.
 * @is_done: it was the last one.
 */
struct served {
	struct jit_reading *reading;
	const char *bytes;
	size_t left;
	bool is_done;
};

/* Take an item with its name. Returns false if that cannot be. */
static bool take_item(struct served *served, struct jit_item *item,
		      const char **name)
{
	if (served->left < sizeof(*item))
		return false;
	memcpy(item, served->bytes, sizeof(*item));
	if (item->length > JIT_NAME_SIZE || jit_item_size(item) > served->left)
		return false;
	*name = served->bytes + sizeof(*item);
	if (item->length && strnlen(*name, item->length) != item->length - 1)
		return false;
	served->bytes += jit_item_size(item);
	served->left -= jit_item_size(item);
	return true;
}

static bool take_function(struct served *served, const struct jit_item *item,
			  const char *name)
{
	struct jit_table *table = served->reading->table;
	char cut[NAME_SHORT];

	if (jit_check_range(item->start, item->size) ||
	    table->nr == JIT_FUNCTIONS_MAX)
		return false;
	if (item->kind == JIT_ITEM_SAME) {
		if (item->number >= table->nr)
			return false;
		jit_table_add_same(table, item->start, item->size, item->time,
				   item->number);
		return true;
	}
	if (item->length < 2)
		return false;
	if (table->name_bytes > NAMES_MAX) {
		snprintf(cut, sizeof(cut), "%s", name);
		name = cut;
	}
	jit_table_add(table, item->start, item->size, item->time, name);
	return true;
}

/* Returns false if the child does not tell what it should. */
static bool use_item(struct served *served, const struct jit_item *item,
		     const char *name)
{
	struct jit_table *table = served->reading->table;

	switch (item->kind) {
	case JIT_ITEM_MADE:
	case JIT_ITEM_SAME:
		return take_function(served, item, name);
	case JIT_ITEM_END:
		if (item->number >= table->nr)
			return false;
		jit_table_end(table, item->number, item->time);
		return true;
	case JIT_ITEM_END_ALL:
		jit_table_end_all(table, item->time);
		return true;
	case JIT_ITEM_DONE:
		if (item->number >= NR_JIT_FAULTS || item->size > UINT32_MAX)
			return false;
		served->reading->result = (struct jit_result){
			.fault = item->number,
			.offset = item->start,
			.nr_faults = item->size,
		};
		served->is_done = true;
		return !served->left;
	default:
		return false;
	}
}

/* Returns false if the child does not tell what it should. */
static bool use_message(struct served *served, const char *bytes, size_t size)
{
	struct jit_item item;
	const char *name;

	served->bytes = bytes;
	served->left = size;
	while (served->left)
		if (!take_item(served, &item, &name) ||
		    !use_item(served, &item, name))
			return false;
	return size;
}

/* Returns the size of the next message, or 0 if there is none. */
static size_t receive(int socket, char *bytes)
{
	int fds[2] = { -1, -1 };
	const ssize_t got = message_receive(socket, bytes, JIT_MESSAGE_MAX, fds,
					    true);

	/* It has no reason to send files. */
	for (unsigned int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return got > 0 ? got : 0;
}

static const char no_sandbox[] =
	"was not read: there is no sandbox to read it in";

static const char *why_ended(const struct child *child, bool is_false)
{
	if (is_false)
		return "could not be read: what reads it did not tell what it should";
	return readers_status(child) == NO_SANDBOX ?
	       no_sandbox :
	       "takes too much time or memory to read";
}

/* Take what a child tells. Returns NULL, or why it ended before it was done. */
static const char *serve(struct readers *readers, uint32_t owner,
			 struct child *child, int socket, struct served *served,
			 uint64_t messages)
{
	char *bytes = table_allocate(JIT_MESSAGE_MAX);
	const int none[2] = { -1, -1 };
	bool is_false = false;
	uint64_t used_ns = 0;

	while (!served->is_done && !is_false && messages--) {
		size_t size;

		if (message_send(socket, "", 1, NULL, 0, none) ||
		    !readers_wait(readers, owner, child, socket, &used_ns))
			break;
		size = receive(socket, bytes);
		if (!size)
			break;
		is_false = !use_message(served, bytes, size);
	}
	free(bytes);
	return served->is_done && !is_false ? NULL : why_ended(child, is_false);
}

/* What a large table takes here counts, too. */
static void finish(struct readers *readers, uint32_t owner,
		   struct jit_table *table)
{
	const uint64_t before = cpu_ns();

	jit_table_finish(table);
	readers->owners[owner].used_ns += cpu_ns() - before;
}

void jit_read(struct readers *readers, const struct object_file *file,
	      struct jit_reading *reading)
{
	const uint32_t owner = readers_owner(readers, file);
	struct jit_task task = {
		.size = file->size,
		.kind = reading->kind,
		.pid = reading->pid,
	};
	struct served served = {
		.reading = reading,
	};
	struct child *child;
	int socket;

	reading->result = (struct jit_result){ .fault = JIT_SOUND };
	reading->why = NULL;
	task.limits.left = readers_time(readers, owner, file->stored);
	if (file->size > JIT_FILE_MAX)
		reading->why = "was not read: it has more than 4 GiB";
	else if (file->size > object_file_size_max(file))
		reading->why = "was not read: it has too many holes";
	else if (!task.limits.left)
		reading->why = "is of a user whose files took too much time or memory to read";
	else if (!readers_start(&child, jit_child_run, &task, file->fd, &socket))
		reading->why = "was not read: there is no process to read it";
	reading->was_tried = !reading->why;
	if (!reading->was_tried)
		return;
	reading->why = serve(readers, owner, child, socket, &served,
			     MESSAGES_FREE + file->size / MESSAGE_LEAST);
	if (reading->why && reading->why != no_sandbox)
		readers_fail(readers, owner);
	child_leave(child);
	close(socket);
	finish(readers, owner, reading->table);
}
