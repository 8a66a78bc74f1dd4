/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Failing the places of the module that selftests/faults/sites has found, by
 * fail_call.ko, and every allocation and copy of user memory below the module,
 * by the kernel's own fault injection.
 */
#ifndef FAULTS_FAIL_H
#define FAULTS_FAIL_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_SITES	512
#define MAX_SYMBOLS	64
#define MAX_ERRNOS	4

/* Internal errno of the kernel, by which system calls are restarted. */
#define ERESTARTSYS	512

/**
 * struct site - a place of the module where something can fail
 *
 * @is_call: a call of a kernel function; otherwise an access to user memory.
 * @section: section of the module.
 * @offset: offset in the section of the return address, or of the access.
 * @callee: the kernel function.
 * @value: value to return for a failure.
 * @errnos: errors that may result, ended by 0.
 * @place: position in the source.
 * @function: function in the source.
 * @reached: scenarios that reach the site, one bit for each.
 * @covered: it has failed, with a correct result.
 * @wrong: it has failed, with a wrong result.
 * @seen: scenarios in which it failed, and the results.
 */
struct site {
	bool is_call;
	char section[32];
	unsigned long offset;
	char callee[64];
	long value;
	int errnos[MAX_ERRNOS];
	char place[256];
	char function[64];
	uint64_t reached;
	bool covered;
	bool wrong;
	char seen[1024];
};

extern struct site sites[MAX_SITES];
extern unsigned int nr_sites;

bool read_sites(const char *path);

/* Address of a loaded section of the module, or 0. */
unsigned long section_address(const char *section);

/* Make the call at @site fail or, with NULL, all calls of @callee. */
bool arm_call(const struct site *site, const char *callee, long value);
void disarm_call(void);

/*
 * The site of the call that failed after arm_call() with a @callee, of a module
 * being loaded.
 */
struct site *failed_site(const char *callee);

/*
 * Start and end recording the sites that are reached. mark_reached() sets bit
 * @number of site->reached for those, and clears the record.
 */
bool trace_calls(void);
void untrace_calls(void);
bool mark_reached(unsigned int number);

/* Mark accesses as covered that have failed for good since the start. */
bool mark_accesses(void);

/*
 * Prepare the kernel's fault injection for the module's code. Returns false if
 * the kernel has none.
 */
bool prepare_injection(unsigned long text);

/*
 * A way to fail: begin() makes the n-th call of the kind fail from now on,
 * end() returns whether one has failed.
 */
struct way {
	bool (*begin)(unsigned int n);
	bool (*end)(void);
};

extern const struct way by_call, by_injection;

/* Helpers: write a line to a file, read a line of a file. */
bool put_line(const char *path, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool get_line(const char *path, char *line, int size);

const char *errno_name(int number);

#endif /* FAULTS_FAIL_H */
