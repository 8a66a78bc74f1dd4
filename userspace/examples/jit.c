// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A small code generator: writes three functions without frame pointers to memory,
 * describes them with the library's writer, registers the section, and unwinds through
 * them. Exits with 0 only if all expected frames are found.
 *
 * cc -O2 -Wa,--gsframe-3 -rdynamic jit.c -lsframe_unwind
 */
#define _GNU_SOURCE 1	/* for dladdr() */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sframe_unwind.h>

/* Copy of a stack, which is valid beyond the next read. */
struct trace {
	unsigned int nr_frames;
	unsigned int stop;
	uint64_t ip[128];
	uint64_t lookup[128];
	unsigned int how[128];
};

typedef int (*callback_fn)(struct sframe_unwind *handle);
typedef int (*jit_fn)(struct sframe_unwind *handle, callback_fn callback);

/* Code as a compiler would emit it. The arguments are passed on in rdi and rsi. */
static const unsigned char outer_code[] = {
	0x48, 0x83, 0xec, 0x28,			/* 0  sub $40, %rsp */
	0xe8, 0, 0, 0, 0,			/* 4  call jit_middle */
	0x48, 0x83, 0xc4, 0x28,			/* 9  add $40, %rsp */
	0xc3,					/* 13 ret */
};

static const unsigned char middle_code[] = {
	0x53,					/* 0  push %rbx */
	0x48, 0x81, 0xec, 0x00, 0x02, 0, 0,	/* 1  sub $512, %rsp */
	0x48, 0x89, 0xfb,			/* 8  mov %rdi, %rbx */
	0xe8, 0, 0, 0, 0,			/* 11 call jit_inner */
	0x48, 0x81, 0xc4, 0x00, 0x02, 0, 0,	/* 16 add $512, %rsp */
	0x5b,					/* 23 pop %rbx */
	0xc3,					/* 24 ret */
};

/* Uses rbp for another purpose, so unwinding by frame pointer would fail. */
static const unsigned char inner_code[] = {
	0x55,					/* 0  push %rbp */
	0x31, 0xed,				/* 1  xor %ebp, %ebp */
	0xff, 0xd6,				/* 3  call *%rsi */
	0x5d,					/* 5  pop %rbp */
	0xc3,					/* 6  ret */
};

static const struct sframe_unwind_row outer_rows[] = {
	SFRAME_UNWIND_ROW_SP(0, 8),
	SFRAME_UNWIND_ROW_SP(4, 48),
	SFRAME_UNWIND_ROW_SP(13, 8),
};

static const struct sframe_unwind_row middle_rows[] = {
	SFRAME_UNWIND_ROW_SP(0, 8),
	SFRAME_UNWIND_ROW_SP(1, 16),
	SFRAME_UNWIND_ROW_SP(8, 528),
	SFRAME_UNWIND_ROW_SP(23, 16),
	SFRAME_UNWIND_ROW_SP(24, 8),
};

