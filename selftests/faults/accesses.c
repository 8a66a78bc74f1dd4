// SPDX-License-Identifier: GPL-2.0
/*
 * The module's own accesses to user memory, which no fault injection reaches:
 * each is made at memory that is not there.
 */
#include "scenario.h"

/* A section with rows of which start takes so many bytes, for FAKE_SIZE bytes. */
#define NR_ROWS		40

static const unsigned char stack_switch[] = {
	0xb8, 0x10, 0x00, 0x00, 0x00,	/* mov $__NR_ioctl,%eax */
	0x49, 0x89, 0xe1,		/* mov %rsp,%r9 */
	0x4c, 0x89, 0xc4,		/* mov %r8,%rsp */
	0x0f, 0x05,			/* syscall */
	0x4c, 0x89, 0xcc,		/* mov %r9,%rsp */
	0xc3,				/* ret */
};

typedef long (*stack_switch_t)(long fd, long cmd, void *arg, long unused,
			       void *sp);

bool make_stack_switch(struct world *world)
{
	memcpy(world->fake.text, stack_switch, sizeof(stack_switch));
	return true;
}

long call_on_stack(struct world *world, void *sp)
{
	struct sframe_unwind_request req = request_self();

	return ((stack_switch_t)(uintptr_t)world->fake.text)(
		world->fd, SFRAME_UNWIND_IOC_REQUEST, &req, 0, sp);
}

static void take_records(struct world *world)
{
	while (!is_empty(world->fd))
		read_stack(world->fd, &world->stack);
}

static const char *fail_arguments(struct world *world)
{
	struct sframe_unwind_events *events;

	if (!query(world->fd, NULL) || errno != EFAULT)
		return "a structure at address 0";
	events = (void *)(world->pages + PAGE - 8);
	events->size = sizeof(*events);
	events->flags = 0;
	if (mprotect(world->pages + PAGE, PAGE, PROT_NONE) ||
	    !ioctl(world->fd, SFRAME_UNWIND_IOC_EVENTS, events) ||
	    errno != EFAULT)
		return "a structure that is cut short";
	events = (void *)(world->pages + 2 * PAGE);
	memset(events, 0, sizeof(*events));
	events->size = sizeof(*events);
	if (mprotect(world->pages + 2 * PAGE, PAGE, PROT_READ) ||
	    !ioctl(world->fd, SFRAME_UNWIND_IOC_EVENTS, events) ||
	    errno != EFAULT)
		return "a structure that cannot be written";
	if (mprotect(world->pages, 4 * PAGE, PROT_READ | PROT_WRITE))
		return "mprotect";
	return NULL;
}

static void write_rows(struct world *world, unsigned char *s, unsigned int type)
{
	const unsigned int start_size = 1 << type;
	unsigned char *row = s + FAKE_ROW;
	unsigned int i;

	write_fake_section(s, world->fake.text);
	s[FAKE_ATTR] = NR_ROWS;
	s[FAKE_INFO] |= type;
	put32(s + 0x0c, NR_ROWS);
	put32(s + FAKE_FRE_LEN, 5 + NR_ROWS * (start_size + 2));
	for (i = 0; i < NR_ROWS; i++) {
		memset(row, 0, start_size);
		*row = i;
		row += start_size;
		*row++ = 0x03;		/* SP, one word of one byte */
		*row++ = 8;
	}
}

/* Walk with a section that cannot be read from byte @from on. */
static const char *fail_section_from(struct world *world, unsigned int from,
				     unsigned int type)
{
	struct sframe_unwind_register *reg = &world->fake.reg;
	struct sframe_unwind_request req = request_self();
	unsigned char *end = world->pages + PAGE;

	write_rows(world, end - from, type);
	reg->sframe_start = (uintptr_t)end - from;
	reg->sframe_size = FAKE_ROW + NR_ROWS * ((1 << type) + 2);
	if (register_section(world->fd, reg))
		return "register";
	mprotect(end, PAGE, PROT_NONE);
	if (call_request_code(world->fake.text, world->fd, &req) ||
	    read_stack(world->fd, &world->stack))
		return "request";
	mprotect(end, PAGE, PROT_READ | PROT_WRITE);
	/* What is needed may lie before that. */
	unregister_id(world->fd, reg->id);
	if (world->stack.head.nr_frames > 1)
		return NULL;
	return world->stack.head.stop == SFRAME_UNWIND_STOP_SECTION_REMOVED ?
		       NULL : "a section that cannot be read stays";
}

static const char *fail_sections(struct world *world)
{
	unsigned int from, type;
	const char *why = NULL;

	put_request_code(&world->fake);
	for (type = 0; type < 3; type++) {
		/* Behind the header, which is copied, up to the rows that count. */
		for (from = FAKE_FDE; from < FAKE_ROW + 64 && !why; from++)
			why = fail_section_from(world, from, type);
	}
	return why;
}

/* The rule of both frames is cached the first time. */
static const char *fail_stack_at(struct world *world, void *sp)
{
	unsigned int i;

	*(uint64_t *)sp = (uintptr_t)world->fake.text + 32;
	for (i = 0; i < 3; i++) {
		if (call_on_stack(world, sp) ||
		    read_stack(world->fd, &world->stack))
			return "request on another stack";
	}
	return NULL;
}

static const char *fail_stacks(struct world *world)
{
	struct sframe_unwind_register *reg = &world->fake.reg;
	unsigned char *middle = world->pages + PAGE;
	const char *why;

	make_stack_switch(world);
	write_fake_section(world->fake.section, world->fake.text);
	/* CFA = SP + 8, and the frame pointer at CFA - 16. */
	put32(world->fake.section + FAKE_FRE_LEN, 5 + 4);
	world->fake.section[FAKE_ROW_INFO] = 0x05;
	world->fake.section[FAKE_ROW_WORD + 1] = (unsigned char)-16;
	reg->sframe_start = (uintptr_t)world->fake.section;
	reg->sframe_size = FAKE_SECTION_SIZE + 1;
	if (register_section(world->fd, reg))
		return "register";
	mprotect(middle, PAGE, PROT_NONE);
	/* The caller's frame is beyond the last page; the frame pointer before the first. */
	why = fail_stack_at(world, middle - 8) ?:
	      fail_stack_at(world, middle + PAGE);
	mprotect(middle, PAGE, PROT_READ | PROT_WRITE);
	unregister_id(world->fd, reg->id);
	return why;
}

const char *fail_accesses(void)
{
	static struct world world;
	const char *why;

	world.fd = open_client(O_NONBLOCK);
	world.pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (world.fd < 0 || world.pages == MAP_FAILED || !make_fake(&world.fake))
		return "setup";
	why = fail_arguments(&world) ?: fail_sections(&world) ?:
	      fail_stacks(&world);
	take_records(&world);
	close(world.fd);
	return why;
}
