// SPDX-License-Identifier: GPL-2.0
/*
 * Following: conversion of the objects that a process announces, step 1 of
 * reader_announced.c.
 *
 * All objects of a look are converted in one worker. One of them can break it, or use up
 * its time or memory; then those that have got no answer that is certainly about
 * themselves are converted once more, each in a worker of its own.
 */
#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "following.h"

/* What time there must be left to begin a conversion, and its CPU time. */
#define CONVERT_MIN_MS	100
#define CONVERT_CPU	1

/* What time is left to attach the sections. */
#define ATTACH_NS	(300 * MS)

/*
 * Rows of one entry. Few functions have more, which have no rules then: with several entries,
 * only that of the first would tell how the function begins, see module/file/noted.h.
 */
#define MAX_ROWS	256

/* What is charged for a server that was broken: its namespaces are freed by the kernel. */
#define BROKEN_NS	(10 * MS)

/*
 * Wait for the end of @worker. Returns its result, or a negative errno: -ETIME instead of
 * -ETIMEDOUT if it has used too much CPU time.
 */
static int finish(struct worker *worker, struct reader_reply *reply)
{
	const uint64_t deadline = worker_deadline(worker);
	struct pollfd poll_worker = { .events = POLLIN };
	struct worker_end end;

	for (;;) {
		const uint64_t now = now_ns();

		poll_worker.fd = worker_fd(worker);
		poll(&poll_worker, 1, now < deadline ?
				      (deadline - now) / MS + 1 : 0);
		if (worker_finish(worker, &end) != -EAGAIN)
			break;
	}
	reply->cpu_ns += end.cpu_ns;
	if (!end.error)
		return end.result_fd;
	reply->cpu_ns += BROKEN_NS;
	if (end.error == -ETIMEDOUT && now_ns() < deadline)
		return -ETIME;
	return end.error;
}

/* Returns whether an answer with @err may be wrong for one of several objects. */
static bool can_be_of_others(int err)
{
	return err == -EPROTO || err == -EFBIG;
}

/* Read the object's section, and what the object has of its code. */
static int read_part(int result_fd, const struct worker_part *part,
		     struct new_object *object)
{
	char text[WORKER_MAX_TEXT];
	int err;

	err = worker_result_read_part(result_fd, part, NULL, &object->converted,
				      text, sizeof(text));
	if (err)
		return err;
	err = worker_result_same(result_fd, part, &object->same,
				 &object->nr_same);
	if (err) {
		sframe_unwind_converted_free(object->converted);
		object->converted = NULL;
	}
	return err;
}

/*
 * Note what the worker's result says about the @nr objects at @object. Returns 0, or
 * -ENOEXEC if it could not read any of them.
 */
static int read_result(struct new_object *object, unsigned int nr, int result_fd)
{
	struct worker_part part = { .nr = nr };
	unsigned int nr_read = 0;
	uint64_t size;
	int err;

	for (; part.index < nr; part.index++, object++) {
		struct reader_code_range *range = &object->range;

		err = read_part(result_fd, &part, object);
		nr_read += err != -ENOEXEC;
		/* There may be memory later. */
		if (err == -ENOMEM || err == -ENOEXEC ||
		    (nr > 1 && can_be_of_others(err))) {
			object->is_late = nr == 1 && err == -ENOMEM;
			continue;
		}
		object->is_answered = true;
		if (err)
			continue;
		worker_result_code(result_fd, &part, &range->start, &size);
		range->end = range->start + size;
		if (range->end <= range->start) {
			range->start = 0;
			range->end = 0;
			sframe_unwind_converted_free(object->converted);
			object->converted = NULL;
			continue;
		}
		range->object = object->announced.object;
		range->object_size = object->announced.size;
	}
	return nr_read ? 0 : -ENOEXEC;
}

/*
 * Convert the @nr objects from @first on in one worker, by @ends_at. Returns 0 if it has
 * said something about them; -EPROTO if an object has broken it or has used too much CPU
 * time; -ETIMEDOUT if the time was over, or -EAGAIN before it began; or another negative
 * errno, of which no object is the cause.
 */
static int convert(struct following *following, unsigned int first,
		   unsigned int nr, uint64_t ends_at, struct reader_reply *reply)
{
	const uint64_t began = now_ns();
	struct stat stat;
	const struct worker_limits limits = {
		.max_rows = MAX_ROWS,
		.cpu_seconds = CONVERT_CPU,
		.wall_ms = began < ends_at ? (ends_at - began) / MS : 0,
		.nice = following->request->code.nice,
		.is_object = true,
		.user = fstat(following->process, &stat) ? 0 : stat.st_uid,
	};
	int fds[FOLLOWING_MAX_NEW], result_fd, err;
	struct worker *worker;

	if (limits.wall_ms < CONVERT_MIN_MS)
		return -EAGAIN;
	/* Servers that were started before have their descriptors by now. */
	children_have_files();
	for (unsigned int i = 0; i < nr; i++)
		fds[i] = following->objects[first + i].fd;
	err = worker_start_many(&worker, fds, nr, &limits);
	if (err)
		return err;
	result_fd = finish(worker, reply);
	following->code->worker_ns += now_ns() - began;
	if (result_fd == -ETIME)
		return -EPROTO;
	if (result_fd < 0)
		return result_fd;
	err = read_result(&following->objects[first], nr, result_fd);
	close(result_fd);
	return err;
}

/* Convert object @number by itself. Returns as convert(). */
static int convert_one(struct following *following, unsigned int number,
		       uint64_t ends_at, struct reader_reply *reply)
{
	struct new_object *object = &following->objects[number];
	const uint64_t began = now_ns();
	const int err = convert(following, number, 1, ends_at, reply);

	if (err == -EPROTO)
		object->is_answered = true;
	else if (err == -ETIMEDOUT)
		object->is_late = ends_at - began > CONVERT_CPU * SECOND;
	return err;
}

/* Convert each object that has got no answer in a worker of its own. */
static void convert_rest(struct following *following, uint64_t ends_at,
			 struct reader_reply *reply)
{
	const unsigned int nr = following->nr;
	/* If there is not time for all, not always for the same ones. */
	const unsigned int first = now_ns() % nr;
	int err;

	for (unsigned int i = 0; i < nr; i++) {
		const unsigned int number = (first + i) % nr;

		if (following->objects[number].is_answered)
			continue;
		err = convert_one(following, number, ends_at, reply);
		if (err && err != -EPROTO)
			break;
	}
}

bool following_convert(struct following *following, struct reader_reply *reply)
{
	const uint64_t now = now_ns();
	const uint64_t ends_at = following->ends_at - ATTACH_NS;
	uint64_t first_ends_at = ends_at;
	int err;

	if (following->nr == 1) {
		err = convert_one(following, 0, ends_at, reply);
	} else {
		/* Half of the time is for those that it has no answer for. */
		if (now < ends_at)
			first_ends_at = now + (ends_at - now) / 2;
		err = convert(following, 0, following->nr, first_ends_at, reply);
	}
	if (err && err != -EPROTO && err != -ETIMEDOUT)
		return false;
	if (following->nr > 1)
		convert_rest(following, ends_at, reply);
	return true;
}
