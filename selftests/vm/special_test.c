// SPDX-License-Identifier: GPL-2.0
/*
 * Special frames: code that no compiler made, and the starts of stacks.
 * Journeys visit each instruction, see journey.h.
 *
 * Long: see selftests/check.
 */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "elf_map.h"
#include "journey.h"

/* Debug kernels are slow. */
#define JOURNEY(name)	TEST_F_TIMEOUT(journey, name, 120)

/* More instructions than any journey has. */
#define MAX_STEPS	60000

void on_stack(void *top, void (*function)(void));
void on_stack_silently(void *top, void (*function)(void));

static char stacks[2][64 * 1024] __attribute__((aligned(16)));

FIXTURE(journey)
{
	int fd;
	struct journey journey;
};

FIXTURE_SETUP(journey)
{
	self->fd = open_client(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_ATTACHED(self->fd, SFRAME_UNWIND_ATTACH_SYSTEM);
}

FIXTURE_TEARDOWN(journey)
{
	if (self->journey.pid)
		journey_end(&self->journey);
	close(self->fd);
	/* A child of vfork() closes its files after its parent has gone on. */
	while (counter("attachments"))
		sched_yield();
}

/*
 * Walk for at most @most instructions; every stack must be complete. Returns
 * the number of stops where @at is true.
 */
#define WALK_FAR(function, at, most)					\
	({								\
		struct journey *j_ = &self->journey;			\
		unsigned int seen_ = 0;					\
		bool over_ = false;					\
		ASSERT_RIGHT(j_, journey_begin(j_, self->fd, function)); \
		while (!over_ && j_->steps < (most)) {			\
			ASSERT_RIGHT(j_, journey_step(j_, &over_));	\
			ASSERT_RIGHT(j_, journey_check_tail(j_));	\
			seen_ += !!(at(j_->stack.head.ips[0]));		\
		}							\
		seen_;							\
	})

/* Walk to the end of the journey. */
#define WALK_THROUGH(function, at)					\
	({								\
		unsigned int all_ = WALK_FAR(function, at, MAX_STEPS);	\
		ASSERT_GT(MAX_STEPS, self->journey.steps);		\
		all_;							\
	})

static bool is_vdso(__u64 ip) { return is_in_object(ip, is_vdso); }
static bool is_libc(__u64 ip) { return is_in_object(ip, is_libc); }
static bool is_loader(__u64 ip) { return is_in_object(ip, is_loader); }

/*
 * Functions of the vDSO. They read the clock again if it has changed meanwhile,
 * which in a slow kernel happens between any two instructions.
 */
static void read_clocks(void)
{
	struct timespec time;

	clock_getres(CLOCK_MONOTONIC, &time);
	clock_gettime(CLOCK_REALTIME_COARSE, &time);
	clock_gettime(CLOCK_MONOTONIC, &time);
}

JOURNEY(vdso)
{
	read_clocks();
	EXPECT_LE(20, WALK_FAR(read_clocks, is_vdso, 1000));
}

/*
 * Written in assembly for each kind of CPU, and selected when the program
 * starts.
 */
static void copy_and_search(void)
{
	static char from[2200], to[2200];
	static const size_t sizes[] = { 1, 7, 31, 65, 129, 300, 2100 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(from, 'x', sizes[i]);
		from[sizes[i]] = '\0';
		memcpy(to, from, sizes[i] + 1);
		memmove(to + 1, to, sizes[i]);
		if (strlen(from) != sizes[i] || !memchr(from, 0, sizes[i] + 1) ||
		    strcmp(from, "y") > 0 || strchr(from, 'y') ||
		    !memcmp(from, "y", 1))
			abort();
	}
}

JOURNEY(assembly_in_libc)
{
	copy_and_search();
	EXPECT_LE(500, WALK_THROUGH(copy_and_search, is_libc));
}

static bool is_nowhere(__u64 ip)
{
	return false;
}

/* A vfork() child on its parent's stack, until it exits. */
static void vfork_and_exit(void)
{
	if (!vfork())
		_exit(0);
}

JOURNEY(vfork_parent)
{
	vfork_and_exit();
	WALK_THROUGH(vfork_and_exit, is_nowhere);
}

JOURNEY(vfork_child)
{
	struct journey *parent = &self->journey, child;
	const char *why = NULL;
	unsigned long pid = 0;
	bool over;

	vfork_and_exit();
	ASSERT_RIGHT(parent, journey_begin(parent, self->fd, vfork_and_exit));
	ptrace(PTRACE_SETOPTIONS, parent->pid, 0,
	       PTRACE_O_EXITKILL | PTRACE_O_TRACEVFORK);
	ASSERT_TRUE(journey_go(parent, PTRACE_CONT, 0));
	ASSERT_EQ(SIGTRAP | PTRACE_EVENT_VFORK << 8, parent->status >> 8);
	ASSERT_EQ(0, ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &pid));
	child = *parent;
	child.pid = pid;
	child.steps = 0;
	ASSERT_TRUE(journey_wait(&child));
	child.signal = 0;		/* delivered at its start: SIGSTOP */
	while (!why && child.steps < 1000) {
		why = journey_step(&child, &over);
		if (!why)
			ASSERT_RIGHT(&child, journey_check_tail(&child));
	}
	EXPECT_STREQ("it is gone", why);
	EXPECT_LE(10, child.steps);
	EXPECT_TRUE(WIFEXITED(child.status));
}

