// SPDX-License-Identifier: GPL-2.0
/*
 * Sections and stacks that another thread changes while walks read them. Each
 * walk ends with a record, and works again once the bytes are restored.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "scene_fixture.h"

struct change {
	pthread_t thread;
	void (*function)(struct change *change);
	unsigned char *bytes;
	const unsigned char *good;	/* original contents */
	unsigned int size;
	unsigned int state;		/* of the random numbers */
	atomic_bool started, stop;
};

static void *run_changes(void *arg)
{
	struct change *change = arg;

	while (!atomic_load(&change->stop)) {
		change->function(change);
		atomic_store(&change->started, true);
	}
	return NULL;
}

static bool start(struct change *change)
{
	if (pthread_create(&change->thread, NULL, run_changes, change))
		return false;
	while (!atomic_load(&change->started))
		sched_yield();
	return true;
}

static void stop(struct change *change)
{
	atomic_store(&change->stop, true);
	pthread_join(change->thread, NULL);
}

/* Alternate the offset in the row between two valid rules. */
static void change_offset(struct change *change)
{
	volatile unsigned char *at = change->bytes;

	*at = *at == 8 ? 16 : 8;
}

#define CHANGED_WALKS	3000

/* Each walk finds one rule or the other, and nothing else. */
TEST_F(scene, two_rules_by_turns)
{
	struct change change = {
		.function = change_offset,
		.bytes = self->fake.section + FAKE_ROW_WORD,
	};
	unsigned int i;

	/* Callers for CFA = rsp + 8, and for rsp + 16. */
	self->words[256] = SCENE_CALLER + 8;
	self->words[257] = SCENE_CALLER + 16;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_TRUE(start(&change));
	for (i = 0; i < CHANGED_WALKS; i++) {
		ASSERT_EQ(0, register_anew(self->fd, &self->fake));
		ASSERT_EQ(0, walk(self));
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_EQ(2, self->stack.head.nr_frames);
		ASSERT_TRUE(self->stack.head.ips[1] == SCENE_CALLER + 8 ||
			    self->stack.head.ips[1] == SCENE_CALLER + 16);
	}
	stop(&change);
}

static unsigned int random_number(struct change *change)
{
	change->state = change->state * 1664525 + 1013904223;
	return change->state >> 8;
}

/* Set one byte after the other to random values, then restore all. */
static void change_anything(struct change *change)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		change->bytes[random_number(change) % change->size] =
			random_number(change);
	memcpy(change->bytes, change->good, change->size);
}

/* Including the header: a registration may be refused, and the section removed. */
TEST_F(scene, section_of_anything)
{
	unsigned char good[FAKE_SECTION_SIZE];
	struct change change = {
		.function = change_anything,
		.bytes = self->fake.section,
		.good = good,
		.size = sizeof(good),
	};
	struct sframe_unwind_stats s;
	unsigned int i, registered = 0;

	memcpy(good, self->fake.section, sizeof(good));
	ASSERT_TRUE(start(&change));
	for (i = 0; i < CHANGED_WALKS; i++) {
		self->fake.reg.flags = i % 4 ? 0 : SFRAME_UNWIND_REGISTER_VALIDATE;
		if (!register_anew(self->fd, &self->fake)) {
			registered++;
		} else {
			ASSERT_TRUE(errno == EINVAL || errno == EOPNOTSUPP);
		}
		ASSERT_EQ(0, walk(self));
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_GE(128, self->stack.head.nr_frames);
	}
	stop(&change);
	/* All bytes are restored. */
	self->fake.reg.flags = SFRAME_UNWIND_REGISTER_VALIDATE;
	ASSERT_EQ(0, register_anew(self->fd, &self->fake));
	ASSERT_EQ(0, walk(self));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(2, self->stack.head.nr_frames);
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(1, s.sections);
	EXPECT_LE(s.corrupt, registered);
	EXPECT_LT(0, registered);
	self->corrupt = s.corrupt;
}

/* Change words of the stack while a walk reads it up to its end. */
TEST_F(scene, stack_of_anything)
{
	static __u64 good[256];
	struct change change = {
		.function = change_anything,
		.bytes = (unsigned char *)&self->words[256],
		.good = (unsigned char *)good,
		.size = sizeof(good),
	};
	unsigned int i;

	self->req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	self->req.max_depth = MAX_FRAMES;
	for (i = 0; i < 256; i++)
		good[i] = (uintptr_t)self->fake.text + SCENE_CODE_IP;
	memcpy(&self->words[256], good, sizeof(good));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_TRUE(start(&change));
	for (i = 0; i < CHANGED_WALKS; i++) {
		ASSERT_EQ(0, walk(self));
		ASSERT_STACK(self->fd, &self->stack);
	}
	stop(&change);
}

TEST_HARNESS_MAIN
