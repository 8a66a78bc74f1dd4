// SPDX-License-Identifier: GPL-2.0
/* Common to all ioctls: sizes, flags, reserved members, bad addresses. */
#include "sample_layout.h"
#include "sampled.h"

/* An ioctl's structure, followed by bytes that the kernel does not know. */
union any {
	__u32 size;
	struct sframe_unwind_query query;
	struct sframe_unwind_register reg;
	struct sframe_unwind_unregister unreg;
	struct sframe_unwind_request request;
	struct sframe_unwind_own_stack own_stack;
	struct sframe_unwind_stats stats;
	struct sframe_unwind_list list;
	struct sframe_unwind_events events;
	struct sframe_unwind_list_attached list_attached;
	struct sframe_unwind_sampler sampler;
	struct sframe_unwind_sample_event sample_event;
	struct sframe_unwind_sample_control sample_control;
	struct sframe_unwind_register_table register_table;
	unsigned char bytes[256];
};

FIXTURE(abi)
{
	int fd;
	struct fake fake;
	union any any;
	__u64 ips[4];
	int perf_fd;
};

FIXTURE_VARIANT(abi)
{
	unsigned int cmd;
	unsigned int size;
	unsigned int first;	/* size of the first version, if it has grown */
	unsigned int flags;	/* offset of the flags, or 0 */
	__u32 unknown;		/* lowest unknown flag, if that is above 4 */
	unsigned int reserved;	/* offset of a reserved member, or 0 */
	unsigned int message;	/* offset of the message's address, or 0 */
	unsigned int message_size;
	const char *text;	/* of the message about an unknown flag, if special */
	bool query;		/* has no effect; also for 32-bit callers */
};

FIXTURE_VARIANT_ADD(abi, query) {
	.cmd = SFRAME_UNWIND_IOC_QUERY,
	.size = sizeof(struct sframe_unwind_query),
	.query = true,
};

FIXTURE_VARIANT_ADD(abi, reg) {
	.cmd = SFRAME_UNWIND_IOC_REGISTER,
	.size = sizeof(struct sframe_unwind_register),
	.flags = offsetof(struct sframe_unwind_register, flags),
	.reserved = offsetof(struct sframe_unwind_register, reserved),
	.message = offsetof(struct sframe_unwind_register, message),
	.message_size = offsetof(struct sframe_unwind_register, message_size),
};

FIXTURE_VARIANT_ADD(abi, unreg) {
	.cmd = SFRAME_UNWIND_IOC_UNREGISTER,
	.size = sizeof(struct sframe_unwind_unregister),
	.flags = offsetof(struct sframe_unwind_unregister, flags),
	.message = offsetof(struct sframe_unwind_unregister, message),
	.message_size = offsetof(struct sframe_unwind_unregister, message_size),
};

FIXTURE_VARIANT_ADD(abi, request) {
	.cmd = SFRAME_UNWIND_IOC_REQUEST,
	.size = sizeof(struct sframe_unwind_request),
	.flags = offsetof(struct sframe_unwind_request, flags),
	.reserved = offsetof(struct sframe_unwind_request, reserved),
	.message = offsetof(struct sframe_unwind_request, message),
	.message_size = offsetof(struct sframe_unwind_request, message_size),
};

FIXTURE_VARIANT_ADD(abi, stack) {
	.cmd = SFRAME_UNWIND_IOC_STACK,
	.size = sizeof(struct sframe_unwind_own_stack),
	.flags = offsetof(struct sframe_unwind_own_stack, flags),
	.message = offsetof(struct sframe_unwind_own_stack, message),
	.message_size = offsetof(struct sframe_unwind_own_stack, message_size),
};

FIXTURE_VARIANT_ADD(abi, stats) {
	.cmd = SFRAME_UNWIND_IOC_STATS,
	.size = sizeof(struct sframe_unwind_stats),
	.query = true,
};

