// SPDX-License-Identifier: GPL-2.0
/*
 * The module's own accesses to user memory, which the kernel's fault injection
 * does not reach: each one is made to memory that is not accessible.
 */
#include "scenario.h"

/* Sections for FAKE_SIZE bytes of code, with rows of a given start size. */
#define NR_ROWS		40
#define MAX_ROW		(4 + 1 + 2 * 4)

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
	struct sframe_unwind_query *asked;

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
	asked = (void *)(events + 1);
	asked->size = sizeof(*asked);
	if (mprotect(world->pages + 2 * PAGE, PAGE, PROT_READ) ||
	    !ioctl(world->fd, SFRAME_UNWIND_IOC_EVENTS, events) ||
	    errno != EFAULT)
		return "a structure that cannot be written";
	if (!query(world->fd, asked) || errno != EFAULT)
		return "an answer that cannot be written";
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

/* A single row with two words of 1 << @width bytes. */
static void write_row(struct world *world, unsigned char *s, unsigned int type,
		      unsigned int width)
{
	unsigned char *row = s + FAKE_ROW;

	write_fake_section(s, world->fake.text);
	s[FAKE_INFO] |= type;
	put32(s + FAKE_FRE_LEN, 5 + (1 << type) + 1 + (2 << width));
	memset(row, 0, MAX_ROW);
	row += 1 << type;
	*row++ = width << 5 | 0x05;	/* SP, two words */
	memset(row, 0, 2 << width);
	*row = 8;
	memset(row + (1 << width), 0xff, 1 << width);
	row[1 << width] = 0xf0;		/* -16 */
}

/* Walk with the section at @from, which is unreadable from the page's end on. */
static const char *fail_section_at(struct world *world, unsigned char *from,
				   unsigned int size)
{
	struct sframe_unwind_register *reg = &world->fake.reg;
	struct sframe_unwind_request req = request_self();
	unsigned char *end = world->pages + PAGE;

	reg->sframe_start = (uintptr_t)from;
	reg->sframe_size = size;
	if (register_section(world->fd, reg))
		return "register";
	mprotect(end, PAGE, PROT_NONE);
	if (call_request_code(world->fake.text, world->fd, &req) ||
	    read_stack(world->fd, &world->stack))
		return "request";
	mprotect(end, PAGE, PROT_READ | PROT_WRITE);
	/* The bytes needed may all be before the page's end. */
	unregister_id(world->fd, reg->id);
	if (world->stack.head.nr_frames > 1)
		return NULL;
	return world->stack.head.stop == SFRAME_UNWIND_STOP_SECTION_REMOVED ?
		       NULL : "a section that cannot be read stays";
}

static const char *fail_sections(struct world *world)
{
	unsigned char *end = world->pages + PAGE;
	unsigned int from, type, width;
	const char *why = NULL;

	put_request_code(&world->fake);
	for (type = 0; type < 3; type++) {
		/* From behind the header up to the rows that matter. */
		for (from = FAKE_FDE; from < FAKE_ROW + 64 && !why; from++) {
			write_rows(world, end - from, type);
			why = fail_section_at(world, end - from, FAKE_ROW +
					      NR_ROWS * ((1 << type) + 2));
		}
		for (width = 0; width < 3; width++) {
			const unsigned int size = FAKE_ROW + (1 << type) + 1 +
						  (2 << width);

			for (from = FAKE_ROW; from < size && !why; from++) {
				write_row(world, end - from, type, width);
				why = fail_section_at(world, end - from, size);
			}
		}
	}
	return why;
}

/*
 * Register with a header of which only @from bytes are before the end of a
 * file: the next page is mapped, but is beyond the file.
 */
static const char *fail_header_at(struct world *world, unsigned char *end,
				  unsigned int from)
{
	struct sframe_unwind_register *reg = &world->fake.reg;

	memcpy(end - from, world->fake.section, from);
	reg->sframe_start = (uintptr_t)end - from;
	reg->sframe_size = FAKE_SECTION_SIZE;
	return !register_section(world->fd, reg) || errno != EFAULT ?
		       "a header that cannot be read" : NULL;
}

static const char *fail_headers(struct world *world)
{
	const int file = memfd_create("faults", MFD_CLOEXEC);
	const char *why = "a file of one page";
	unsigned char *at = MAP_FAILED;
	unsigned int from;

	if (file >= 0 && !ftruncate(file, PAGE))
		at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			  file, 0);
	write_fake_section(world->fake.section, world->fake.text);
	if (at != MAP_FAILED) {
		for (from = 0, why = NULL; from < FAKE_FDE && !why; from++)
			why = fail_header_at(world, at + PAGE, from);
		munmap(at, 2 * PAGE);
	}
	close(file);
	return why;
}

/*
 * Enough functions for half of the index to be on a page that a search for the
 * first function does not read; and enough lookups for a directory to be made.
 */
#define NR_FDES		514
#define FDE_SIZE	16
#define NR_LOOKUPS	(NR_FDES / 32 + 2)
#define OTHER_SIZE	4
#define CODE_SIZE	(FAKE_SIZE + (NR_FDES - 1) * OTHER_SIZE)
#define NOP		0x90

