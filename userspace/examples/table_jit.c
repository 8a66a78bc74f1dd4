// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A runtime that compiles and frees methods all the time. Its function table is
 * registered once; announce() and withdraw() make no system call.
 *
 * The compiler is that of method_jit.c: a method keeps the caller's rbx, has a frame of
 * its own size, and calls the next one. The code is mapped twice, so that it can be
 * written while it is executable. The program checks that each stack has all of its
 * methods, while it replaces one of them thousands of times.
 *
 * cc -O2 -Wa,--gsframe-3 table_jit.c -lsframe_unwind
 */
#define _GNU_SOURCE 1	/* for memfd_create() */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <sframe_unwind.h>

#define METHODS 8
#define ROOM_BITS 6	/* log2 of the bytes of code memory for each method */
#define ROOM (1U << ROOM_BITS)
#define CODE_SIZE (1U << 20)
#define ROUNDS 20000

/**
 * struct method - a compiled method
 *
 * @code, @size: its machine code, which keeps no frame pointer.
 * @after_push, @after_sub, @after_add, @after_pop: offsets of the instructions behind
 *	those that change the stack pointer.
 * @frame: bytes of its frame, besides rbx.
 */
struct method {
	unsigned char *code;
	size_t size;
	unsigned int after_push, after_sub, after_add, after_pop;
	int32_t frame;
};

static struct sframe_unwind *handle;
static struct sframe_unwind_table *table;

/* Once, before the first method is compiled. */
static int begin(unsigned char *code)
{
	return sframe_unwind_table_create(&table, handle, code, CODE_SIZE, ROOM_BITS,
					  CODE_SIZE / ROOM, 0);
}

/* When the method's code is complete. No thread is running it yet. */
static int announce(const struct method *method)
{
	const struct sframe_unwind_row rows[] = {
		SFRAME_UNWIND_ROW_SP(0, 8),
		SFRAME_UNWIND_ROW_SP(method->after_push, 16),
		SFRAME_UNWIND_ROW_SP(method->after_sub, 16 + method->frame),
		SFRAME_UNWIND_ROW_SP(method->after_add, 16),
		SFRAME_UNWIND_ROW_SP(method->after_pop, 8),
	};
	const struct sframe_unwind_function function = {
		.start = (uintptr_t)method->code,
		.size = method->size,
		.rows = rows,
		.nr_rows = sizeof(rows) / sizeof(rows[0]),
	};

	return sframe_unwind_table_add(table, &function);
}

/* Before the method's code is freed or overwritten. No thread is in it any more. */
static void withdraw(const struct method *method)
{
	sframe_unwind_table_remove(table, method->code);
}

/* --- the runtime --- */

/* The code memory as it is executed, and as it is written. */
static unsigned char *code, *writable;

static size_t emit(struct method *method, const void *bytes, size_t size)
{
	memcpy(writable + (method->code - code) + method->size, bytes, size);
	method->size += size;
	return method->size;
}

/* Compile a method that calls @callee. Its memory is @memory, of ROOM bytes. */
static void compile(struct method *method, unsigned char *memory, int32_t frame,
		    void (*callee)(void))
{
	*method = (struct method){ .code = memory, .frame = frame };
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

/* Returns whether all methods are in the stack, innermost first. */
static int run(void)
{
	const struct sframe_unwind_stack *stack;
	unsigned int i;
	int found = 0;

	entry_of(&methods[METHODS - 1])();
	if (sframe_unwind_read_stack(handle, 0, &stack))
		return 0;
	for (i = 0; i < sframe_unwind_stack_frames(stack) && found < METHODS; i++)
		if (sframe_unwind_stack_lookup(stack, i) -
		    (uintptr_t)methods[found].code < methods[found].size)
			found++;
	if (found < METHODS)
		printf("%u frames, %d of them compiled, end: %s\n",
		       sframe_unwind_stack_frames(stack), found,
		       sframe_unwind_stop_name(stack->stop));
	return found == METHODS;
}

/* Compile method @i to its memory. Each calls the one before. */
static int compile_one(int i, int32_t frame)
{
	compile(&methods[i], code + i * ROOM, frame,
		i ? entry_of(&methods[i - 1]) : sample);
	return announce(&methods[i]);
}

static int map_code(void)
{
	const int file = memfd_create("code", MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, CODE_SIZE))
		return -errno;
	code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
	writable = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return code == MAP_FAILED || writable == MAP_FAILED ? -ENOMEM : 0;
}

int main(void)
{
	int i, round, err, wrong = 0;
	struct timespec from, to;

	if (map_code() || sframe_unwind_open(&handle, 0) ||
	    sframe_unwind_register_objects(handle, 0, NULL, NULL) < 0 ||
	    begin(code)) {
		fprintf(stderr, "cannot start: %s\n", sframe_unwind_error(handle));
		return 1;
	}
	for (err = i = 0; i < METHODS && !err; i++)
		err = compile_one(i, 16 * (i + 1));
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (round = 0; round < ROUNDS && !err; round++) {
		/* It was found hot, and gets another frame. */
		i = round % METHODS;
		withdraw(&methods[i]);
		err = compile_one(i, 16 * (1 + round % 100));
		if (round % 16 == 0 || round > ROUNDS - METHODS)
			wrong += !run();
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (err)
		fprintf(stderr, "%s, %s\n", strerror(-err), sframe_unwind_table_error(table));
	printf("%d methods in %ld ms, with the stacks\n", round,
	       (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000);
	sframe_unwind_table_free(table);
	sframe_unwind_close(handle);
	munmap(code, CODE_SIZE);
	munmap(writable, CODE_SIZE);
	puts(err || wrong ? "failed" : "all methods are in each stack");
	return err || wrong;
}
