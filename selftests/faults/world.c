// SPDX-License-Identifier: GPL-2.0
/* The world that scenarios work on, and functions they share. */
#include "scenario.h"

const char *make_world(struct world *world)
{
	world->fd = open_client(O_NONBLOCK);
	world->pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	elf_base_init(&world->elf);
	world->elf_fd = make_file(&world->elf, sizeof(world->elf));
	world->at = map_elf(world->elf_fd);
	if (world->fd < 0 || world->pages == MAP_FAILED || !world->at ||
	    !make_fake(&world->fake))
		return "no world";
	put_request_code(&world->fake);
	return NULL;
}

int result(long ret)
{
	return ret < 0 ? errno : 0;
}

int drain(int fd, int type)
{
	static char buffer[65536] __attribute__((aligned(8)));
	struct sframe_unwind_record *record;
	ssize_t got, at;
	int nr = 0;

	do {
		got = read(fd, buffer, sizeof(buffer));
		for (at = 0; at < got; at += record->size) {
			record = (void *)(buffer + at);
			nr += record->type == type;
		}
	} while (got > 0 || errno != EAGAIN);
	return nr;
}

int read_caller(struct world *world)
{
	const struct stack *stack = &world->stack;
	int err = 0;

	errno = 0;
	if (read_stack(world->fd, &world->stack)) {
		/* A read that fails removes no record. */
		err = errno == EAGAIN || !errno ? EPROTO : errno;
		if (drain(world->fd, SFRAME_UNWIND_RECORD_STACK) != 1)
			err = EPROTO;
		return err;
	}
	if (stack->head.nr_frames > 1 &&
	    stack->ips[1] - (uintptr_t)call_request_code < 128)
		return 0;
	return LESS;
}

int request_at(struct world *world, const void *code)
{
	struct sframe_unwind_request req = request_self();
	long ret = call_request_code(code, world->fd, &req);

	return ret ? -ret : read_caller(world);
}
