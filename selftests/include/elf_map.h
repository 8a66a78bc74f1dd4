/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The small ELF file of fixtures/elf_base.h as a file, mapped as a loader
 * would, and walks through its code.
 */
#ifndef SELFTESTS_ELF_MAP_H
#define SELFTESTS_ELF_MAP_H

#include "common.h"
#include "../fixtures/elf_base.h"

/* Create a file in memory with @size bytes of @bytes. Returns -1 on error. */
static inline int make_file(const void *bytes, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd >= 0 && pwrite(fd, bytes, size, 0) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Map the pages of the intact file's segments at @at, replacing existing
 * mappings. Pages behind the file's end are mapped as well.
 */
static inline bool map_elf_at(unsigned char *at, int fd)
{
	static const struct {
		size_t offset, vaddr;
		int prot;
	} pages[] = {
		{ 0, 0, PROT_READ },
		{ ELF_SMALL_OFFSET, ELF_SMALL_VADDR, PROT_READ | PROT_EXEC },
		{ ELF_LARGE_OFFSET, ELF_LARGE_VADDR, PROT_READ | PROT_EXEC },
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		if (mmap(at + pages[i].vaddr, ELF_PAGE, pages[i].prot,
			 MAP_PRIVATE | MAP_FIXED, fd,
			 pages[i].offset) == MAP_FAILED)
			return false;
	}
	return true;
}

/*
 * Map the segments anywhere. Returns the address of the file's virtual address
 * 0, or NULL.
 */
static inline unsigned char *map_elf(int fd)
{
	unsigned char *at = mmap(NULL, ELF_MAPPED_SIZE, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || !map_elf_at(at, fd))
		return NULL;
	return at;
}

static inline void unmap_elf(unsigned char *at)
{
	munmap(at, ELF_MAPPED_SIZE);
}

/* The caller that a walk finds from code that requests its own stack. */
enum outcome {
	FAILED,		/* no stack, or an invalid one */
	NO_RULE,	/* only the code's own frame */
	CALLER,		/* the right caller, by SFrame */
	WRONG,		/* a wrong caller, by SFrame, or another stop reason */
	REMOVED,	/* the section was removed as corrupt */
	PENDING,	/* only the code's own frame, until its file has been read */
};

static __attribute__((unused)) enum outcome walk(int fd, const void *code)
{
	struct sframe_unwind_request req = request_self();
	static __thread struct stack stack;
	uint64_t start = (uintptr_t)code;
	const char *why;

	if (call_request_code(code, fd, &req))
		return FAILED;
	why = read_stack(fd, &stack);
	if (why) {
		fprintf(stderr, "# %s\n", why);
		return FAILED;
	}
	if (stack.head.ips[0] - start > 64)
		return FAILED;
	if (stack.head.nr_frames == 1) {
		switch (stack.head.stop) {
		case SFRAME_UNWIND_STOP_NO_RULE:
			return NO_RULE;
		case SFRAME_UNWIND_STOP_SECTION_REMOVED:
			return REMOVED;
		case SFRAME_UNWIND_STOP_PENDING:
			return PENDING;
		default:
			return WRONG;
		}
	}
	if (how(&stack, 1) != SFRAME_UNWIND_FRAME_SFRAME)
		return FAILED;
	return stack.head.ips[1] - (uintptr_t)call_request_code < 128 ?
		       CALLER : WRONG;
}

static inline enum outcome walk_small(int fd, const unsigned char *at)
{
	return walk(fd, at + ELF_SMALL_VADDR);
}

static inline enum outcome walk_large(int fd, const unsigned char *at)
{
	return walk(fd, at + ELF_LARGE_VADDR);
}

/* The listed section for the code at @address, or one with source 0. */
static __attribute__((unused)) struct sframe_unwind_section
section_of(int fd, const void *address)
{
	struct sframe_unwind_section entry = {};
	struct sframe_unwind_list list = {
		.size = sizeof(list),
		.sections = (uintptr_t)&entry,
		.nr = 1,
	};

	while (!ioctl(fd, SFRAME_UNWIND_IOC_LIST, &list) && list.nr) {
		if ((uintptr_t)address - entry.text_start < entry.text_size)
			return entry;
		list.from = entry.text_start + 1;
	}
	return (struct sframe_unwind_section) {};
}

/* The value of the module's counter @name, or -1. */
static __attribute__((unused)) long counter(const char *name)
{
	FILE *file = fopen("/sys/kernel/debug/sframe_unwind/counters", "r");
	char line[128];
	long value = -1;

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)) &&
		    line[strlen(name)] == ' ')
			value = atol(line + strlen(name));
	}
	if (file)
		fclose(file);
	return value;
}

#endif /* SELFTESTS_ELF_MAP_H */
