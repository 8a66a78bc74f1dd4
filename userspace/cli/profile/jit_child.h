/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The child of a reader of perf maps, jitdumps and objects: it parses one file, and tells
 * what is in it. It is not trusted, because the file may have taken it over.
 *
 * The parent asks for each message by one byte. A message has items, each followed by its
 * name with its 0, if it has one, and by bytes up to a multiple of 8.
 */
#ifndef CLI_PROFILE_JIT_CHILD_H
#define CLI_PROFILE_JIT_CHILD_H

#include "cli/profile/jit_parse.h"
#include "cli/profile/object_child.h"

/*
 * JIT_ITEM_MADE	a function with a name
 * JIT_ITEM_SAME	a function with the name of function @number
 * JIT_ITEM_END		function @number is no more
 * JIT_ITEM_END_ALL	none is any more
 * JIT_ITEM_DONE	the last item: @start is where the first fault is, @number which one,
 *			and @size the number of faults
 */
enum jit_item_kind {
	JIT_ITEM_MADE = 1,
	JIT_ITEM_SAME,
	JIT_ITEM_END,
	JIT_ITEM_END_ALL,
	JIT_ITEM_DONE,
};

/**
 * struct jit_item
 *
 * @start, @size, @time: of the function.
 * @kind: enum jit_item_kind.
 * @number: another function, or a fault.
 * @length: bytes of the name with its 0, at most JIT_NAME_SIZE; 0 if there is none.
 * @reserved: 0.
 */
struct jit_item {
	uint64_t start;
	uint64_t size;
	uint64_t time;
	uint32_t kind;
	uint32_t number;
	uint32_t length;
	uint32_t reserved;
};

/* Bytes of a message. */
#define JIT_MESSAGE_MAX	65536u

/* Bytes of an item with its name. */
static inline uint32_t jit_item_size(const struct jit_item *item)
{
	return sizeof(*item) + (item->length + 7) / 8 * 8;
}

/**
 * struct jit_task - what a child is for
 *
 * @limits: its limits.
 * @size: bytes of the file that are parsed.
 * @kind: what it is.
 * @pid: of the process, as the jitdump must have it.
 */
struct jit_task {
	struct reader_task limits;
	uint64_t size;
	enum jit_kind kind;
	uint32_t pid;
};

/* For child_start(): @data is a struct jit_task. */
int jit_child_run(void *data);

#endif /* CLI_PROFILE_JIT_CHILD_H */
