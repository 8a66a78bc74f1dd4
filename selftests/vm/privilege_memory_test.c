// SPDX-License-Identifier: GPL-2.0
/*
 * Information that is never disclosed, whatever the request: kernel memory, and
 * bytes that were not written.
 */
#include <signal.h>
#include <ucontext.h>

#include "attach_fixture.h"
#include "process.h"

/*
 * Kernel memory
 */

static __u64 not_ours[12] = {
	0x00007ffffffff000,		/* the first behind user space */
	0x00007fffffffeff0,		/* its last page, which is never mapped */
	0x0000800000000000,		/* no address at all */
	0x00ffffffffffff00,
	0x8000000000000000,
	0xffff888000000000,		/* direct map, unless it is randomized */
	0xffffffff81000000,		/* the kernel's text, unless it is randomized */
	0xffffffffff600000,		/* vsyscall page */
	0xfffffffffffffff0,
};

#define NR_FIXED	9	/* addresses that exist for every user */

static unsigned int nr_not_ours = NR_FIXED;

/* Offset of the saved IP in a signal frame, from the restorer's stack pointer. */
#define SIGNAL_IP	(40 + 16 * 8)

/*
 * A word that exists in kernel memory, and that a walk able to read it would
 * take for an address of user code: its clock, a small number. Only root can
 * find its address; done once for all tests, because it takes a second.
 */
static __attribute__((constructor)) void find_kernel_word(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long word = 0;
	char line[512];

	while (file && !word && fgets(line, sizeof(line), file)) {
		if (strstr(line, " jiffies\n"))
			word = strtoull(line, NULL, 16);
	}
	if (file)
		fclose(file);
	if (!word)
		return;
	not_ours[nr_not_ours++] = word;
	not_ours[nr_not_ours++] = word - 8;	/* read as RA above a frame pointer */
	not_ours[nr_not_ours++] = word - SIGNAL_IP;
}

#define ASSERT_KERNEL_WORD()						\
	do {								\
		if (!geteuid())						\
			ASSERT_LT(NR_FIXED, nr_not_ours);		\
	} while (0)

/* Only the first @nr frames may be reported, whatever is on the stack. */
#define EXPECT_NOTHING_READ(fd, nr)					\
	do {								\
		static struct stack stack_;				\
		ASSERT_KERNEL_WORD();					\
		ASSERT_STACK(fd, &stack_);				\
		EXPECT_EQ(nr, stack_.head.nr_frames);			\
		for (__u32 i_ = 0; i_ < stack_.head.nr_frames; i_++)	\
			EXPECT_EQ(0, stack_.head.ips[i_] >> 47);	\
	} while (0)

typedef long (*code_with_value_t)(long fd, long cmd, void *arg, __u64 value);

/*
 * Calls request_code at +32 with the value as frame pointer. By the first of
 * two rows, that is the base of its caller's frame.
 */
static void put_code_with_value(struct fake *fake)
{
	static const unsigned char code[] = {
		0x55,				/* push %rbp */
		0x48, 0x89, 0xcd,		/* mov %rcx,%rbp */
		0xe8, 0x17, 0x00, 0x00, 0x00,	/* call +32 */
		0x5d, 0xc3,			/* pop %rbp; ret */
	};
	unsigned char *s = fake->section;

	memcpy(fake->text, code, sizeof(code));
	memcpy(fake->text + 32, request_code, sizeof(request_code));
	s[FAKE_ATTR] = 2;
	put32(s + FAKE_FRE_LEN, 5 + 2 * 3);
	s[FAKE_ROW_INFO] = 0x02;		/* FP */
	s[FAKE_ROW_WORD] = 16;
	memcpy(s + FAKE_ROW + 3, "\x20\x03\x08", 3);	/* at +32: SP + 8 */
	fake->reg.sframe_size = FAKE_SECTION_SIZE + 3;
}

