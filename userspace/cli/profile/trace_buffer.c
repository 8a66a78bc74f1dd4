// SPDX-License-Identifier: GPL-2.0
/*
 * Events that ftrace records, with the user stacks that the module's trace events have.
 *
 * At an event of a thread, perf calls the sampler before ftrace records the event. So the
 * trace buffer has, in the context of the thread:
 *
 * - sframe_unwind:stack, if the stack was taken at once, and the event; or
 * - sframe_unwind:request with the cookie, the event, maybe further events without a
 *   request in the same system call, and at its end sframe_unwind:stack with the cookie; or
 * - only the event: the thread has no user stack, or it was not possible to request it.
 */
#ifdef HAVE_TRACEFS

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/escape.h"
#include "cli/profile/trace_buffer.h"
#include "cli/profile/trace_instance.h"
#include "cli/profile/trace_items.h"
#include "lib/stops.h"

#define OWN_SYSTEM	"sframe_unwind"
#define BUCKETS		1024u
/* Events that wait for stacks, of all threads; and in one system call. */
#define WAITING_MAX	65536u
/* Nanoseconds from a stack that was taken at once to its event. */
#define AT_ONCE_NS	1000000u

/**
 * struct thread - a thread for which something is outstanding
 *
 * @next: in the same bucket.
 * @tid: its number.
 * @cookie: of the stack that was requested, or 0.
 * @parts: stacks that have come in part: at once, and later.
 * @at_once: the last stack that was taken at once, or NULL.
 * @waiting: events that wait for their stack, in the order of time.
 * @last: where to add one.
 */
struct thread {
	struct thread *next;
	uint32_t tid;
	uint64_t cookie;
	struct trace_item *parts[2];
	struct trace_item *at_once;
	struct trace_item *waiting;
	struct trace_item **last;
};

/**
 * struct trace_buffer - a recording
 *
 * @live: the session.
 * @instance: where it is recorded.
 * @tep: formats of events.
 * @items: what was read and not been handled yet.
 * @nr_items: number of those.
 * @room: room for those.
 * @read: number of items read so far.
 * @threads: by number.
 * @nr_waiting: number of events that wait.
 * @nr_without: number of events printed whose stack had been requested and has not come.
 * @limit, @printed: see trace_buffer_round().
 */
struct trace_buffer {
	struct live *live;
	struct trace_instance instance;
	struct tep_handle *tep;
	struct trace_item **items;
	uint32_t nr_items;
	uint32_t room;
	uint64_t read;
	struct thread *threads[BUCKETS];
	uint32_t nr_waiting;
	uint64_t nr_without;
	uint64_t limit;
	uint64_t *printed;
};

/* --- names of events */

/* Split SYSTEM:EVENT, with modifiers behind. Returns whether it is a tracepoint's name. */
static bool split_name(const struct record_event *event, char **system, char **name)
{
	const char *colon = strchr(event->name, ':');

	if (event->attr.type != PERF_TYPE_TRACEPOINT || !colon)
		return false;
	*system = strndup(event->name, colon - event->name);
	*name = strndup(colon + 1, strcspn(colon + 1, ":"));
	return *system && *name;
}

static int check_event(const struct record_event *event)
{
	char *system = NULL, *name = NULL;
	int status = CLI_OK;

	if (!split_name(event, &system, &name) ||
	    !tracefs_event_file_exists(NULL, system, name, "enable"))
		status = complain_as(CLI_USAGE,
				     "trace: --buffer: ftrace has no event '%s': only tracepoints and probes",
				     event->name);
	else if (!strcmp(system, OWN_SYSTEM))
		status = complain_as(CLI_USAGE,
				     "trace: --buffer: '%s' is what stacks are made from",
				     event->name);
	free(system);
	free(name);
	return status;
}

int trace_buffer_check(const struct record_options *options)
{
	const char *directory = tracefs_tracing_dir();
	int status = CLI_OK;

	if (!directory)
		return complain("trace: --buffer: tracefs is not mounted");
	if (access(directory, R_OK | X_OK))
		return complain("trace: --buffer: not permitted: %s: %s", directory,
				strerror(errno));
	for (uint32_t i = 0; !status && i < options->nr_events; i++)
		status = check_event(&options->events[i]);
	return status;
}

/* --- setting up */

static int enable_event(struct trace_buffer *buffer, const char *system,
			const char *name)
{
	if (!tracefs_event_enable(buffer->instance.tracefs, system, name))
		return CLI_OK;
	return complain("trace: %s:%s cannot be enabled in tracefs: %s", system, name,
			strerror(errno));
}

