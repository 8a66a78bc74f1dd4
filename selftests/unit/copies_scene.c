// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "copies_scene.h"
#include "sframe_unwind.h"
#include "tap.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/profile/inspect.h"

uint64_t time_ns = 1000 * SECOND;
uint64_t find_ns;
unsigned int nr_finds;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ time_ns / SECOND, time_ns % SECOND };
	return 0;
}

enum copy_section state_of[3];
const char *const names[] = { "/lib/a", "/lib/b", "/lib/c" };
bool urgent;
uint32_t last_object;

struct copy_sections *copy_sections_create(const char *command)
{
	(void)command;
	return malloc(1);
}

void copy_sections_free(struct copy_sections *sections)
{
	free(sections);
}

enum copy_section copy_sections_find(struct copy_sections *sections, uint64_t pc,
				     const struct mapping *mapping,
				     const struct history_object *object, uint32_t pid,
				     struct sfu_table *found)
{
	unsigned int i = 0;

	(void)sections;
	(void)pc;
	if (pid != 7 && pid != 8)
		abort();
	nr_finds++;
	last_object = mapping->object;
	time_ns += find_ns;
	while (strcmp(names[i], object->name))
		i++;
	*found = table;
	found->bytes.address = mapping->start - TEXT;
	return state_of[i];
}

void copy_sections_work(struct copy_sections *sections, bool is_urgent)
{
	(void)sections;
	urgent = is_urgent;
}

struct sframe_unwind_profile_record map_of(uint32_t pid, uint64_t time, unsigned int i,
					   uint64_t start)
{
	return (struct sframe_unwind_profile_record){
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = pid,
		.time = time,
		.map = {
			.start = start,
			.size = 0x10000,
			.name = names[i],
			.is_code = 1,
		},
	};
}

void map_one(struct copies *copies, uint32_t pid, uint64_t time, unsigned int i,
	     uint64_t start)
{
	const struct sframe_unwind_profile_record record = map_of(pid, time, i, start);

	copies_follow(copies, &record, NULL);
}

unsigned int nr_looks;
const char *first_name = "/lib/a";

bool inspect_process(pid_t pid, bool has_names, inspect_fn fn, void *data)
{
	struct sframe_unwind_profile_record record;

	(void)has_names;
	nr_looks++;
	time_ns++;
	for (unsigned int i = 0; i < 3; i++) {
		record = map_of(pid, 0, i, LOAD + i * 0x10000);
		if (!i)
			record.map.name = first_name;
		fn(data, &record);
	}
	time_ns++;
	return true;
}

uid_t inspect_user(pid_t pid)
{
	return pid;
}

void follow_at(struct copies *copies, uint64_t time)
{
	for (unsigned int i = 0; i < 3; i++)
		map_one(copies, 7, time, i, LOAD + i * 0x10000);
}

void follow(struct copies *copies)
{
	follow_at(copies, 1);
}

struct copies *begin(void)
{
	struct copies *copies = copies_create("test", NULL);

	follow(copies);
	copies_begin_round(copies, UINT64_MAX);
	return copies;
}

uint32_t pid_of = 7;
uint64_t time_of = 2;
uint32_t frames_of = 1;
uint64_t last_of = LOAD + 16;

uint64_t second = LOAD + 0x10000 + 16;

struct copied_stack *add(struct copies *copies, uint32_t depth)
{
	struct sframe_unwind_sample_record record = {
		.pid = pid_of, .time = time_of, .nr_frames = frames_of, .frames = &last_of,
		.stop = SFRAME_UNWIND_STOP_NO_RULE,
		.fields = SFRAME_UNWIND_SAMPLE_COPY,
	};

	make_copy(6);
	copy->ip = LOAD + 16;
	copy->stack[2] = second;
	copy->stack[5] = LOAD + 0x20000 + 520;
	return copies_add(copies, &record, &(struct record_copy){ copy, copy->size }, depth);
}

struct copied_stack *add_and_go(struct copies *copies, uint32_t depth)
{
	struct copied_stack *stack = add(copies, depth);

	copies_work(copies, false);
	copies_begin_round(copies, UINT64_MAX);
	copies_work(copies, false);
	return stack;
}

bool completes(struct copies *copies, uint64_t time)
{
	struct copied_stack *stack;
	bool is_complete;

	time_of = time;
	stack = add_and_go(copies, 128);
	time_of = 2;
	is_complete = stack->is_complete;
	copies_remove(copies, stack);
	copies_begin_round(copies, UINT64_MAX);
	return is_complete;
}