/* A kernel address as frame pointer, by rule and by cached rule. */
TEST_F(attach, kernel_memory_by_rule)
{
	struct sframe_unwind_request req = request_self();
	code_with_value_t code;
	struct fake fake;
	unsigned int i;

	ASSERT_TRUE(make_fake(&fake));
	put_code_with_value(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	code = (code_with_value_t)(uintptr_t)fake.text;
	for (i = 0; i < 3 * nr_not_ours; i++) {
		ASSERT_EQ(0, code(self->fd, SFRAME_UNWIND_IOC_REQUEST, &req,
				  not_ours[i % nr_not_ours]));
		EXPECT_NOTHING_READ(self->fd, 2);
	}
}

/*
 * A kernel address without a section, by the fallback. It sees that request_code returns
 * next, and finds its caller on the stack; only for that it uses the frame pointer.
 */
TEST_F(attach, kernel_memory_by_fallback)
{
	struct sframe_unwind_request req = request_self();
	code_with_value_t code;
	struct fake fake;
	unsigned int i;

	req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	ASSERT_TRUE(make_fake(&fake));
	put_code_with_value(&fake);
	code = (code_with_value_t)(uintptr_t)fake.text;
	for (i = 0; i < nr_not_ours; i++) {
		ASSERT_EQ(0, code(self->fd, SFRAME_UNWIND_IOC_REQUEST, &req,
				  not_ours[i]));
		EXPECT_NOTHING_READ(self->fd, 2);
	}
}

typedef long (*code_with_frame_t)(long fd, long cmd, void *arg, __u64 value,
				  const void *ret);

/*
 * Requests its stack with @ret on top of it, and the value as frame pointer. By
 * its row it returns to @ret with the value as stack pointer.
 */
static void put_code_with_frame(struct fake *fake)
{
	static const unsigned char code[] = {
		0x55,				/* push %rbp */
		0x48, 0x89, 0xcd,		/* mov %rcx,%rbp */
		0x41, 0x50,			/* push %r8 */
		0xb8, 0x10, 0x00, 0x00, 0x00,	/* mov $__NR_ioctl,%eax */
		0x0f, 0x05,			/* syscall */
		0x41, 0x58,			/* pop %r8 */
		0x5d, 0xc3,			/* pop %rbp; ret */
	};
	unsigned char *s = fake->section;

	memcpy(fake->text, code, sizeof(code));
	s[FAKE_INFO2] = 1;			/* flexible: */
	put32(s + FAKE_FRE_LEN, 5 + 2 + 4);
	s[FAKE_ROW_INFO] = 4 << 1;
	/* CFA = FP + 0, RA at SP + 0 */
	memcpy(s + FAKE_ROW_WORD, "\x31\x00\x3b\x00", 4);
	fake->reg.sframe_size = FAKE_SECTION_SIZE + 3;
}

/* A signal frame that is claimed to be in kernel memory. */
TEST_F(attach, kernel_memory_as_signal_frame)
{
	static const unsigned char restorer[] = {
		0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00,	/* mov $15,%rax */
		0x0f, 0x05,					/* syscall */
	};
	struct sframe_unwind_request req = request_self();
	code_with_frame_t code;
	unsigned char *ret;
	struct fake fake;
	unsigned int i;

	ASSERT_TRUE(make_fake(&fake));
	put_code_with_frame(&fake);
	ret = fake.text + 2 * FAKE_SIZE;
	memcpy(ret, restorer, sizeof(restorer));
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	code = (code_with_frame_t)(uintptr_t)fake.text;
	for (i = 0; i < 2 * nr_not_ours; i++) {
		ASSERT_EQ(0, code(self->fd, SFRAME_UNWIND_IOC_REQUEST, &req,
				  not_ours[i % nr_not_ours], ret));
		EXPECT_NOTHING_READ(self->fd, 2);
	}
}

static struct {
	int fd, reg;
	__u64 value;
	long result;
} forged;

/* Request a stack with a forged register in the interrupted frame. */
static void forge(int number, siginfo_t *info, void *context)
{
	greg_t *reg = &((ucontext_t *)context)->uc_mcontext.gregs[forged.reg];
	struct sframe_unwind_request req = request_self();
	const greg_t was = *reg;

	(void)number;
	(void)info;
	*reg = forged.value;
	forged.result = request(forged.fd, &req);
	*reg = was;
}

static __attribute__((noinline)) void be_interrupted(void)
{
	asm volatile("int3");
}

/* A signal frame whose registers are kernel addresses. */
TEST_F(attach, kernel_memory_by_signal_frame)
{
	const struct sigaction action = {
		.sa_sigaction = forge,
		.sa_flags = SA_SIGINFO,
	};
	static struct stack stack;
	unsigned int i;
	__u32 frames;

	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_EQ(0, sigaction(SIGTRAP, &action, NULL));
	forged.fd = self->fd;
	forged.reg = REG_CR2;	/* has no effect on the walk */
	be_interrupted();
	ASSERT_EQ(0, forged.result);
	ASSERT_STACK(self->fd, &stack);
	for (frames = 0; how(&stack, frames) != SFRAME_UNWIND_FRAME_SIGNAL;)
		ASSERT_GT(stack.head.nr_frames, ++frames);
	/*
	 * The interrupted function's caller is not reported, or not even the
	 * function.
	 */
	ASSERT_LT(frames + 1, stack.head.nr_frames);
	for (i = 0; i < 2 * nr_not_ours; i++) {
		forged.value = not_ours[i % nr_not_ours];
		forged.reg = REG_RSP;
		be_interrupted();
		EXPECT_NOTHING_READ(self->fd, frames + 1);
		forged.reg = REG_RIP;
		be_interrupted();
		EXPECT_NOTHING_READ(self->fd, frames);
	}
}

/* A data address, as the last frame or with others behind it. */
TEST_F(attach, data_by_signal_frame)
{
	const struct sigaction action = {
		.sa_sigaction = forge,
		.sa_flags = SA_SIGINFO,
	};
	static struct stack stack;
	static char data[64];
	__u32 i;

	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_EQ(0, sigaction(SIGTRAP, &action, NULL));
	forged.fd = self->fd;
	forged.reg = REG_RIP;
	forged.value = (uintptr_t)data;
	be_interrupted();
	ASSERT_EQ(0, forged.result);
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_BAD_ADDRESS, stack.head.stop);
	EXPECT_LE(2, stack.head.nr_frames);
	for (i = 0; i < stack.head.nr_frames; i++) {
		EXPECT_NE(SFRAME_UNWIND_FRAME_SIGNAL, how(&stack, i));
		EXPECT_NE(forged.value, stack.head.ips[i]);
	}
}

