// SPDX-License-Identifier: GPL-2.0
/* Failing calls, accesses and allocations. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define CALL		DEBUGFS "fail_call/call"
#define NTH		DEBUGFS "fail_call/nth"
#define TRACE		DEBUGFS "fail_call/trace"
#define CALLERS		DEBUGFS "fail_call/callers"
#define ACCESSES	DEBUGFS "fail_call/accesses"
#define FAIL_NTH	"/proc/thread-self/fail-nth"

/* Largest distance between code and data of a module. */
#define NEAR		(16UL << 20)

struct site sites[MAX_SITES];
unsigned int nr_sites;

/* Functions that run when the module is loaded. */
static struct symbol {
	char section[32];
	unsigned long offset;
	char name[64];
} symbols[MAX_SYMBOLS];
static unsigned int nr_symbols;

bool put_line(const char *path, const char *format, ...)
{
	char line[2048];
	va_list args;
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int length;
	bool done;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	done = write(fd, line, length) == length;
	close(fd);
	return done;
}

bool get_line(const char *path, char *line, int size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, line, size - 1);

	close(fd);
	line[got > 0 ? got : 0] = '\0';
	return got > 0;
}

const char *errno_name(int number)
{
	const char *name = strerrorname_np(number);

	return number == ERESTARTSYS ? "ERESTARTSYS" : name ? name : "?";
}

static int errno_number(const char *name)
{
	int i;

	for (i = 1; i < ERESTARTSYS; i++) {
		if (strerrorname_np(i) && !strcmp(strerrorname_np(i), name))
			return i;
	}
	return ERESTARTSYS;
}

static bool read_site(struct site *site, char *line)
{
	char *word[8], *save, *name;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		word[i] = strtok_r(i ? NULL : line, "\t\n", &save);
		if (!word[i])
			return false;
	}
	site->is_call = !strcmp(word[0], "call");
	snprintf(site->section, sizeof(site->section), "%s", word[1]);
	site->offset = strtoul(word[2], NULL, 16);
	snprintf(site->callee, sizeof(site->callee), "%s", word[3]);
	site->value = atol(word[4]);
	snprintf(site->place, sizeof(site->place), "%s", word[6]);
	snprintf(site->function, sizeof(site->function), "%s", word[7]);
	name = strtok_r(word[5], ",", &save);
	for (i = 0; name && i < MAX_ERRNOS - 1 && *name != '-'; i++) {
		site->errnos[i] = errno_number(name);
		name = strtok_r(NULL, ",", &save);
	}
	return true;
}

bool read_sites(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[512];
	bool good = file;

	while (good && fgets(line, sizeof(line), file)) {
		struct symbol *symbol = &symbols[nr_symbols];

		if (nr_sites == MAX_SITES || nr_symbols == MAX_SYMBOLS)
			good = false;
		else if (sscanf(line, "symbol %31s %lx %63s", symbol->section,
				&symbol->offset, symbol->name) == 3)
			nr_symbols++;
		else
			good = read_site(&sites[nr_sites++], line);
	}
	if (file)
		fclose(file);
	return good && nr_sites;
}

unsigned long section_address(const char *section)
{
	char path[128], line[64];

	snprintf(path, sizeof(path),
		 "/sys/module/sframe_unwind/sections/%s", section);
	return get_line(path, line, sizeof(line)) ? strtoul(line, NULL, 16) : 0;
}

bool arm_call(const struct site *site, const char *callee, long value)
{
	unsigned long address = 0;

	if (site) {
		address = section_address(site->section);
		if (!address)
			return false;
		address += site->offset;
	}
	return put_line(CALL, "%s %ld %lx", callee, value, address);
}

void disarm_call(void)
{
	put_line(CALL, "-");
}

static bool begin_call(unsigned int n)
{
	return put_line(NTH, "%u", n);
}

static bool end_call(void)
{
	char line[128];
	int calls, failed;

	if (!get_line(NTH, line, sizeof(line)) ||
	    sscanf(line, "%d %d", &calls, &failed) != 2)
		return false;
	put_line(NTH, "0");
	return failed;
}

const struct way by_call = { begin_call, end_call };

struct site *failed_site(const char *callee)
{
	char line[128], name[64];
	unsigned long offset;
	unsigned int i, j;
	int calls;

	if (!get_line(NTH, line, sizeof(line)) ||
	    sscanf(line, "%d 1 %63[^+]+%lx", &calls, name, &offset) != 3)
		return NULL;
	for (i = 0; i < nr_symbols; i++) {
		if (strcmp(symbols[i].name, name))
			continue;
		for (j = 0; j < nr_sites; j++) {
			if (sites[j].is_call &&
			    !strcmp(sites[j].callee, callee) &&
			    !strcmp(sites[j].section, symbols[i].section) &&
			    sites[j].offset == symbols[i].offset + offset)
				return &sites[j];
		}
	}
	return NULL;
}

