// SPDX-License-Identifier: GPL-2.0
/*
 * Signals: handler, trampoline, and the interrupted function at its exact
 * address. With and without a section for libc, which contains the trampoline.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "journey.h"

static struct {
	int fd;
	struct sframe_unwind_request *req;
	uintptr_t interrupted[2];
} handled;

/* Send @sig to this thread; it is interrupted right after its system call. */
static __attribute__((noinline)) void send(int sig)
{
	long ret = SYS_tgkill;

	asm volatile("syscall"
		     : "+a"(ret)
		     : "D"((long)getpid()), "S"((long)gettid()), "d"((long)sig)
		     : "rcx", "r11", "memory");
}

/* The kernel passes all three arguments, SA_SIGINFO or not. */
static __attribute__((noinline)) void on_signal(int sig, siginfo_t *info,
						void *context)
{
	ucontext_t *uc = context;

	handled.interrupted[sig != SIGUSR1] = uc->uc_mcontext.gregs[REG_RIP];
	if (sig == SIGUSR1)
		send(SIGUSR2);
	else
		request(handled.fd, handled.req);
	asm volatile("" ::: "memory");	/* no tail calls */
}

static __attribute__((noinline)) void on_simple_signal(int sig)
{
	request(handled.fd, handled.req);
	asm volatile("" ::: "memory");
}

FIXTURE(signal)
{
	int fd;
	struct stack stack;
	struct sframe_unwind_request req;
};

FIXTURE_VARIANT(signal)
{
	bool attached;		/* with sections for libc and others */
	bool registered;	/* with the program's own section */
	__u16 stop;
};

FIXTURE_VARIANT_ADD(signal, own_section) {
	.registered = true,
	.stop = SFRAME_UNWIND_STOP_NO_RULE,
};

FIXTURE_VARIANT_ADD(signal, attached) {
	.attached = true,
	.stop = SFRAME_UNWIND_STOP_COMPLETE,
};

/* The program's own section has no rule for _start, but the attached one has. */
FIXTURE_VARIANT_ADD(signal, both) {
	.attached = true,
	.registered = true,
	.stop = SFRAME_UNWIND_STOP_COMPLETE,
};

FIXTURE_SETUP(signal)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	if (variant->attached)
		ASSERT_ATTACHED(self->fd, 0);
	if (variant->registered)
		ASSERT_EQ(0, register_own(self->fd));
	self->req = request_self();
	handled.fd = self->fd;
	handled.req = &self->req;
}

FIXTURE_TEARDOWN(signal)
{
	close(self->fd);
}

TEST_F(signal, simple_handler)
{
	struct sigaction action = { .sa_handler = on_simple_signal };

	ASSERT_EQ(0, sigaction(SIGUSR2, &action, NULL));
	send(SIGUSR2);
	ASSERT_STACK(self->fd, &self->stack);
	/* Frames: request, on_simple_signal, trampoline, send, this function. */
	ASSERT_LE(5, self->stack.head.nr_frames);
	EXPECT_TRUE(inside(self->stack.head.ips[1], on_simple_signal, 128));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how(&self->stack, 2));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SIGNAL, how(&self->stack, 3));
	EXPECT_TRUE(inside(self->stack.head.ips[3], send, 128));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how(&self->stack, 4));
	EXPECT_EQ(variant->stop, self->stack.head.stop);
}

static void nested(struct __test_metadata *_metadata, int fd, int flags,
		   __u16 stop)
{
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = flags,
	};
	stack_t alternate = { .ss_size = 64 * 1024 };
	struct stack stack;

	/* mmap() may place it above or below the stack. */
	alternate.ss_sp = mmap(NULL, alternate.ss_size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, alternate.ss_sp);
	ASSERT_EQ(0, sigaltstack(&alternate, NULL));
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, sigaction(SIGUSR2, &action, NULL));
	send(SIGUSR1);
	ASSERT_STACK(fd, &stack);
	/*
	 * Frames: request, on_signal, trampoline, send, on_signal, trampoline,
	 * send, this function.
	 */
	ASSERT_LE(8, stack.head.nr_frames);
	EXPECT_TRUE(inside(stack.head.ips[1], on_signal, 256));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how(&stack, 2));
	EXPECT_EQ(handled.interrupted[1], stack.head.ips[3]);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SIGNAL, how(&stack, 3));
	EXPECT_TRUE(inside(stack.head.ips[4], on_signal, 256));
	EXPECT_EQ(stack.head.ips[2], stack.head.ips[5]);
	EXPECT_EQ(handled.interrupted[0], stack.head.ips[6]);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SIGNAL, how(&stack, 6));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how(&stack, 7));
	EXPECT_EQ(stop, stack.head.stop);
}

TEST_F(signal, nested)
{
	nested(_metadata, self->fd, 0, variant->stop);
}

TEST_F(signal, nested_siginfo)
{
	nested(_metadata, self->fd, SA_SIGINFO, variant->stop);
}

TEST_F(signal, nested_on_alternate_stack)
{
	nested(_metadata, self->fd, SA_SIGINFO | SA_ONSTACK, variant->stop);
}

