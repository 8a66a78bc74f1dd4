// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: how the thread has entered the kernel, and the registers that it had in user
 * mode then, for each kind of entry. The events are tracepoints and page faults of the
 * kernel, which occur after the entry.
 */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "sampled.h"

#define FP_VALUE	0x123456789abcdefUL
#define ASM_FP_VALUE	"$0x123456789abcdef"

#define TRAP_FLAG	0x100
#define ALIGN_FLAG	0x40000

/* Stack pointer at the last entry that a function below has made. */
__attribute__((used)) static unsigned long entry_sp;

/*
 * A function @name that enters the kernel by @code, with the label @name_at where the
 * instruction pointer is then. A signal handler goes on at @name_after.
 */
#define ENTER(name, code)						\
	asm(".pushsection .text\n"					\
	    ".balign 256\n"						\
	    ".type enter_" #name ", @function\n"			\
	    "enter_" #name ":\n"					\
	    ".cfi_startproc\n"						\
	    "push %rbp\n"						\
	    ".cfi_adjust_cfa_offset 8\n"				\
	    ".cfi_rel_offset rbp, 0\n"					\
	    "sub $16, %rsp\n"						\
	    ".cfi_adjust_cfa_offset 16\n"				\
	    "movabs " ASM_FP_VALUE ", %rbp\n"				\
	    "mov %rsp, entry_sp(%rip)\n"				\
	    code "\n"							\
	    "enter_" #name "_after:\n"					\
	    "add $16, %rsp\n"						\
	    ".cfi_adjust_cfa_offset -16\n"				\
	    "pop %rbp\n"						\
	    ".cfi_restore rbp\n"					\
	    ".cfi_adjust_cfa_offset -8\n"				\
	    "ret\n"							\
	    ".cfi_endproc\n"						\
	    ".size enter_" #name ", . - enter_" #name "\n"		\
	    ".popsection\n");						\
	extern const char enter_##name[], enter_##name##_at[],		\
		enter_##name##_after[]

ENTER(divide, "xor %edx, %edx; mov $1, %eax; xor %ecx, %ecx\n"
	      "enter_divide_at: div %ecx");
ENTER(invalid, "enter_invalid_at: ud2");
ENTER(breakpoint, "int3; enter_breakpoint_at:");
ENTER(step, "pushfq; orq $0x100, (%rsp); popfq\n"
	    "nop; enter_step_at: nop");
ENTER(protection, "enter_protection_at: hlt");
ENTER(overflow, "int $4; enter_overflow_at:");
/* Unmasked division by zero: the exception waits for the next instruction. */
ENTER(x87, "fninit; movw $0x37b, (%rsp); fldcw (%rsp)\n"
	   "fld1; fldz; fdivrp\n"
	   "enter_x87_at: fwait");
ENTER(simd, "movl $0x1d80, (%rsp); ldmxcsr (%rsp)\n"
	    "xorps %xmm0, %xmm0; xorps %xmm1, %xmm1; mov $1, %eax\n"
	    "cvtsi2ss %eax, %xmm1\n"
	    "enter_simd_at: divss %xmm0, %xmm1");
ENTER(alignment, "pushfq; orq $0x40000, (%rsp); popfq\n"
		 "enter_alignment_at: mov 1(%rsp), %rax");
ENTER(bad_address, "mov $8, %ecx\n"
		   "enter_bad_address_at: mov (%rcx), %rax");
/* Its argument is the address. */
ENTER(new_page, "enter_new_page_at: movb $1, (%rdi)");
ENTER(system_call, "mov $39, %eax; syscall; enter_system_call_at:");
ENTER(int80, "mov $20, %eax; int $0x80; enter_int80_at:");
/* fork(), with the child's ID written to the address that is its argument. */
ENTER(fork, "mov %rdi, %r10; mov $0x01000011, %edi; xor %esi, %esi\n"
	    "xor %edx, %edx; xor %r8d, %r8d; mov $56, %eax; syscall\n"
	    "enter_fork_at:");
/* Its argument is the number of loops. */
ENTER(interrupt, "enter_interrupt_at: dec %rdi; jnz enter_interrupt_at");

static __attribute__((noipa)) long enter(const char *at, __u64 arg)
{
	long ret = ((long (*)(__u64))(uintptr_t)at)(arg);

	/* Not a tail call. */
	asm volatile("" : "+r"(ret));
	return ret;
}

FIXTURE(entry)
{
	struct sampled s;
	struct taken t;
	int id;
};

FIXTURE_SETUP(entry)
{
	ASSERT_SAMPLED(&self->s, 64);
	ASSERT_EQ(0, register_own(self->s.fd));
}

FIXTURE_TEARDOWN(entry)
{
	end_sampled(&self->s);
}

