/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scene for tests of announced code, in the world of attach_world.h: this process
 * announces objects; the worker and the module are fakes.
 */
#ifndef SFU_UNIT_ATTACH_FOLLOWING_SCENE_H
#define SFU_UNIT_ATTACH_FOLLOWING_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/cli/attach/code.h"
#include "userspace/cli/attach/following.h"
#include "userspace/cli/attach/told.h"

struct descriptor {
	uint32_t version;
	uint32_t action;
	uint64_t relevant;
	uint64_t first;
};

struct entry {
	uint64_t next;
	uint64_t before;
	uint64_t object;
	uint64_t size;
};

/* What an object does. All but the first get no section. */
enum kind {
	GOOD,
	BUSY,		/* its code is writable */
	UNMAPPED,	/* its code is not mapped */
	UNUSABLE,	/* cannot be converted */
	BREAKS,		/* breaks the worker */
	SLOW,		/* takes too much CPU time */
	STUCK,		/* takes too long */
	NONSENSE,	/* there is no answer for it and those behind it */
	GREEDY,		/* leaves no room for those behind it */
	KILLED,		/* the worker is killed by others */
	NO_WORKER,	/* none can be started */
	NO_SANDBOX,	/* the worker cannot read any */
	NO_MEMORY,	/* the worker has not enough memory */
	MUCH,		/* has LARGE_SIZE bytes of code; there are two of these at most */
	TOO_MUCH,	/* has more code than is copied */
	NOWHERE,	/* its code cannot be read */
	LEAVES,		/* the process ends while it is attached to; there is one at most */
	OUTLIVED,	/* the same, but another one has its memory; see share_memory() */
};

/* @place: where its code is. @code: what it should be, set by look(). */
struct object {
	uint64_t number;
	uint64_t place;
	unsigned char code[16];
};

#define MOST 1000U
#define LARGE_SIZE ((16U << 20) - 4096)

extern struct descriptor __jit_debug_descriptor;
extern struct entry entries[MOST];
extern struct object objects[MOST];
extern enum kind kind_of[MOST];
extern unsigned char large_code[2 * LARGE_SIZE];	/* of objects with MUCH */

/* What is attached, by places; and empty sections. */
extern bool is_attached[MOST];
extern unsigned int nr_attached, nr_watched;

/* Sections that were told, and the last one. */
extern struct told_code last_told;
extern unsigned int nr_told;

/* Make code at @place, which ends what is attached there. It is of the byte @place at first. */
void make_code(unsigned int place, unsigned char byte);

/* Workers that were started, and those that ended with a result; the most objects of one. */
extern unsigned int nr_workers, nr_results, most_at_once;
extern int last_nice;

/* What the worker says that an object has of its code: normally, all. */
extern struct worker_same same_of[MOST];

/* The next look, and what the last one has replied. */
extern struct reader_request request;
extern struct reader_reply reply;

/* Time that each line of the process's mappings takes. */
extern uint64_t line_ns;

/*
 * Make another process that shares its memory with this one, and let that be looked at
 * until the next scene begins. Returns whether that is possible.
 */
bool share_memory(void);

/* Start with good objects that are not announced. */
void scene_begin(void);

/* Announce the @nr objects from @first on. */
void announce(unsigned int first, unsigned int nr);

static inline uint64_t address_of(const void *at)
{
	return (uintptr_t)at;
}

/* Look at it; the next look continues. Returns whether that is to be at once. */
bool look(void);

/* Look until it is enough, at most @most times. Returns how often. */
unsigned int look_all(unsigned int most);

/* The same, until nothing more comes by itself: time passes. */
unsigned int look_on(unsigned int most);

/* Objects that are not tried again. */
unsigned int nr_refused(void);

/*
 * Returns whether no look has left an empty section or a converted one, and each section
 * was attached with a copy of its code.
 */
bool nothing_is_left(void);

struct scene_case {
	void (*run)(void);
	const char *name;
};

/* Run all, each with a scene of its own. Returns the exit status. */
int scene_run(const struct scene_case *cases, size_t nr);

#endif /* SFU_UNIT_ATTACH_FOLLOWING_SCENE_H */
