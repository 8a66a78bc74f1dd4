// SPDX-License-Identifier: GPL-2.0
/*
 * Source lines of addresses, as "stack" prints them: of an object that has a file for each
 * address. What reads objects is replaced.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_stub.h"
#include "tap.h"
#include "userspace/cli/profile/demangle.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/jits.h"
#include "userspace/cli/profile/kernel.h"
#include "userspace/cli/profile/names.h"
#include "userspace/cli/profile/object.h"

#define PID	100
#define START	0x10000ULL
#define NR	1000u

/* --- in place of what reads objects */

static unsigned int nr_looked;

struct object *object_open(struct objects *objects,
			   const struct history_object *known, const char **why)
{
	(void)objects;
	(void)known;
	*why = NULL;
	return (struct object *)&nr_looked;
}

void objects_free(struct objects *objects)
{
	(void)objects;
}

uint64_t object_address(const struct object *object, uint64_t offset)
{
	(void)object;
	return offset;
}

/* All code is one function. */
const struct symbol *object_find(const struct object *object, uint64_t address)
{
	static const struct symbol symbol = { .name = "all", .start = 0, .end = NR };

	(void)object;
	return address < NR ? &symbol : NULL;
}

uint64_t object_start(const struct object *object, uint64_t address)
{
	(void)object;
	return address;
}

uint32_t object_inlined(struct object *object, uint64_t address, const char **names,
			uint32_t max)
{
	(void)object;
	(void)address;
	(void)names;
	(void)max;
	return 0;
}

const char *object_line(struct object *object, uint64_t address, int *line)
{
	static char file[32];

	(void)object;
	nr_looked++;
	snprintf(file, sizeof(file), "file%llu.c", (unsigned long long)address);
	*line = address + 1;
	return file;
}

const char *object_call_line(struct object *object, uint64_t address, uint32_t i,
			     int *line)
{
	(void)i;
	return object_line(object, address, line);
}

char *demangle(const char *name)
{
	(void)name;
	return NULL;
}

void inspect_complain(void)
{
}

/* There is neither a kernel nor generated code. */

struct kernel *kernel_open(const char *path, const char *release, uint64_t text)
{
	(void)path;
	(void)release;
	(void)text;
	abort();
}

void kernel_close(struct kernel *kernel)
{
	(void)kernel;
}

const struct symbol *kernel_find(const struct kernel *kernel, uint64_t address,
				 const char **module)
{
	(void)kernel;
	(void)address;
	(void)module;
	abort();
}

uint64_t kernel_address(const struct kernel *kernel, uint64_t address)
{
	(void)kernel;
	return address;
}

const char *kernel_complaint(const struct kernel *kernel)
{
	(void)kernel;
	return NULL;
}

const char *jits_find(struct jits *jits, uint32_t pid, uint64_t address, uint64_t time,
		      uint64_t *start)
{
	(void)jits;
	(void)pid;
	(void)address;
	(void)time;
	(void)start;
	return NULL;
}

uint64_t jits_version(struct jits *jits, uint32_t pid, uint64_t time)
{
	(void)jits;
	(void)pid;
	(void)time;
	return 0;
}

void jits_complain(struct jits *jits)
{
	(void)jits;
}

void jits_free(struct jits *jits)
{
	(void)jits;
}

/* --- the test */

static void map_object(struct history *history)
{
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = PID,
		.tid = PID,
		.time = 1,
		.map = {
			.start = START,
			.size = NR,
			.is_code = 1,
			.name = "/object",
		},
	};

	history_add(history, &record);
	history_finish(history);
}

/* The tables grow while lines are looked for: what was found before stays. */
static void all_lines(void)
{
	const struct names_options options = { 0 };
	struct history *history = history_create(1 << 20);
	struct names *names = names_create(history, &options, NULL);
	uint64_t frames[NR];
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.time = 2,
		.sample = { .frames = frames, .nr_user = NR },
	};
	const uint32_t *places;
	uint32_t nr;
	char file[32];
	int line;

	map_object(history);
	/* The innermost address is that of an instruction, the others are behind one. */
	for (uint32_t i = 0; i < NR; i++)
		frames[i] = START + i;
	places = names_of_sample(names, &record, &nr);
	EXPECT_EQ(nr, NR);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 1; i < nr; i++) {
			const char *found = names_line(names, places[i], 0, &line);

			snprintf(file, sizeof(file), "file%u.c", i - 1);
			EXPECT(found && !strcmp(found, file));
			EXPECT_EQ(line, (int)i);
		}
		/* Only once for each. */
		EXPECT_EQ(nr_looked, NR - 1);
	}
	names_free(names);
	history_free(history);
}

int main(void)
{
	static const struct tap_test tests[] = { TAP_TEST(all_lines) };

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
