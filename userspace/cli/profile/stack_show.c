// SPDX-License-Identifier: GPL-2.0
/*
 * Print stacks, as eu-stack does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attach/clock.h"
#include "cli/escape.h"
#include "cli/profile/names.h"
#include "cli/profile/processes.h"
#include "cli/profile/stack.h"

/* Bytes for what the processes have mapped. */
#define HISTORY_MAX	(1ULL << 30)

/**
 * struct stack_names - what is needed to print stacks
 *
 * @options: what to print.
 * @history: what the processes have mapped.
 * @names: names of addresses.
 * @nr: number of the next frame.
 * @is_prepared: for stack_names_prepare().
 */
struct stack_names {
	const struct stack_options *options;
	struct history *history;
	struct names *names;
	unsigned int nr;
	bool is_prepared;
};

/* How the address was found, if that is not as usual. */
static void print_how(unsigned int how)
{
	if (how & SFRAME_UNWIND_FRAME_UNSURE ||
	    (how != SFRAME_UNWIND_FRAME_REGS &&
	     how != SFRAME_UNWIND_FRAME_SFRAME))
		printf(" [%s]", sframe_unwind_frame_name(how));
}

static void print_build_id(const struct history_object *object)
{
	if (!object || !object->build_id_size)
		return;
	printf(" [");
	for (uint32_t i = 0; i < object->build_id_size; i++)
		printf("%02x", object->build_id[i]);
	putchar(']');
}

static void print_line_of(struct stack_names *names, uint32_t number, uint32_t i)
{
	int line;
	const char *file = names_line(names->names, number, i, &line);

	if (!file)
		return;
	printf("    ");
	print_escaped(stdout, file);
	printf(":%d\n", line);
}

static void print_name(const struct place *place,
		       const struct function *function)
{
	putchar(' ');
	/* Without a name, object and offset are both in @function->name. */
	if (!strcmp(function->object, NAMES_NOT_MAPPED)) {
		fputs(NAMES_NOT_MAPPED, stdout);
		return;
	}
	print_escaped(stdout, function->name);
	if (!function->is_inlined && !function->is_nameless)
		printf("+0x%" PRIx64, place->address - place->start);
	if (function->object[0] && strcmp(function->object, "//anon")) {
		fputs(" - ", stdout);
		print_escaped(stdout, function->object);
	}
}

/* One line for each function, with those that were inlined. */
static void print_frame(struct stack_names *names, uint32_t number, uint64_t ip,
			unsigned int how)
{
	const struct place *place = names_place(names->names, number);

	for (uint32_t i = 0; i < place->nr; i++) {
		const struct function *function = names_function(names->names,
			names_number(names->names, place, i));

		printf("#%-2u 0x%016" PRIx64, names->nr++, ip);
		print_name(place, function);
		if (names->options->build_ids)
			print_build_id(names_object(names->names, number));
		if (i + 1 == place->nr)
			print_how(how);
		putchar('\n');
		print_line_of(names, number, i);
	}
}

static void print_plain(const struct sframe_unwind_stack *stack)
{
	for (unsigned int i = 0; i < sframe_unwind_stack_frames(stack); i++) {
		printf("#%-2u 0x%016" PRIx64, i,
		       (uint64_t)sframe_unwind_stack_ip(stack, i));
		print_how(sframe_unwind_stack_how(stack, i));
		putchar('\n');
	}
}

/* Returns the places of the stack's frames, valid until the next call. */
static const uint32_t *find_places(struct stack_names *names,
				   const struct sframe_unwind_stack *stack,
				   uint32_t *nr_places)
{
	const unsigned int nr = sframe_unwind_stack_frames(stack);
	uint64_t *frames = table_allocate(nr * sizeof(*frames));
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
		.pid = stack->pid,
		.tid = stack->tid,
		.time = now_ns(),
		.sample.frames = frames,
		.sample.nr_user = nr,
		.sample.how = (const uint8_t *)(stack->ips + nr),
	};
	const uint32_t *places;

	for (unsigned int i = 0; i < nr; i++)
		frames[i] = sframe_unwind_stack_ip(stack, i);
	places = names_of_sample(names->names, &record, nr_places);
	free(frames);
	return places;
}

