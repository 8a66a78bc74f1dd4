// SPDX-License-Identifier: GPL-2.0
/* Walks through every kind of frame, and every reason to stop. */
#include <setjmp.h>

#include "common.h"

typedef long (*shape_t)(long fd, long cmd, void *arg);

static jmp_buf escape;
static bool do_escape;

/* Called by shapes of the _call kind: requests the stack. */
__attribute__((noinline, used)) long shape_callback(long fd, long cmd, void *arg)
{
	long ret = request(fd, arg);

	if (do_escape)
		longjmp(escape, 1);
	return ret;
}

/* Calls the shapes, and must be the frame behind them. */
static __attribute__((noinline)) long call_shape(shape_t shape, int fd,
						 struct sframe_unwind_request *req)
{
	long ret = shape(fd, SFRAME_UNWIND_IOC_REQUEST, req);

	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

static bool is_caller(__u64 ip)
{
	return inside(ip, call_shape, 128);
}

#define SHAPES(X)							\
	X(default_top) X(default_call) X(fp_top) X(fp_call)		\
	X(drap_top) X(drap_call) X(cfa_in_register_top)			\
	X(cfa_in_register_call) X(ra_moved_top) X(ra_moved_call)	\
	X(ra_in_register_top) X(fp_in_register_top)			\
	X(fp_in_register_call) X(outermost_top) X(outermost_call)	\
	X(no_rows_top) X(signal_no_rows_top) X(signal_top)		\
	X(signal_call) X(addr2_top) X(addr2_call) X(addr4_top)		\
	X(addr4_call) X(word2_top) X(word2_call) X(word4_top)		\
	X(word4_call) X(late_row_early_top) X(late_row_top)		\
	X(between_empty_top) X(noreturn_call) X(gap_top)

#define DECLARE(name)							\
	extern long name(long fd, long cmd, void *arg);			\
	extern const char name##_ip[];
SHAPES(DECLARE)

FIXTURE(shape)
{
	int fd;
	struct stack stack;
	struct sframe_unwind_request req;
};

FIXTURE_VARIANT(shape)
{
	shape_t run;
	const char *ip;
	bool top;		/* the shape is the innermost frame */
	__u8 how;		/* how its caller is found; 0: not found */
	__u16 stop;		/* the reason if not found */
};

#define VARIANT(name, ...)						\
	FIXTURE_VARIANT_ADD(shape, name) {				\
		.run = name,						\
		.ip = name##_ip,					\
		.top = sizeof(#name) > 4 &&				\
		       #name[sizeof(#name) - 2] == 'p',			\
		__VA_ARGS__						\
	}

#define FOUND(name)	VARIANT(name, .how = SFRAME_UNWIND_FRAME_SFRAME)
#define STOPS(name, why)	VARIANT(name, .stop = SFRAME_UNWIND_STOP_##why)

FOUND(default_top);
FOUND(default_call);
FOUND(fp_top);
FOUND(fp_call);
FOUND(drap_top);
FOUND(drap_call);
FOUND(cfa_in_register_top);
STOPS(cfa_in_register_call, NO_REGISTER);
FOUND(ra_moved_top);
FOUND(ra_moved_call);
FOUND(ra_in_register_top);
FOUND(fp_in_register_top);
FOUND(fp_in_register_call);
STOPS(outermost_top, COMPLETE);
STOPS(outermost_call, COMPLETE);
STOPS(no_rows_top, COMPLETE);
STOPS(signal_no_rows_top, NO_RULE);
VARIANT(signal_top, .how = SFRAME_UNWIND_FRAME_SIGNAL);
VARIANT(signal_call, .how = SFRAME_UNWIND_FRAME_SIGNAL);
FOUND(addr2_top);
FOUND(addr2_call);
FOUND(addr4_top);
FOUND(addr4_call);
FOUND(word2_top);
FOUND(word2_call);
FOUND(word4_top);
FOUND(word4_call);
STOPS(late_row_early_top, NO_RULE);
FOUND(late_row_top);
FOUND(between_empty_top);
FOUND(noreturn_call);
STOPS(gap_top, NO_RULE);

FIXTURE_SETUP(shape)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	self->req = request_self();
}

FIXTURE_TEARDOWN(shape)
{
	struct sframe_unwind_stats s;

	/* None of this counts as corruption. */
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(0, s.corrupt);
	EXPECT_EQ(1, s.sections);
	close(self->fd);
}

TEST_F(shape, walk)
{
	volatile unsigned int at = 0;

	do_escape = variant->run == noreturn_call;
	if (!setjmp(escape))
		ASSERT_EQ(0, call_shape(variant->run, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);

	if (!variant->top) {
		EXPECT_TRUE(inside(self->stack.head.ips[0], request, 128));
		EXPECT_TRUE(inside(self->stack.head.ips[1], shape_callback,
				   128));
		EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how(&self->stack, 1));
		at = 2;
	}
	ASSERT_LT(at, self->stack.head.nr_frames);
	EXPECT_EQ((uintptr_t)variant->ip, self->stack.head.ips[at]);
	if (!variant->how) {
		EXPECT_EQ(at + 1, self->stack.head.nr_frames);
		EXPECT_EQ(variant->stop, self->stack.head.stop);
		return;
	}
	ASSERT_LT(at + 1, self->stack.head.nr_frames);
	EXPECT_TRUE(is_caller(self->stack.head.ips[at + 1]));
	EXPECT_EQ(variant->how, how(&self->stack, at + 1));
	/*
	 * The walk continues through this function, up to libc, which has no
	 * section.
	 */
	EXPECT_LT(at + 4, self->stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
}

/* Code and section made by the test. */
FIXTURE(fake)
{
	int fd;
	struct fake fake;
	struct stack stack;
	struct sframe_unwind_request req;
};

FIXTURE_SETUP(fake)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_TRUE(make_fake(&self->fake));
	self->req = request_self();
}

FIXTURE_TEARDOWN(fake)
{
	struct sframe_unwind_stats s;

	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(0, s.corrupt);
	free_fake(&self->fake);
	close(self->fd);
}

static void put_code(struct fake *fake, unsigned int at,
		     const unsigned char *code, unsigned int size)
{
	memcpy(fake->text + at, code, size);
}

#define PUT_CODE(fake, at, ...)						\
	do {								\
		static const unsigned char code_[] = { __VA_ARGS__ };	\
		put_code(fake, at, code_, sizeof(code_));		\
	} while (0)

#define MOV_16_EAX	0xb8, 0x10, 0x00, 0x00, 0x00
#define SYSCALL		0x0f, 0x05
#define RET		0xc3

/* Run the fake function, which requests its stack, and read it. */
#define ASSERT_FAKE_STACK()						\
	do {								\
		ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, \
					       &self->req));		\
		ASSERT_STACK(self->fd, &self->stack);			\
	} while (0)

