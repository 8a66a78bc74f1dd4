// SPDX-License-Identifier: GPL-2.0
/*
 * A program made of code that toolchains describe wrongly, see oddities.S, and
 * of rare kinds of frames: found through pointers, called through pointers to
 * linkage stubs, signals on another stack. Never ends.
 */
#include <alloca.h>
#include <signal.h>
#include <stdalign.h>
#include <stddef.h>
#include <unistd.h>

typedef void function(void);

function leaf, ra_far, fp_over_rsp, restored_late, undefined_sticks,
	remember_nested;

void call_with_fp(function *callee);

static volatile size_t size = 100;
static volatile char sink;

/* Aligned, and of a size known only at run time: the CFA is saved in memory. */
__attribute__((noinline))
static void aligned_and_dynamic(void)
{
	alignas(64) volatile char aligned[64];
	volatile char *dynamic = alloca(size);

	aligned[0] = 1;
	dynamic[0] = aligned[0];
	call_with_fp(leaf);
	sink = aligned[0] + dynamic[0];
}

/* Its address is taken, too, so that calls use .plt.got. */
static pid_t (*volatile pointer)(void) = getppid;

__attribute__((noinline))
static void by_stub(void)
{
	sink = getppid() == pointer();
}

static void handle_signal(int signal)
{
	(void)signal;
	call_with_fp(aligned_and_dynamic);
}

static void catch_signals(void)
{
	static char memory[65536];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	const struct sigaction action = {
		.sa_handler = handle_signal,
		.sa_flags = SA_ONSTACK,
	};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
}

int main(void)
{
	static function *const all[] = {
		leaf, ra_far, fp_over_rsp, restored_late, undefined_sticks,
		remember_nested, aligned_and_dynamic, by_stub
	};

	catch_signals();
	for (size_t i = 0; ; i = (i + 1) % (sizeof(all) / sizeof(*all)))
		call_with_fp(all[i]);
}
