// SPDX-License-Identifier: GPL-2.0
/*
 * A program without SFrame data in which a function keeps its caller's scratch register,
 * as in OpenSSL's AES-GCM: the caller's CFA is based on that. For the test of
 * "sframe-unwind attach".
 *
 * usage: kept_program   take stacks of a thread in that function until one is complete,
 *                       and then, when a signal has interrupted it there; exit status 0
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../../include/wrappers.h"

/* kept() waits until *@flag is not 0; based() calls it. */
void kept(volatile int *flag);
void kept_end(void);
void based(volatile int *flag);
void based_end(void);

__asm__(".text\n"
	".globl kept, kept_end, based, based_end\n"
	"kept:\n"
	".cfi_startproc\n"
	"1: pause\n"
	"movdqu %xmm0, -16(%rsp)\n"
	"test %rax, %rax\n"
	"mov (%rdi), %r10d\n"
	"test %r10d, %r10d\n"
	"jz 1b\n"
	"rep ret\n"
	".cfi_endproc\n"
	"kept_end:\n"
	"based:\n"
	".cfi_startproc\n"
	"lea (%rsp), %rax\n"
	".cfi_def_cfa_register %rax\n"
	"push %rbx\n"
	".cfi_offset %rbx, -16\n"
	"xor %ebx, %ebx\n"
	"sub $128, %rsp\n"
	"and $-128, %rsp\n"
	"call kept\n"
	"mov -8(%rax), %rbx\n"
	".cfi_restore %rbx\n"
	"lea (%rax), %rsp\n"
	".cfi_def_cfa_register %rsp\n"
	"ret\n"
	".cfi_endproc\n"
	"based_end:\n");

static int client;
static volatile int flag;

/* A page that cannot be read, in which the flag is said to be. */
static volatile int *nowhere;

static int is_in(uint64_t ip, void (*start)(void), void (*end)(void))
{
	return ip >= (uintptr_t)start && ip <= (uintptr_t)end;
}

/*
 * Read the next stack. Returns 1 if it leads from kept(), frame number @inner or a later
 * one, through based() to the start of the thread, 0 if not, or -1.
 */
static int read_stack(unsigned int inner)
{
	static union {
		struct sframe_unwind_stack stack;
		uint64_t words[8192];
	} record;
	const struct sframe_unwind_stack *stack = &record.stack;

	if (read(client, &record, sizeof(record)) < (ssize_t)sizeof(*stack))
		return -1;
	for (unsigned int i = inner; i + 2 < stack->nr_frames; i++) {
		if (is_in(stack->ips[i], (void (*)(void))kept, kept_end) &&
		    is_in(stack->ips[i + 1], (void (*)(void))based, based_end))
			return stack->stop == SFRAME_UNWIND_STOP_COMPLETE;
	}
	return 0;
}

static volatile int signal_result;

/* The fault in kept(): take the stack, and show it where the flag is. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	struct sframe_unwind_request req = request_self();
	ucontext_t *const uc = context;

	(void)sig;
	(void)info;
	if (request(client, &req))
		signal_result = -1;
	else
		signal_result = read_stack(2);
	uc->uc_mcontext.gregs[REG_RDI] = (uintptr_t)&flag;
}

static void *run(void *argument)
{
	*(volatile pid_t *)argument = gettid();
	based(&flag);
	return NULL;
}

/* Returns whether a stack of a thread in kept() is complete; 0 if it was elsewhere. */
static int try_thread(void)
{
	struct sframe_unwind_request req = request_self();
	volatile pid_t tid = 0;
	pthread_t thread;
	int result = 0;

	flag = 0;
	if (pthread_create(&thread, NULL, run, (void *)&tid))
		return -1;
	while (!tid)
		;
	req.tid = tid;
	if (request(client, &req))
		result = -1;
	else
		result = read_stack(0);
	flag = 1;
	pthread_join(thread, NULL);
	return result;
}

static int try_signal(void)
{
	signal_result = 0;
	based(nowhere);
	return signal_result;
}

int main(void)
{
	const struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO,
	};
	int result;

	client = open_client(0);
	nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (client < 0 || nowhere == MAP_FAILED ||
	    sigaction(SIGSEGV, &action, NULL))
		return 1;
	while (!(result = try_thread()))
		;
	flag = 1;
	while (result > 0 && !(result = try_signal()))
		;
	return result < 0;
}