#define EXPECT_STOPS(why)						\
	do {								\
		ASSERT_FAKE_STACK();					\
		EXPECT_EQ(1, self->stack.head.nr_frames);		\
		EXPECT_EQ(SFRAME_UNWIND_STOP_##why,			\
			  self->stack.head.stop);			\
	} while (0)

TEST_F(fake, control)
{
	put_request_code(&self->fake);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_FAKE_STACK();
	ASSERT_LE(3, self->stack.head.nr_frames);
	EXPECT_TRUE(inside(self->stack.head.ips[1], call_request_code, 128));
}

/* Four stubs of sixteen bytes with one description; also at an odd address. */
TEST_F(fake, pcmask)
{
	static const unsigned char stub[16] = {
		0x68, 1, 0, 0, 0,	/* push $1 */
		MOV_16_EAX,
		SYSCALL,
		0x59,			/* pop %rcx */
		RET,
		0x90, 0x90
	};
	unsigned int base, i;

	for (base = 0; base < 16; base += 5) {
		unsigned char *s = self->fake.section;

		write_fake_section(s, self->fake.text + base);
		s[FAKE_INFO] = 0x10;
		s[FAKE_REP_SIZE] = 16;
		s[FAKE_ATTR] = 3;
		memcpy(s + FAKE_ROW, "\x00\x03\x08" "\x05\x03\x10" "\x0d\x03\x08",
		       9);
		put32(s + FAKE_FRE_LEN, 5 + 9);
		self->fake.reg.sframe_size = FAKE_SECTION_SIZE + 6;
		for (i = 0; i < 4; i++)
			put_code(&self->fake, base + 16 * i, stub, 16);
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		for (i = 0; i < 4; i++) {
			unsigned char *at = self->fake.text + base + 16 * i;

			ASSERT_EQ(0, call_request_code(at, self->fd, &self->req));
			ASSERT_STACK(self->fd, &self->stack);
			EXPECT_EQ((uintptr_t)at + 12, self->stack.head.ips[0]);
			ASSERT_LE(3, self->stack.head.nr_frames);
			EXPECT_TRUE(inside(self->stack.head.ips[1],
					   call_request_code, 128));
		}
		ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	}
}

