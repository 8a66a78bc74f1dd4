/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A mapped file with a section of its own, which is not registered.
 */
#ifndef SELFTESTS_DISCOVER_FIXTURE_H
#define SELFTESTS_DISCOVER_FIXTURE_H

#include "elf_map.h"

FIXTURE(discover)
{
	int fd;
	int elf_fd;
	struct elf_base elf;
	unsigned char *at;
};

FIXTURE_SETUP(discover)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	elf_base_init(&self->elf);
	self->elf_fd = make_file(&self->elf, sizeof(self->elf));
	self->at = map_elf(self->elf_fd);
	ASSERT_NE(NULL, self->at);
}

FIXTURE_TEARDOWN(discover)
{
	unmap_elf(self->at);
	close(self->elf_fd);
	close(self->fd);
}

#endif /* SELFTESTS_DISCOVER_FIXTURE_H */