#define WANTED	(SFRAME_UNWIND_SAMPLE_REGISTERS | SFRAME_UNWIND_SAMPLE_ADDRESS)

/* Sample this thread, and its children, at the tracepoint. Returns false without it. */
static bool sample_tracepoint(FIXTURE_DATA(entry) *self, const char *name)
{
	struct perf_event_attr attr = tracepoint(name);

	attr.inherit = 1;
	self->id = attr.config ? sample_at(&self->s, &attr, 0, -1, WANTED) : -1;
	return self->id > 0 && !start(&self->s);
}

/* What a sample must have. */
struct expected {
	enum sframe_unwind_entry entry;
	int nr;
	__u64 ip;
};

/* Returns what is wrong in the user part of @t, or NULL. */
static const char *check_user(const struct taken *t, const struct expected *e)
{
	if (t->nr_user < 3)
		return "fewer than three user frames";
	if (t->user[0] != e->ip)
		return "another innermost frame";
	if (!inside(t->user[1], enter, 256))
		return "another caller";
	return NULL;
}

/* Returns what is wrong in @t, which is a sample with these registers, or NULL. */
static const char *check_sample(const struct taken *t, const struct expected *e)
{
	if (t->head.entry != e->entry)
		return "another kind of entry";
	if (t->head.entry_nr != e->nr)
		return "another number of a system call";
	if (t->head.kernel_cut || t->nr_kernel < 2)
		return "not the whole kernel stack";
	if (t->sp != entry_sp)
		return "another stack pointer";
	if (t->fp != FP_VALUE)
		return "another frame pointer";
	return t->head.user == SFRAME_UNWIND_USER_AT_ONCE ? check_user(t, e) :
							    NULL;
}

/*
 * Stop, and read all records. @e->ip tells samples of this entry. Returns the number
 * of those that were right, with a user stack each; or -1.
 */
static int check_entry(FIXTURE_DATA(entry) *self, const struct expected *e)
{
	struct taken *t = &self->t;
	unsigned int found = 0;
	__u64 cookie = 0;
	const char *why;
	int ret;

	if (stop(&self->s))
		return -1;
	while ((ret = take(&self->s, t)) == 1) {
		if (t->type == SFRAME_UNWIND_RECORD_USER_STACK) {
			why = t->cookie == cookie && cookie ? check_user(t, e) :
							      NULL;
		} else if (t->ip != e->ip) {
			continue;
		} else {
			why = check_sample(t, e);
			cookie = t->cookie;
			found++;
		}
		if (!why)
			continue;
		fprintf(stderr, "# %s: record %u entry %u nr %d user %u stop %u ip %llx sp %llx fp %llx\n",
			why, t->type, t->head.entry, t->head.entry_nr,
			t->head.user, t->head.stop, t->ip, t->sp, t->fp);
		for (unsigned int i = 0; i < t->nr_kernel; i++)
			fprintf(stderr, "# kernel %llx\n", t->kernel[i]);
		for (unsigned int i = 0; i < t->nr_user; i++)
			fprintf(stderr, "# user %llx\n", t->user[i]);
		return -1;
	}
	return ret ? -1 : (int)found;
}

/* Where the handler goes on, and the signal that it got. */
static const char *handler_after;
static volatile sig_atomic_t handler_signal;

static void skip_it(int signal, siginfo_t *info, void *data)
{
	ucontext_t *context = data;
	struct _libc_fpstate *fpu = context->uc_mcontext.fpregs;

	(void)info;
	handler_signal = signal;
	context->uc_mcontext.gregs[REG_RIP] = (uintptr_t)handler_after;
	context->uc_mcontext.gregs[REG_EFL] &= ~(TRAP_FLAG | ALIGN_FLAG);
	if (fpu) {
		fpu->cwd = 0x37f;
		fpu->swd = 0;
		fpu->mxcsr = 0x1f80;
	}
}

/* Each exception that user code can cause. Their signals are the events. */
FIXTURE(exception)
{
	FIXTURE_DATA(entry) entry;
};

FIXTURE_VARIANT(exception)
{
	const char *enter, *at, *after;
	int signal;
	enum sframe_unwind_entry entry;
	bool is_optional;	/* QEMU does not emulate it in all versions */
};

#define EXCEPTION(name, signal_, entry_, is_optional_)			\
	FIXTURE_VARIANT_ADD(exception, name) {				\
		.enter = enter_##name,					\
		.at = enter_##name##_at,				\
		.after = enter_##name##_after,				\
		.signal = signal_,					\
		.entry = SFRAME_UNWIND_ENTRY_##entry_,			\
		.is_optional = is_optional_,				\
	}

