// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks: recorded from a running program.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "stacks.h"

static void *allocate(size_t size)
{
	void *p = malloc(size);

	if (!p)
		err(1, "%zu bytes", size);
	return p;
}

static void read_all(FILE *f, const char *path, void *to, size_t size)
{
	if (fread(to, 1, size, f) != size)
		errx(1, "%s is cut", path);
}

void stacks_read(struct stacks *stacks, const char *path)
{
	FILE *f = fopen(path, "r");
	struct stack head;
	uint64_t i;

	if (!f)
		err(1, "%s", path);
	read_all(f, path, &stacks->head, sizeof(stacks->head));
	stacks->stack = allocate(stacks->head.nr * sizeof(stacks->stack[0]));
	for (i = 0; i < stacks->head.nr; i++) {
		read_all(f, path, &head, sizeof(head));
		if (head.size > MAX_BYTES)
			errx(1, "%s: a stack of %lu bytes", path, head.size);
		stacks->stack[i] = allocate(sizeof(head) + head.size);
		*stacks->stack[i] = head;
		read_all(f, path, stacks->stack[i]->bytes, head.size);
	}
	fclose(f);
}