FIXTURE_VARIANT_ADD(abi, list) {
	.cmd = SFRAME_UNWIND_IOC_LIST,
	.size = sizeof(struct sframe_unwind_list),
	.flags = offsetof(struct sframe_unwind_list, flags),
	.reserved = offsetof(struct sframe_unwind_list, reserved),
	.first = offsetof(struct sframe_unwind_list, pid),
	.message = offsetof(struct sframe_unwind_list, message),
	.message_size = offsetof(struct sframe_unwind_list, message_size),
};

FIXTURE_VARIANT_ADD(abi, list_attached) {
	.cmd = SFRAME_UNWIND_IOC_LIST_ATTACHED,
	.size = sizeof(struct sframe_unwind_list_attached),
	.flags = offsetof(struct sframe_unwind_list_attached, flags),
	.reserved = offsetof(struct sframe_unwind_list_attached, reserved),
	.message = offsetof(struct sframe_unwind_list_attached, message),
	.message_size = offsetof(struct sframe_unwind_list_attached, message_size),
};

FIXTURE_VARIANT_ADD(abi, events) {
	.cmd = SFRAME_UNWIND_IOC_EVENTS,
	.size = sizeof(struct sframe_unwind_events),
	.flags = offsetof(struct sframe_unwind_events, flags),
	.reserved = offsetof(struct sframe_unwind_events, reserved),
	.message = offsetof(struct sframe_unwind_events, message),
	.message_size = offsetof(struct sframe_unwind_events, message_size),
};

FIXTURE_VARIANT_ADD(abi, sampler) {
	.cmd = SFRAME_UNWIND_IOC_SAMPLER,
	.size = sizeof(struct sframe_unwind_sampler),
	.first = 48,
	.flags = offsetof(struct sframe_unwind_sampler, flags),
	.unknown = 16,
	/* 1 is no number of words. */
	.reserved = offsetof(struct sframe_unwind_sampler, copy_size),
	.message = offsetof(struct sframe_unwind_sampler, message),
	.message_size = offsetof(struct sframe_unwind_sampler, message_size),
};

FIXTURE_VARIANT_ADD(abi, sample) {
	.cmd = SFRAME_UNWIND_IOC_SAMPLE,
	.size = sizeof(struct sframe_unwind_sample_event),
	.flags = offsetof(struct sframe_unwind_sample_event, flags),
	.unknown = 8,
	.message = offsetof(struct sframe_unwind_sample_event, message),
	.message_size = offsetof(struct sframe_unwind_sample_event,
				 message_size),
};

FIXTURE_VARIANT_ADD(abi, sample_control) {
	.cmd = SFRAME_UNWIND_IOC_SAMPLE_CONTROL,
	.size = sizeof(struct sframe_unwind_sample_control),
	.flags = offsetof(struct sframe_unwind_sample_control, flags),
	.unknown = 8,
	.text = "flags 0x80000000 are not one of START, STOP and REMOVE",
	.message = offsetof(struct sframe_unwind_sample_control, message),
	.message_size = offsetof(struct sframe_unwind_sample_control,
				 message_size),
};

FIXTURE_VARIANT_ADD(abi, clear_stack_map) {
	.cmd = SFRAME_UNWIND_IOC_CLEAR_STACK_MAP,
	.size = sizeof(struct sframe_unwind_clear_stack_map),
	.flags = offsetof(struct sframe_unwind_clear_stack_map, flags),
	.reserved = offsetof(struct sframe_unwind_clear_stack_map, reserved),
	.message = offsetof(struct sframe_unwind_clear_stack_map, message),
	.message_size = offsetof(struct sframe_unwind_clear_stack_map,
				 message_size),
};

FIXTURE_VARIANT_ADD(abi, register_table) {
	.cmd = SFRAME_UNWIND_IOC_REGISTER_TABLE,
	.size = sizeof(struct sframe_unwind_register_table),
	.flags = offsetof(struct sframe_unwind_register_table, flags),
	.reserved = offsetof(struct sframe_unwind_register_table, reserved),
	.message = offsetof(struct sframe_unwind_register_table, message),
	.message_size = offsetof(struct sframe_unwind_register_table,
				 message_size),
};