TEST_F(signal, nested_on_alternate_stack_without_siginfo)
{
	nested(_metadata, self->fd, SA_ONSTACK, variant->stop);
}

/*
 * A signal while the CFA is in a scratch register, whose value is in the signal
 * frame.
 */
static __attribute__((noinline)) void on_trap(int sig, siginfo_t *info,
					      void *context)
{
	request(handled.fd, handled.req);
	asm volatile("" ::: "memory");
}

TEST_F(signal, interrupted_registers)
{
	struct sigaction action = {
		.sa_sigaction = on_trap,
		.sa_flags = SA_SIGINFO,
	};
	struct fake fake;
	unsigned char *s;

	ASSERT_TRUE(make_fake(&fake));
	s = fake.section;
	s[FAKE_INFO2] = 1;
	s[FAKE_ROW_INFO] = 0x04;
	s[FAKE_ROW_WORD] = 10 << 3 | 1;		/* CFA = r10 + 0 */
	put32(s + FAKE_FRE_LEN, 5 + 4);
	fake.reg.sframe_size = FAKE_SECTION_SIZE + 1;
	/* lea 8(%rsp),%r10; push $0; int3; pop %rcx; ret */
	memcpy(fake.text, "\x4c\x8d\x54\x24\x08\x6a\x00\xcc\x59\xc3", 10);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_EQ(0, sigaction(SIGTRAP, &action, NULL));
	call_request_code(fake.text, self->fd, &self->req);
	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_LE(6, self->stack.head.nr_frames);
	EXPECT_EQ((uintptr_t)fake.text + 8, self->stack.head.ips[3]);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SIGNAL, how(&self->stack, 3));
	EXPECT_TRUE(inside(self->stack.head.ips[4], call_request_code, 128));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how(&self->stack, 4));
}

/*
 * A fault at the first instruction of a function: the address is exact. The
 * address minus 1 is in the function before, which has another frame.
 */
static __attribute__((noinline)) void on_fault(int sig, siginfo_t *info,
					       void *context)
{
	ucontext_t *uc = context;

	request(handled.fd, handled.req);
	uc->uc_mcontext.gregs[REG_RIP] += 2;	/* skip the ud2 */
}

TEST_F(signal, interrupted_at_the_first_instruction)
{
	struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO,
	};
	unsigned char *s, *fde;
	struct fake fake;

	ASSERT_TRUE(make_fake(&fake));
	s = fake.section;
	put32(s + FAKE_NUM_FDES, 2);
	put32(s + FAKE_FRE_OFF, 32);
	put32(s + FAKE_FRE_LEN, 16);
	put32(s + FAKE_FUNC_SIZE, 16);
	fde = s + FAKE_FDE + 16;
	put64(fde, (uintptr_t)fake.text + 16 - (uintptr_t)fde);
	put32(fde + 8, 16);
	put32(fde + 12, 8);
	/* The first function's row differs from the second's. */
	memcpy(fde + 16, "\x01\0\0\0\0\0\x03\x40", 8);
	memcpy(fde + 24, "\x01\0\0\0\0\0\x03\x08", 8);
	fake.reg.sframe_size = FAKE_SECTION_SIZE + 24;
	memcpy(fake.text + 16, "\x0f\x0b\xc3", 3);	/* ud2; ret */
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_EQ(0, sigaction(SIGILL, &action, NULL));
	call_request_code(fake.text + 16, self->fd, &self->req);
	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_LE(6, self->stack.head.nr_frames);
	EXPECT_EQ((uintptr_t)fake.text + 16, self->stack.head.ips[3]);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SIGNAL, how(&self->stack, 3));
	EXPECT_TRUE(inside(self->stack.head.ips[4], call_request_code, 128));
}

/*
 * Interrupted anywhere: at each instruction of targets/special.S's
 * interrupted() and of its callees, a handler is run. Its stack must continue
 * with the stack taken before.
 */
void interrupted(void);

static volatile int dummy;

static __attribute__((noinline)) int deep_in_handler(int n)
{
	int array[8] = { n };

	dummy = array[n & 7];
	return dummy + 1;
}

static void on_any_signal(int sig)
{
	dummy = deep_in_handler(sig);
}

static void catch_and_go(int flags)
{
	static char memory[64 * 1024];
	const stack_t alternate = {
		.ss_sp = memory,
		.ss_size = sizeof(memory),
	};
	const struct sigaction action = {
		.sa_handler = on_any_signal,
		.sa_flags = flags,
	};

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	/* Functions called up to here are already bound by the lazy linker. */
	asm volatile("int3");
	interrupted();
}

static void interrupted_here(void) { catch_and_go(SA_SIGINFO); }
static void interrupted_elsewhere(void) { catch_and_go(SA_ONSTACK); }

/*
 * Check that behind the handler the stack @was follows, its first frame marked
 * as interrupted.
 */
