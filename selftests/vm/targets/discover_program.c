// SPDX-License-Identifier: GPL-2.0
/*
 * A program that registers nothing, but whose stack must be unwound to main:
 * built as PIE, at fixed addresses, and with a shared object that it needs. The
 * stack contains relay() of that object, or of an object given as argument.
 * Exit status: 0, or the number of the step that failed.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "../../include/elf_map.h"

/* Defined by the shared object; calls back. */
typedef int (*relay_t)(int (*function)(void *data), void *data);

int relay(int (*function)(void *data), void *data) __attribute__((weak));

static struct stack stack;

static __attribute__((noinline)) int take(void *data)
{
	struct sframe_unwind_request req = request_self();
	const int fd = *(int *)data;

	if (request(fd, &req))
		return 2;
	return read_stack(fd, &stack) ? 3 : 0;
}

/* Is a frame, found by SFrame, in the @size bytes at @start? */
static bool has_frame(const void *start, unsigned long size)
{
	unsigned int i;

	for (i = 1; i < stack.head.nr_frames; i++) {
		if (how(&stack, i) == SFRAME_UNWIND_FRAME_SFRAME &&
		    stack.head.ips[i] - (uintptr_t)start < size)
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	relay_t through = relay;
	int fd = open_client(0);
	int ret;

	if (fd < 0)
		return 1;
	if (argc > 1) {
		void *object = dlopen(argv[1], RTLD_NOW);

		through = object ? (relay_t)dlsym(object, "relay") : NULL;
		if (!through) {
			fprintf(stderr, "# %s\n", dlerror());
			return 4;
		}
	}
	ret = through ? through(take, &fd) : take(&fd);
	if (ret)
		return ret;
	if (through && !has_frame(through, 256))
		return 5;
	if (!has_frame(main, 1024))
		return 6;
	if (section_of(fd, main).source != SFRAME_UNWIND_SECTION_FOUND)
		return 7;
	if (through && section_of(fd, through).source !=
			SFRAME_UNWIND_SECTION_FOUND)
		return 8;
	return 0;
}