/* Only the threads that are sampled, and what they start. */
static int set_threads(struct trace_buffer *buffer)
{
	const struct record_targets *targets = &buffer->live->options->targets;
	struct tracefs_instance *tracefs = buffer->instance.tracefs;
	int ret = 0;

	if (!targets->nr)
		return CLI_OK;
	for (uint32_t i = 0; !ret && i < targets->nr; i++)
		ret = tracefs_filter_pid_events(tracefs, targets->tids[i], !i,
						false);
	if (!ret)
		ret = tracefs_option_enable(tracefs, TRACEFS_OPTION_EVENT_FORK);
	return ret ? complain("trace: tracefs does not take the threads: %s",
			      strerror(errno)) : CLI_OK;
}

static int load_formats(struct trace_buffer *buffer)
{
	const struct record_options *options = buffer->live->options;
	const char *systems[RECORD_EVENTS_MAX + 2] = { OWN_SYSTEM };
	char *name;

	for (uint32_t i = 0; i < options->nr_events; i++) {
		if (!split_name(&options->events[i], (char **)&systems[i + 1],
				&name))
			break;
		free(name);
	}
	buffer->tep = tracefs_local_events_system(NULL, systems);
	for (uint32_t i = 1; systems[i]; i++)
		free((char *)systems[i]);
	return buffer->tep ? CLI_OK :
	       complain("trace: the formats of events cannot be read from tracefs");
}

static int enable_events(struct trace_buffer *buffer)
{
	static const char * const own[] = { "stack", "request", "lost" };
	const struct record_options *options = buffer->live->options;
	char *system, *name;
	int status = CLI_OK;

	for (unsigned int i = 0; !status && i < 3; i++)
		status = enable_event(buffer, OWN_SYSTEM, own[i]);
	for (uint32_t i = 0; !status && i < options->nr_events; i++) {
		if (!split_name(&options->events[i], &system, &name))
			continue;
		status = enable_event(buffer, system, name);
		free(system);
		free(name);
	}
	return status;
}

int trace_buffer_open(struct trace_buffer **to, struct live *live)
{
	struct trace_buffer *buffer = table_allocate(sizeof(*buffer));
	int status;

	*to = buffer;
	buffer->live = live;
	buffer->instance.lock = -1;
	/* The library's messages would not be escaped. */
	tracefs_set_loglevel(TEP_LOG_NONE);
	status = trace_instance_create(&buffer->instance);
	if (!status)
		status = load_formats(buffer);
	if (!status)
		status = set_threads(buffer);
	if (!status)
		status = enable_events(buffer);
	return status;
}

/* --- reading */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static bool is_cpu_wanted(const struct record_targets *targets, uint32_t cpu)
{
	for (uint32_t i = 0; i < targets->nr_cpus; i++)
		if (targets->cpus[i] == cpu)
			return true;
	return !targets->nr_cpus;
}

/* A callback of the library. If all CPUs are watched, not for what this process does. */
static int read_record(struct tep_event *event, struct tep_record *record, int cpu,
		       void *data)
{
	struct trace_buffer *buffer = data;
	const struct record_targets *targets = &buffer->live->options->targets;
	struct trace_item *item = table_allocate(sizeof(*item));
	bool is_useful;

	item->time = record->ts;
	item->nr = buffer->read++;
	item->tid = tep_data_pid(buffer->tep, record);
	is_useful = targets->nr || item->tid != (uint32_t)getpid();
	if (!strcmp(event->system, OWN_SYSTEM)) {
		is_useful = is_useful && trace_item_own(item, event, record);
	} else if (is_useful) {
		is_useful = is_cpu_wanted(targets, cpu);
		trace_item_event(item, buffer->tep, record);
	}
	if (!is_useful) {
		trace_item_free(item);
		return 0;
	}
	buffer->items = table_grow(buffer->items, &buffer->room, buffer->nr_items,
				   sizeof(*buffer->items));
	buffer->items[buffer->nr_items++] = item;
	return 0;
}

/* --- printing */

/* A frame as ftrace prints those of userstacktrace: object[+offset in its file]. */
static void print_frame(struct trace_buffer *buffer, const struct process *process,
			uint64_t ip, bool is_return)
{
	const struct mapping *mapping =
		process ? process_find(process, ip - is_return) : NULL;

	putchar('\t');
	if (!mapping) {
		printf("0x%" PRIx64 "\n", ip);
		return;
	}
	print_escaped(stdout, history_object(buffer->live->load.history,
					     mapping->object)->name);
	printf("[+0x%" PRIx64 "]\n", ip - mapping->start + mapping->offset);
}

