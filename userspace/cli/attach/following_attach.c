// SPDX-License-Identifier: GPL-2.0
/*
 * Following: conversion of the objects that a process announces, and attaching. These are
 * steps 1 to 4 of reader_announced.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "child.h"
#include "clock.h"
#include "following.h"
#include "lib/memory_file.h"
#include "module/arch/arch.h"
#include "module/decode/sframe.h"

/* What time there must be left to begin a conversion, and its CPU time. */
#define CONVERT_MIN_MS	100
#define CONVERT_CPU	2

/* Bytes that are compared at once. */
#define PIECE		65536

/* Bytes of the section of one range that weigh 1. */
#define WEIGHT_BYTES	65536

/*
 * A section with one function of 0 bytes, so it has no rule: preamble, header, index,
 * attributes and one row. The numbers of bytes and the offsets are those of struct
 * sfu_header in module/decode/sframe_format.h.
 */
static const unsigned char empty_section[] = {
	0xe2, 0xde, 3, 5,		/* magic, version, flags */
	3, 0, 0xf8, 0,			/* AMD64, return address at CFA - 8 */
	1, 0, 0, 0,			/* functions */
	1, 0, 0, 0,			/* rows */
	8, 0, 0, 0,			/* bytes of attributes and rows */
	0, 0, 0, 0,			/* index behind the header */
	16, 0, 0, 0,			/* rows behind the index */
	0xe4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* at 0: 28 bytes before */
	0, 0, 0, 0,			/* size */
	0, 0, 0, 0,			/* offset of its rows */
	1, 0, 0, 0, 0,			/* one row */
	0, 3, 8,			/* CFA: SP + 8 */
};

/* It cannot be converted: do not try again. The oldest one is forgotten. */
static void refuse(struct reader_code_reply *code, uint64_t key)
{
	memmove(&code->refused[1], &code->refused[0],
		(CODE_MAX_REFUSED - 1) * sizeof(code->refused[0]));
	code->refused[0] = key;
}

/*
 * Convert the objects. Returns the worker's result, or a negative errno: -EPROTO if one of
 * them has broken it.
 */
static int convert(const struct following *following,
		   struct reader_reply *reply)
{
	const uint64_t began = now_ns();
	struct stat stat;
	const struct worker_limits limits = {
		.cpu_seconds = CONVERT_CPU,
		.wall_ms = began < following->ends_at ?
			   (following->ends_at - began) / MS : 0,
		.is_object = true,
		.user = fstat(following->process, &stat) ? 0 : stat.st_uid,
	};
	int fds[FOLLOWING_MAX_NEW];
	struct worker *worker;
	struct worker_end end;
	struct pollfd poll_worker = { .events = POLLIN };
	int err;

	if (limits.wall_ms < CONVERT_MIN_MS)
		return -ETIMEDOUT;
	/* Servers that were started before have their descriptors by now. */
	children_have_files();
	for (unsigned int i = 0; i < following->nr; i++)
		fds[i] = following->objects[i].fd;
	err = worker_start_many(&worker, fds, following->nr, &limits);
	if (err)
		return err;
	for (;;) {
		const uint64_t now = now_ns(), deadline = worker_deadline(worker);

		poll_worker.fd = worker_fd(worker);
		poll(&poll_worker, 1, now < deadline ?
				      (deadline - now) / MS + 1 : 0);
		if (worker_finish(worker, &end) != -EAGAIN)
			break;
	}
	reply->cpu_ns += end.cpu_ns;
	return end.error ? end.error : end.result_fd;
}

/* --- attaching */

/* Attach a section to the object's code. Returns 0 with *@id, or a negative errno. */
static int attach(const struct following *following, const struct new_object *object,
		  const unsigned char *section, size_t size, uint64_t instead,
		  uint64_t *id)
{
	struct sframe_unwind_attach arg = {
		.size = sizeof(arg),
		.flags = SFRAME_UNWIND_ATTACH_PROCESS |
			 SFRAME_UNWIND_ATTACH_UNCHANGED,
		.elf_fd = -1,
		.sframe_size = size,
		.share_id = instead,
		.pid = following->request->mapping.pid,
		.text_start = object->range.start,
		.text_size = object->range.end - object->range.start,
	};
	int err = 0;

	arg.sframe_fd = memory_file_create("sframe");
	if (arg.sframe_fd < 0)
		return -errno;
	if (write(arg.sframe_fd, section, size) != (ssize_t)size)
		err = -ENOMEM;
	else if (ioctl(READER_DEVICE, SFRAME_UNWIND_IOC_ATTACH, &arg))
		err = -errno;
	close(arg.sframe_fd);
	*id = arg.id;
	return err;
}

