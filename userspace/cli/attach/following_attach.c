// SPDX-License-Identifier: GPL-2.0
/*
 * Following: attaching to the code of objects that a process announces. These are steps 2
 * to 4 of reader_announced.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "clock.h"
#include "following.h"
#include "lib/memory_file.h"
#include "module/arch/arch.h"
#include "module/decode/sframe.h"

/* Bytes that are compared at once. */
#define PIECE		65536

/*
 * Bytes of kernel memory of one range that weigh 1; what each function takes in the
 * section at least; the code for which the module keeps one hash, besides one for each
 * function; and the bytes of that.
 */
#define WEIGHT_BYTES	65536
#define FUNCTION_BYTES	16
#define HASHED_BYTES	2048
#define HASH_BYTES	8

/* Bytes of code that are copied in one look. */
#define MAX_CODE_BYTES	(16ULL << 20)

/*
 * Returns whether the process is there, so its number has not been that of another one, and
 * still has the address space that has been read. That alone does not tell: a process with
 * which it shares its memory may outlive it.
 */
static bool is_there(const struct following *following,
		     const struct new_object *object)
{
	unsigned char byte;

	return !faccessat(following->process, "mem", F_OK, 0) &&
	       announced_read(following->memory, object->range.start, &byte, 1);
}

/* Attach the section to the object's code. Returns 0 with its id, or a negative errno. */
static int attach(const struct following *following, struct new_object *object)
{
	const struct sframe_unwind_converted *section = object->converted;
	struct sframe_unwind_attach arg = {
		.size = sizeof(arg),
		.flags = SFRAME_UNWIND_ATTACH_PROCESS |
			 SFRAME_UNWIND_ATTACH_UNCHANGED,
		.elf_fd = -1,
		.sframe_size = section->size,
		.pid = following->request->mapping.pid,
		.text_start = object->range.start,
		.text_size = object->range.end - object->range.start,
		.code = (uintptr_t)object->code,
	};
	int err = 0;

	arg.sframe_fd = memory_file_create("sframe");
	if (arg.sframe_fd < 0)
		return -errno;
	if (write(arg.sframe_fd, section->bytes, section->size) !=
	    (ssize_t)section->size)
		err = -ENOMEM;
	else if (ioctl(READER_DEVICE, SFRAME_UNWIND_IOC_ATTACH, &arg))
		err = -errno;
	/* If others have a section there, the kernel has looked at the mapping before. */
	if (!err || err == -EEXIST) {
		if (is_there(following, object)) {
			following_tell(following, object, arg.sframe_fd);
		} else {
			if (!err)
				reader_code_detach(arg.id);
			err = -ESRCH;
		}
	}
	close(arg.sframe_fd);
	object->range.id = arg.id;
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
	case -ENOSPC:
		code->is_refused = true;
		code->is_partial = true;
		break;
	/*
	 * Its code is writable, or there is none, and may be so only now; or others have
	 * a section there.
	 */
	case -EACCES:
	case -EFAULT:
	case -EEXIST:
		following_put_off(following, &object->range, FOLLOWING_COST_CODE);
		break;
	case -ENOMEM:
	case -EINTR:
	case -ESRCH:
		code->is_partial = true;
		break;
	default:
		following_remember(following, &object->range, CODE_REFUSED);
		break;
	}
}

static bool read_code(const struct following *following,
		      const struct new_object *object, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += PIECE) {
		const uint64_t left = size - at;

		if (now_ns() >= following->ends_at ||
		    !announced_read(following->memory, object->range.start + at,
				    object->code + at, left < PIECE ? left : PIECE))
			return false;
	}
	return true;
}

/* Returns whether [at, at + size) is in @whole bytes. */
static bool is_in(uint64_t at, uint64_t size, uint64_t whole)
{
	return at <= whole && size <= whole - at;
}

/*
 * Returns whether the copied code is that of the object. It is not if the process has made
 * other code there, and has not taken the object back yet, or never does.
 */