/* The first function is the code; the others behind it share its row. */
static void write_functions(struct world *world, unsigned char *s)
{
	const uint64_t text = (uintptr_t)world->fake.text;
	unsigned char *rows = s + FAKE_FDE + NR_FDES * FDE_SIZE;
	unsigned int i;

	write_fake_section(s, world->fake.text);
	memcpy(rows, s + FAKE_ATTR, FAKE_SECTION_SIZE - FAKE_ATTR);
	put32(s + FAKE_NUM_FDES, NR_FDES);
	put32(s + FAKE_FRE_OFF, NR_FDES * FDE_SIZE);
	for (i = 0; i < NR_FDES; i++) {
		unsigned char *fde = s + FAKE_FDE + i * FDE_SIZE;

		put64(fde, text + (i ? FAKE_SIZE + (i - 1) * OTHER_SIZE : 0) -
			   (uintptr_t)fde);
		put32(fde + 8, i ? OTHER_SIZE : FAKE_SIZE);
		put32(fde + 12, 0);
	}
}

/*
 * Walk from the first function of such a section repeatedly: @before times
 * while all of it is readable, and then without page @page.
 */
static const char *fail_index(struct world *world, unsigned char *from,
			      unsigned int page, unsigned int before)
{
	struct sframe_unwind_register *reg = &world->fake.reg;
	unsigned char *unreadable = world->pages + page * PAGE;
	struct sframe_unwind_request req = request_self();
	const uint64_t text_size = reg->text_size;
	unsigned int i;

	write_functions(world, from);
	reg->sframe_start = (uintptr_t)from;
	reg->sframe_size = FAKE_FDE + NR_FDES * FDE_SIZE + FAKE_SECTION_SIZE -
			   FAKE_ATTR;
	reg->text_size = CODE_SIZE;
	if (register_section(world->fd, reg))
		return "register many functions";
	reg->text_size = text_size;
	for (i = 0; i < before + NR_LOOKUPS; i++) {
		if (i == before)
			mprotect(unreadable, PAGE, PROT_NONE);
		/* At another address each time, so that the rule is not cached. */
		memset(world->fake.text, NOP, i);
		memcpy(world->fake.text + i, request_code,
		       sizeof(request_code));
		if (call_request_code(world->fake.text, world->fd, &req) ||
		    read_stack(world->fd, &world->stack))
			return "request from many functions";
	}
	mprotect(unreadable, PAGE, PROT_READ | PROT_WRITE);
	unregister_id(world->fd, reg->id);
	return NULL;
}

static const char *fail_directories(struct world *world)
{
	unsigned char *pages = world->pages;

	/*
	 * The directory cannot be made: the second half of the index is
	 * unreadable.
	 */
	return fail_index(world, pages + 2 * PAGE - FAKE_FDE -
			  (NR_FDES / 2 + 1) * FDE_SIZE, 2, 0) ?:
	/* The directory leads from a readable entry to an unreadable one. */
	       fail_index(world, pages + PAGE - FAKE_FDE - FDE_SIZE, 0,
			  NR_LOOKUPS);
}

/* The first walk caches the rule of both frames. */
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

/*
 * In the innermost frame, CFA = SP + 8, and the frame pointer is saved at CFA - 16. In
 * its caller, CFA = FP + 16. Returns the section's size.
 */
static unsigned int write_frames(struct world *world, unsigned char *s)
{
	static const unsigned char rows[] = {
		0, 0x05, 8, (unsigned char)-16,
		sizeof(stack_switch), 0x04, 16, (unsigned char)-16,
	};

	write_fake_section(s, world->fake.text);
	s[FAKE_ATTR] = 2;
	put32(s + 0x0c, 2);
	put32(s + FAKE_FRE_LEN, 5 + sizeof(rows));
	memcpy(s + FAKE_ROW, rows, sizeof(rows));
	return FAKE_ROW + sizeof(rows);
}

static const char *fail_stacks(struct world *world)
{
	struct sframe_unwind_register *reg = &world->fake.reg;
	unsigned char *middle = world->pages + PAGE;
	unsigned char *section = world->pages + 3 * PAGE;
	const char *why;

	make_stack_switch(world);
	write_fake_section(section, world->fake.text);
	reg->sframe_start = (uintptr_t)section;
	reg->sframe_size = FAKE_SECTION_SIZE;
	if (register_section(world->fd, reg))
		return "register";
	mprotect(middle, PAGE, PROT_NONE);
	/* The caller's frame is beyond the last readable page. */
	why = fail_stack_at(world, middle - 8);
	unregister_id(world->fd, reg->id);
	if (why)
		return why;
	reg->sframe_size = write_frames(world, section);
	if (register_section(world->fd, reg))
		return "register two rows";
	/* The caller's frame pointer is before the first readable page. */
	why = fail_stack_at(world, middle + PAGE);
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
	why = fail_arguments(&world) ?: fail_headers(&world) ?:
	      fail_sections(&world) ?: fail_directories(&world) ?:
	      fail_stacks(&world);
	take_records(&world);
	close(world.fd);
	return why;
}