/* Arguments that point to kernel memory. */
TEST_F(attach, kernel_memory_by_pointer)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_list list = { .size = sizeof(list), .nr = 1 };
	struct sframe_unwind_batch batch = { .size = sizeof(batch), .nr = 1 };
	struct sframe_unwind_list_attached attached;
	unsigned int i;

	ASSERT_KERNEL_WORD();
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	req.max_depth = ~0U;
	req.message_size = 100;
	for (i = 0; i < nr_not_ours; i++) {
		const uintptr_t address = not_ours[i];

		EXPECT_EQ(-1, request(self->fd, (void *)address));
		EXPECT_EQ(EFAULT, errno);
		req.message = address;
		EXPECT_EQ(-1, request(self->fd, &req));
		EXPECT_EQ(EINVAL, errno);
		list.sections = address;
		EXPECT_EQ(-1, ioctl(self->fd, SFRAME_UNWIND_IOC_LIST, &list));
		EXPECT_EQ(EFAULT, errno);
		batch.entries = address;
		batch.nr = 1;
		EXPECT_EQ(-1, ioctl(self->fd, SFRAME_UNWIND_IOC_REGISTER_BATCH,
				    &batch));
		EXPECT_EQ(EFAULT, errno);
		EXPECT_EQ(-1, list_attached(self->fd, 0, (void *)address, 1,
					    &attached));
		EXPECT_EQ(EFAULT, errno);
		EXPECT_EQ(0, try_request(self->fd, 0));
		EXPECT_EQ(-1, read(self->fd, (void *)address, 1 << 16));
		EXPECT_EQ(EFAULT, errno);
	}
}

/*
 * Stale bytes
 */

static bool is_zero(const void *bytes, size_t size)
{
	const char *byte = bytes;

	while (size && !*byte++)
		size--;
	return !size;
}

/* Each byte of a record has been written, including the ends of strings. */
TEST_F(attach, no_stale_bytes)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entry;
	struct sframe_unwind_section section;
	struct sframe_unwind_removed removed;
	struct stack stack;
	struct fake fake;
	size_t length;

	memset(&entry, 0xa5, sizeof(entry));
	self->arg.build_id_size = ELF_ID_SIZE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, list_attached(self->fd, 0, &entry, 1, &list));
	EXPECT_EQ(0, entry.reserved);
	EXPECT_EQ(0, list.reserved);
	EXPECT_TRUE(is_zero(entry.build_id + ELF_ID_SIZE,
			    sizeof(entry.build_id) - ELF_ID_SIZE));

	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	section = section_of(self->fd, fake.text);
	EXPECT_EQ(0, section.reserved);

	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	fake.section[FAKE_INFO] = 0x40;
	ASSERT_EQ(0, call_request_code(fake.text, self->fd, &req));
	memset(&removed, 0xa5, sizeof(removed));
	ASSERT_EQ(sizeof(removed), read(self->fd, &removed, sizeof(removed)));
	EXPECT_EQ(SFRAME_UNWIND_RECORD_REMOVED, removed.record.type);
	EXPECT_EQ(0, removed.record.reserved);
	EXPECT_EQ(0, removed.reserved);
	length = strnlen(removed.defect, sizeof(removed.defect));
	EXPECT_TRUE(is_zero(removed.defect + length,
			    sizeof(removed.defect) - length));
	EXPECT_TRUE(is_zero(removed.name, sizeof(removed.name)));
	ASSERT_STACK(self->fd, &stack);
}

/* No bytes of earlier stacks appear where a record wraps around the ring's end. */
TEST_F(attach, no_stale_bytes_around_the_ring)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };
	struct sframe_unwind_request req = request_self();
	struct stack stack;
	size_t got = 0;

	ASSERT_EQ(0, query(self->fd, &q));
	ASSERT_EQ(0, register_own(self->fd));
	while (got < 8 * q.ring_size) {
		req.max_depth = req.max_depth % 5 + 1;
		ASSERT_EQ(0, request(self->fd, &req));
		ASSERT_STACK(self->fd, &stack);
		got += stack.head.record.size;
	}
}

TEST_HARNESS_MAIN
