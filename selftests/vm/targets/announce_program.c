// SPDX-License-Identifier: GPL-2.0
/*
 * A program that generates code without frame pointers, and announces it to debuggers by
 * the interface of GDB, as LLVM does; it takes its own stacks through that code. For the
 * tests of "sframe-unwind attach".
 *
 * usage: announce_program HOW [wait]
 *   HOW    one      one function, until a stack has its caller
 *          many     100 functions, until stacks through the first and the last have
 *          crowd    250 functions, until a stack through the first has
 *          removed  one function, until it has; then it is taken back, until no stack has
 *          after    one function, until it has, although others are announced before it that
 *                   cannot be attached to
 *          unmapped the same; the code of the others is not mapped
 *          finished 40 functions that are announced when their code is still writable, and
 *                   not executable; a second later it is as it should be, until stacks
 *                   through the first and the last have
 *          reused   one function, until it has; then another one, with an object at the same
 *                   place, until that has
 *          anew     for some seconds, functions with different rules, one after the other
 *                   at the same address: no stack must have a wrong caller, and in some of
 *                   them one must have the right one in the end
 *          WRONG    one of the names in wrongs[]: something is wrong with what is announced,
 *                   and for some seconds no stack must have a caller
 *   wait   when the code is announced, print a line and wait for one on stdin
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "announced_object.h"
#include "elf_map.h"

#define SECONDS_RIGHT	30
#define SECONDS_WRONG	3
#define SECONDS_ANEW	10
#define ROUNDS_ANEW	20
#define NR_MANY		100
#define NR_CROWD	250
#define NR_CIRCLE	3
#define NR_WRITABLE	40
#define CODE_ADDRESS	((unsigned char *)0x200000000)

struct entry {
	struct entry *next;
	struct entry *before;
	const void *object;
	uint64_t size;
};

struct {
	uint32_t version;
	uint32_t action;
	struct entry *relevant;
	struct entry *first;
} __jit_debug_descriptor = { .version = 1 };

void __jit_debug_register_code(void)
{
	asm volatile("");
}

#define FUNCTION_SIZE	64

static struct entry entries[NR_CROWD];
static struct announced_object objects[NR_CROWD];
static int client;

/* Map a function at @at. Its CFA is rsp + 8, or with @is_deep rsp + 48. */
static bool map_function(unsigned char *at, bool is_deep)
{
	if (mmap(at, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		return false;
	if (is_deep)
		memcpy(at, deep_code, sizeof(deep_code));
	else
		memcpy(at, request_code, sizeof(request_code));
	return !mprotect(at, PAGE, PROT_READ | PROT_EXEC);
}

static void announce(unsigned int number)
{
	struct entry *entry = &entries[number];

	entry->object = &objects[number];
	entry->size = sizeof(objects[number]);
	entry->before = NULL;
	entry->next = __jit_debug_descriptor.first;
	if (entry->next)
		entry->next->before = entry;
	__jit_debug_descriptor.first = entry;
	__jit_debug_descriptor.relevant = entry;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
}

/* Take back the only one. */
static void take_back(void)
{
	__jit_debug_descriptor.first = NULL;
	__jit_debug_descriptor.action = 2;
	__jit_debug_register_code();
}

static bool make_function(unsigned int number, unsigned char *at, bool is_deep)
{
	if (!map_function(at, is_deep))
		return false;
	make_announced_object(&objects[number], (uintptr_t)at, at, FUNCTION_SIZE,
			      is_deep ? 48 : 8);
	announce(number);
	return true;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Take stacks through @at for @limit seconds, until the outcome is @wanted. */
static bool comes(const unsigned char *at, enum outcome wanted, double limit)
{
	const double end = seconds() + limit;
	enum outcome outcome;

	do {
		outcome = walk(client, at);
		if (outcome == wanted)
			return true;
		if (outcome != CALLER && outcome != NO_RULE) {
			fprintf(stderr, "outcome %d\n", outcome);
			return false;
		}
		usleep(1000);
	} while (seconds() < end);
	return false;
}

/* Take stacks through @at for @limit seconds, none of which must have a caller. */
static bool never_comes(const unsigned char *at, double limit)
{
	const double end = seconds() + limit;
	enum outcome outcome;

	do {
		outcome = walk(client, at);
		if (outcome != NO_RULE) {
			fprintf(stderr, "outcome %d\n", outcome);
			return false;
		}
		usleep(1000);
	} while (seconds() < end);
	return true;
}

static bool anew(void)
{
	const double end = seconds() + SECONDS_ANEW;
	unsigned int nr[2] = {}, rounds = 0;

	for (; seconds() < end || rounds < ROUNDS_ANEW; rounds++) {
		const bool is_deep = rounds % 2;
		/* In some, the command has all the time that it needs. */
		const bool is_long = rounds % 5 == 4;
		const double until = seconds() + (is_long ? SECONDS_RIGHT :
						  0.02 * (1 + rounds % 16));
		bool has_caller = false;

		if (!make_function(0, CODE_ADDRESS, is_deep))
			return false;
		do {
			const enum outcome outcome = walk(client, CODE_ADDRESS);

			if (outcome != CALLER && outcome != NO_RULE) {
				fprintf(stderr, "round %u: outcome %d\n", rounds,
					outcome);
				return false;
			}
			has_caller = outcome == CALLER;
			nr[has_caller]++;
		} while (seconds() < until && !(is_long && has_caller));
		if (is_long && !has_caller) {
			fprintf(stderr, "round %u: no caller\n", rounds);
			return false;
		}
		take_back();
		/* Or the next round maps over it. */
		if (rounds % 3)
			munmap(CODE_ADDRESS, PAGE);
	}
	fprintf(stderr, "%u rounds, %u stacks with the caller, %u without\n",
		rounds, nr[1], nr[0]);
	return true;
}

/* --- what is wrong */

static void writable(void)
{
	mprotect(CODE_ADDRESS, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void of_a_file(void)
{
	const int file = make_file(request_code, sizeof(request_code));

	mmap(CODE_ADDRESS, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
	     file, 0);
}

static void shared(void)
{
	munmap(CODE_ADDRESS, PAGE);
	mmap(CODE_ADDRESS, PAGE, PROT_READ | PROT_WRITE,
	     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(CODE_ADDRESS, request_code, sizeof(request_code));
	mprotect(CODE_ADDRESS, PAGE, PROT_READ | PROT_EXEC);
}

static void version(void)
{
	__jit_debug_descriptor.version = 2;
}

static void huge(void)
{
	entries[0].size = 1ULL << 63;
}

static void large(void)
{
	entries[0].size = (8 << 20) + 1;
	entries[0].object = calloc(1, entries[0].size);
	memcpy((void *)(uintptr_t)entries[0].object, &objects[0],
	       sizeof(objects[0]));
}

static void cut(void)
{
	entries[0].size = 100;
}

static void nowhere(void)
{
	entries[0].object = (void *)8;
}

static void no_entry(void)
{
	__jit_debug_descriptor.first = (void *)UINTPTR_MAX;
}

static void before(void)
{
	entries[0].before = &entries[1];
}

static void beyond(void)
{
	objects[0].sections[OBJECT_TEXT].sh_size = PAGE + 1;
}

static void libc(void)
{
	objects[0].sections[OBJECT_TEXT].sh_addr = (uintptr_t)printf & -PAGE;
}

static void far(void)
{
	objects[0].sections[OBJECT_TEXT].sh_addr = 1ULL << 63;
}

static void garbage(void)
{
	memset(objects[0].eh_frame, 0xff, sizeof(objects[0].eh_frame));
}

static void below(void)
{
	objects[0].eh_frame[OBJECT_CFA] = 0;
}

/* Other code has been made there, for which there is no object. */
static void stale(void)
{
	map_function(CODE_ADDRESS, true);
}

static void without_code(void)
{
	objects[0].sections[OBJECT_TEXT].sh_type = SHT_NOBITS;
}

/* Another object was for code that was there before. */
static void twice(void)
{
	make_announced_object(&objects[1], (uintptr_t)CODE_ADDRESS,
			      CODE_ADDRESS, FUNCTION_SIZE, 48);
	__jit_debug_descriptor.first = &entries[0];
	announce(1);
}

static const struct {
	const char *name;
	void (*make)(void);
} wrongs[] = {
	{ "writable", writable },
	{ "of_a_file", of_a_file },
	{ "shared", shared },
	{ "version", version },
	{ "huge", huge },
	{ "large", large },
	{ "cut", cut },
	{ "nowhere", nowhere },
	{ "no_entry", no_entry },
	{ "before", before },
	{ "beyond", beyond },
	{ "libc", libc },
	{ "far", far },
	{ "garbage", garbage },
	{ "below", below },
	{ "stale", stale },
	{ "without_code", without_code },
	{ "twice", twice },
};

/* Make the function, and what is wrong. */
static bool make_wrong(const char *how)
{
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		if (strcmp(how, wrongs[i].name))
			continue;
		if (!make_function(0, CODE_ADDRESS, false))
			return false;
		__jit_debug_descriptor.first = NULL;
		wrongs[i].make();
		if (!__jit_debug_descriptor.first)
			__jit_debug_descriptor.first = &entries[0];
		return true;
	}
	fprintf(stderr, "%s?\n", how);
	return false;
}

static unsigned char *place(unsigned int number)
{
	return CODE_ADDRESS + 2 * PAGE * number;
}

static bool make_functions(unsigned int nr)
{
	bool is_good = true;

	for (unsigned int i = 0; is_good && i < nr; i++)
		is_good = make_function(i, place(i), i % 2);
	return is_good;
}

/* The one that can be attached to is the last in the list. */
static bool make_after(void)
{
	bool is_good = make_function(0, CODE_ADDRESS, true);

	for (unsigned int i = 1; is_good && i <= NR_WRITABLE; i++)
		is_good = make_function(i, place(i), true) &&
			  !mprotect(place(i), PAGE,
				    PROT_READ | PROT_WRITE | PROT_EXEC);
	return is_good;
}

static bool make_unmapped(void)
{
	const bool is_good = make_function(0, CODE_ADDRESS, true);

	for (unsigned int i = 1; i <= NR_WRITABLE; i++) {
		make_announced_object(&objects[i], (uintptr_t)place(i),
				      CODE_ADDRESS, FUNCTION_SIZE, 8);
		announce(i);
	}
	return is_good;
}

/* As LLVM's MCJIT does. Nothing is announced at the end. */
static bool make_finished(void)
{
	bool is_good = true;

	for (unsigned int i = 0; is_good && i < NR_WRITABLE; i++)
		is_good = make_function(i, place(i), i % 2) &&
			  !mprotect(place(i), PAGE, PROT_READ | PROT_WRITE);
	usleep(1000000);
	for (unsigned int i = 0; is_good && i < NR_WRITABLE; i++)
		is_good = !mprotect(place(i), PAGE, PROT_READ | PROT_EXEC);
	return is_good;
}

/* Code is made elsewhere; that for which the object was is still there. */
static bool reuse(void)
{
	if (!map_function(place(1), false))
		return false;
	make_announced_object(&objects[0], (uintptr_t)place(1), place(1),
			      FUNCTION_SIZE, 8);
	__jit_debug_register_code();
	return comes(place(1), CALLER, SECONDS_RIGHT);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	bool is_wrong = false, is_good = true;

	client = open_client(0);
	if (client < 0)
		return 2;
	if (!strcmp(how, "one") || !strcmp(how, "removed") ||
	    !strcmp(how, "reused")) {
		is_good = make_function(0, CODE_ADDRESS, true);
	} else if (!strcmp(how, "after")) {
		is_good = make_after();
	} else if (!strcmp(how, "unmapped")) {
		is_good = make_unmapped();
	} else if (!strcmp(how, "finished")) {
		is_good = make_finished();
	} else if (!strcmp(how, "many")) {
		is_good = make_functions(NR_MANY);
	} else if (!strcmp(how, "crowd")) {
		is_good = make_functions(NR_CROWD);
	} else if (strcmp(how, "anew")) {
		is_wrong = true;
		is_good = make_wrong(how);
	}
	if (!is_good)
		return 2;
	if (argc > 2) {
		puts("running");
		fflush(stdout);
		getchar();
	}
	if (is_wrong)
		return !never_comes(CODE_ADDRESS, SECONDS_WRONG);
	if (!strcmp(how, "anew"))
		return !anew();
	is_good = comes(CODE_ADDRESS, CALLER, SECONDS_RIGHT);
	if (is_good && !strcmp(how, "many"))
		is_good = comes(place(NR_MANY - 1), CALLER, SECONDS_RIGHT);
	if (is_good && !strcmp(how, "finished"))
		is_good = comes(place(NR_WRITABLE - 1), CALLER, SECONDS_RIGHT);
	if (is_good && !strcmp(how, "reused"))
		is_good = reuse();
	if (is_good && !strcmp(how, "removed")) {
		take_back();
		is_good = comes(CODE_ADDRESS, NO_RULE, SECONDS_RIGHT);
	}
	return !is_good;
}