EXCEPTION(divide, SIGFPE, EXCEPTION, false);
EXCEPTION(invalid, SIGILL, EXCEPTION, false);
EXCEPTION(breakpoint, SIGTRAP, EXCEPTION, false);
EXCEPTION(step, SIGTRAP, EXCEPTION, false);
EXCEPTION(protection, SIGSEGV, EXCEPTION, false);
EXCEPTION(overflow, SIGSEGV, EXCEPTION, false);
EXCEPTION(x87, SIGFPE, EXCEPTION, true);
EXCEPTION(simd, SIGFPE, EXCEPTION, true);
EXCEPTION(alignment, SIGBUS, EXCEPTION, true);
EXCEPTION(bad_address, SIGSEGV, PAGE_FAULT, false);

FIXTURE_SETUP(exception)
{
	ASSERT_SAMPLED(&self->entry.s, 64);
	ASSERT_EQ(0, register_own(self->entry.s.fd));
}

FIXTURE_TEARDOWN(exception)
{
	end_sampled(&self->entry.s);
}

TEST_F(exception, is_told)
{
	const struct sigaction action = {
		.sa_sigaction = skip_it,
		.sa_flags = SA_SIGINFO,
	};
	const struct expected expected = {
		.entry = variant->entry,
		.ip = (uintptr_t)variant->at,
	};

	if (!sample_tracepoint(&self->entry, "signal/signal_generate"))
		SKIP(return, "no tracepoint signal/signal_generate");
	handler_after = variant->after;
	handler_signal = 0;
	ASSERT_EQ(0, sigaction(variant->signal, &action, NULL));
	enter(variant->enter, 0);
	if (!handler_signal && variant->is_optional)
		SKIP(return, "the CPU has no such exception");
	EXPECT_EQ(variant->signal, handler_signal);
	EXPECT_EQ(1, check_entry(&self->entry, &expected));
	EXPECT_ADDS_UP(&self->entry.s);
}

/* A page is allocated for a page fault. */
TEST_F(entry, page_fault)
{
	const struct expected expected = {
		.entry = SFRAME_UNWIND_ENTRY_PAGE_FAULT,
		.ip = (uintptr_t)enter_new_page_at,
	};
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	if (!sample_tracepoint(self, "kmem/mm_page_alloc"))
		SKIP(return, "no tracepoint kmem/mm_page_alloc");
	enter(enter_new_page, (uintptr_t)page);
	EXPECT_LE(1, check_entry(self, &expected));
	EXPECT_ADDS_UP(&self->s);
}

TEST_F(entry, system_call)
{
	const struct expected expected = {
		.entry = SFRAME_UNWIND_ENTRY_SYSTEM_CALL,
		.nr = SYS_getpid,
		.ip = (uintptr_t)enter_system_call_at,
	};

	if (!sample_tracepoint(self, "raw_syscalls/sys_enter"))
		SKIP(return, "no tracepoint raw_syscalls/sys_enter");
	EXPECT_EQ(getpid(), enter(enter_system_call, 0));
	EXPECT_EQ(1, check_entry(self, &expected));
	EXPECT_ADDS_UP(&self->s);
}

/* A system call as 32-bit programs make it has their numbers. */
TEST_F(entry, int80)
{
	const struct expected expected = {
		.entry = SFRAME_UNWIND_ENTRY_SYSTEM_CALL,
		.nr = 20,
		.ip = (uintptr_t)enter_int80_at,
	};

	if (!sample_tracepoint(self, "raw_syscalls/sys_enter"))
		SKIP(return, "no tracepoint raw_syscalls/sys_enter");
	EXPECT_EQ(getpid(), enter(enter_int80, 0));
	EXPECT_EQ(1, check_entry(self, &expected));
	EXPECT_ADDS_UP(&self->s);
}

/* The timer's interrupt arrives in user mode. */
TEST_F(entry, interrupt)
{
	struct perf_event_attr attr = tracepoint("irq_vectors/local_timer_entry");
	unsigned int found = 0, tries;
	struct taken *t = &self->t;
	int ret;

	if (!attr.config)
		SKIP(return, "no tracepoint irq_vectors/local_timer_entry");
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, WANTED));
	ASSERT_EQ(0, start(&self->s));
	for (tries = 0; found < 20 && tries < 10000; tries++) {
		enter(enter_interrupt, 1000000);
		while ((ret = take_sample(&self->s, t)) == 1) {
			EXPECT_LE(2, t->nr_kernel);
			if (t->ip - (uintptr_t)enter_interrupt_at >=
			    (__u64)(enter_interrupt_after - enter_interrupt_at))
				continue;
			found++;
			EXPECT_EQ(SFRAME_UNWIND_ENTRY_INTERRUPT, t->head.entry);
			EXPECT_EQ(0, t->head.entry_nr);
			EXPECT_EQ(0, t->head.kernel_cut);
			EXPECT_EQ(entry_sp, t->sp);
			EXPECT_EQ(FP_VALUE, t->fp);
			if (t->head.user != SFRAME_UNWIND_USER_AT_ONCE)
				continue;
			EXPECT_EQ(t->ip, t->user[0]);
			EXPECT_TRUE(inside(t->user[1], enter, 256));
		}
		ASSERT_EQ(0, ret);
	}
	EXPECT_LE(20, found);
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
}

