/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that a process made at run time, each with its life: which one was at an
 * address at a time. Memory is reused: there may have been many at the same address.
 */
#ifndef CLI_PROFILE_JIT_TABLE_H
#define CLI_PROFILE_JIT_TABLE_H

#include "cli/profile/table.h"

/* The time at which all that was not ended still is: now, or at the end. */
#define JIT_NOW	UINT64_MAX

/**
 * struct jit_function - a function
 *
 * @start: first address.
 * @end: address behind the last one.
 * @from: when it was made.
 * @until: when it ended, or JIT_NOW.
 * @name: number of its name.
 * @order: how many were added before.
 */
struct jit_function {
	uint64_t start;
	uint64_t end;
	uint64_t from;
	uint64_t until;
	uint32_t name;
	uint32_t order;
};

/**
 * struct jit_table - functions; all 0 at the beginning
 *
 * @list: the functions; in the order of @from after jit_table_finish().
 * @nr: number of those.
 * @room: room for those.
 * @nr_ended: the first ones that jit_table_end_all() has ended.
 * @names: their names.
 * @name_bytes: bytes of those.
 * @bounds: the addresses at which a function begins or ends, in their order.
 * @nr_bounds: number of those.
 * @nodes: a tree of ranges between them: where the list of a node begins in @lists.
 * @nr_leaves: ranges, a power of two.
 * @lists: numbers of the functions that cover a node but not the one above, by time.
 * @times: when functions were made or ended, in their order.
 * @nr_times: number of those.
 */
struct jit_table {
	struct jit_function *list;
	uint32_t nr;
	uint32_t room;
	uint32_t nr_ended;
	struct strings names;
	uint64_t name_bytes;
	uint64_t *bounds;
	uint32_t nr_bounds;
	uint32_t *nodes;
	uint32_t nr_leaves;
	uint32_t *lists;
	uint64_t *times;
	uint32_t nr_times;
};

/* Add a function; it gets the next number, from 0 on. */
void jit_table_add(struct jit_table *table, uint64_t start, uint64_t size,
		   uint64_t time, const char *name);

/* Add one that has the name of function @of, which was added before. */
void jit_table_add_same(struct jit_table *table, uint64_t start, uint64_t size,
			uint64_t time, uint32_t of);

/* End function @number, or all that were added. */
void jit_table_end(struct jit_table *table, uint32_t number, uint64_t time);
void jit_table_end_all(struct jit_table *table, uint64_t time);

/* Call this after the last one, and before what is below. Numbers are not valid any more. */
void jit_table_finish(struct jit_table *table);

/*
 * Returns the function that was at @address at @time, or NULL: the last one that was made
 * there until then, unless it had ended. With JIT_NOW, the last one that was there,
 * whenever it ended.
 */
const struct jit_function *jit_table_find(const struct jit_table *table,
					  uint64_t address, uint64_t time);

/* A number that is equal at two times if all addresses have the same functions. */
uint32_t jit_table_version(const struct jit_table *table, uint64_t time);

const char *jit_table_name(const struct jit_table *table,
			   const struct jit_function *function);

/* Bytes that it takes. */
uint64_t jit_table_size(const struct jit_table *table);

void jit_table_free(struct jit_table *table);

#endif /* CLI_PROFILE_JIT_TABLE_H */