FIXTURE_VARIANT_ADD(abi, sample_stats) {
	.cmd = SFRAME_UNWIND_IOC_SAMPLE_STATS,
	.size = sizeof(struct sframe_unwind_sample_copy_stats),
	.first = 112,
	.query = true,
};

/* Let the client take samples, with a stack map. */
static int start_sampler(int fd)
{
	struct sframe_unwind_sampler sampler = sampler_of_pages(1);

	sampler.flags = SFRAME_UNWIND_SAMPLER_STACK_MAP;
	sampler.map_pages = 1;
	return ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler);
}

/* A call that succeeds; each test changes one thing in it. */
FIXTURE_SETUP(abi)
{
	struct perf_event_attr faults = software(PERF_COUNT_SW_PAGE_FAULTS);

	self->perf_fd = -1;
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_fake(&self->fake));

	memset(&self->any, 0, sizeof(self->any));
	switch (variant->cmd) {
	case SFRAME_UNWIND_IOC_REGISTER:
		self->any.reg = self->fake.reg;
		break;
	case SFRAME_UNWIND_IOC_UNREGISTER:
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		self->any.unreg.id = self->fake.reg.id;
		break;
	case SFRAME_UNWIND_IOC_REGISTER_TABLE:
		/* What the section's page has does not matter. */
		self->any.register_table.table_start = self->fake.reg.sframe_start;
		self->any.register_table.table_size = PAGE;
		self->any.register_table.text_start = self->fake.reg.text_start;
		self->any.register_table.text_size = PAGE;
		self->any.register_table.max_functions = 4;
		self->any.register_table.granule_bits = 6;
		break;
	case SFRAME_UNWIND_IOC_SAMPLE_STATS:
	case SFRAME_UNWIND_IOC_CLEAR_STACK_MAP:
		ASSERT_EQ(0, start_sampler(self->fd));
		break;
	case SFRAME_UNWIND_IOC_SAMPLE:
		ASSERT_EQ(0, start_sampler(self->fd));
		self->perf_fd = perf_open(&faults, 0, -1);
		ASSERT_LE(0, self->perf_fd);
		self->any.sample_event.perf_fd = self->perf_fd;
		break;
	case SFRAME_UNWIND_IOC_SAMPLE_CONTROL:
		ASSERT_EQ(0, start_sampler(self->fd));
		self->any.sample_control.flags = SFRAME_UNWIND_SAMPLE_START;
		break;
	case SFRAME_UNWIND_IOC_SAMPLER:
		self->any.sampler.ring_pages = 1;
		break;
	case SFRAME_UNWIND_IOC_STACK:
		self->any.own_stack.ips = (uintptr_t)self->ips;
		self->any.own_stack.max_depth = ARRAY_SIZE(self->ips);
		break;
	}
	self->any.size = variant->size;
}

FIXTURE_TEARDOWN(abi)
{
	free_fake(&self->fake);
	if (self->perf_fd >= 0)
		close(self->perf_fd);
	close(self->fd);
}

/* A failed call must not have had an effect. */
#define ASSERT_NO_EFFECT()						\
	do {								\
		struct sframe_unwind_sample_stats samples_ = {		\
			.size = sizeof(samples_),			\
		};							\
		struct sframe_unwind_stats stats_;			\
		if (variant->cmd == SFRAME_UNWIND_IOC_SAMPLE)		\
			ASSERT_EQ(0, ioctl(self->fd,			\
					   SFRAME_UNWIND_IOC_SAMPLE_STATS, \
					   &samples_));			\
		EXPECT_EQ(0, samples_.nr_events);			\
		ASSERT_EQ(0, stats(self->fd, &stats_));			\
		EXPECT_EQ(0, stats_.accepted);				\
		EXPECT_EQ(variant->cmd == SFRAME_UNWIND_IOC_UNREGISTER,	\
			  stats_.sections);				\
	} while (0)

