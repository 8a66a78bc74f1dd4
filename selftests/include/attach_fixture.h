/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A mapped file without a section of its own, and a section to attach to it.
 */
#ifndef SELFTESTS_ATTACH_FIXTURE_H
#define SELFTESTS_ATTACH_FIXTURE_H

#include "attach.h"

FIXTURE(attach)
{
	int fd;
	int elf_fd;		/* a file without a section of its own */
	int sframe_fd;
	struct elf_base elf;
	struct elf_sframe sframe;
	unsigned char *at;	/* where it is mapped */
	struct sframe_unwind_attach arg;
	char message[256];
};

FIXTURE_SETUP(attach)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_bare(&self->elf, &self->sframe, &self->arg));
	self->elf_fd = self->arg.elf_fd;
	self->sframe_fd = self->arg.sframe_fd;
	self->arg.message = (uintptr_t)self->message;
	self->arg.message_size = sizeof(self->message);
	self->at = map_elf(self->elf_fd);
	ASSERT_NE(NULL, self->at);
}

FIXTURE_TEARDOWN(attach)
{
	unmap_elf(self->at);
	close(self->sframe_fd);
	close(self->elf_fd);
	close(self->fd);
}

#endif /* SELFTESTS_ATTACH_FIXTURE_H */
