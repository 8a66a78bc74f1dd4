// SPDX-License-Identifier: GPL-2.0
/*
 * How much memory is kept to compare the code of sections that are attached with UNCHANGED.
 */
#include "attach_noted.h"

/*
 * What is kept takes 8 bytes for each function, and for each piece of a long one, in powers
 * of two and then in pages.
 */
TEST_F(noted, memory)
{
	static const struct {
		unsigned int nr;
		size_t size;
		size_t memory;
	} sizes[] = {
		{ 1, 4, 8 }, { 64, 4, 512 }, { 65, 4, 1024 },
		{ 1024, 4, 8192 }, { 1025, 4, 12288 },
		{ 1, COMPARED, 8 }, { 1, COMPARED + 1, 32 }, { 2, 7 * PAGE, 256 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		__u64 memory;

		ASSERT_TRUE(prepare(self, sizes[i].nr, sizes[i].size,
				    sizes[i].size));
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		memory = self->arg.memory;
		ASSERT_EQ(0, detach(self->fd, self->arg.id));
		self->arg.flags &= ~SFRAME_UNWIND_ATTACH_UNCHANGED;
		self->arg.code = 0;
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		EXPECT_EQ(sizes[i].memory, memory - self->arg.memory);
		ASSERT_EQ(0, detach(self->fd, self->arg.id));
	}
}

/* Memory that a client may use for its own process. */
#define OWN_MEMORY		(64UL << 20)

/* Attach the section to one range after the other, until there is no room. */
static unsigned long fill(int fd, struct sframe_unwind_attach *arg, __u64 *last)
{
	unsigned long nr = 0;

	while (!attach(fd, arg)) {
		*last = arg->id;
		arg->text_start += PAGE;
		nr++;
	}
	return nr;
}

TEST_F_TIMEOUT(noted, memory_limit, 300)
{
	const size_t size = 1UL << 30;
	struct sframe_unwind_list_attached list;
	__u64 large = 0, small = 0;
	unsigned char *all;

	/* The ranges of sections without UNCHANGED. */
	all = mmap(NULL, size, CODE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)all);
	ASSERT_TRUE(prepare(self, 60000, 0, 0));
	self->arg.flags &= ~SFRAME_UNWIND_ATTACH_UNCHANGED;
	self->arg.code = 0;
	self->arg.text_start = (uintptr_t)all;
	self->arg.text_size = PAGE;
	ASSERT_LT(40, fill(self->fd, &self->arg, &large));
	EXPECT_EQ(ENOSPC, errno);
	close(self->arg.sframe_fd);
	self->arg.sframe_fd = make_many(2000, 0, 0, &(size_t){ 0 });
	self->arg.sframe_size = FAKE_FDE + 2000 * 24;
	fill(self->fd, &self->arg, &small);
	EXPECT_EQ(ENOSPC, errno);
	ASSERT_EQ(0, detach(self->fd, large));

	/* There is room for one large one, but not for what is kept of the code. */
	ASSERT_TRUE(prepare(self, 60000, 0, 0));
	self->arg.text_size = PAGE;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOSPC, errno);
	self->arg.flags &= ~SFRAME_UNWIND_ATTACH_UNCHANGED;
	self->arg.code = 0;
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_GE(OWN_MEMORY, list.memory);
}

TEST_HARNESS_MAIN
