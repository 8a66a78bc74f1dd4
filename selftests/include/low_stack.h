/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code on a stack at lower addresses than the thread's own, on which it calls functions:
 * as runtimes whose code has stacks in the heap. It keeps frame pointers.
 */
#ifndef SELFTESTS_LOW_STACK_H
#define SELFTESTS_LOW_STACK_H

#include "attach.h"

/*
 * An extended section that says that all code of a page, where it begins, keeps frame
 * pointers, and that the caller's stack may be another one: CFA = FP + 16.
 */
static const unsigned char switching_section[] = {
	0xe2, 0xde, 3, 5, 3, 0, 0xf8, 28, 1, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0,
	0, 0, 0, 0, 16, 0, 0, 0,
	'S', 'F', 'U', 'X', 1, 0, 0, 0,	/* without tables */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0xc8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,	/* 56 bytes before */
	0, PAGE >> 8, 0, 0, 0, 0, 0, 0,
	1, 0, 0, 1, 0,			/* one flexible row: */
	0, 5 << 1, 19 << 3 | 1, 16, 0, 2, (unsigned char)-16,
};

/* Attach that to the page at @code of process @pid. Returns 0 or -1. */
static inline int attach_switching(int fd, pid_t pid, const void *code)
{
	struct sframe_unwind_attach arg = {
		.size = sizeof(arg),
		.flags = SFRAME_UNWIND_ATTACH_PROCESS | SFRAME_UNWIND_ATTACH_EXTENDED,
		.elf_fd = -1,
		.sframe_fd = make_file(switching_section, sizeof(switching_section)),
		.sframe_size = sizeof(switching_section),
		.pid = pid,
		.text_start = (uintptr_t)code,
		.text_size = PAGE,
	};
	const int ret = attach(fd, &arg);

	close(arg.sframe_fd);
	return ret;
}

/* Returns the top of a stack, or NULL if it is not at lower addresses. */
static inline unsigned char *make_low_stack(void)
{
	unsigned char *stack = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || stack > (unsigned char *)__builtin_frame_address(0))
		return NULL;
	return stack + PAGE - 64;
}

/*
 * Call @code on @stack, with the frame pointer 0, and as its arguments @number and the
 * top of what is free of this stack.
 */
static inline void call_on_low_stack(const void *code, const void *stack, long number)
{
	asm volatile("mov %%rbp, %%r12\n\t"
		     "mov %%rsp, %%rbx\n\t"
		     "lea -1024(%%rsp), %%rsi\n\t"
		     "mov %1, %%rsp\n\t"
		     "xor %%ebp, %%ebp\n\t"
		     "call *%0\n\t"
		     "mov %%rbx, %%rsp\n\t"
		     "mov %%r12, %%rbp"
		     : "+a"(code), "+d"(stack), "+D"(number)
		     :
		     : "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "r12", "cc", "memory");
}

/* Call @code with the frame pointer 0, and @number as its argument, on this stack. */
static inline void call_with_fp_0(const void *code, long number)
{
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "push %%rbp\n\t"
		     "xor %%ebp, %%ebp\n\t"
		     "call *%0\n\t"
		     "pop %%rbp\n\t"
		     "lea 128(%%rsp), %%rsp"
		     : "+a"(code), "+D"(number)
		     :
		     : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
}

#endif /* SELFTESTS_LOW_STACK_H */