TEST_F(abi, valid)
{
	EXPECT_EQ(0, ioctl(self->fd, variant->cmd, &self->any));
}

TEST_F(abi, size_too_small)
{
	self->any.size = (variant->first ?: variant->size) - 1;
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ(EINVAL, errno);
	self->any.size = 0;
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_NO_EFFECT();
}

TEST_F(abi, longer_with_zero_tail)
{
	self->any.size = sizeof(self->any);
	EXPECT_EQ(0, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ(sizeof(self->any), self->any.size);
}

TEST_F(abi, longer_with_unknown_tail)
{
	self->any.size = sizeof(self->any);
	self->any.bytes[variant->size] = 1;
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ(E2BIG, errno);
	self->any.bytes[variant->size] = 0;
	self->any.bytes[sizeof(self->any) - 1] = 1;
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ(E2BIG, errno);
	ASSERT_NO_EFFECT();
}

/*
 * Up to a page is read; longer structures are refused, even if all bytes are
 * zero.
 */
TEST_F(abi, longer_than_a_page)
{
	static const __u32 sizes[] = { PAGE + 1, 2 * PAGE, 1 << 20, -8U };
	union any *long_any = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, long_any);
	*long_any = self->any;
	for (unsigned int i = 0; i < 4; i++) {
		long_any->size = sizes[i];
		EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, long_any));
		EXPECT_EQ(E2BIG, errno);
	}
	ASSERT_NO_EFFECT();
	long_any->size = PAGE;
	EXPECT_EQ(0, ioctl(self->fd, variant->cmd, long_any));
}

TEST_F(abi, unknown_flags)
{
	__u32 bit;

	if (!variant->flags)
		return;
	for (bit = 1U << 31; bit >= (variant->unknown ?: 4); bit >>= 1) {
		*(__u32 *)(self->any.bytes + variant->flags) = bit;
		EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, &self->any));
		EXPECT_EQ(EINVAL, errno);
	}
	ASSERT_NO_EFFECT();
}

TEST_F(abi, reserved)
{
	if (!variant->reserved)
		return;
	*(__u32 *)(self->any.bytes + variant->reserved) = 1;
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_NO_EFFECT();
}

TEST_F(abi, unreadable)
{
	void *hole = mmap(NULL, 2 * PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, hole);
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, NULL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, hole));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, -8UL));
	EXPECT_EQ(EFAULT, errno);

	/*
	 * The size can be read, but the structure extends beyond the end of the
	 * page.
	 */
	ASSERT_EQ(0, mprotect(hole, PAGE, PROT_READ | PROT_WRITE));
	memcpy(hole + PAGE - 16, &self->any, 16);
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, hole + PAGE - 16));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_NO_EFFECT();
}

TEST_F(abi, unwritable)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	memcpy(page, &self->any, sizeof(self->any));
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, page));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_NO_EFFECT();
}

