// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/attach/child.h"
#include "cli/profile/names.h"
#include "cli/profile/object_child.h"
#include "cli/profile/object_limits.h"
#include "worker/message.h"

/* The most bytes of memory that this process has had at a time. */
static uint64_t peak(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss << 10;
}

/*
 * Whether reading took nearly all memory that it may. Then libdwfl had none to unpack
 * something, which it does not tell. @peak_before, @memory_before: when it began.
 */
static bool took_all_memory(uint64_t peak_before, uint64_t memory_before)
{
	const uint64_t most = peak();
	struct rlimit limit;

	/* The kernel counts the peak in steps; the limit may be below what was there. */
	return !getrlimit(RLIMIT_AS, &limit) && most > peak_before &&
	       limit.rlim_cur > memory_before &&
	       most - peak_before > (limit.rlim_cur - memory_before) / 4 * 3;
}

void object_child_allow(int fd)
{
	struct rlimit limit;
	struct stat status;

	if (fstat(fd, &status) || getrlimit(RLIMIT_AS, &limit))
		return;
	object_set_memory(limit.rlim_cur +
		   status.st_size * (UNPACKED_RATIO + 1ULL));
	object_set_time(object_time_left() + status.st_size * TIME_BYTE);
}

static uint64_t time_asked(const struct reader_task *task)
{
	const uint64_t time = TIME_ASKED + task->stored * TIME_BYTE;

	return time < TIME_ASKED_MAX ? time : TIME_ASKED_MAX;
}

static int tell(const union message *message, size_t size)
{
	const int fds[2] = { -1, -1 };

	return message_send(READER_SOCKET, message->bytes, size, NULL, 0, fds);
}

static int tell_summary(const struct object *object, union message *message)
{
	struct summary summary = {
		.build_id_size = object->build_id_size,
		.nr_segments = object->nr_segments,
		.has_dwarf = object->has_dwarf,
		.has_symbols = !object->why,
	};

	memcpy(summary.build_id, object->build_id, sizeof(summary.build_id));
	memcpy(summary.segments, object->segments, sizeof(summary.segments));
	if (object->why)
		snprintf(summary.why, sizeof(summary.why), "%s", object->why);
	message->answer = (struct answer){ .left = object_time_left() };
	memcpy(message->bytes + sizeof(struct answer), &summary,
	       sizeof(summary));
	return tell(message, sizeof(struct answer) + sizeof(summary));
}

/* Set @with to the answer to a question. Returns the number of its texts, in @names. */
static uint32_t find_answer(struct object *object,
			    const struct request *request, struct answer *with,
			    const char *names[NAMES_INLINED])
{
	const uint64_t address = request->address;
	const struct symbol *symbol;

	switch (request->question) {
	case FIND:
		symbol = object_find(object, address);
		names[0] = symbol ? symbol->name : NULL;
		with->start = symbol ? symbol->start :
				       object_start(object, address);
		with->end = symbol ? symbol->end : 0;
		break;
	case INLINED:
		return object_inlined(object, address, names, NAMES_INLINED);
	case LINE:
		names[0] = object_line(object, address, &with->line);
		break;
	default:
		names[0] = object_call_line(object, address, request->i,
					    &with->line);
		break;
	}
	return !!names[0];
}

/* Answer a question. Returns 0 or a negative errno. */
static int answer(const struct reader_task *task, struct object *object,
		  const struct request *request, union message *message)
{
	const char *names[NAMES_INLINED];
	struct answer *with = &message->answer;
	const bool is_dwarf = request->question != FIND;
	const uint64_t left = is_dwarf ? object_time_left() + time_asked(task) : 0;
	size_t size = sizeof(*with);
	uint32_t nr;

	*with = (struct answer){ .left = UINT64_MAX };
	if (is_dwarf)
		object_set_time(left < task->left ? left : task->left);
	nr = find_answer(object, request, with, names);
	for (uint32_t i = 0; i < nr; i++) {
		const size_t most = nr == 1 ? TEXT_MAX : NAME_MAX_TOLD;
		const size_t length = strnlen(names[i], most - 1);

		if (size + length + 1 > sizeof(message->bytes))
			break;
		memcpy(message->bytes + size, names[i], length);
		message->bytes[size + length] = '\0';
		size += length + 1;
		with->nr++;
	}
	if (is_dwarf)
		with->left = object_time_left();
	return tell(message, size);
}

int object_child_run(void *data)
{
	const struct reader_task *task = data;
	struct object object = { 0 };
	union message *message = table_allocate(sizeof(*message));
	const uint64_t memory = child_memory(NULL), most = peak();
	struct request request;
	int fds[2], error;
	bool is_elf;

	if (!object_confine(task))
		return NO_SANDBOX;
	is_elf = object_begin(&object, "object", READER_FILE);
	if (is_elf)
		object_read(&object);
	if (took_all_memory(most, memory))
		return NO_MEMORY;
	if (!is_elf)
		return NO_ELF_FILE;
	object.has_dwarf = object.has_dwarf && task->has_dwarf;
	error = tell_summary(&object, message);
	while (!error && message_receive(READER_SOCKET, &request,
					 sizeof(request), fds, false) ==
			 sizeof(request))
		error = answer(task, &object, &request, message);
	return 0;
}