/* An interrupt that arrives in a system call is a part of that. */
TEST_F(entry, interrupt_in_a_system_call)
{
	struct perf_event_attr attr = tracepoint("irq_vectors/local_timer_entry");
	int ret, zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	const size_t size = 1 << 20;
	unsigned int found = 0, tries;
	char *buffer = malloc(size);
	struct taken *t = &self->t;

	if (!attr.config)
		SKIP(return, "no tracepoint irq_vectors/local_timer_entry");
	ASSERT_NE(NULL, buffer);
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	for (tries = 0; found < 5 && tries < 10000; tries++) {
		for (unsigned int i = 0; i < 10; i++)
			ASSERT_EQ(size, read(zero, buffer, size));
		while ((ret = take_sample(&self->s, t)) == 1) {
			if (t->head.entry != SFRAME_UNWIND_ENTRY_SYSTEM_CALL)
				continue;
			found += t->head.entry_nr == SYS_read;
			EXPECT_LE(3, t->nr_kernel);
		}
		ASSERT_EQ(0, ret);
	}
	EXPECT_LE(5, found);
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
	free(buffer);
	close(zero);
}

/*
 * A child whose ID the kernel writes to its memory before it has been in user mode:
 * the page is its parent's, so that this is a page fault.
 */
TEST_F(entry, new_thread)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	int *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int found = 0, stacks = 0;
	struct taken *t = &self->t;
	__u64 cookie = 0;
	pid_t child;
	int ret;

	/* So that the stack is in the sample's ring, behind it. */
	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_NE(MAP_FAILED, page);
	*page = 1;
	attr.inherit = 1;
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, WANTED));
	ASSERT_EQ(0, start(&self->s));
	child = enter(enter_fork, (uintptr_t)page);
	if (!child)
		_exit(0);
	ASSERT_LT(0, child);
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	ASSERT_EQ(0, stop(&self->s));
	while ((ret = take(&self->s, t)) == 1) {
		if (t->head.tid != (__u32)child)
			continue;
		if (t->type == SFRAME_UNWIND_RECORD_USER_STACK) {
			if (t->cookie != cookie || !cookie)
				continue;
		} else if (t->address != (uintptr_t)page) {
			continue;
		} else {
			found++;
			cookie = t->cookie;
			EXPECT_EQ(SFRAME_UNWIND_ENTRY_NEW_THREAD, t->head.entry);
			EXPECT_EQ(0, t->head.entry_nr);
			EXPECT_EQ(0, t->head.kernel_cut);
			EXPECT_EQ((uintptr_t)enter_fork_at, t->ip);
			EXPECT_EQ(entry_sp, t->sp);
			EXPECT_EQ(FP_VALUE, t->fp);
			if (t->head.user != SFRAME_UNWIND_USER_AT_ONCE)
				continue;
		}
		stacks++;
		ASSERT_LE(2, t->nr_user);
		EXPECT_EQ((uintptr_t)enter_fork_at, t->user[0]);
		EXPECT_TRUE(inside(t->user[1], enter, 256));
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(1, found);
	/* Faults of the walk are events, too, and can cause more records of the stack. */
	EXPECT_LE(1, stacks);
	EXPECT_ADDS_UP(&self->s);
}

/* The clock interrupts user code: that has not entered the kernel. */
TEST_F(entry, user)
{
	struct perf_event_attr attr = cpu_clock(1000000);
	unsigned int found = 0, tries;
	struct taken *t = &self->t;
	int ret;

	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, WANTED));
	ASSERT_EQ(0, start(&self->s));
	for (tries = 0; found < 20 && tries < 10000; tries++) {
		enter(enter_interrupt, 1000000);
		while ((ret = take_sample(&self->s, t)) == 1) {
			if (t->ip - (uintptr_t)enter_interrupt_at >=
			    (__u64)(enter_interrupt_after - enter_interrupt_at) ||
			    t->head.entry != SFRAME_UNWIND_ENTRY_USER)
				continue;
			found++;
			EXPECT_EQ(0, t->nr_kernel);
			EXPECT_EQ(entry_sp, t->sp);
			EXPECT_EQ(FP_VALUE, t->fp);
		}
		ASSERT_EQ(0, ret);
	}
	EXPECT_LE(20, found);
	ASSERT_EQ(0, stop(&self->s));
	EXPECT_ADDS_UP(&self->s);
}

TEST_HARNESS_MAIN