TEST_F(abi, message)
{
	const char *expected = variant->text ?: "unknown flags 0x80000000";
	char text[256];
	__u64 *address = (__u64 *)(self->any.bytes + variant->message);
	__u32 *size = (__u32 *)(self->any.bytes + variant->message_size);
	__u32 *flags = (__u32 *)(self->any.bytes + variant->flags), valid_flags;

	if (!variant->message)
		return;
	valid_flags = *flags;
	*flags = 1U << 31;
	*address = (uintptr_t)text;
	*size = sizeof(text);
	memset(text, 0xa5, sizeof(text));
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_STREQ(expected, text);

	/*
	 * Truncated to the buffer with its NUL, and nothing is written behind
	 * it.
	 */
	memset(text, 0xa5, sizeof(text));
	*size = 8;
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ(0, strncmp(expected, text, 7));
	EXPECT_EQ('\0', text[7]);
	EXPECT_EQ((char)0xa5, text[8]);

	/* A bad buffer does not change the errno. */
	*address = 8;
	EXPECT_EQ(-1, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ(EINVAL, errno);

	/* Success writes no message. */
	memset(text, 0xa5, sizeof(text));
	*flags = valid_flags;
	*address = (uintptr_t)text;
	*size = sizeof(text);
	EXPECT_EQ(0, ioctl(self->fd, variant->cmd, &self->any));
	EXPECT_EQ((char)0xa5, text[0]);
}

/* Call as a 32-bit program would; its pointers have to be below 4 GiB. */
static int ioctl32(int fd, unsigned int cmd, void *arg)
{
	int ret;

	asm volatile("int $0x80"
		     : "=a"(ret)
		     : "a"(54), "b"(fd), "c"(cmd), "d"(arg)
		     : "memory", "r8", "r9", "r10", "r11");
	if (ret < 0) {
		errno = -ret;
		return -1;
	}
	return ret;
}

TEST_F(abi, from_32_bit)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int ret;

	ASSERT_NE(MAP_FAILED, page);
	memcpy(page, &self->any, sizeof(self->any));
	ret = ioctl32(self->fd, variant->cmd, page);
	if (variant->query) {
		EXPECT_EQ(0, ret);
	} else {
		EXPECT_EQ(-1, ret);
		EXPECT_EQ(EOPNOTSUPP, errno);
	}
	ASSERT_NO_EFFECT();
}

FIXTURE(device)
{
	int fd;
};

FIXTURE_SETUP(device)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(device)
{
	close(self->fd);
}

TEST_F(device, unknown_ioctls)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };

	EXPECT_EQ(-1, ioctl(self->fd, _IO(SFRAME_UNWIND_IOC_MAGIC, 0x7f), &query));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, _IO('x', 0), &query));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, _IOR(SFRAME_UNWIND_IOC_MAGIC, 0, int),
			    &query));
	EXPECT_EQ(ENOTTY, errno);
}

TEST_F(device, query)
{
	struct {
		struct sframe_unwind_query query;
		unsigned char poison[8];
	} q;

	memset(&q, 0xa5, sizeof(q));
	q.query.size = sizeof(q.query);
	ASSERT_EQ(0, query(self->fd, &q.query));
	EXPECT_EQ(SFRAME_UNWIND_ABI_VERSION, q.query.abi_version);
	EXPECT_EQ(3, q.query.sframe_version);
	EXPECT_LE(512, q.query.max_depth);
	EXPECT_LE(1024, q.query.max_sections);
	EXPECT_LT(0, q.query.max_pending);
	EXPECT_LE(1 << 20, q.query.max_sframe_size);
	EXPECT_LE(q.query.max_record_size, q.query.ring_size);
	EXPECT_LE(sizeof(struct sframe_unwind_stack) + 9 * q.query.max_depth,
		  q.query.max_record_size);
	/* BPF only if the module has BTF. */
	EXPECT_EQ(access("/sys/kernel/btf/sframe_unwind", F_OK) ? 0x1bfffff : 0x1ffffff,
		  q.query.features);
	EXPECT_LE(1024, q.query.max_attached);
	EXPECT_EQ(0, q.query.reserved);
	EXPECT_LE(1 << 20, q.query.max_attached_memory);
	EXPECT_EQ(0xa5, q.poison[0]);
}

TEST_F(device, opened_by_anybody)
{
	int fd;

	if (!getuid())
		ASSERT_EQ(0, setuid(65534));
	fd = open_client(0);
	EXPECT_LE(0, fd);
	close(fd);
}

TEST_F(device, not_seekable)
{
	char byte;

	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_SET));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, pread(self->fd, &byte, 1, 0));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(-1, write(self->fd, "x", 1));
	EXPECT_EQ(EINVAL, errno);
}

TEST_HARNESS_MAIN