/* CFA in each register that a system call preserves. */
TEST_F(fake, cfa_in_any_register)
{
	static const unsigned char x86_number[] = {
		/* DWARF 3 rbx, 6 rbp, 8, 9, 10, 12, 13, 14, 15 */
		[3] = 3, [6] = 5, [8] = 8, [9] = 9, [10] = 10, [12] = 12,
		[13] = 13, [14] = 14, [15] = 15
	};
	unsigned char *s = self->fake.section, *p;
	unsigned int reg, nr;

	s[FAKE_INFO2] = 1;			/* flexible */
	s[FAKE_ROW_INFO] = 0x04;		/* two words of one byte */
	put32(s + FAKE_FRE_LEN, 5 + 4);
	self->fake.reg.sframe_size = FAKE_SECTION_SIZE + 1;
	for (reg = 0; reg < 16; reg++) {
		nr = x86_number[reg];
		if (!nr)
			continue;
		/*
		 * Pushed, because most of them belong to the caller: CFA is SP
		 * + 16.
		 */
		p = self->fake.text;
		*p++ = nr < 8 ? 0x40 : 0x41;	/* push reg */
		*p++ = 0x50 + nr % 8;
		*p++ = nr < 8 ? 0x48 : 0x4c;	/* lea 16(%rsp),reg */
		*p++ = 0x8d;
		*p++ = 0x44 | (nr % 8) << 3;
		*p++ = 0x24;
		*p++ = 16;
		memcpy(p, request_code, 7);
		p += 7;
		*p++ = nr < 8 ? 0x40 : 0x41;	/* pop reg */
		*p++ = 0x58 + nr % 8;
		*p++ = RET;
		s[FAKE_ROW_WORD] = reg << 3 | 1;
		s[FAKE_ROW_WORD + 1] = 0;
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		ASSERT_FAKE_STACK();
		ASSERT_LE(3, self->stack.head.nr_frames)
		{
			TH_LOG("register %u", reg);
		}
		EXPECT_TRUE(inside(self->stack.head.ips[1], call_request_code,
				   128));
		ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	}
}