/*
 * A new thread, from clone3 on, where its stack begins. libc has no CFI for a
 * few instructions behind the system call, in either thread.
 */
static void *thread_work(void *unused)
{
	return unused;
}

static void start_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_work, NULL);
	pthread_join(thread, NULL);
}

JOURNEY(thread_start)
{
	struct journey *parent = &self->journey, thread;
	const struct sframe_unwind_stack *stack = &thread.stack.head;
	unsigned int in_work = 0, no_rule = 0;
	unsigned long tid = 0;
	const char *why = NULL;
	bool over;

	start_thread();
	ASSERT_RIGHT(parent, journey_begin(parent, self->fd, start_thread));
	ptrace(PTRACE_SETOPTIONS, parent->pid, 0,
	       PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE);
	ASSERT_TRUE(journey_go(parent, PTRACE_CONT, 0));
	ASSERT_EQ(SIGTRAP | PTRACE_EVENT_CLONE << 8, parent->status >> 8);
	ASSERT_EQ(0, ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &tid));
	thread = *parent;
	thread.pid = tid;
	thread.steps = 0;
	ASSERT_TRUE(journey_wait(&thread));
	thread.signal = 0;
	while (thread.steps < MAX_STEPS) {
		why = journey_step(&thread, &over);
		if (why)
			break;
		if (stack->stop == SFRAME_UNWIND_STOP_NO_RULE &&
		    stack->nr_frames == 1 && no_rule == thread.steps - 1) {
			no_rule++;
			continue;
		}
		if (stack->stop != SFRAME_UNWIND_STOP_COMPLETE ||
		    !is_libc(stack->ips[stack->nr_frames - 1]))
			ASSERT_RIGHT(&thread, "does not end in libc");
		in_work += stack->ips[0] - (uintptr_t)thread_work < 4;
	}
	EXPECT_STREQ("it is gone", why);
	EXPECT_GE(4, no_rule);
	EXPECT_LE(1, in_work);
	EXPECT_LE(50, thread.steps);
}

/*
 * Coroutines: their stacks begin in libc's __start_context(). The CFI of
 * swapcontext() and setcontext() does not describe the few instructions between
 * the change of stacks and the point where the return address is in place
 * again.
 */
#define SWAPCONTEXT_SIZE	0x120
#define BETWEEN_STACKS		10	/* in instructions */

static ucontext_t main_context, coroutine;

/* Never returns: libc's CFI is wrong after that. */
static void coroutine_work(void)
{
	swapcontext(&coroutine, &main_context);
}

static void switch_contexts(void)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stacks[0];
	coroutine.uc_stack.ss_size = sizeof(stacks[0]);
	coroutine.uc_link = &main_context;
	makecontext(&coroutine, coroutine_work, 0);
	swapcontext(&main_context, &coroutine);
}

JOURNEY(coroutine)
{
	struct journey *journey = &self->journey;
	const struct sframe_unwind_stack *stack = &journey->stack.head;
	unsigned int on_coroutine = 0, between = 0;
	bool over = false;

	switch_contexts();
	ASSERT_RIGHT(journey, journey_begin(journey, self->fd, switch_contexts));
	while (!over && journey->steps < MAX_STEPS) {
		ASSERT_RIGHT(journey, journey_step(journey, &over));
		if (!journey_check_tail(journey))
			continue;
		if (stack->stop != SFRAME_UNWIND_STOP_COMPLETE &&
		    stack->ips[0] - (uintptr_t)swapcontext < SWAPCONTEXT_SIZE) {
			between++;
			continue;
		}
		on_coroutine++;
		if (stack->stop != SFRAME_UNWIND_STOP_COMPLETE ||
		    !is_libc(stack->ips[stack->nr_frames - 1]))
			ASSERT_RIGHT(journey, "not a coroutine's stack either");
	}
	EXPECT_LE(10, on_coroutine);
	EXPECT_GE(2 * BETWEEN_STACKS, between);
}

