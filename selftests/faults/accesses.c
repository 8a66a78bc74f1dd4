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

/*
 * A structure of which only the first @words words are on the first page, and the next
 * page allows only @protection.
 */
static const char *fail_structure_at(struct world *world, unsigned int words,
				     int protection)
{
	unsigned char *end = world->pages + PAGE;
	struct sframe_unwind_query *asked = (void *)(end - words * sizeof(uint64_t));
	bool failed;

	memset(asked, 0, sizeof(*asked));
	asked->size = sizeof(*asked);
	if (mprotect(end, PAGE, protection))
		return "mprotect";
	failed = query(world->fd, asked) && errno == EFAULT;
	mprotect(end, PAGE, PROT_READ | PROT_WRITE);
	return failed ? NULL : "a structure that is cut short at any word";
}

/* Queries, because nothing checks before them that the result can be written. */
static const char *fail_structures(struct world *world)
{
	const unsigned int nr = sizeof(struct sframe_unwind_query) / sizeof(uint64_t);
	const char *why = NULL;
	unsigned int words;

	for (words = 0; words < nr && !why; words++)
		why = fail_structure_at(world, words, PROT_NONE) ?:
		      fail_structure_at(world, words, PROT_READ);
	return why;
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

/*
 * A function table of several pages. Each byte of code has an element of the map, which
 * is larger than a page for that reason.
 */
struct byte_table {
	struct sframe_unwind_table_header header;
	struct sframe_unwind_table_entry entry;
	__u32 map[PAGE];
	unsigned char rows[16];
};

/* With a header that begins on the page before that of the entry. */
#define TABLE_PAGES	6

/* Far enough for its part of the map to be on other pages than the entry. */
#define FUNCTION_AT	2048

/* Publish the code that requests a stack. */
static void write_table(struct world *world, struct byte_table *table)
{
	/* One row: CFA = SP + 8 */
	static const unsigned char rows[] = { 1, 0, 0, 0, 0, 0, 0x03, 8 };
	unsigned int i;

	memcpy(world->fake.text + FUNCTION_AT, request_code, sizeof(request_code));
	memset(table, 0, sizeof(*table));
	table->header.used = 1;
	table->entry.start = FUNCTION_AT;
	table->entry.size = sizeof(request_code);
	table->entry.rows = offsetof(struct byte_table, rows);
	for (i = 0; i < sizeof(request_code); i++)
		table->map[FUNCTION_AT + i] = 1;
	memcpy(table->rows, rows, sizeof(rows));
}

static bool walk_from_table(struct world *world)
{
	struct sframe_unwind_request req = request_self();

	return !call_request_code(world->fake.text + FUNCTION_AT, world->fd, &req) &&
	       !read_stack(world->fd, &world->stack);
}

/*
 * Walk with a table, and then without the page @unreadable of it. The byte at @offset of
 * the table is the first one on the second page.
 */
static const char *fail_table_at(struct world *world, unsigned char *pages,
				 unsigned int offset, unsigned int unreadable)
{
	struct byte_table *table = (void *)(pages + PAGE - offset);
	struct sframe_unwind_register_table reg = {
		.size = sizeof(reg),
		.table_start = (uintptr_t)table,
		.table_size = sizeof(*table),
		.text_start = (uintptr_t)world->fake.text,
		.text_size = PAGE,
		.max_functions = 1,
	};
	bool walked;

	write_table(world, table);
	if (ioctl(world->fd, SFRAME_UNWIND_IOC_REGISTER_TABLE, &reg))
		return "register a table";
	if (!walk_from_table(world) || world->stack.head.nr_frames < 2)
		return "a function of a table";
	/* The rule is not cached any more. */
	table->header.removed++;
	mprotect(pages + unreadable * PAGE, PAGE, PROT_NONE);
	walked = walk_from_table(world);
	mprotect(pages + unreadable * PAGE, PAGE, PROT_READ | PROT_WRITE);
	if (!walked || world->stack.head.nr_frames != 1 ||
	    world->stack.head.stop != SFRAME_UNWIND_STOP_SECTION_REMOVED)
		return "a table that cannot be read";
	return !unregister_id(world->fd, reg.id) || errno != ENOENT ?
		       "a table that cannot be read stays" : NULL;
}

static const char *fail_tables(struct world *world)
{
	const unsigned int removed = offsetof(struct byte_table, header.removed);
	const unsigned int entry = offsetof(struct byte_table, entry);
	const unsigned int rows = offsetof(struct byte_table, entry.rows);
	unsigned char *pages = mmap(NULL, TABLE_PAGES * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *why;

	if (pages == MAP_FAILED)
		return "pages for a table";
	/* header.used, the map, the size in the entry, its rows; the rows themselves. */
	why = fail_table_at(world, pages, removed, 0) ?:
	      fail_table_at(world, pages, rows, 3) ?:
	      fail_table_at(world, pages, entry, 1) ?:
	      fail_table_at(world, pages, rows, 1) ?:
	      fail_table_at(world, pages, rows, 5);
	munmap(pages, TABLE_PAGES * PAGE);
	return why;
}

/* Frames of a stack: more addresses than are copied at once. */
#define NR_FRAMES	140

/* An instruction of this program, so that its section has the rule. */
static __attribute__((noinline)) long
take_own_stack(int fd, struct sframe_unwind_own_stack *stack)
{
	long ret;

	asm volatile("syscall"
		     : "=a" (ret)
		     : "0" (16L), "D" ((long)fd), "S" (SFRAME_UNWIND_IOC_STACK),
		       "d" (stack)
		     : "rcx", "r11", "memory");
	return ret;
}

/* Take the stack to arrays that are writable as a whole, or are not. */
static const char *fail_frames_at(struct world *world, void *ips, void *how,
				  bool writable)
{
	struct sframe_unwind_own_stack stack = {
		.size = sizeof(stack),
		.ips = (uintptr_t)ips,
		.how = (uintptr_t)how,
		.max_depth = NR_FRAMES,
	};
	const long ret = take_own_stack(world->fd, &stack);

	if (writable)
		return ret || stack.nr_frames != NR_FRAMES ?
			       "a stack of many frames" : NULL;
	return ret != -EFAULT || stack.nr_frames || stack.stop ?
		       "frames that cannot be written" : NULL;
}

/*
 * With @depth callers. The arrays are writable up to any of their elements, or from there
 * on. The second page is read-only.
 */
static __attribute__((noinline)) const char *
fail_frames_below(struct world *world, unsigned int depth)
{
	unsigned char *end = world->pages + PAGE;
	const char *why = NULL;
	unsigned int i;

	if (depth)
		why = fail_frames_below(world, depth - 1);
	for (i = 0; !depth && i <= NR_FRAMES && !why; i++)
		why = fail_frames_at(world, end - i * sizeof(uint64_t), NULL,
				     i == NR_FRAMES) ?:
		      fail_frames_at(world, world->pages, end - i, i == NR_FRAMES) ?:
		      fail_frames_at(world, end + PAGE - i * sizeof(uint64_t), NULL,
				     !i) ?:
		      fail_frames_at(world, world->pages, end + PAGE - i, !i);
	asm volatile("" ::: "memory");	/* no tail call */
	return why;
}

static const char *fail_frames(struct world *world)
{
	struct sframe_unwind_register reg = own_section();
	const char *why;

	if (register_section(world->fd, &reg) ||
	    mprotect(world->pages + PAGE, PAGE, PROT_READ))
		return "register the program";
	why = fail_frames_below(world, NR_FRAMES);
	mprotect(world->pages + PAGE, PAGE, PROT_READ | PROT_WRITE);
	unregister_id(world->fd, reg.id);
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
	why = fail_arguments(&world) ?: fail_structures(&world) ?:
	      fail_headers(&world) ?: fail_sections(&world) ?:
	      fail_directories(&world) ?: fail_stacks(&world) ?:
	      fail_tables(&world) ?: fail_frames(&world);
	take_records(&world);
	close(world.fd);
	return why;
}