/* CFA = *(SP + 8), which assemblers cannot express. */
TEST_F(fake, cfa_on_stack)
{
	unsigned char *s = self->fake.section;

	/* lea 8(%rsp),%r10; sub $24,%rsp; mov %r10,8(%rsp); ...; add $24,%rsp */
	PUT_CODE(&self->fake, 0, 0x4c, 0x8d, 0x54, 0x24, 0x08,
		 0x48, 0x83, 0xec, 0x18, 0x4c, 0x89, 0x54, 0x24, 0x08,
		 MOV_16_EAX, SYSCALL, 0x48, 0x83, 0xc4, 0x18, RET);
	s[FAKE_INFO2] = 1;
	s[FAKE_ROW_INFO] = 0x04;
	s[FAKE_ROW_WORD] = 7 << 3 | 3;
	s[FAKE_ROW_WORD + 1] = 8;
	put32(s + FAKE_FRE_LEN, 5 + 4);
	self->fake.reg.sframe_size = FAKE_SECTION_SIZE + 1;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_FAKE_STACK();
	ASSERT_LE(3, self->stack.head.nr_frames);
	EXPECT_TRUE(inside(self->stack.head.ips[1], call_request_code, 128));
}

/*
 * A register that does not exist: the rule cannot be followed, but that is no
 * corruption.
 */
TEST_F(fake, unknown_register)
{
	unsigned char *s = self->fake.section;

	put_request_code(&self->fake);
	s[FAKE_INFO2] = 1;
	s[FAKE_ROW_INFO] = 0x04;
	s[FAKE_ROW_WORD] = 17 << 3 | 1;
	put32(s + FAKE_FRE_LEN, 5 + 4);
	self->fake.reg.sframe_size = FAKE_SECTION_SIZE + 1;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_STOPS(NO_REGISTER);
	/* The instruction pointer cannot be a base. */
	s[FAKE_ROW_WORD] = 16 << 3 | 1;
	EXPECT_STOPS(NO_REGISTER);
}

TEST_F(fake, row_at_the_functions_end)
{
	unsigned char *s = self->fake.section;

	put_request_code(&self->fake);
	s[FAKE_ATTR] = 2;
	memcpy(s + FAKE_ROW, "\x00\x03\x08\x40\x03\x10", 6);
	put32(s + FAKE_FRE_LEN, 5 + 6);
	self->fake.reg.sframe_size = FAKE_SECTION_SIZE + 3;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_FAKE_STACK();
	EXPECT_LE(3, self->stack.head.nr_frames);
}

TEST_F(fake, no_progress)
{
	put_request_code(&self->fake);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->fake.section[FAKE_ROW_WORD] = -8;
	EXPECT_STOPS(NO_PROGRESS);
	self->fake.section[FAKE_ROW_WORD] = 9;	/* misaligned */
	ASSERT_EQ(0, register_anew(self->fd, &self->fake));
	EXPECT_STOPS(NO_PROGRESS);
	self->fake.section[FAKE_ROW_WORD] = 12;
	ASSERT_EQ(0, register_anew(self->fd, &self->fake));
	EXPECT_STOPS(NO_PROGRESS);
}

TEST_F(fake, stack_unreadable)
{
	/* CFA = FP + 16 with rbp = 0x7fffffff8000, above the stack. */
	PUT_CODE(&self->fake, 0, 0x55, 0xbd, 0xff, 0xff, 0xff, 0xff,
		 0x48, 0xc1, 0xe5, 0x0f, /* shl $15,%rbp */
		 MOV_16_EAX, SYSCALL, 0x5d, RET);
	self->fake.section[FAKE_ROW_INFO] = 0x02;	/* FP */
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_STOPS(STACK_UNREADABLE);
}

TEST_F(fake, bad_return_address)
{
	/* The return address on the stack is a kernel address. */
	PUT_CODE(&self->fake, 0, 0x68, 0x00, 0x00, 0x00, 0x81,
		 MOV_16_EAX, SYSCALL, 0x59, RET);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_STOPS(BAD_ADDRESS);
}

TEST_F(fake, zero_return_address)
{
	PUT_CODE(&self->fake, 0, 0x6a, 0x00, MOV_16_EAX, SYSCALL, 0x59, RET);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_STOPS(COMPLETE);
}