/*
 * Lazy binding: the stub, and the loader's trampoline, which calls the
 * resolver.
 */
static void bind_lazily(void)
{
	/* The first and only call of this function. */
	if (getpgrp() < 0)
		abort();
}

/* The stub's second instruction, to which the GOT entry points at first. */
static uintptr_t lazy_entry(const char *name)
{
	const ElfW(Rela) *relocations = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	size_t size = 0;

	for (const ElfW(Dyn) *dyn = _DYNAMIC; dyn->d_tag; dyn++) {
		switch (dyn->d_tag) {
		case DT_JMPREL:
			relocations = (void *)dyn->d_un.d_ptr;
			break;
		case DT_PLTRELSZ:
			size = dyn->d_un.d_val;
			break;
		case DT_SYMTAB:
			symbols = (void *)dyn->d_un.d_ptr;
			break;
		case DT_STRTAB:
			names = (void *)dyn->d_un.d_ptr;
			break;
		}
	}
	for (size_t i = 0; i < size / sizeof(*relocations); i++) {
		const size_t symbol = ELF64_R_SYM(relocations[i].r_info);

		if (!strcmp(names + symbols[symbol].st_name, name))
			return *(uintptr_t *)(attached[0].base +
					      relocations[i].r_offset);
	}
	return 0;
}

JOURNEY(lazy_binding)
{
	const uintptr_t entry = lazy_entry("getpgrp");
	struct journey *journey = &self->journey;
	const struct sframe_unwind_stack *stack = &journey->stack.head;
	unsigned int in_stub = 0, in_loader = 0, below = 0;
	__u64 trampoline = 0;
	bool over = false;

	ASSERT_TRUE(is_in_object(entry, is_program));
	ASSERT_RIGHT(journey, journey_begin(journey, self->fd, bind_lazily));
	while (!over && journey->steps < MAX_STEPS) {
		ASSERT_RIGHT(journey, journey_step(journey, &over));
		in_stub += stack->ips[0] - entry < 16;
		/*
		 * The trampoline keeps its CFA in rbx, whose value is known
		 * only while the trampoline is the innermost frame.
		 */
		if (stack->stop == SFRAME_UNWIND_STOP_NO_REGISTER) {
			ASSERT_LE(2, stack->nr_frames);
			for (unsigned int i = 0; i < stack->nr_frames; i++)
				EXPECT_TRUE(is_loader(stack->ips[i]));
			if (!trampoline)
				trampoline = stack->ips[stack->nr_frames - 1];
			EXPECT_EQ(trampoline, stack->ips[stack->nr_frames - 1]);
			below++;
			continue;
		}
		ASSERT_RIGHT(journey, journey_check_tail(journey));
		in_loader += is_loader(stack->ips[0]);
	}
	EXPECT_LE(2, in_stub);
	EXPECT_LE(10, in_loader);
	EXPECT_LE(100, below);
	TH_LOG("%u in the stub, %u in the trampoline, %u below it", in_stub,
	       in_loader, below);
}

/*
 * The loader, from a program's first instruction on. At its start there is no
 * CFI; but it is the entry point.
 */
JOURNEY(loader_start)
{
	struct journey *journey = &self->journey;
	const struct sframe_unwind_stack *stack = &journey->stack.head;
	struct user_regs_struct regs;
	unsigned int deeper = 0;
	bool over;

	journey->fd = self->fd;
	journey->pid = fork();
	if (!journey->pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	ASSERT_TRUE(journey_wait(journey));
	ptrace(PTRACE_SETOPTIONS, journey->pid, 0, PTRACE_O_EXITKILL);
	ptrace(PTRACE_GETREGS, journey->pid, 0, &regs);
	while (journey->steps < 5000) {
		ASSERT_RIGHT(journey, journey_step(journey, &over));
		if (stack->stop != SFRAME_UNWIND_STOP_COMPLETE ||
		    stack->ips[stack->nr_frames - 1] - regs.rip > 64)
			ASSERT_RIGHT(journey, "does not end at its start");
		for (unsigned int i = 1; i < stack->nr_frames; i++)
			EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME,
				  how(&journey->stack, i));
		deeper += stack->nr_frames > 2;
	}
	EXPECT_LE(1000, deeper);
}