bool trace_calls(void)
{
	char names[2048] = "";
	unsigned int i, j;
	size_t length = 0;

	for (i = 0; i < nr_sites; i++) {
		for (j = 0; j < i && strcmp(sites[j].callee, sites[i].callee); j++)
			;
		if (sites[i].is_call && j == i)
			length += snprintf(names + length, sizeof(names) - length,
					   "%s ", sites[i].callee);
		if (length >= sizeof(names))
			return false;
	}
	return put_line(TRACE, "%s", names);
}

void untrace_calls(void)
{
	put_line(TRACE, "-");
}

/* Call @mark for each site whose address is in the file @path. */
static bool for_each_site(const char *path, bool is_call,
			  void (*mark)(struct site *site, unsigned int number),
			  unsigned int number)
{
	FILE *file = fopen(path, "r");
	unsigned long address, base[MAX_SITES];
	unsigned int i;

	if (!file)
		return false;
	/* Opening a file takes milliseconds in a debug kernel. */
	for (i = 0; i < nr_sites; i++)
		base[i] = i && !strcmp(sites[i].section, sites[i - 1].section) ?
				  base[i - 1] :
				  section_address(sites[i].section);
	while (fscanf(file, "%lx", &address) == 1) {
		for (i = 0; i < nr_sites; i++) {
			if (sites[i].is_call == is_call &&
			    address == base[i] + sites[i].offset)
				mark(&sites[i], number);
		}
	}
	fclose(file);
	return true;
}

static void set_reached(struct site *site, unsigned int number)
{
	site->reached |= 1ULL << number;
}

bool mark_reached(unsigned int number)
{
	return for_each_site(CALLERS, true, set_reached, number) &&
	       put_line(CALLERS, "-");
}

/*
 * Mark also the copies that the compiler made of the site, some of which are
 * unreachable.
 */
static void set_covered(struct site *site, unsigned int number)
{
	const size_t length = strcspn(site->place, " ") + 1;
	unsigned int i;

	for (i = 0; i < nr_sites; i++) {
		if (!sites[i].is_call &&
		    !strncmp(sites[i].place, site->place, length))
			sites[i].covered = true;
	}
}

bool mark_accesses(void)
{
	return for_each_site(ACCESSES, false, set_covered, 0);
}

/* Find the addresses of the kernel's function @name; both are 0 if there is none. */
static void find_function(const char *name, unsigned long *start, unsigned long *end)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[256], found[128];

	*start = 0;
	*end = 0;
	/* Functions of the kernel itself are in the order of their addresses. */
	while (file && !*end && fgets(line, sizeof(line), file)) {
		if (*start)
			*end = strtoul(line, NULL, 16);
		else if (sscanf(line, "%*x %*c %127s", found) == 1 && !strcmp(found, name))
			*start = strtoul(line, NULL, 16);
	}
	if (file)
		fclose(file);
}

bool prepare_injection(unsigned long text)
{
	static const struct {
		const char *name, *value;
	} settings[] = {
		/* The kernel's messages about each failure are not needed. */
		{ "verbose", "0" }, { "probability", "0" },
		{ "stacktrace-depth", "32" }, { "ignore-gfp-wait", "0" },
		{ "ignore-gfp-highmem", "0" }, { "min-order", "0" },
		{ "cache-filter", "0" },
	};
	static const char * const kinds[] = {
		"failslab", "fail_page_alloc", "fail_usercopy"
	};
	unsigned long start, end;
	char path[128];
	unsigned int i, j;

	/* kmemleak allocates something for each object, and is prepared for failures. */
	find_function("__alloc_object", &start, &end);
	for (i = 0; i < 3; i++) {
		for (j = 0; j < sizeof(settings) / sizeof(settings[0]); j++) {
			snprintf(path, sizeof(path), DEBUGFS "%s/%s", kinds[i],
				 settings[j].name);
			/* Some kinds lack some of these settings. */
			if (!access(path, F_OK) &&
			    !put_line(path, "%s", settings[j].value))
				return false;
		}
		snprintf(path, sizeof(path), DEBUGFS "%s/require-start", kinds[i]);
		if (!put_line(path, "0x%lx", text - NEAR))
			return false;
		snprintf(path, sizeof(path), DEBUGFS "%s/require-end", kinds[i]);
		if (!put_line(path, "0x%lx", text + NEAR))
			return false;
		snprintf(path, sizeof(path), DEBUGFS "%s/reject-start", kinds[i]);
		if (!put_line(path, "0x%lx", start))
			return false;
		snprintf(path, sizeof(path), DEBUGFS "%s/reject-end", kinds[i]);
		if (!put_line(path, "0x%lx", end))
			return false;
	}
	return !access(FAIL_NTH, F_OK);
}

static bool begin_injection(unsigned int n)
{
	return put_line(FAIL_NTH, "%u", n);
}

static bool end_injection(void)
{
	char line[32];

	/* n, counted down; 0 if a call has failed. */
	if (!get_line(FAIL_NTH, line, sizeof(line)))
		return false;
	put_line(FAIL_NTH, "0");
	return !atoi(line);
}

const struct way by_injection = { begin_injection, end_injection };
