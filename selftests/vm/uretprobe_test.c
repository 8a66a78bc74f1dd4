// SPDX-License-Identifier: GPL-2.0
/* Stacks through functions whose return addresses were replaced by uretprobes. */
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "common.h"

#define PMU	"/sys/bus/event_source/devices/uprobe/"

/* Calls of each function; the innermost one requests the stack. */
#define DEPTH	5

FIXTURE(uretprobe)
{
	int fd;
	int probe[2];
	struct stack plain;
	struct stack stack;
};

static __attribute__((noinline)) long even(int fd, int depth);

static __attribute__((noinline)) long odd(int fd, int depth)
{
	long ret = even(fd, depth - 1);

	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

static __attribute__((noinline)) long even(int fd, int depth)
{
	struct sframe_unwind_request req = request_self();
	long ret;

	if (depth <= 0)
		ret = request(fd, &req);
	else
		ret = odd(fd, depth - 1);
	asm volatile("" ::: "memory");
	return ret;
}

/* Find the file offset of an address of this program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *data)
{
	__u64 *address = data;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		const __u64 start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_LOAD &&
		    *address - start < phdr->p_filesz) {
			*address = phdr->p_offset + (*address - start);
			return 1;
		}
	}
	return -1;
}

/* Attach a uretprobe to @function. Returns -1 if that is not possible. */
static int probe_return(long (*function)(int fd, int depth))
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	FILE *type = fopen(PMU "type", "re");
	FILE *format = fopen(PMU "format/retprobe", "re");
	__u64 offset = (uintptr_t)function;
	unsigned int bit;
	int ret = -1;

	if (type && format && fscanf(type, "%u", &attr.type) == 1 &&
	    fscanf(format, "config:%u", &bit) == 1 &&
	    dl_iterate_phdr(find_offset, &offset) == 1) {
		attr.config = 1ULL << bit;
		attr.uprobe_path = (uintptr_t)"/proc/self/exe";
		attr.probe_offset = offset;
		ret = syscall(SYS_perf_event_open, &attr, getpid(), -1, -1,
			      PERF_FLAG_FD_CLOEXEC);
	}
	if (type)
		fclose(type);
	if (format)
		fclose(format);
	return ret;
}

FIXTURE_SETUP(uretprobe)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	self->probe[0] = -1;
	self->probe[1] = -1;
}

FIXTURE_TEARDOWN(uretprobe)
{
	close(self->probe[0]);
	close(self->probe[1]);
	close(self->fd);
}

/*
 * Take the stack of alternating calls of even() and odd(). Always called from
 * the same place.
 */
static __attribute__((noinline)) const char *take(int fd, struct stack *stack)
{
	long ret = even(fd, 2 * DEPTH);

	asm volatile("" ::: "memory");
	return ret ? "request" : read_stack(fd, stack);
}

#define ASSERT_SAME(self)						\
	do {								\
		const struct sframe_unwind_stack *a_ = &(self)->plain.head; \
		const struct sframe_unwind_stack *b_ = &(self)->stack.head; \
		ASSERT_EQ(a_->nr_frames, b_->nr_frames);		\
		EXPECT_EQ(a_->stop, b_->stop);				\
		EXPECT_EQ(0, memcmp(a_->ips, b_->ips,			\
				    a_->nr_frames * 9));		\
	} while (0)

/* Some calls probed, and all; by sections, and by cached rules. */
TEST_F(uretprobe, nested)
{
	unsigned int i, round;

	for (i = 0; i <= 2; i++) {
		if (i)
			self->probe[i - 1] = probe_return(i == 1 ? odd : even);
		if (i && self->probe[i - 1] < 0)
			SKIP(return, "needs root, and uprobes by perf");
		for (round = 0; round < 3; round++) {
			struct stack *stack = i ? &self->stack : &self->plain;

			ASSERT_EQ(0, register_own(self->fd) &&
				     errno != EEXIST);
			ASSERT_EQ(NULL, take(self->fd, stack));
			if (i)
				ASSERT_SAME(self);
		}
	}
	EXPECT_LT(2 * DEPTH + 2, self->plain.head.nr_frames);
}

TEST_HARNESS_MAIN
