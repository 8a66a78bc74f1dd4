// SPDX-License-Identifier: GPL-2.0
/* Many registrations, added by one ioctl in any order, and removed again. */
#include <stdlib.h>
#include <sys/wait.h>

#include "common.h"

#define NR	20000U

FIXTURE(batch)
{
	int fd;
	struct fake fake;
	unsigned char *text;	/* NR bytes, one for each registration */
	struct sframe_unwind_batch_entry *entries;
	struct sframe_unwind_batch batch;
};

/* A permutation of 0 to @nr - 1: the number at @i. */
static unsigned int shuffled(unsigned int i, unsigned int nr)
{
	/* A prime that divides no @nr used here. */
	return (__u64)i * 7919 % nr;
}

FIXTURE_SETUP(batch)
{
	unsigned int i;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_fake(&self->fake));
	self->text = mmap(NULL, NR, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->text);
	self->entries = calloc(NR, sizeof(*self->entries));
	ASSERT_NE(NULL, self->entries);
	for (i = 0; i < NR; i++) {
		self->entries[i] = (struct sframe_unwind_batch_entry) {
			.sframe_start = self->fake.reg.sframe_start,
			.sframe_size = self->fake.reg.sframe_size,
			.text_start = (uintptr_t)self->text + shuffled(i, NR),
			.text_size = 1,
			.error = 0xa5,
			.removed = 0xa5,
		};
	}
	self->batch = (struct sframe_unwind_batch) {
		.size = sizeof(self->batch),
		.entries = (uintptr_t)self->entries,
		.nr = NR,
	};
}

FIXTURE_TEARDOWN(batch)
{
	free(self->entries);
	close(self->fd);
}

static int register_batch(int fd, struct sframe_unwind_batch *batch)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_REGISTER_BATCH, batch);
}

static int unregister_batch(int fd, struct sframe_unwind_batch *batch)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_UNREGISTER_BATCH, batch);
}

/*
 * Check that exactly the registrations in @is_there are listed, in ascending
 * order. Returns their number, or -1.
 */
static int count_listed(int fd, const unsigned char *text, const bool *is_there)
{
	static struct sframe_unwind_section sections[NR];
	struct sframe_unwind_list list = {
		.size = sizeof(list),
		.sections = (uintptr_t)sections,
		.nr = NR,
	};
	unsigned int i, at = 0;

	if (ioctl(fd, SFRAME_UNWIND_IOC_LIST, &list))
		return -1;
	for (i = 0; i < NR; i++) {
		if (!is_there[i])
			continue;
		if (at >= list.nr ||
		    sections[at].text_start != (uintptr_t)text + i)
			return -1;
		at++;
	}
	return at == list.nr ? (int)at : -1;
}

TEST_F(batch, each_entry_on_its_own)
{
	self->batch.nr = 20;
	self->entries[3].sframe_start = 0;
	self->entries[5].text_start = self->entries[4].text_start;
	self->entries[7].text_size = 0;
	self->fake.section[PAGE / 2] = 0;
	self->entries[9].sframe_start += PAGE / 2;
	ASSERT_EQ(0, register_batch(self->fd, &self->batch));
	EXPECT_EQ(20, self->batch.nr);
	EXPECT_EQ(4, self->batch.nr_failed);
	EXPECT_EQ(EFAULT, self->entries[3].error);
	EXPECT_EQ(0, self->entries[4].error);
	EXPECT_NE(0, self->entries[4].id);
	EXPECT_EQ(EEXIST, self->entries[5].error);
	EXPECT_EQ(0, self->entries[5].id);
	EXPECT_EQ(EINVAL, self->entries[7].error);
	EXPECT_EQ(EINVAL, self->entries[9].error);
	EXPECT_EQ(0, self->entries[9].removed);
	EXPECT_EQ(0xa5, self->entries[20].error);

	/* Entries that do not exist or are ambiguous cannot be removed. */
	self->entries[0].sframe_start = 0;
	self->entries[1].sframe_start = 8;
	self->entries[1].id = 0;
	self->entries[2].sframe_start = 0;
	self->batch.nr = 3;
	ASSERT_EQ(0, unregister_batch(self->fd, &self->batch));
	EXPECT_EQ(3, self->batch.nr);
	EXPECT_EQ(1, self->batch.nr_failed);
	EXPECT_EQ(0, self->entries[0].error);
	EXPECT_EQ(1, self->entries[0].removed);
	EXPECT_EQ(ENOENT, self->entries[1].error);
	EXPECT_EQ(1, self->entries[2].removed);

	/* Remove all others by the section's address. */
	self->entries[0].id = 0;
	self->entries[0].sframe_start = self->fake.reg.sframe_start;
	self->batch.nr = 1;
	ASSERT_EQ(0, unregister_batch(self->fd, &self->batch));
	EXPECT_EQ(0, self->entries[0].error);
	EXPECT_EQ(14, self->entries[0].removed);
}