static bool is_its_code(const struct new_object *object)
{
	const uint64_t size = object->announced.size;
	const uint64_t code_size = object->range.end - object->range.start;
	uint64_t left = size;

	for (uint32_t i = 0; i < object->nr_same; i++) {
		const struct worker_same *same = &object->same[i];

		if (same->size > left || !is_in(same->object, same->size, size) ||
		    !is_in(same->code, same->size, code_size) ||
		    memcmp(object->bytes + same->object,
			   object->code + same->code, same->size))
			return false;
		left -= same->size;
	}
	return left < size;
}

/* Copy the object's code. Returns whether that was possible, and it is its code. */
static bool copy_code(struct following *following, struct new_object *object)
{
	const uint64_t size = object->range.end - object->range.start;

	if (size > MAX_CODE_BYTES) {
		following_remember(following, &object->range, CODE_REFUSED);
		return false;
	}
	if (size <= MAX_CODE_BYTES - following->nr_code_bytes)
		object->code = malloc(size);
	if (!object->code || !read_code(following, object, size)) {
		following->code->is_partial = true;
		free(object->code);
		object->code = NULL;
		return false;
	}
	if (!is_its_code(object)) {
		following_put_off(following, &object->range, FOLLOWING_COST_CODE);
		free(object->code);
		object->code = NULL;
		return false;
	}
	following->nr_code_bytes += size;
	return true;
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

/* Returns the weight of the object's section, with what the module keeps of its code. */
static uint64_t weight_of(const struct new_object *object)
{
	const uint64_t size = object->converted->size;
	const uint64_t code = object->range.end - object->range.start;
	const uint64_t hashes = size / FUNCTION_BYTES + code / HASHED_BYTES;

	return 1 + (size + hashes * HASH_BYTES) / WEIGHT_BYTES;
}

/* Attach the section of the object. */
static void attach_object(struct following *following, struct new_object *object)
{
	struct announced_ranges *to = following->ranges;
	int err;

	object->range.weight = weight_of(object);
	if (to->nr == CODE_MAX_RANGES ||
	    to->weight + object->range.weight > following->request->code.max) {
		following->code->is_full = true;
	} else {
		make_room(following, object);
		err = attach(following, object);
		if (err) {
			fail(following, object, err);
		} else {
			to->ranges[to->nr++] = object->range;
			to->weight += object->range.weight;
			following_forget(following, object->range.key);
		}
	}
}

static void attach_objects(struct following *following)
{
	bool has_any = false;

	following->code_at = now_ns();
	for (unsigned int i = 0; i < following->nr; i++) {
		struct new_object *object = &following->objects[i];

		if (object->is_late)
			following_put_off(following, &object->range,
					  FOLLOWING_COST_CONVERT);
		else if (!object->is_answered)
			following->code->is_partial = true;
		else if (!object->converted)
			following_remember(following, &object->range,
					   CODE_REFUSED);
		else if (following_is_ambiguous(following, &object->range))
			following_remember(following, &object->range,
					   CODE_AMBIGUOUS);
		else if (!all_can_be_right(object->converted))
			following_remember(following, &object->range,
					   CODE_REFUSED);
		/* Code that is still writable may not be finished. */
		else if (!following_is_usable(following, object->range.start,
					      object->range.end))
			following_put_off(following, &object->range,
					  FOLLOWING_COST_CODE);
		else if (copy_code(following, object))
			has_any = true;
	}
	if (!has_any)
		return;
	following_list(following, find_object);
	for (unsigned int i = 0; i < following->nr; i++) {
		struct new_object *object = &following->objects[i];

		if (!object->code)
			continue;
		if (object->is_found && is_same(following, object))
			attach_object(following, object);
		else
			following->code->has_changed = true;
		free(object->code);
	}
}

bool following_attach(struct following *following, struct reader_reply *reply)
{
	const bool is_tried = following_convert(following, reply);

	if (is_tried)
		attach_objects(following);
	else
		following->code->is_partial = true;
	for (unsigned int i = 0; i < following->nr; i++) {
		sframe_unwind_converted_free(following->objects[i].converted);
		free(following->objects[i].same);
	}
	return is_tried;
}