static const struct sframe_unwind_row inner_rows[] = {
	SFRAME_UNWIND_ROW_SP(0, 8),
	SFRAME_UNWIND_ROW_SP_FP(1, 16, -16),
	SFRAME_UNWIND_ROW_SP(6, 8),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Innermost first: each function calls the one before it. */
static struct jit_function {
	const char *name;
	const unsigned char *code;
	size_t size;
	size_t call;			/* offset of the call's rel32 operand */
	const struct sframe_unwind_row *rows;
	size_t nr_rows;
	unsigned char *start;		/* address where it was emitted */
} functions[] = {
	{ "jit_inner", inner_code, sizeof(inner_code), 0,
	  inner_rows, COUNT(inner_rows), NULL },
	{ "jit_middle", middle_code, sizeof(middle_code), 12,
	  middle_rows, COUNT(middle_rows), NULL },
	{ "jit_outer", outer_code, sizeof(outer_code), 5,
	  outer_rows, COUNT(outer_rows), NULL },
};

/* The code is at the start of the memory, its section in the second half. */
static unsigned char *memory;
static size_t memory_size;

static int emit(void)
{
	unsigned char *at;

	memory_size = 2 * sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, memory_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -1;

	at = memory;
	for (size_t i = 0; i < COUNT(functions); i++) {
		struct jit_function *function = &functions[i];

		function->start = at;
		memcpy(at, function->code, function->size);
		if (i) {
			const unsigned char *next = at + function->call + 4;
			const int32_t rel = functions[i - 1].start - next;

			memcpy(at + function->call, &rel, sizeof(rel));
		}
		/* Align functions to 16 bytes, as compilers do. */
		at += (function->size + 15) & ~(size_t)15;
	}
	return 0;
}

/* Write the section. Returns its size or a negative errno. */
static ssize_t describe(void)
{
	struct sframe_unwind_writer *writer;
	ssize_t ret;

	ret = sframe_unwind_writer_create(&writer);
	if (ret)
		return ret;
	for (size_t i = 0; i < COUNT(functions) && !ret; i++) {
		const struct sframe_unwind_function function = {
			.name = functions[i].name,
			.start = (uintptr_t)functions[i].start,
			.size = functions[i].size,
			.rows = functions[i].rows,
			.nr_rows = functions[i].nr_rows,
		};

		ret = sframe_unwind_writer_add(writer, &function);
	}
	if (!ret) {
		unsigned char *section = memory + memory_size / 2;

		ret = sframe_unwind_writer_write(writer, section,
						 memory_size / 2,
						 (uintptr_t)section);
	}
	if (ret < 0)
		fprintf(stderr, "writer: %s\n",
			sframe_unwind_writer_error(writer));
	sframe_unwind_writer_free(writer);
	return ret;
}

/*
 * Called by the innermost function. This and some functions below are not static, so
 * that dladdr(3) finds their names.
 */
int request_stack(struct sframe_unwind *handle)
{
	const int err = sframe_unwind_request(handle, 0, 0, 0, 0, NULL);

	__asm__ volatile("");		/* no tail call */
	return err;
}

int run(struct sframe_unwind *handle, struct trace *trace)
{
	const struct sframe_unwind_stack *stack;
	jit_fn outer;
	int err;

	memcpy(&outer, &functions[COUNT(functions) - 1].start, sizeof(outer));
	err = outer(handle, request_stack);
	if (!err)
		err = sframe_unwind_read_stack(handle, 0, &stack);
	if (err) {
		fprintf(stderr, "error %d: %s\n", err,
			sframe_unwind_error(handle));
		return err;
	}
	trace->nr_frames = sframe_unwind_stack_frames(stack);
	if (trace->nr_frames > COUNT(trace->lookup))
		trace->nr_frames = COUNT(trace->lookup);
	trace->stop = stack->stop;
	for (unsigned int i = 0; i < trace->nr_frames; i++) {
		trace->ip[i] = sframe_unwind_stack_ip(stack, i);
		trace->lookup[i] = sframe_unwind_stack_lookup(stack, i);
		trace->how[i] = sframe_unwind_stack_how(stack, i);
	}
	return 0;
}

static const char *name_of(uint64_t address)
{
	Dl_info info;

	for (size_t i = 0; i < COUNT(functions); i++)
		if (address - (uintptr_t)functions[i].start < functions[i].size)
			return functions[i].name;
	if (dladdr((void *)(uintptr_t)address, &info) && info.dli_sname)
		return info.dli_sname;
	return "?";
}

static void print(const struct trace *trace)
{
	for (unsigned int i = 0; i < trace->nr_frames; i++)
		printf("  #%-2u %#018" PRIx64 " %s [%s]\n", i,
		       trace->ip[i], name_of(trace->lookup[i]),
		       sframe_unwind_frame_name(trace->how[i]));
	printf("  end: %s\n", sframe_unwind_stop_name(trace->stop));
}

/* Returns whether the trace has frames @names by SFrame, in this order, perhaps with gaps. */
static bool has_frames(const struct trace *trace, const char * const *names,
		       size_t count)
{
	size_t found = 0;

	for (unsigned int i = 0; i < trace->nr_frames && found < count; i++)
		if (trace->how[i] == SFRAME_UNWIND_FRAME_SFRAME &&
		    !strcmp(name_of(trace->lookup[i]), names[found]))
			found++;
	return found == count;
}

static bool is_described(const struct trace *trace)
{
	static const char * const names[] = { "jit_inner", "jit_middle",
					      "jit_outer", "main" };

	return has_frames(trace, names, COUNT(names));
}

/* The frame of jit_inner is still found, by the rule of request_stack(). */
static bool ends_in_inner(const struct trace *trace)
{
	return trace->nr_frames && trace->stop == SFRAME_UNWIND_STOP_NO_RULE &&
	       !strcmp(name_of(trace->lookup[trace->nr_frames - 1]),
		       "jit_inner");
}

/* Register, unwind, unregister, unwind. */
int demonstrate(struct sframe_unwind *handle, ssize_t section_size)
{
	struct trace with, without;
	uint64_t id;
	int err;

	err = sframe_unwind_register(handle, memory + memory_size / 2,
				     section_size, memory, memory_size / 2, 0,
				     &id);
	if (err) {
		fprintf(stderr, "%s\n", sframe_unwind_error(handle));
		return err;
	}
	err = run(handle, &with);
	if (err)
		return err;
	puts("registered:");
	print(&with);

	/* Unregister before the code or the section is freed. */
	err = sframe_unwind_unregister(handle, id);
	if (err) {
		fprintf(stderr, "%s\n", sframe_unwind_error(handle));
		return err;
	}
	err = run(handle, &without);
	if (err)
		return err;
	puts("unregistered:");
	print(&without);
	return is_described(&with) && ends_in_inner(&without) ? 0 : -1;
}

int main(void)
{
	struct sframe_unwind *handle;
	ssize_t size;
	int err;

	err = sframe_unwind_open(&handle, 0);
	if (err || sframe_unwind_register_objects(handle, 0, NULL, NULL) < 0) {
		fprintf(stderr, "%s\n", sframe_unwind_error(handle));
		sframe_unwind_close(handle);
		return 1;
	}
	err = emit();
	if (err) {
		perror("mmap");
		return 1;
	}
	size = describe();
	if (size < 0)
		return 1;
	/* Make the code executable and the section read-only. */
	if (mprotect(memory, memory_size / 2, PROT_READ | PROT_EXEC) ||
	    mprotect(memory + memory_size / 2, memory_size / 2, PROT_READ)) {
		perror("mprotect");
		return 1;
	}

	err = demonstrate(handle, size);
	munmap(memory, memory_size);
	sframe_unwind_close(handle);
	puts(err ? "failed" : "all frames as expected");
	return err ? 1 : 0;
}