/*
 * Detach ranges that keep frame pointers where the object's code is: there, its rules
 * count. What is left of them is attached to again.
 */
static void make_room(const struct following *following,
		      const struct new_object *object)
{
	const struct reader_code *before = &following->request->code;

	for (unsigned int i = 0; i < before->nr; i++) {
		const struct reader_code_range *range = &before->ranges[i];

		if (!range->object && range->start < object->range.end &&
		    range->end > object->range.start)
			reader_code_detach(range->id);
	}
}

/* Note why an object gets no section. Whether it is tried again depends on that. */
static void fail(struct following *following, const struct new_object *object,
		 int err)
{
	struct reader_code_reply *code = following->code;

	switch (err) {
	case -ESTALE:
	case -EFAULT:
		code->has_changed = true;
		break;
	case -ENOSPC:
		code->is_refused = true;
		code->is_partial = true;
		break;
	/*
	 * Its code is writable, and may be so only now; or others have a section there.
	 * Those that there was no room for come first the next time.
	 */
	case -EACCES:
	case -EEXIST:
		if (following->has_more)
			refuse(code, object->key);
		code->is_partial = true;
		break;
	case -ENOMEM:
	case -EINTR:
	case -ESRCH:
		code->is_partial = true;
		break;
	default:
		refuse(code, object->key);
		break;
	}
}

/* Set the range of each object that has code; else it remains empty. */
static void find_ranges(struct following *following, int result_fd)
{
	struct worker_part part = { .nr = following->nr };
	uint64_t size;

	for (; part.index < part.nr; part.index++) {
		struct new_object *object = &following->objects[part.index];
		struct reader_code_range *range = &object->range;

		worker_result_code(result_fd, &part, &range->start, &size);
		range->end = range->start + size;
		if (range->end <= range->start) {
			range->end = range->start;
			continue;
		}
		range->object = object->announced.object;
		range->object_size = object->announced.size;
		range->key = object->key;
	}
}

/*
 * Returns whether another new object has code there, too. One of them was freed but is
 * still announced, and nothing tells which.
 */
static bool is_ambiguous(const struct following *following,
			 const struct new_object *object)
{
	for (unsigned int i = 0; i < following->nr; i++) {
		const struct new_object *other = &following->objects[i];

		if (other != object && other->range.start < object->range.end &&
		    other->range.end > object->range.start)
			return true;
	}
	return false;
}

/* Attach an empty section, to watch the code. Returns whether it is watched. */
static bool watch(struct following *following, struct new_object *object)
{
	int err;

	make_room(following, object);
	err = attach(following, object, empty_section, sizeof(empty_section), 0,
		     &object->watch);
	if (err) {
		object->watch = 0;
		fail(following, object, err);
	}
	return !err;
}

static bool find_object(void *data, const struct announced *announced)
{
	struct following *following = data;

	for (unsigned int i = 0; i < following->nr; i++) {
		struct new_object *object = &following->objects[i];

		if (object->announced.entry == announced->entry &&
		    object->announced.object == announced->object &&
		    object->announced.size == announced->size)
			object->is_found = true;
	}
	return true;
}

/* Returns whether the object in the process has the bytes of the copy. */
static bool is_same(const struct following *following,
		    const struct new_object *object)
{
	static unsigned char piece[PIECE];
	uint64_t at = 0;

	while (at < object->announced.size) {
		const uint64_t left = object->announced.size - at;
		const size_t size = left < PIECE ? left : PIECE;

		if (now_ns() >= following->ends_at ||
		    !announced_read(following->memory,
				    object->announced.object + at, piece, size) ||
		    memcmp(piece, object->bytes + at, size))
			return false;
		at += size;
	}
	return true;
}

/*
 * Returns whether @rule can be right: a return address that is in the stack is not below
 * the stack pointer. Some runtimes announce rules for code that has none, which are not.
 */