/* Signal restorers of the program's own */
void own_restorer(void);
void short_restorer(void);
void inner_restorer(void);

struct kernel_action {
	void (*handler)(int sig);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

#define KERNEL_SA_RESTORER	0x04000000UL

static void handle_quietly(int sig)
{
	asm volatile("" : : "r"(sig));
}

static __attribute__((noinline)) void signal_by(void (*restorer)(void))
{
	const struct kernel_action action = {
		.handler = handle_quietly,
		.flags = KERNEL_SA_RESTORER,
		.restorer = restorer,
	};
	long ret = SYS_tgkill;

	if (syscall(SYS_rt_sigaction, SIGUSR2, &action, NULL, 8))
		abort();
	asm volatile("syscall"
		     : "+a"(ret)
		     : "D"((long)getpid()), "S"((long)gettid()),
		       "d"((long)SIGUSR2)
		     : "rcx", "r11", "memory");
}

static void by_own_restorer(void) { signal_by(own_restorer); }
static void by_short_restorer(void) { signal_by(short_restorer); }
static void by_inner_restorer(void) { signal_by(inner_restorer); }

static bool is_own_restorer(__u64 ip)
{
	return ip - (uintptr_t)own_restorer < 9;
}

static bool is_short_restorer(__u64 ip)
{
	return ip - (uintptr_t)short_restorer < 7;
}

static bool is_inner_restorer(__u64 ip)
{
	return ip - (uintptr_t)inner_restorer < 9;
}

JOURNEY(own_restorer)
{
	by_own_restorer();
	EXPECT_EQ(2, WALK_THROUGH(by_own_restorer, is_own_restorer));
}

JOURNEY(short_restorer)
{
	by_short_restorer();
	EXPECT_EQ(2, WALK_THROUGH(by_short_restorer, is_short_restorer));
}

JOURNEY(inner_restorer)
{
	by_inner_restorer();
	EXPECT_EQ(2, WALK_THROUGH(by_inner_restorer, is_inner_restorer));
}

/* Switching stacks by hand */
static char *top_of(char *stack)
{
	return stack + sizeof(stacks[0]) - 16;
}

static void nothing(void)
{
}

static void on_low_stack(void) { on_stack(top_of(stacks[0]), nothing); }
static void on_high_stack(void) { on_stack(top_of(stacks[1]), nothing); }

/*
 * The second stack, in the program's data, is below the first: returning leads
 * upwards.
 */
JOURNEY(stack_below)
{
	WALK_THROUGH(on_low_stack, is_nowhere);
}

static void from_low_to_high(void)
{
	on_stack(top_of(stacks[0]), on_high_stack);
}

/* A walk does not go downwards. The frames found up to there are right. */
JOURNEY(stack_above)
{
	struct journey *journey = &self->journey;
	const struct sframe_unwind_stack *stack = &journey->stack.head;
	unsigned int no_progress = 0;
	bool over = false;

	ASSERT_RIGHT(journey, journey_begin(journey, self->fd,
					    from_low_to_high));
	while (!over && journey->steps < MAX_STEPS) {
		ASSERT_RIGHT(journey, journey_step(journey, &over));
		if (stack->stop != SFRAME_UNWIND_STOP_NO_PROGRESS) {
			ASSERT_RIGHT(journey, journey_check_tail(journey));
			continue;
		}
		EXPECT_GT(128, stack->ips[stack->nr_frames - 1] -
			       (uintptr_t)on_stack);
		no_progress++;
	}
	EXPECT_LE(1, no_progress);
}

static void without_a_word(void)
{
	on_stack_silently(top_of(stacks[0]), nothing);
}

JOURNEY(stack_without_a_word)
{
	struct journey *journey = &self->journey;
	const struct sframe_unwind_stack *stack = &journey->stack.head;
	unsigned int no_rule = 0;
	bool over = false;

	ASSERT_RIGHT(journey, journey_begin(journey, self->fd,
					    without_a_word));
	while (!over && journey->steps < MAX_STEPS) {
		ASSERT_RIGHT(journey, journey_step(journey, &over));
		if (stack->stop != SFRAME_UNWIND_STOP_NO_RULE) {
			ASSERT_RIGHT(journey, journey_check_tail(journey));
			continue;
		}
		EXPECT_GT(64, stack->ips[stack->nr_frames - 1] -
			      (uintptr_t)on_stack_silently);
		no_rule++;
	}
	EXPECT_LE(5, no_rule);
}

TEST_HARNESS_MAIN
