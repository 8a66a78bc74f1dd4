// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A runtime that compiles traces: pieces of code that jump to each other, are patched,
 * and are thrown away together. All run in the one frame that the entry has made, so an
 * area of memory for traces needs one rule and one call, however many traces it gets.
 *
 * The program compiles traces to an area whose frame is described once, links and
 * patches them, and checks that each stack goes through them to main().
 *
 * cc -O2 -Wa,--gsframe-3 tracing_jit.c -lsframe_unwind
 */
#define _GNU_SOURCE 1	/* for MAP_ANONYMOUS */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <sframe_unwind.h>

#define AREA 65536	/* bytes of an area */
#define TRACE 64	/* bytes of a trace */
#define TRACES 1000
#define FRAME 152	/* what the entry subtracts from rsp */

static struct sframe_unwind *handle;
static struct sframe_unwind_writer *writer;

/**
 * struct area - memory for traces, behind the code that enters and leaves them
 *
 * @code: entry, exit, traces.
 * @sub, @exit, @after_add, @traces: offsets: behind the entry's "sub", of the exit,
 *	behind its "add", of the first trace.
 * @section, @id: its SFrame section, and the registration.
 */
struct area {
	unsigned char *code;
	unsigned int sub, exit, after_add, traces;
	unsigned char section[256];
	uint64_t id;
};

/* Once for each area, when it is executable; traces may come and go then. */
static int announce(struct area *area)
{
	const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(area->sub, 8 + FRAME),
		SFRAME_UNWIND_ROW_SP(area->after_add, 8),
		SFRAME_UNWIND_ROW_SP(area->traces, 8 + FRAME),
	};
	const struct sframe_unwind_function function = {
		.start = (uintptr_t)area->code, .size = AREA,
		.rows = rows, .nr_rows = sizeof(rows) / sizeof(rows[0]),
	};
	ssize_t size;

	sframe_unwind_writer_reset(writer);
	size = sframe_unwind_writer_add(writer, &function);
	if (!size)
		size = sframe_unwind_writer_write(writer, area->section, sizeof(area->section),
						  (uintptr_t)area->section);
	return size < 0 ? size : sframe_unwind_register(handle, area->section, size, area->code,
							AREA, 0, &area->id);
}

/* Before the area is freed. */
static void withdraw(struct area *area)
{
	sframe_unwind_unregister(handle, area->id);
}

/* --- the runtime --- */

static unsigned char *put(unsigned char *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

/* "jmp *%rdi" to the trace that is wanted, in a frame; the exit leaves it. */
static void compile_entry(struct area *area)
{
	const int32_t frame = FRAME;
	unsigned char *at = area->code;

	at = put(at, "\x48\x81\xec", 3);			/* sub $FRAME, %rsp */
	at = put(at, &frame, 4);
	area->sub = at - area->code;
	at = put(at, "\xff\xe7", 2);				/* jmp *%rdi */
	area->exit = at - area->code;
	at = put(at, "\x48\x81\xc4", 3);			/* add $FRAME, %rsp */
	at = put(at, &frame, 4);
	area->after_add = at - area->code;
	at = put(at, "\xc3", 1);				/* ret */
	area->traces = TRACE;
}

static unsigned char *trace_at(const struct area *area, unsigned int i)
{
	return area->code + area->traces + i * TRACE;
}

/* "jmp to". Returns what follows it. */
static unsigned char *put_jump(unsigned char *at, const unsigned char *to)
{
	const int32_t distance = to - (at + 5);

	at = put(at, "\xe9", 1);
	return put(at, &distance, 4);
}

/* Compile trace @i: it calls @helper, if there is one, and leaves. */
static void compile_trace(const struct area *area, unsigned int i, void (*helper)(void))
{
	unsigned char *at = trace_at(area, i);

	if (helper) {
		at = put(at, "\x48\xb8", 2);			/* mov $helper, %rax */
		at = put(at, &helper, 8);
		at = put(at, "\xff\xd0", 2);			/* call *%rax */
	}
	put_jump(at, area->code + area->exit);
}

/* Patch the exit of trace @i, which calls nothing: it goes on in trace @to. */
static void link_trace(const struct area *area, unsigned int i, unsigned int to)
{
	put_jump(trace_at(area, i), trace_at(area, to));
}

static void sample(void)
{
	sframe_unwind_request_self(handle, 0);
}

/* Run trace @i. Returns the one in which the stack was taken, or -1. */
static int run(const struct area *area, unsigned int i)
{
	const struct sframe_unwind_stack *stack;
	void (*entry)(unsigned char *trace);
	unsigned int frame;

	memcpy(&entry, &area->code, sizeof(entry));
	entry(trace_at(area, i));
	if (sframe_unwind_read_stack(handle, 0, &stack)) {
		fprintf(stderr, "%s\n", sframe_unwind_error(handle));
		return -1;
	}
	for (frame = 0; frame < sframe_unwind_stack_frames(stack); frame++) {
		const uint64_t at = sframe_unwind_stack_lookup(stack, frame) -
				    (uintptr_t)trace_at(area, 0);

		/* And what called the entry must be there, too. */
		if (at < TRACES * TRACE && frame + 1 < sframe_unwind_stack_frames(stack))
			return at / TRACE;
	}
	return -1;
}

/* Memory that may be written and executed, as LuaJIT's by default. */
static int create_area(struct area *area)
{
	area->code = mmap(NULL, AREA, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area->code == MAP_FAILED)
		return -errno;
	compile_entry(area);
	return announce(area);
}

int main(void)
{
	struct area area;
	int i, err, wrong = 0;

	if (sframe_unwind_writer_create(&writer) || sframe_unwind_open(&handle, 0) ||
	    sframe_unwind_register_objects(handle, 0, NULL, NULL) < 0) {
		fprintf(stderr, "%s\n", sframe_unwind_error(handle));
		return 1;
	}
	err = create_area(&area);
	if (err) {
		fprintf(stderr, "%s, %s\n", strerror(-err), sframe_unwind_error(handle));
		return 1;
	}
	for (i = 0; i < TRACES; i++) {
		compile_trace(&area, i, i % 10 ? NULL : sample);
		if (i % 10)
			link_trace(&area, i, i - 1);
		wrong += run(&area, i) != i / 10 * 10;
	}
	printf("%d traces, %d stacks without the right one\n", TRACES, wrong);
	withdraw(&area);
	munmap(area.code, AREA);
	sframe_unwind_writer_free(writer);
	sframe_unwind_close(handle);
	puts(wrong ? "failed" : "all stacks go through their trace");
	return wrong != 0;
}
