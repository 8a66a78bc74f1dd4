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
 * struct showing - what names need
 *
 * @options: what to print.
 * @history: what the processes have mapped.
 * @names: names of addresses.
 * @nr: number of the next frame.
 */
struct showing {
	const struct stack_options *options;
	struct history *history;
	struct names *names;
	unsigned int nr;
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

static void print_line_of(struct showing *showing, uint32_t number, uint32_t i)
{
	int line;
	const char *file = names_line(showing->names, number, i, &line);

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
static void print_frame(struct showing *showing, uint32_t number, uint64_t ip,
			unsigned int how)
{
	const struct place *place = names_place(showing->names, number);

	for (uint32_t i = 0; i < place->nr; i++) {
		const struct function *function = names_function(showing->names,
			names_number(showing->names, place, i));

		printf("#%-2u 0x%016" PRIx64, showing->nr++, ip);
		print_name(place, function);
		if (showing->options->build_ids)
			print_build_id(names_object(showing->names, number));
		if (i + 1 == place->nr)
			print_how(how);
		putchar('\n');
		print_line_of(showing, number, i);
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

static void print_named(struct showing *showing,
			const struct sframe_unwind_stack *stack)
{
	const unsigned int nr = sframe_unwind_stack_frames(stack);
	uint64_t *frames = table_allocate(nr * sizeof(*frames));
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
		.pid = stack->pid,
		.tid = stack->tid,
		.time = now_ns(),
		.sample.frames = frames,
		.sample.nr_user = nr,
		.sample.how = (const uint8_t *)(stack->ips + nr),
	};
	const uint32_t *places;
	uint32_t nr_places;

	for (unsigned int i = 0; i < nr; i++)
		frames[i] = sframe_unwind_stack_ip(stack, i);
	places = names_of_sample(showing->names, &record, &nr_places);
	showing->nr = 0;
	for (uint32_t i = 0; i < nr_places; i++)
		print_frame(showing, places[i], frames[i],
			    sframe_unwind_stack_how(stack, i));
	free(frames);
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

static void print_thread(struct showing *showing,
			 const struct stack_thread *thread)
{
	const struct sframe_unwind_stack *stack = thread->stack;

	print_line(stdout, "TID %d - %s:", thread->tid, thread->comm);
	if (thread->kernel && (showing->options->kernel || !stack))
		print_kernel(thread->kernel);
	if (!stack) {
		printf("    no stack: %s\n", thread->why ? thread->why :
		       "it was not asked");
		return;
	}
	if (showing->options->no_names)
		print_plain(stack);
	else
		print_named(showing, stack);
	if (stack->stop != SFRAME_UNWIND_STOP_COMPLETE)
		printf("    end: %s\n", sframe_unwind_stop_name(stack->stop));
}

void stack_show(const struct stack_threads *threads,
		const struct stack_options *options)
{
	struct showing showing = { .options = options };
	const struct names_options how = {
		.no_demangle = options->no_demangle,
	};
	pid_t last = 0;

	showing.history = history_create(HISTORY_MAX);
	history_set_live(showing.history);
	inspect_begin(NULL, 0);
	for (uint32_t i = 0; i < threads->nr; i++) {
		const pid_t pid = threads->list[i].pid;

		if (!options->no_names && pid != last)
			inspect_in_round(pid, false, processes_add_record,
					 showing.history);
		last = pid;
	}
	history_finish(showing.history);
	showing.names = names_create(showing.history, &how, NULL);
	last = 0;
	for (uint32_t i = 0; i < threads->nr; i++) {
		if (threads->list[i].pid != last)
			printf("PID %d - process\n", threads->list[i].pid);
		last = threads->list[i].pid;
		print_thread(&showing, &threads->list[i]);
	}
	fflush(stdout);
	if (!options->no_names)
		names_complain(showing.names);
	names_free(showing.names);
	history_free(showing.history);
}
