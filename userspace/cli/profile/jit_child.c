// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "cli/profile/jit_child.h"
#include "cli/profile/object_limits.h"
#include "cli/profile/table.h"
#include "worker/message.h"

/**
 * struct telling - what is told to the parent
 *
 * @size: bytes of the message so far.
 * @bytes: the message.
 */
struct telling {
	uint32_t size;
	char bytes[JIT_MESSAGE_MAX];
};

/* Wait until the parent asks, and send what there is. Returns whether that was possible. */
static bool send(struct telling *telling)
{
	int fds[2] = { -1, -1 };
	char none;

	if (message_receive(READER_SOCKET, &none, sizeof(none), fds, false) < 0)
		return false;
	fds[0] = -1;
	fds[1] = -1;
	if (message_send(READER_SOCKET, telling->bytes, telling->size, NULL, 0,
			 fds))
		return false;
	telling->size = 0;
	return true;
}

static bool tell(struct telling *telling, const struct jit_item *item,
		 const char *name)
{
	const uint32_t size = jit_item_size(item);
	char *to;

	if (size > sizeof(telling->bytes) - telling->size && !send(telling))
		return false;
	to = telling->bytes + telling->size;
	memset(to, 0, size);
	memcpy(to, item, sizeof(*item));
	if (name)
		memcpy(to + sizeof(*item), name, item->length);
	telling->size += size;
	return true;
}

static bool make(void *data, const struct jit_made *made)
{
	const struct jit_item item = {
		.start = made->start,
		.size = made->size,
		.time = made->time,
		.kind = made->name ? JIT_ITEM_MADE : JIT_ITEM_SAME,
		.number = made->of,
		.length = made->name ? strlen(made->name) + 1 : 0,
	};

	return tell(data, &item, made->name);
}

static bool end(void *data, uint32_t number, uint64_t time)
{
	const struct jit_item item = {
		.time = time,
		.kind = JIT_ITEM_END,
		.number = number,
	};

	return tell(data, &item, NULL);
}

static bool end_all(void *data, uint64_t time)
{
	const struct jit_item item = {
		.time = time,
		.kind = JIT_ITEM_END_ALL,
	};

	return tell(data, &item, NULL);
}

int jit_child_run(void *data)
{
	static const struct jit_ops ops = { make, end, end_all };
	struct telling *telling = table_allocate(sizeof(*telling));
	const struct jit_task *task = data;
	struct jit_item done = { .kind = JIT_ITEM_DONE };
	struct jit_result result;

	if (!object_confine(&task->limits))
		return NO_SANDBOX;
	if (task->kind == JIT_DUMP)
		jit_parse_dump(READER_FILE, task->size, task->pid, &ops,
			       telling, &result);
	else if (task->kind == JIT_OBJECTS)
		jit_parse_objects(READER_FILE, task->size, &ops, telling,
				  &result);
	else
		jit_parse_map(READER_FILE, task->size, &ops, telling, &result);
	done.start = result.offset;
	done.size = result.nr_faults;
	done.number = result.fault;
	return tell(telling, &done, NULL) && send(telling) ? 0 : NO_MEMORY;
}
