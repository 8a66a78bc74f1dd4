// SPDX-License-Identifier: GPL-2.0
/*
 * Registrations added and removed in all orders, in processes that share
 * earlier registrations: LIST must agree with a plain array.
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "common.h"

#define NR	3000U

/* Distance between the sections' bytes. */
#define STEP	64U

FIXTURE(order)
{
	int fd;
	unsigned char *text;	/* one byte for each registration */
	unsigned char *bytes;	/* one section for each */
	__u64 id[NR];		/* 0: not registered */
	__u64 random;
};

FIXTURE_SETUP(order)
{
	unsigned int i;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->random = 1;
	memset(self->id, 0, sizeof(self->id));
	self->text = mmap(NULL, NR, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	self->bytes = mmap(NULL, NR * STEP, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->text);
	ASSERT_NE(MAP_FAILED, self->bytes);
	for (i = 0; i < NR; i++)
		write_fake_section(self->bytes + i * STEP, self->text + i);
}

FIXTURE_TEARDOWN(order)
{
	close(self->fd);
}

static unsigned int below(FIXTURE_DATA(order) *self, unsigned int nr)
{
	self->random = self->random * 6364136223846793005ULL + 1;
	return (self->random >> 33) % nr;
}

/* Returns whether the result was the expected one. */
static bool add(FIXTURE_DATA(order) *self, unsigned int i)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = (uintptr_t)self->bytes + i * STEP,
		.sframe_size = FAKE_SECTION_SIZE,
		.text_start = (uintptr_t)self->text + i,
		.text_size = 1,
	};

	if (register_section(self->fd, &reg))
		return self->id[i] && errno == EEXIST;
	if (self->id[i])
		return false;
	self->id[i] = reg.id;
	return true;
}

static bool take_away(FIXTURE_DATA(order) *self, unsigned int i, bool by_id)
{
	struct sframe_unwind_unregister unreg = { .size = sizeof(unreg) };
	const __u64 id = self->id[i];

	if (by_id && !id)
		return true;
	if (by_id)
		unreg.id = id;
	else
		unreg.sframe_start = (uintptr_t)self->bytes + i * STEP;
	self->id[i] = 0;
	if (unregister_section(self->fd, &unreg))
		return !id && errno == ENOENT;
	return id && unreg.removed == 1;
}

/* Add or remove several in a row, upwards or downwards. */
static bool do_run(FIXTURE_DATA(order) *self)
{
	const unsigned int nr = below(self, 200), what = below(self, 4);
	unsigned int i, at = below(self, NR);

	for (i = 0; i < nr; i++) {
		if (!(what & 1 ? add(self, at) : take_away(self, at, i & 1)))
			return false;
		at = (what & 2 ? at + 1 : at + NR - 1) % NR;
	}
	return true;
}

static bool do_some(FIXTURE_DATA(order) *self)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		if (!do_run(self) || !add(self, below(self, NR)) ||
		    !take_away(self, below(self, NR), i & 1))
			return false;
	}
	return true;
}

static bool is_as_told(FIXTURE_DATA(order) *self)
{
	static struct sframe_unwind_section have[NR];
	struct sframe_unwind_list list = {
		.size = sizeof(list),
		.sections = (uintptr_t)have,
		.nr = NR,
		.from = (uintptr_t)self->text,
	};
	unsigned int i, nr = 0;

	if (ioctl(self->fd, SFRAME_UNWIND_IOC_LIST, &list))
		return false;
	for (i = 0; i < NR; i++) {
		if (!self->id[i])
			continue;
		if (nr == list.nr || have[nr].id != self->id[i] ||
		    have[nr].text_start != (uintptr_t)self->text + i)
			return false;
		nr++;
	}
	return nr == list.nr || have[nr].text_start >= (uintptr_t)self->text + NR;
}

TEST_F(order, upwards_and_away)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		ASSERT_TRUE(add(self, i));
	ASSERT_TRUE(is_as_told(self));
	/* Remove and add the last one, also when it is alone in its leaf. */
	for (i = NR; i--;) {
		ASSERT_TRUE(take_away(self, i, i & 1));
		ASSERT_TRUE(add(self, i));
		ASSERT_TRUE(take_away(self, i, true));
	}
	ASSERT_TRUE(is_as_told(self));
}

TEST_F(order, all_orders)
{
	unsigned int i;

	for (i = 0; i < 30; i++) {
		ASSERT_TRUE(do_some(self));
		ASSERT_TRUE(is_as_told(self));
	}
}

/* Parent and child start from what they share, and change the last ones first. */
TEST_F(order, processes)
{
	unsigned int round, i;
	int status;
	pid_t pid;

	for (i = 0; i < NR - 100; i++)
		ASSERT_TRUE(add(self, i));
	for (round = 0; round < 12; round++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			self->random += 2;
		for (i = NR - 100 + round; i < NR; i++)
			ASSERT_TRUE(add(self, i));
		ASSERT_TRUE(do_some(self));
		ASSERT_TRUE(is_as_told(self));
		if (!pid)
			_exit(0);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_TRUE(is_as_told(self));
	}
}

TEST_HARNESS_MAIN
