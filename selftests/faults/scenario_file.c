// SPDX-License-Identifier: GPL-2.0
/* Scenarios of files: discovery, attaching, and listing of sections. */
#include <unistd.h>

#include "../include/attach_range.h"
#include "scenario.h"

void map_anew(struct world *world)
{
	unmap_elf(world->at);
	world->at = map_elf(world->elf_fd);
}

int run_discover(struct world *world)
{
	return request_at(world, world->at + ELF_SMALL_VADDR);
}

/* The section is not mapped and must be read. */
bool setup_unmapped(struct world *world)
{
	return !munmap(world->at, ELF_PAGE);
}

void undo_unmapped(struct world *world)
{
	map_anew(world);
	setup_unmapped(world);
}

/* A file without a section of its own. */
bool setup_bare(struct world *world)
{
	if (!make_bare(&world->elf, &world->sframe, &world->attach))
		return false;
	world->elf_fd = world->attach.elf_fd;
	map_anew(world);
	return world->at;
}

bool setup_bare_system(struct world *world)
{
	if (!setup_bare(world))
		return false;
	world->attach.flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	return true;
}

bool setup_bare_inode(struct world *world)
{
	if (!setup_bare(world))
		return false;
	world->attach.flags = SFRAME_UNWIND_ATTACH_INODE;
	return true;
}

/* A section of several pages, most of them behind its last row. */
bool setup_bare_large(struct world *world)
{
	return setup_bare(world) &&
	       grow_section(&world->attach, sizeof(world->sframe) + 2 * PAGE);
}

int run_attach(struct world *world)
{
	return result(attach(world->fd, &world->attach));
}

int run_detach(struct world *world)
{
	return result(detach(world->fd, world->attach.id));
}

void undo_attach(struct world *world)
{
	run_detach(world);
}

void undo_detach(struct world *world)
{
	run_attach(world);
}

bool setup_attached(struct world *world)
{
	return setup_bare(world) && !run_attach(world);
}

/* A section stays attached and is to be shared with the same file. */
bool setup_share(struct world *world)
{
	static struct sframe_unwind_segment segments[2];

	if (!setup_bare_inode(world) || run_attach(world))
		return false;
	world->attach.flags |= SFRAME_UNWIND_ATTACH_SHARE;
	world->attach.share_id = world->attach.id;
	world->attach.sframe_fd = -1;
	world->attach.sframe_size = 0;
	tell_segments(&world->attach, &world->elf, segments);
	return true;
}

/* Code of this process that no file describes. */
bool setup_range(struct world *world)
{
	elf_base_init(&world->elf);
	world->at = map_anonymous_code(&world->elf);
	if (!world->at)
		return false;
	world->attach = range_of(0, world->at + ELF_SMALL_VADDR, ELF_PAGE,
				 make_range_section());
	return world->attach.sframe_fd >= 0;
}

/* The same of a child, which sleeps until the end. */
bool setup_range_of_other(struct world *world)
{
	if (!setup_range(world))
		return false;
	world->child = fork();
	if (!world->child) {
		pause();
		_exit(0);
	}
	world->attach.pid = world->child;
	return world->child > 0;
}

/* The same, for code of which there is a copy: itself. */
bool setup_range_noted(struct world *world)
{
	if (!setup_range(world) ||
	    mprotect(world->at + ELF_SMALL_VADDR, ELF_PAGE,
		     PROT_READ | PROT_EXEC))
		return false;
	world->attach.flags |= SFRAME_UNWIND_ATTACH_UNCHANGED;
	world->attach.code = world->attach.text_start;
	return true;
}

bool setup_range_noted_attached(struct world *world)
{
	return setup_range_noted(world) && !run_attach(world);
}

bool setup_range_attached(struct world *world)
{
	return setup_range(world) && !run_attach(world);
}

/* Have walks find it anew. */
void undo_discover_range(struct world *world)
{
	run_detach(world);
	run_attach(world);
}

int run_list_attached(struct world *world)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entry;
	int err = result(list_attached(world->fd, 0, &entry, 1, &list));

	return err || entry.id == world->attach.id ? err : EPROTO;
}

bool setup_discovered(struct world *world)
{
	return !run_discover(world);
}

int run_list(struct world *world)
{
	struct sframe_unwind_section entry;
	char name[256];
	struct sframe_unwind_list arg = {
		.size = sizeof(arg),
		.from = (uintptr_t)world->at,
		.sections = (uintptr_t)&entry,
		.nr = 1,
		.name = (uintptr_t)name,
		.name_size = sizeof(name),
	};
	int err = result(ioctl(world->fd, SFRAME_UNWIND_IOC_LIST, &arg));

	return err || arg.nr == 1 ? err : EPROTO;
}
