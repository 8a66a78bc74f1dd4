/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scene: code with a section of its own, and a stack on which each word is
 * the address of a caller without a section.
 */
#ifndef SELFTESTS_SCENE_FIXTURE_H
#define SELFTESTS_SCENE_FIXTURE_H

#include "common.h"
#include "scene.h"

FIXTURE(scene)
{
	int fd;
	struct fake fake;
	struct stack stack;
	struct sframe_unwind_request req;
	__u64 regs[DWARF_REGS];
	__u64 words[512];
	__u64 corrupt;		/* sections that the test expects to be found corrupt */
};

FIXTURE_SETUP(scene)
{
	unsigned int i;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_fake(&self->fake));
	ASSERT_TRUE(map_scene_caller());
	memcpy(self->fake.text, scene_code, sizeof(scene_code));
	self->req = request_self();
	memset(self->regs, 0, sizeof(self->regs));
	for (i = 0; i < 512; i++)
		self->words[i] = SCENE_CALLER;
	self->regs[DWARF_RSP] = (uintptr_t)&self->words[256];
	self->corrupt = 0;
}

FIXTURE_TEARDOWN(scene)
{
	struct sframe_unwind_stats s;

	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(self->corrupt, s.corrupt);
	EXPECT_EQ(0, s.stale);
	EXPECT_EQ(0, s.pending);
	EXPECT_EQ(s.accepted, s.delivered + s.lost_full);
	munmap((void *)(uintptr_t)SCENE_CALLER, PAGE);
	free_fake(&self->fake);
	close(self->fd);
}

static long walk(FIXTURE_DATA(scene) *self)
{
	return enter_scene(self->regs, self->fake.text, self->fd, &self->req,
			   SFRAME_UNWIND_IOC_REQUEST);
}

#endif /* SELFTESTS_SCENE_FIXTURE_H */
