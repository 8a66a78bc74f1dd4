// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "conversion.h"
#include "convert/output/packed.h"
#include "input.h"
#include "object.h"

/* Name of the file in the converter's messages; it is removed from them. */
#define NAME "file"

static bool write_all(const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		const ssize_t put = write(STDOUT_FILENO, at, size);

		if (put < 0)
			return false;
		at += put;
		size -= put;
	}
	return true;
}

static int answer(struct worker_header *header, const void *bytes)
{
	memcpy(header->magic, WORKER_MAGIC, sizeof(header->magic));
	if (!write_all(header, sizeof(*header)) ||
	    !write_all(bytes, header->text_size + header->packed_size))
		return WORKER_EXIT_FAILED;
	return WORKER_EXIT_DONE;
}

__attribute__((format(printf, 3, 4)))
static int answer_error(unsigned int weak, int error, const char *format, ...)
{
	struct worker_header header = { .error = -error, .weak = weak };
	char text[WORKER_MAX_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	header.text_size = strlen(text);
	return answer(&header, text);
}

/* *@room is what is left of the limit of the output. */
static int answer_converted(unsigned int weak, uint64_t *room,
			    const struct sframe_unwind_converted *converted,
			    const struct object *object)
{
	struct worker_header header = {
		.weak = weak,
		.code_start = object->start,
		.code_size = object->code_size,
		.nr_same = object->nr_same,
	};
	const uint64_t same = object->nr_same * sizeof(*object->same);
	struct buffer packed = { 0 };
	uint64_t size;
	int status;

	if (sfu_packed_write(&packed, converted))
		return answer_error(weak, ENOMEM, "no memory");
	header.packed_size = packed.size;
	size = sizeof(header) + packed.size + same;
	if (size > *room) {
		status = answer_error(weak, EFBIG,
				      "its section would have %zu bytes; the limit is %llu",
				      packed.size, (unsigned long long)*room);
	} else {
		*room -= size;
		status = answer(&header, packed.bytes);
		if (status == WORKER_EXIT_DONE && !write_all(object->same, same))
			status = WORKER_EXIT_FAILED;
	}
	buffer_free(&packed);
	return status;
}

int conversion_refuse(const struct sandbox *sandbox, const char *failed,
		      unsigned int nr)
{
	const int error = errno;
	int status = WORKER_EXIT_DONE;

	for (unsigned int i = 0; i < nr && status == WORKER_EXIT_DONE; i++)
		status = answer_error(sandbox->weak, ENOEXEC, "no sandbox: %s: %s",
				      failed, strerror(error));
	return status;
}

/* A snapshot in memory. */
struct input {
	const void *bytes;
	size_t size;
};

static int convert(const struct sandbox *sandbox,
		   const struct worker_request *request,
		   const struct input *input, uint64_t *room)
{
	const struct sframe_unwind_convert_options options = {
		.max_rows = request->max_rows,
		.flags = request->flags,
		.sources = request->is_object ? SFRAME_UNWIND_FROM_EH_FRAME : 0,
	};
	struct sframe_unwind_converted *converted;
	struct object object = { 0 };
	const char *problem = NULL;
	int status, err;

	if (request->is_object)
		problem = object_make(input->bytes, input->size, &object);
	if (problem)
		return answer_error(sandbox->weak,
				    object.lacks_memory ? ENOMEM : EINVAL, "%s",
				    problem);
	err = sframe_unwind_convert_memory(object.bytes ? object.bytes :
							  input->bytes,
					   object.bytes ? object.size : input->size,
					   NAME, &options, &converted);
	if (err) {
		status = answer_error(sandbox->weak, -err, "%s",
				      sframe_unwind_convert_error() +
				      strlen(NAME ": "));
	} else {
		status = answer_converted(sandbox->weak, room, converted, &object);
		sframe_unwind_converted_free(converted);
	}
	object_free(&object);
	return status;
}

int conversion_run(const struct sandbox *sandbox,
		   const struct worker_request *request, const int *snapshots)
{
	struct sandbox_limits limits = {
		.memory = request->memory,
		.output = request->output,
		.cpu_seconds = request->cpu_seconds,
	};
	struct input inputs[WORKER_MAX_SNAPSHOTS];
	const unsigned int nr = request->nr_snapshots;
	uint64_t room = limits.output;
	int status = WORKER_EXIT_DONE;
	const char *failed;

	for (unsigned int i = 0; i < nr; i++) {
		inputs[i].bytes = input_map(snapshots[i], &inputs[i].size);
		/* One of several is asked for again by itself. */
		if (!inputs[i].bytes && nr > 1)
			return WORKER_EXIT_FAILED;
		if (!inputs[i].bytes)
			return answer_error(0, errno == EFBIG ||
					    errno == ENOMEM ? errno : ENOEXEC,
					    "the snapshot: %s",
					    strerror(errno));
		limits.input += inputs[i].size;
	}
	failed = sandbox_close(sandbox, &limits);
	if (failed)
		return conversion_refuse(sandbox, failed, nr);
	/* This reads the first byte of the files. */
	for (unsigned int i = 0; i < nr && status == WORKER_EXIT_DONE; i++)
		status = convert(sandbox, request, &inputs[i], &room);
	return status;
}
