// SPDX-License-Identifier: GPL-2.0
/*
 * A runtime that generates code and announces it to libgcc, as LLVM's MCJIT does: before the
 * code is executable. It knows nothing of sframe_unwind.
 *
 * usage: jit_program [SECONDS]
 *   SECONDS  of CPU time that the generated code is called for; without, it is called a few
 *            times, and the function that it calls sends SIGUSR1 to the process
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

void __register_frame(void *begin);
void __deregister_frame(void *begin);

/* Calls its argument. The frame pointer does not lead to the caller. */
static const unsigned char code[] = {
	0x55,			/* 0 push %rbp */
	0x31, 0xed,		/* 1 xor %ebp, %ebp */
	0xff, 0xd7,		/* 3 call *%rdi */
	0x5d,			/* 5 pop %rbp */
	0xc3,			/* 6 ret */
};

static unsigned char eh_frame[] = {
	20, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0,
	36, 0, 0, 0, 28, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0,		/* 32: address */
	sizeof(code), 0, 0, 0, 0, 0, 0, 0,
	0x41, 0x0e, 16, 0x86, 2,	/* 1: CFA = rsp + 16, rbp at CFA - 16 */
	0x45, 0x0e, 8, 0xc6,		/* 6: CFA = rsp + 8 */
	0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0,
};

static volatile unsigned long sum;

__attribute__((noinline))
static void busy(void)
{
	for (unsigned int i = 0; i < 100000; i++)
		sum += i;
}

__attribute__((noinline))
static void ask(void)
{
	raise(SIGUSR1);
	sum++;
}

__attribute__((noinline))
static void run(void *text, void (*function)(void))
{
	((void (*)(void (*)(void)))text)(function);
	sum++;
}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? atof(argv[1]) : 0;
	unsigned char *text = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t address = (uintptr_t)text;

	if (text == MAP_FAILED)
		return 1;
	memcpy(text, code, sizeof(code));
	memcpy(eh_frame + 32, &address, sizeof(address));
	__register_frame(eh_frame);
	if (mprotect(text, 4096, PROT_READ | PROT_EXEC))
		return 1;
	for (int i = 0; argc < 2 && i < 5; i++)
		run(text, ask);
	while (clock() < seconds * CLOCKS_PER_SEC)
		run(text, busy);
	__deregister_frame(eh_frame);
	return 0;
}