static void print_stack(struct trace_buffer *buffer, const struct trace_item *stack,
			uint64_t time)
{
	struct process *process;
	const char *cut;
	uint64_t version;

	process = history_process(buffer->live->load.history, stack->pid, time,
				  &version);
	for (uint32_t i = 0; i < stack->nr_ips; i++)
		print_frame(buffer, process, stack->ips[i], i);
	cut = stop_text(stack->stop);
	if (stack->stop != SFRAME_UNWIND_STOP_COMPLETE)
		printf("\t[cut: %s]\n", cut ? cut : "for an unknown reason");
}

/*
 * Name of the thread of @event. tracefs does not know the process, and only names that the
 * kernel has not forgotten; those of processes with a stack are followed.
 */
static const char *thread_name(struct trace_buffer *buffer, const struct trace_item *event,
			       const struct trace_item *stack)
{
	const char *name = NULL;

	if (stack)
		return history_comm(buffer->live->load.history, stack->pid,
				    event->tid, event->time);
	name = tep_data_comm_from_pid(buffer->tep, event->tid);
	return name ? name : "<...>";
}

/* Print @event with its stack, or with @why there is none, and free it. */
static void print_event(struct trace_buffer *buffer, struct trace_item *event,
			const struct trace_item *stack, const char *why)
{
	if (*buffer->printed < buffer->limit) {
		++*buffer->printed;
		print_line(stdout, "%16s-%s",
			   thread_name(buffer, event, stack), event->text);
		if (stack)
			print_stack(buffer, stack, event->time);
		else if (why)
			printf("\t[no user stack: %s]\n", why);
		putchar('\n');
	}
	trace_item_free(event);
}

/* --- threads */

static struct thread **find_thread(struct trace_buffer *buffer, uint32_t tid)
{
	struct thread **at = &buffer->threads[tid % BUCKETS];

	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

static struct thread *get_thread(struct trace_buffer *buffer, uint32_t tid)
{
	struct thread **at = find_thread(buffer, tid);

	if (!*at) {
		*at = table_allocate(sizeof(**at));
		(*at)->tid = tid;
		(*at)->last = &(*at)->waiting;
	}
	return *at;
}

/* Free the thread if nothing is outstanding. */
static void put_thread(struct trace_buffer *buffer, uint32_t tid)
{
	struct thread **at = find_thread(buffer, tid), *thread = *at;

	if (!thread || thread->cookie || thread->waiting || thread->at_once ||
	    thread->parts[0] || thread->parts[1])
		return;
	*at = thread->next;
	free(thread);
}

/* Print the events of @thread that wait. */
static void print_waiting(struct trace_buffer *buffer, struct thread *thread,
			  const struct trace_item *stack, const char *why)
{
	struct trace_item *event;

	while ((event = thread->waiting)) {
		thread->waiting = event->next;
		buffer->nr_waiting--;
		buffer->nr_without += !stack;
		print_event(buffer, event, stack, why);
	}
	thread->last = &thread->waiting;
}

/* Join the parts of a stack. Returns it if it is whole, else NULL. */
static struct trace_item *join_parts(struct thread *thread, struct trace_item *part)
{
	struct trace_item **stack = &thread->parts[part->at_once], *whole;

	if (!part->first) {
		trace_item_free(*stack);
		*stack = part;
	} else if (*stack && (*stack)->cookie == part->cookie &&
		   (*stack)->nr_ips == part->first) {
		whole = *stack;
		whole->ips = realloc(whole->ips, (whole->nr_ips + part->nr_ips) *
						 sizeof(*whole->ips));
		if (!whole->ips)
			abort();
		memcpy(whole->ips + whole->nr_ips, part->ips,
		       part->nr_ips * sizeof(*whole->ips));
		whole->nr_ips += part->nr_ips;
		trace_item_free(part);
	} else {
		/* Its beginning was lost. */
		trace_item_free(part);
		return NULL;
	}
	whole = *stack;
	if (whole->nr_ips < whole->whole)
		return NULL;
	*stack = NULL;
	return whole;
}

static void handle_stack(struct trace_buffer *buffer, struct thread *thread,
			 struct trace_item *part)
{
	struct trace_item *stack = join_parts(thread, part);

	if (!stack)
		return;
	if (stack->at_once) {
		trace_item_free(thread->at_once);
		thread->at_once = stack;
		return;
	}
	print_waiting(buffer, thread, stack, NULL);
	if (thread->cookie == stack->cookie)
		thread->cookie = 0;
	trace_item_free(stack);
}

static void handle_event(struct trace_buffer *buffer, struct thread *thread,
			 struct trace_item *event)
{
	struct trace_item *stack = thread->at_once;

