// SPDX-License-Identifier: GPL-2.0
/*
 * jit: a file of arbitrary bytes as a perf map, if the last byte is odd as a jitdump, or if it
 * is 2 as objects that a process has announced.
 * All functions that it tells must be possible, and each fault be in the file. Of what it
 * tells, the function of an address at a time must be the one that a search of all finds.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "jit_dump_made.h"
#include "userspace/cli/profile/jit_parse.h"
#include "userspace/cli/profile/jit_table.h"

/* Functions that are searched one by one. */
#define SEARCHED	200u

static struct jit_function list[SEARCHED];

static bool make(void *data, const struct jit_made *made)
{
	struct jit_table *table = data;

	FUZZ_CHECK(!jit_check_range(made->start, made->size), "range");
	if (made->name) {
		FUZZ_CHECK(made->name[0], "an empty name");
		FUZZ_CHECK(strlen(made->name) < JIT_NAME_SIZE, "a long name");
		jit_table_add(table, made->start, made->size, made->time,
			      made->name);
	} else {
		FUZZ_CHECK(made->of < table->nr, "function %u", made->of);
		jit_table_add_same(table, made->start, made->size, made->time,
				   made->of);
	}
	return true;
}

static bool end(void *data, uint32_t number, uint64_t time)
{
	struct jit_table *table = data;

	FUZZ_CHECK(number < table->nr, "function %u", number);
	jit_table_end(table, number, time);
	return true;
}

static bool end_all(void *data, uint64_t time)
{
	jit_table_end_all(data, time);
	return true;
}

static const struct jit_function *search(uint32_t nr, uint64_t address,
					 uint64_t time)
{
	const struct jit_function *last = NULL;
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (address >= list[i].start && address < list[i].end &&
		    list[i].from <= time && (!last || list[i].from >= last->from))
			last = &list[i];
	return last && (time == JIT_NOW || time < last->until) ? last : NULL;
}

static void check_at(const struct jit_table *table, uint32_t nr,
		     uint64_t address, uint64_t time)
{
	const struct jit_function *found = jit_table_find(table, address, time);
	const struct jit_function *want = search(nr, address, time);

	FUZZ_CHECK(!found == !want, "found or not");
	FUZZ_CHECK(!found || found->order == want->order, "function %u, not %u",
		   found->order, want->order);
}

static void check_table(struct jit_table *table)
{
	const uint32_t nr = table->nr < SEARCHED ? table->nr : 0;
	uint32_t i;

	if (nr)
		memcpy(list, table->list, nr * sizeof(*list));
	jit_table_finish(table);
	for (i = 0; i < nr; i++) {
		const struct jit_function *other = &list[(i * 7 + 3) % nr];

		check_at(table, nr, list[i].start, JIT_NOW);
		check_at(table, nr, list[i].start, other->from);
		check_at(table, nr, list[i].end - 1, other->until);
		check_at(table, nr, list[i].end, other->from + 1);
		check_at(table, nr, list[i].start - 1, list[i].from);
	}
}

void fuzz_jit(const u8 *data, size_t size)
{
	static const struct jit_ops ops = { make, end, end_all };
	static int fd = -1;
	struct jit_table table = { 0 };
	struct jit_result result;
	u8 kind;

	if (!fuzz_take_tail(data, &size, &kind, sizeof(kind)))
		return;
	if (fd < 0)
		fd = memfd_create("jit", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (kind & 1)
		jit_parse_dump(fd, size, MADE_PID, &ops, &table, &result);
	else if (kind == 2)
		jit_parse_objects(fd, size, &ops, &table, &result);
	else
		jit_parse_map(fd, size, &ops, &table, &result);
	FUZZ_CHECK(!result.fault == !result.nr_faults, "%u faults",
		   result.nr_faults);
	FUZZ_CHECK(result.fault != JIT_UNREADABLE, "unreadable");
	FUZZ_CHECK(!result.fault || result.offset <= size, "offset");
	FUZZ_CHECK(jit_fault_text(result.fault), "fault %u", result.fault);
	check_table(&table);
	jit_table_free(&table);
}
