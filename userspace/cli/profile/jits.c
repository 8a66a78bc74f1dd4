// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdlib.h>

#include "cli/attach/clock.h"
#include "cli/cli.h"
#include "cli/profile/inspect.h"
#include "cli/profile/jits.h"

/*
 * When to read files of running processes again: not before this, or this for an address
 * without a name; and for this share of the time.
 */
#define READ_NS		(2 * SECOND)
#define READ_MISSED_NS	(SECOND / 5)
#define READ_SHARE	20u

/* Files whose faults are told, and those that are kept. */
#define WHYS_TOLD	8u
#define WHYS_MAX	1000u

static void note_whys(struct jits *jits, const struct jit *jit)
{
	for (unsigned int i = 0; i < JIT_FILES; i++)
		if (jit_why(jit, i) && jits->whys.pairs.nr < WHYS_MAX)
			strings_add(&jits->whys, jit_why(jit, i));
	jits->has_times |= jit_has_times(jit);
}

/*
 * Read the files of a process again. What had names keeps them if there are none any more:
 * not if this is another process with its number.
 */
static void read_again(struct jits *jits, uint32_t number, uint32_t pid)
{
	struct jit *old = jits->list[number];
	const uint32_t before = old ? jit_functions(old) : 0;
	struct jit *jit = jit_open(&jits->readers, &jits->memory, pid,
				   history_jit_file(jits->history, pid),
				   history_is_live(jits->history), old);

	note_whys(jits, jit);
	if (old && !jit_functions(jit) && jit_functions(old) &&
	    jit_is_same_process(old, pid)) {
		jit_set_read_at(old, jit_read_at(jit));
		jit_close(&jits->memory, jit);
		return;
	}
	jit_close(&jits->memory, old);
	jits->list[number] = jit;
	if (!jit_is_unchanged(jit) || jit_functions(jit) != before)
		jits->versions[number]++;
}

static bool is_due(const struct jits *jits, const struct jit *jit, uint32_t pid,
		   uint64_t least)
{
	const uint64_t share = READ_SHARE * jit_took_ns(jit);

	if (!history_is_live(jits->history))
		return false;
	least = least > share ? least : share;
	return now_ns() - jit_read_at(jit) >= least && inspect_count(pid);
}

static uint64_t time_of(const struct jits *jits, uint64_t time)
{
	return jits->is_other_clock || !time ? JIT_NOW : time;
}

/* Whether at that time the number of the process was that of another one. */
static bool is_of_another(const struct jits *jits, uint32_t pid, uint64_t time)
{
	const struct jit_file *known = history_jit_file(jits->history, pid);

	return known && known->kept[0] && time && time < known->kept_since;
}

const char *jits_find(struct jits *jits, uint32_t pid, uint64_t address,
		      uint64_t time, uint64_t *start)
{
	const uint32_t number = pairs_add(&jits->pids, pid, 0);
	const uint64_t at = time_of(jits, time);
	const char *name;

	jits->list = table_grow(jits->list, &jits->room, number,
				sizeof(struct jit *));
	jits->versions = table_grow(jits->versions, &jits->versions_room,
				    number, sizeof(*jits->versions));
	if (!jits->list[number])
		read_again(jits, number, pid);
	if (is_of_another(jits, pid, time))
		return NULL;
	name = jit_find(jits->list[number], address, at, start);
	if (name || !is_due(jits, jits->list[number], pid, READ_MISSED_NS))
		return name;
	read_again(jits, number, pid);
	return jit_find(jits->list[number], address, at, start);
}

uint64_t jits_version(struct jits *jits, uint32_t pid, uint64_t time)
{
	const uint32_t number = pairs_find(&jits->pids, pid, 0);

	if (number == TABLE_NONE)
		return 0;
	if (is_due(jits, jits->list[number], pid, READ_NS))
		read_again(jits, number, pid);
	if (is_of_another(jits, pid, time))
		return UINT64_MAX;
	return (uint64_t)jits->versions[number] << 32 |
	       jit_version(jits->list[number], time_of(jits, time));
}

void jits_complain(struct jits *jits)
{
	const uint32_t nr = jits->whys.pairs.nr;

	if (jits->has_times && jits->is_other_clock)
		complain("times of the profile are not those of jitdumps: code at an address that was used again has the name of the last function there; record with CLOCK_MONOTONIC");
	jits->has_times = false;
	for (; jits->told < nr && jits->told < WHYS_TOLD; jits->told++)
		complain("%s", jits->whys.texts[jits->told]);
	if (jits->told < nr)
		complain("%" PRIu32 " more files that name code made at run time are not as they should be",
			 nr - jits->told);
	jits->told = nr;
}

void jits_free(struct jits *jits)
{
	for (uint32_t i = 0; i < jits->pids.nr; i++)
		jit_close(&jits->memory, jits->list[i]);
	free(jits->list);
	free(jits->versions);
	readers_free(&jits->readers);
	jit_memory_free(&jits->memory);
	pairs_free(&jits->pids);
	strings_free(&jits->whys);
}