static const char *check_interrupted(const struct stack *stack,
				     const struct stack *was)
{
	const unsigned int nr = was->head.nr_frames;
	const unsigned int at = stack->head.nr_frames - nr;

	if (stack->head.stop != SFRAME_UNWIND_STOP_COMPLETE)
		return "not complete";
	if (stack->head.nr_frames < nr + 1)
		return "too few frames";
	if (memcmp(stack->head.ips + at, was->head.ips, nr * sizeof(__u64)))
		return "not the interrupted stack";
	if (how(stack, at) != SFRAME_UNWIND_FRAME_SIGNAL)
		return "not marked as interrupted";
	for (unsigned int i = 1; i < stack->head.nr_frames; i++) {
		if (i != at && how(stack, i) != SFRAME_UNWIND_FRAME_SFRAME)
			return "marked wrong";
	}
	return NULL;
}

/* Run the handler at this stop and return. */
static const char *interrupt(struct journey *journey, unsigned int *handler)
{
	static struct stack was;
	const struct sframe_unwind_stack *stack = &journey->stack.head;
	struct user_regs_struct regs, now;
	const char *why;

	ptrace(PTRACE_GETREGS, journey->pid, 0, &regs);
	if (!journey_go(journey, PTRACE_SINGLESTEP, SIGUSR1))
		return "the handler does not begin";
	was.head.nr_frames = 0;
	for (*handler = 0; *handler < 1000; (*handler)++) {
		ptrace(PTRACE_GETREGS, journey->pid, 0, &now);
		if (now.rip == regs.rip)
			break;
		why = journey_take(journey);
		if (why)
			return why;
		/*
		 * The interrupted stack is what follows the handler in the
		 * first stack.
		 */
		if (!*handler) {
			was = journey->stack;
			was.head.nr_frames = 0;
			for (unsigned int i = 1; i < stack->nr_frames; i++) {
				if (stack->ips[i] == regs.rip)
					was.head.nr_frames =
						stack->nr_frames - i;
			}
			if (!was.head.nr_frames)
				return "the interrupted frame is not there";
			memmove(was.head.ips, was.head.ips + stack->nr_frames -
				was.head.nr_frames,
				was.head.nr_frames * sizeof(__u64));
		}
		why = check_interrupted(&journey->stack, &was);
		if (why)
			return why;
	}
	/* The interrupted stack itself, for the next check. */
	why = journey_take(journey);
	if (why)
		return why;
	if (stack->nr_frames != was.head.nr_frames ||
	    memcmp(stack->ips, was.head.ips, stack->nr_frames * sizeof(__u64)))
		return "another stack than behind the handler";
	return NULL;
}

/*
 * The program's own section has no rule for its start. As soon as a section is
 * attached, the rule is found below the registered one.
 */
TEST(attached_between_walks)
{
	struct sframe_unwind_request req = request_self();
	const char *why = NULL;
	struct stack stack;
	unsigned int i;
	int fd;

	fd = open_client(0);
	ASSERT_LE(0, fd);
	for (i = 0; !why && i < nr_attached; i++) {
		if (!attached[i].is_program)
			why = attach_object(fd, &attached[i], 0);
	}
	ASSERT_EQ(NULL, why);
	ASSERT_EQ(0, register_own(fd));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, request(fd, &req));
		ASSERT_STACK(fd, &stack);
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, stack.head.stop);
		EXPECT_TRUE(is_in_object(stack.head.ips[stack.head.nr_frames - 1],
					 is_program));
	}
	for (i = 0; !why && i < nr_attached; i++) {
		if (attached[i].is_program)
			why = attach_object(fd, &attached[i], 0);
	}
	ASSERT_EQ(NULL, why);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, request(fd, &req));
		ASSERT_STACK(fd, &stack);
		EXPECT_EQ(SFRAME_UNWIND_STOP_COMPLETE, stack.head.stop);
	}
	close(fd);
}

static void interrupt_anywhere(struct __test_metadata *_metadata,
			       void (*run)(void))
{
	unsigned int handler, places = 0;
	struct journey journey;
	const char *why;
	int fd;

	fd = open_client(O_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_ATTACHED(fd, SFRAME_UNWIND_ATTACH_SYSTEM);
	ASSERT_RIGHT(&journey, journey_begin(&journey, fd, run));
	ASSERT_TRUE(journey_go(&journey, PTRACE_CONT, 0));
	ASSERT_TRUE(journey_is_over(&journey));	/* at the first breakpoint */
	do {
		why = interrupt(&journey, &handler);
		ASSERT_RIGHT(&journey, why);
		ASSERT_RIGHT(&journey, journey_check_tail(&journey));
		/* Its own instructions, and two of the trampoline. */
		EXPECT_LE(5, handler);
		places++;
	} while (!journey_is_over(&journey) && places < 1000);
	TH_LOG("%u places, %lu stacks", places, journey.steps);
	EXPECT_LE(20, places);
	EXPECT_GT(1000, places);
	journey_end(&journey);
	close(fd);
}

TEST(interrupted_anywhere)
{
	interrupt_anywhere(_metadata, interrupted_here);
}

TEST(interrupted_anywhere_for_another_stack)
{
	interrupt_anywhere(_metadata, interrupted_elsewhere);
}

TEST_HARNESS_MAIN
