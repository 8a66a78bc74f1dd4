/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be made fail: the places of the module that selftests/faults/sites
 * has found, by fail_call.ko, and every allocation and copy of user memory below
 * the module, by the kernel's own fault injection.
 */
#ifndef FAULTS_FAIL_H
#define FAULTS_FAIL_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_SITES	256
#define MAX_SYMBOLS	32
#define MAX_ERRNOS	4

/* No errno of user space: what system calls are restarted by. */
#define ERESTARTSYS	512

/**
 * struct site - a place of the module where something can fail
 *
 * @is_call: of a function of the kernel; else an access to user memory.
 * @section: of the module.
 * @offset: in it, of where the call returns to, or of the access.
 * @callee: the function.
 * @value: what it shall return.
 * @errnos: what may come of it, up to a 0.
 * @place: in the source.
 * @function: likewise.
 * @reached: scenarios that get there, a bit for each.
 * @covered: it has failed, and nothing was wrong with that.
 * @wrong: something was.
 * @seen: where it has failed, and what came of it.
 */
struct site {
	bool is_call;
	char section[32];
	unsigned long offset;
	char callee[64];
	long value;
	int errnos[MAX_ERRNOS];
	char place[160];
	char function[64];
	uint64_t reached;
	bool covered;
	bool wrong;
	char seen[1024];
};

extern struct site sites[MAX_SITES];
extern unsigned int nr_sites;

bool read_sites(const char *path);

/* The module's section is loaded at that address, or 0. */
unsigned long section_address(const char *section);

/* Prepare to have calls at @site fail, or, with NULL, all of @callee. */
bool arm_call(const struct site *site, const char *callee, long value);
void disarm_call(void);

/* The site that arm_call() with a @callee has failed, of a module being loaded. */
struct site *failed_site(const char *callee);

/*
 * Note which sites are reached from now on; end that. mark_reached() sets bit
 * @number of site->reached of those, and forgets them.
 */
bool trace_calls(void);
void untrace_calls(void);
bool mark_reached(unsigned int number);

/* Mark those accesses as covered that have failed, for good, since the start. */
bool mark_accesses(void);

/* Is there fault injection in this kernel? Prepares it, for the module's code. */
bool prepare_injection(unsigned long text);

/*
 * Ways to fail: begin() has the n-th call of the kind from now on fail, end()
 * says whether one has.
 */
struct way {
	bool (*begin)(unsigned int n);
	bool (*end)(void);
};

extern const struct way by_call, by_injection;

/* Helpers: a file that takes a line, a file that gives one. */
bool put_line(const char *path, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool get_line(const char *path, char *line, int size);

const char *errno_name(int number);

#endif /* FAULTS_FAIL_H */
