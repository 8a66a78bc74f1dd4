/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attaching a section to addresses of a process: code in anonymous memory, at the
 * address where the small ELF file has its small function, and a section for it.
 */
#ifndef SELFTESTS_ATTACH_RANGE_H
#define SELFTESTS_ATTACH_RANGE_H

#include "attach.h"

/*
 * Map @elf's small function in anonymous memory. Returns where the address 0 of the
 * file would be, or NULL.
 */
static inline unsigned char *map_anonymous_code(const struct elf_base *elf)
{
	unsigned char *at = mmap(NULL, ELF_MAPPED_SIZE, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED ||
	    mprotect(at + ELF_SMALL_VADDR, ELF_PAGE,
		     PROT_READ | PROT_WRITE | PROT_EXEC))
		return NULL;
	memcpy(at + ELF_SMALL_VADDR, elf->small, sizeof(elf->small));
	return at;
}

/* Returns a file with a section for a function at the start of the range, or -1. */
static inline int make_range_section(void)
{
	unsigned char section[FAKE_SECTION_SIZE];

	write_fake_section(section, section);
	return make_file(section, sizeof(section));
}

/* How to attach the section @sframe_fd to [start, start + size) of process @pid. */
static inline struct sframe_unwind_attach
range_of(pid_t pid, const void *start, size_t size, int sframe_fd)
{
	return (struct sframe_unwind_attach) {
		.size = sizeof(struct sframe_unwind_attach),
		.flags = SFRAME_UNWIND_ATTACH_PROCESS,
		.elf_fd = -1,
		.sframe_fd = sframe_fd,
		.sframe_size = FAKE_SECTION_SIZE,
		.pid = pid,
		.text_start = (uintptr_t)start,
		.text_size = size,
	};
}

/* Whether the attachment @id is listed as one that has ended. */
static inline bool has_ended_id(int fd, __u64 id)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entry;

	return !list_attached(fd, id, &entry, 1, &list) && list.nr == 1 &&
	       entry.id == id && entry.flags & SFRAME_UNWIND_ATTACHED_ENDED;
}

#endif /* SELFTESTS_ATTACH_RANGE_H */