static bool can_be_right(const struct sfu_rule *rule)
{
	return rule->flags & SFU_RULE_OUTERMOST || rule->cfa != SFU_REG_SP ||
	       rule->ra != (SFU_BASE_CFA | SFU_DEREF) ||
	       (int64_t)rule->cfa_offset + rule->ra_offset >= 0;
}

/* Returns whether all rules of the section, which has no defect, can be right. */
static bool all_can_be_right(const struct sframe_unwind_converted *converted)
{
	const struct sfu_bytes bytes = {
		.size = converted->size,
		.copy = converted->bytes,
	};
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_rows rows;
	struct sfu_rule rule;
	struct sfu_fde fde;

	if (sfu_table_open(&table, &bytes, &defect))
		return false;
	for (u32 i = 0; i < table.num_fdes; i++) {
		struct sfu_row row = { .start = 0 };

		if (sfu_table_read_fde(&table, i, &fde, &defect))
			return false;
		sfu_rows_begin(&rows, &table, &fde);
		while (sfu_rows_next(&rows, &row, &defect) > 0)
			if (sfu_row_decode(&fde, &row, &rule, &defect) ||
			    !can_be_right(&rule))
				return false;
	}
	return true;
}

/* Read the section of the object, and attach it. */
static void attach_object(struct following *following, struct new_object *object,
			  int result_fd, unsigned int number)
{
	const struct worker_part part = { .index = number, .nr = following->nr };
	struct announced_ranges *to = following->ranges;
	struct sframe_unwind_converted *converted;
	char text[WORKER_MAX_TEXT];
	int err;

	if (worker_result_read_part(result_fd, &part, NULL, &converted, text,
				    sizeof(text))) {
		refuse(following->code, object->key);
		return;
	}
	if (!all_can_be_right(converted)) {
		refuse(following->code, object->key);
		sframe_unwind_converted_free(converted);
		return;
	}
	object->range.weight = 1 + converted->size / WEIGHT_BYTES;
	if (to->nr == CODE_MAX_RANGES ||
	    to->weight + object->range.weight > following->request->code.max) {
		following->code->is_full = true;
	} else {
		err = attach(following, object, converted->bytes, converted->size,
			     object->watch, &object->range.id);
		if (err) {
			fail(following, object, err);
		} else {
			to->ranges[to->nr++] = object->range;
			to->weight += object->range.weight;
		}
	}
	sframe_unwind_converted_free(converted);
}

static void attach_objects(struct following *following, int result_fd)
{
	bool has_any = false;
	int memory;

	find_ranges(following, result_fd);
	for (unsigned int i = 0; i < following->nr; i++) {
		struct new_object *object = &following->objects[i];

		if (object->range.end == object->range.start)
			refuse(following->code, object->key);
		else if (is_ambiguous(following, object))
			following->code->is_partial = true;
		else if (watch(following, object))
			has_any = true;
	}
	if (!has_any)
		return;
	/* The memory that is watched, which may be that of another program by now. */
	memory = openat(following->process, "mem", O_RDONLY | O_CLOEXEC);
	if (memory >= 0) {
		close(following->memory);
		following->memory = memory;
		following_list(following, find_object);
	}
	for (unsigned int i = 0; i < following->nr; i++) {
		struct new_object *object = &following->objects[i];

		if (!object->watch)
			continue;
		if (memory >= 0 && object->is_found &&
		    is_same(following, object))
			attach_object(following, object, result_fd, i);
		else
			following->code->has_changed = true;
		reader_code_detach(object->watch);
	}
}

void following_attach(struct following *following, struct reader_reply *reply)
{
	const unsigned int before = following->ranges->nr;
	int result_fd;

	result_fd = convert(following, reply);
	if (result_fd >= 0) {
		attach_objects(following, result_fd);
		close(result_fd);
	} else if (result_fd != -EPROTO) {
		following->code->is_partial = true;
	} else {
		for (unsigned int i = 0; i < following->nr; i++)
			refuse(following->code, following->objects[i].key);
	}
	if (!following->has_more)
		return;
	/* Go on at once only if that leads to something. */
	if (following->ranges->nr > before)
		following->code->has_changed = true;
	else
		following->code->is_partial = true;
}