/* push %rbp; mov %rsp,%rbp; request; pop %rbp; ret: code with a frame pointer. */
static void put_fp_code(struct fake *fake)
{
	PUT_CODE(fake, 0, 0x55, 0x48, 0x89, 0xe5, MOV_16_EAX, SYSCALL, 0x5d,
		 RET);
}

TEST_F(fake, no_fallback)
{
	put_fp_code(&self->fake);
	EXPECT_STOPS(NO_RULE);
}

/* By frame pointer where there is no section, by rules again after that. */
TEST_F(fake, fallback)
{
	put_fp_code(&self->fake);
	self->req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	ASSERT_FAKE_STACK();
	ASSERT_LE(4, self->stack.head.nr_frames);
	EXPECT_EQ((uintptr_t)self->fake.text + 11, self->stack.head.ips[0]);
	EXPECT_TRUE(inside(self->stack.head.ips[1], call_request_code, 128));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_FP, how(&self->stack, 1));
	/* Valid rules, but applied to a guessed frame. */
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME | SFRAME_UNWIND_FRAME_UNSURE,
		  how(&self->stack, 2));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME | SFRAME_UNWIND_FRAME_UNSURE,
		  how(&self->stack, 3));
}

/*
 * Successive registrations for the same code, some of which are walked through,
 * with more and more others in between: whatever the owner numbers, no cached
 * rule of one is used for another.
 */
TEST_F(fake, rule_of_each_registration)
{
	int i, at, between;

	put_request_code(&self->fake);
	memcpy(self->fake.text + 32, request_code, sizeof(request_code));
	for (i = 0; i < 200; i++) {
		self->fake.section[FAKE_ROW_WORD] = i % 2 ? 8 : 16;
		for (between = 0; between <= i; between++)
			ASSERT_EQ(0, register_anew(self->fd, &self->fake));
		/*
		 * When the first address is looked up, the old rule of the
		 * second one is still cached.
		 */
		for (at = 0; at <= 32; at += 32) {
			ASSERT_EQ(0, call_request_code(self->fake.text + at,
						       self->fd, &self->req));
			ASSERT_STACK(self->fd, &self->stack);
			ASSERT_EQ(i % 2, self->stack.head.nr_frames > 1 &&
				  inside(self->stack.head.ips[1],
					 call_request_code, 128))
			{
				TH_LOG("registration %d, code %d", i, at);
			}
		}
	}
}

/* The fallback is used only without a rule, never instead of one. */
TEST_F(fake, fallback_not_needed)
{
	put_request_code(&self->fake);
	self->req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_FAKE_STACK();
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how(&self->stack, 1));
	/* If a rule fails, the fallback is not used. */
	self->fake.section[FAKE_ROW_WORD] = 9;
	ASSERT_EQ(0, register_anew(self->fd, &self->fake));
	EXPECT_STOPS(NO_PROGRESS);
}

TEST_F(fake, fallback_leads_nowhere)
{
	self->req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	/* rbp in turn: 0, below the stack pointer, misaligned, unmapped. */
	PUT_CODE(&self->fake, 0, 0x55, 0x31, 0xed, MOV_16_EAX, SYSCALL, 0x5d,
		 RET);
	EXPECT_STOPS(NO_RULE);
	PUT_CODE(&self->fake, 0, 0x55, 0x48, 0x8d, 0x6c, 0x24, 0x80,
		 MOV_16_EAX, SYSCALL, 0x5d, RET);
	EXPECT_STOPS(NO_RULE);
	PUT_CODE(&self->fake, 0, 0x55, 0x48, 0x8d, 0x6c, 0x24, 0x01,
		 MOV_16_EAX, SYSCALL, 0x5d, RET);
	EXPECT_STOPS(NO_RULE);
	PUT_CODE(&self->fake, 0, 0x55, 0x48, 0xc7, 0xc5, 0xf8, 0xff, 0xff,
		 0xff, MOV_16_EAX, SYSCALL, 0x5d, RET);
	EXPECT_STOPS(NO_RULE);
}

TEST_HARNESS_MAIN