	thread->at_once = NULL;
	if (stack && event->time - stack->time <= AT_ONCE_NS) {
		print_event(buffer, event, stack, NULL);
	} else if (thread->cookie) {
		event->next = NULL;
		*thread->last = event;
		thread->last = &event->next;
		if (++buffer->nr_waiting > WAITING_MAX)
			print_waiting(buffer, thread, NULL,
				      "too many events wait for one");
	} else {
		print_event(buffer, event, NULL, NULL);
	}
	trace_item_free(stack);
}

static void handle_item(struct trace_buffer *buffer, struct trace_item *item)
{
	const uint32_t tid = item->tid;
	struct thread *thread = get_thread(buffer, tid);

	switch (item->kind) {
	case TRACE_ITEM_EVENT:
		handle_event(buffer, thread, item);
		break;
	case TRACE_ITEM_STACK:
		handle_stack(buffer, thread, item);
		break;
	case TRACE_ITEM_REQUEST:
		thread->cookie = item->cookie;
		trace_item_free(item);
		break;
	case TRACE_ITEM_LOST:
		if (thread->cookie == item->cookie) {
			print_waiting(buffer, thread, NULL, "lost");
			thread->cookie = 0;
		}
		trace_item_free(item);
		break;
	}
	put_thread(buffer, tid);
}

/* Handle the items that are not later than @until. */
static void handle_items(struct trace_buffer *buffer, uint64_t until)
{
	uint32_t i, left;

	if (!buffer->nr_items)
		return;
	qsort(buffer->items, buffer->nr_items, sizeof(*buffer->items),
	      trace_item_compare);
	for (i = 0; i < buffer->nr_items && buffer->items[i]->time <= until; i++)
		handle_item(buffer, buffer->items[i]);
	left = buffer->nr_items - i;
	memmove(buffer->items, buffer->items + i, left * sizeof(*buffer->items));
	buffer->nr_items = left;
}

/*
 * Forget the stacks that were taken at once for other samplers than this: no event has
 * followed.
 */
static void forget_stacks(struct trace_buffer *buffer, uint64_t until)
{
	struct thread *thread, *next;

	for (uint32_t i = 0; i < BUCKETS; i++) {
		for (thread = buffer->threads[i]; thread; thread = next) {
			next = thread->next;
			if (!thread->at_once ||
			    thread->at_once->time + AT_ONCE_NS > until)
				continue;
			trace_item_free(thread->at_once);
			thread->at_once = NULL;
			put_thread(buffer, thread->tid);
		}
	}
}

int trace_buffer_round(struct trace_buffer *buffer, uint64_t limit,
		       uint64_t *printed)
{
	/* The buffers of all CPUs, and what happened to processes, are read until then. */
	const uint64_t until = now_ns();
	int ret;

	buffer->limit = limit;
	buffer->printed = printed;
	/* Fails if there is nothing. */
	tracefs_iterate_raw_events(buffer->tep, buffer->instance.tracefs, NULL, 0,
				   read_record, buffer);
	tracefs_load_cmdlines(NULL, buffer->tep);
	ret = live_round(buffer->live);
	if (!ret)
		handle_items(buffer, until);
	forget_stacks(buffer, until);
	fflush(stdout);
	return ret;
}

bool trace_buffer_waits(const struct trace_buffer *buffer)
{
	return buffer->nr_waiting;
}

void trace_buffer_stop(struct trace_buffer *buffer)
{
	const struct record_options *options = buffer->live->options;
	char *system, *name;

	for (uint32_t i = 0; i < options->nr_events; i++) {
		if (!split_name(&options->events[i], &system, &name))
			continue;
		tracefs_event_disable(buffer->instance.tracefs, system, name);
		free(system);
		free(name);
	}
}

void trace_buffer_finish(struct trace_buffer *buffer, uint64_t limit,
			 uint64_t *printed)
{
	const uint64_t lost = trace_instance_lost(&buffer->instance);
	struct thread *thread;

	buffer->limit = limit;
	buffer->printed = printed;
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (thread = buffer->threads[i]; thread; thread = thread->next)
			print_waiting(buffer, thread, NULL,
				      "the thread has not returned to user mode");
	fflush(stdout);
	if (lost)
		complain("trace: %" PRIu64 " events were lost: the trace buffer was full",
			 lost);
	if (buffer->nr_without)
		complain("trace: %" PRIu64 " events have no user stack",
			 buffer->nr_without);
}

void trace_buffer_close(struct trace_buffer *buffer)
{
	struct thread *thread;

	if (!buffer)
		return;
	trace_instance_remove(&buffer->instance);
	while (buffer->nr_items)
		trace_item_free(buffer->items[--buffer->nr_items]);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		while ((thread = buffer->threads[i])) {
			buffer->threads[i] = thread->next;
			trace_item_free(thread->parts[0]);
			trace_item_free(thread->parts[1]);
			trace_item_free(thread->at_once);
			free(thread);
		}
	}
	free(buffer->items);
	tep_free(buffer->tep);
	free(buffer);
}

#endif /* HAVE_TRACEFS */
