// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A runtime that compiles one method at a time, moves none, and frees them one by one.
 * announce() and withdraw() are all that it needs so that stacks go through its code.
 *
 * The compiler is a small one: a method keeps the caller's rbx, has a frame of its own
 * size, and calls the next one. The program checks that each stack has all of its
 * methods, also after one was freed and another one compiled to the same memory.
 *
 * cc -O2 -Wa,--gsframe-3 method_jit.c -lsframe_unwind
 */
#define _GNU_SOURCE 1	/* for MAP_ANONYMOUS */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <sframe_unwind.h>

#define METHODS 8
#define ROOM 4096	/* bytes of code memory for each method */
#define SECTION 128	/* bytes of a section for five rows */

/**
 * struct method - a compiled method
 *
 * @code, @size: its machine code, which keeps no frame pointer.
 * @after_push, @after_sub, @after_add, @after_pop: offsets of the instructions behind
 *	those that change the stack pointer.
 * @frame: bytes of its frame, besides rbx.
 * @section, @id: its SFrame section, and the registration; 0 if there is none. They stay
 *	where they are as long as the method is registered.
 */
struct method {
	unsigned char *code;
	size_t size;
	unsigned int after_push, after_sub, after_add, after_pop;
	int32_t frame;
	unsigned char section[SECTION];
	uint64_t id;
};

static struct sframe_unwind *handle;
static struct sframe_unwind_writer *writer;

/* When the method's code is complete and executable, before a thread runs it. */
static int announce(struct method *method)
{
	const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(method->after_push, 16),
		SFRAME_UNWIND_ROW_SP(method->after_sub, 16 + method->frame),
		SFRAME_UNWIND_ROW_SP(method->after_add, 16),
		SFRAME_UNWIND_ROW_SP(method->after_pop, 8),
	};
	const struct sframe_unwind_function function = {
		.start = (uintptr_t)method->code, .size = method->size,
		.rows = rows, .nr_rows = sizeof(rows) / sizeof(rows[0]),
	};
	ssize_t size;

	sframe_unwind_writer_reset(writer);
	size = sframe_unwind_writer_add(writer, &function);
	if (!size)
		size = sframe_unwind_writer_write(writer, method->section, sizeof(method->section),
						  (uintptr_t)method->section);
	return size < 0 ? size : sframe_unwind_register(handle, method->section, size, method->code,
							method->size, 0, &method->id);
}

/* Before the method's code is freed or overwritten. No thread is in it any more. */
static void withdraw(struct method *method)
{
	sframe_unwind_unregister(handle, method->id);
}

/* --- the runtime --- */

static size_t emit(struct method *method, const void *bytes, size_t size)
{
	memcpy(method->code + method->size, bytes, size);
	method->size += size;
	return method->size;
}

/* Compile a method that calls @callee. Its memory is @memory, of ROOM bytes. */
static int compile(struct method *method, unsigned char *memory, int32_t frame,
		   void (*callee)(void))
{
	*method = (struct method){ .code = memory, .frame = frame };
	if (mprotect(memory, ROOM, PROT_READ | PROT_WRITE))
		return -errno;
	method->after_push = emit(method, "\x53", 1);		/* push %rbx */
	emit(method, "\x48\x81\xec", 3);			/* sub $frame, %rsp */
	method->after_sub = emit(method, &frame, 4);
	emit(method, "\x48\xb8", 2);				/* mov $callee, %rax */
	emit(method, &callee, 8);
	emit(method, "\xff\xd0", 2);				/* call *%rax */
	emit(method, "\x48\x81\xc4", 3);			/* add $frame, %rsp */
	method->after_add = emit(method, &frame, 4);
	method->after_pop = emit(method, "\x5b", 1);		/* pop %rbx */
	emit(method, "\xc3", 1);				/* ret */
	return mprotect(memory, ROOM, PROT_READ | PROT_EXEC) ? -errno : 0;
}

static void (*entry_of(const struct method *method))(void)
{
	void (*entry)(void);

	memcpy(&entry, &method->code, sizeof(entry));
	return entry;
}

/* What the innermost method calls: a profiler's sample would do the same. */
static void sample(void)
{
	sframe_unwind_request_self(handle, 0);
}

static struct method methods[METHODS];

/* Returns the number of methods in the stack, innermost first, or -1. */
static int run(void)
{
	const struct sframe_unwind_stack *stack;
	unsigned int i;
	int found = 0;

	entry_of(&methods[METHODS - 1])();
	if (sframe_unwind_read_stack(handle, 0, &stack)) {
		fprintf(stderr, "%s\n", sframe_unwind_error(handle));
		return -1;
	}
	for (i = 0; i < sframe_unwind_stack_frames(stack) && found < METHODS; i++)
		if (sframe_unwind_stack_lookup(stack, i) -
		    (uintptr_t)methods[found].code < methods[found].size)
			found++;
	printf("%u frames, %d of them compiled, end: %s\n",
	       sframe_unwind_stack_frames(stack), found,
	       sframe_unwind_stop_name(stack->stop));
	return found;
}

/* Compile method @i to its memory, in place of what is there. Each calls the one before. */
static int compile_one(unsigned char *memory, int i, int32_t frame)
{
	int err;

	withdraw(&methods[i]);
	err = compile(&methods[i], memory + i * ROOM, frame,
		      i ? entry_of(&methods[i - 1]) : sample);
	return err ? err : announce(&methods[i]);
}

int main(void)
{
	unsigned char *memory = mmap(NULL, METHODS * ROOM, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, round, err = 0, wrong = 0;

	if (memory == MAP_FAILED || sframe_unwind_writer_create(&writer) ||
	    sframe_unwind_open(&handle, 0) ||
	    sframe_unwind_register_objects(handle, 0, NULL, NULL) < 0) {
		fprintf(stderr, "cannot start: %s\n", sframe_unwind_error(handle));
		return 1;
	}
	for (i = 0; i < METHODS && !err; i++)
		err = compile_one(memory, i, 16 * (i + 1));
	for (round = 0; round < 3 && !err; round++) {
		wrong += run() != METHODS;
		/* It was found hot, and gets another frame. */
		err = compile_one(memory, round * 2 + 1, 1024 << round);
	}
	if (err)
		fprintf(stderr, "%s, %s\n", strerror(-err), sframe_unwind_error(handle));
	for (i = 0; i < METHODS; i++)
		withdraw(&methods[i]);
	sframe_unwind_close(handle);
	sframe_unwind_writer_free(writer);
	munmap(memory, METHODS * ROOM);
	puts(err || wrong ? "failed" : "all methods are in each stack");
	return err || wrong;
}