static void print_named(struct stack_names *names,
			const struct sframe_unwind_stack *stack)
{
	uint32_t nr_places;
	const uint32_t *places = find_places(names, stack, &nr_places);

	names->nr = 0;
	for (uint32_t i = 0; i < nr_places; i++)
		print_frame(names, places[i], sframe_unwind_stack_ip(stack, i),
			    sframe_unwind_stack_how(stack, i));
}

/* The lines of /proc/PID/stack: "[<0>] function+0x12/0x34". */
static void print_kernel(const char *text)
{
	while (*text) {
		const size_t length = strcspn(text, "\n");
		const char *name = memchr(text, ']', length);

		name = name ? name + 1 : text;
		print_line(stdout, "    kernel:%.*s",
			   (int)(text + length - name), name);
		text += length + (text[length] == '\n');
	}
}

static void print_thread(struct stack_names *names,
			 const struct stack_thread *thread)
{
	const struct sframe_unwind_stack *stack = thread->stack;

	print_line(stdout, "TID %d - %s:", thread->tid, thread->comm);
	if (thread->kernel && (names->options->kernel || !stack))
		print_kernel(thread->kernel);
	if (!stack) {
		printf("    no stack: %s\n", thread->why ? thread->why :
		       "it was not asked");
		return;
	}
	if (names->options->no_names)
		print_plain(stack);
	else
		print_named(names, stack);
	if (stack->stop != SFRAME_UNWIND_STOP_COMPLETE)
		printf("    end: %s\n", sframe_unwind_stop_name(stack->stop));
}

struct stack_names *stack_names_create(const struct stack_options *options)
{
	struct stack_names *names = table_allocate(sizeof(*names));
	const struct names_options how = {
		.no_demangle = options->no_demangle,
	};

	*names = (struct stack_names){ .options = options };
	names->history = history_create(HISTORY_MAX);
	history_set_live(names->history);
	names->names = names_create(names->history, &how, NULL);
	return names;
}

void stack_names_free(struct stack_names *names)
{
	names_free(names->names);
	history_free(names->history);
	free(names);
}

/* Read what the processes have mapped, again: they may have loaded something. */
static void read_processes(struct stack_names *names,
			   const struct stack_threads *threads)
{
	pid_t last = 0;

	inspect_begin(NULL, 0);
	for (uint32_t i = 0; i < threads->nr; i++) {
		const pid_t pid = threads->list[i].pid;

		if (pid != last)
			inspect_in_round(pid, false, processes_add_record,
					 names->history);
		last = pid;
	}
	history_update(names->history);
}

void stack_names_prepare(struct stack_names *names,
			 const struct stack_threads *threads)
{
	if (names->options->no_names || names->is_prepared)
		return;
	names->is_prepared = true;
	read_processes(names, threads);
	for (uint32_t i = 0; i < threads->nr; i++) {
		const uint32_t *places;
		uint32_t nr_places;
		int line;

		if (!threads->list[i].stack)
			continue;
		places = find_places(names, threads->list[i].stack, &nr_places);
		for (uint32_t k = 0; k < nr_places; k++)
			names_line(names->names, places[k], 0, &line);
	}
}

void stack_show(const struct stack_threads *threads, struct stack_names *names)
{
	pid_t last = 0;

	if (!names->options->no_names)
		read_processes(names, threads);
	for (uint32_t i = 0; i < threads->nr; i++) {
		const struct stack_thread *thread = &threads->list[i];

		if (thread->pid != last)
			printf("PID %d - process\n", thread->pid);
		last = thread->pid;
		/* It ended before it could be looked at. */
		if (thread->is_read)
			print_thread(names, thread);
	}
	fflush(stdout);
	if (!names->options->no_names)
		names_complain(names->names);
}