TEST_F(batch, none)
{
	self->batch.nr = 0;
	EXPECT_EQ(0, register_batch(self->fd, &self->batch));
	EXPECT_EQ(0, unregister_batch(self->fd, &self->batch));
}

/* The accessible part of the array is processed and counted. */
TEST_F(batch, array_that_ends)
{
	struct sframe_unwind_batch_entry *end;
	unsigned char *p;

	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, munmap(p + PAGE, PAGE));
	end = (void *)(p + PAGE);
	memcpy(end - 16, self->entries, 16 * sizeof(*end));
	self->batch.entries = (uintptr_t)(end - 16);
	self->batch.nr = 100;
	EXPECT_EQ(-1, register_batch(self->fd, &self->batch));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(16, self->batch.nr);
	EXPECT_EQ(0, self->batch.nr_failed);
	EXPECT_NE(0, end[-1].id);
	self->batch.entries = 8;
	EXPECT_EQ(-1, register_batch(self->fd, &self->batch));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, self->batch.nr);
}

/*
 * Add in one order and remove half by id in another, while a child forked in
 * between keeps its registrations; then add that half again and remove all.
 */
TEST_F(batch, in_any_order)
{
	static bool is_there[NR], was_there[NR];
	struct sframe_unwind_batch_entry *entry;
	int status, go[2];
	unsigned int i;
	pid_t pid;
	char c;

	ASSERT_EQ(0, register_batch(self->fd, &self->batch));
	ASSERT_EQ(NR, self->batch.nr);
	ASSERT_EQ(0, self->batch.nr_failed);
	memset(is_there, 1, sizeof(is_there));
	ASSERT_EQ(NR, count_listed(self->fd, self->text, is_there));
	memcpy(was_there, is_there, sizeof(is_there));
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		bool fine;

		close(go[1]);
		fine = read(go[0], &c, 1) == 0 &&
		       count_listed(self->fd, self->text, was_there) == NR;
		/* Then the child makes changes of its own. */
		for (i = 0; i < NR; i += 3) {
			entry = &self->entries[i];
			fine = fine && !unregister_id(self->fd, entry->id);
			was_there[entry->text_start - (uintptr_t)self->text] =
				false;
		}
		_exit(fine && count_listed(self->fd, self->text,
					   was_there) > 0 ? 0 : 1);
	}

	for (i = 0; i < NR; i++)
		self->entries[i].sframe_start = 0;
	self->batch.nr = NR / 2;
	ASSERT_EQ(0, unregister_batch(self->fd, &self->batch));
	ASSERT_EQ(0, self->batch.nr_failed);
	for (i = 0; i < NR / 2; i++)
		is_there[self->entries[i].text_start -
			 (uintptr_t)self->text] = false;
	EXPECT_EQ(NR / 2, count_listed(self->fd, self->text, is_there));
	close(go[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(NR / 2, count_listed(self->fd, self->text, is_there));

	for (i = 0; i < NR / 2; i++)
		self->entries[i].sframe_start = self->fake.reg.sframe_start;
	ASSERT_EQ(0, register_batch(self->fd, &self->batch));
	ASSERT_EQ(0, self->batch.nr_failed);
	EXPECT_EQ(NR, count_listed(self->fd, self->text, was_there));
	for (i = 0; i < NR; i++)
		self->entries[i].sframe_start = 0;
	self->batch.nr = NR;
	ASSERT_EQ(0, unregister_batch(self->fd, &self->batch));
	EXPECT_EQ(0, self->batch.nr_failed);
	memset(is_there, 0, sizeof(is_there));
	EXPECT_EQ(0, count_listed(self->fd, self->text, is_there));
}

TEST_HARNESS_MAIN
