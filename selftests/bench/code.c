// SPDX-License-Identifier: GPL-2.0
/*
 * Code: generated functions in files of their own, with SFrame sections, and
 * chains of calls through them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../include/wrappers.h"
#include "code.h"

#define SLOT		64	/* distance between functions in bytes */
#define MAX_ROW		6	/* bytes of a row */
#define HEADER		28
#define FDE		16
#define ATTR		5

/* Number of successive calls that stay in one object. */
#define RUN		4

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "bench: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static void put16(unsigned char *p, uint16_t value)
{
	memcpy(p, &value, sizeof(value));
}

static void put32(unsigned char *p, uint32_t value)
{
	memcpy(p, &value, sizeof(value));
}

static void put64(unsigned char *p, uint64_t value)
{
	memcpy(p, &value, sizeof(value));
}

static void put_header(unsigned char *s, uint32_t fdes, uint32_t rows,
		       uint32_t row_bytes)
{
	static const unsigned char header[] = {
		0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0
	};

	memcpy(s, header, sizeof(header));
	put32(s + 8, fdes);
	put32(s + 12, rows);
	put32(s + 16, row_bytes);
	put32(s + 20, 0);
	put32(s + 24, fdes * FDE);
}

/* Frame size of function @number, in addition to what it pushes. */
static uint32_t frame_size(unsigned int number)
{
	return 16 + number % 23 * 8;
}

/*
 * Write a function of SLOT bytes at @p that calls @next: one nop for each
 * surplus row, then code as compilers generate it.
 */
static void put_function(unsigned char *p, const struct world_spec *spec,
			 unsigned int number, uintptr_t next)
{
	const bool saves = spec->rows != ROWS_NO_FP;
	const uint32_t size = frame_size(number);
	static const unsigned char push[] = { 0x55, 0x48, 0x89, 0xe5 };

	memset(p, 0xcc, SLOT);
	memset(p, 0x90, spec->rows_before - 2);
	p += spec->rows_before - 2;
	if (saves)
		memcpy(p, push, sizeof(push));	/* push %rbp; mov %rsp,%rbp */
	else
		memset(p, 0x90, sizeof(push));
	p += sizeof(push);
	memcpy(p, "\x48\x81\xec", 3);		/* sub $size,%rsp */
	put32(p + 3, size);
	p += 7;
	memcpy(p, "\x48\xb8", 2);		/* mov $next,%rax */
	put64(p + 2, next);
	p += 10;
	memcpy(p, "\xff\xd0", 2);		/* call *%rax */
	p += 2;
	if (saves) {
		*p++ = 0xc9;			/* leave */
	} else {
		memcpy(p, "\x48\x81\xc4", 3);	/* add $size,%rsp */
		put32(p + 3, size);
		p += 7;
	}
	*p = 0xc3;				/* ret */
}

/*
 * Write one row; with @fp 0 it has one word. Returns the address of the next
 * row.
 */
static unsigned char *put_row(unsigned char *p, unsigned int start, bool by_sp,
			      int cfa, int fp)
{
	const unsigned char words = fp ? 2 : 1;

	*p++ = start;
	if (cfa < 128) {
		*p++ = words << 1 | by_sp;
		*p++ = cfa;
		if (fp)
			*p++ = fp;
	} else {
		*p++ = 1 << 5 | words << 1 | by_sp;
		put16(p, cfa);
		p += 2;
		if (fp) {
			put16(p, fp);
			p += 2;
		}
	}
	return p;
}

/* Write the rows of the function made by put_function(). */
static unsigned char *put_rows(unsigned char *p, const struct world_spec *spec,
			       unsigned int number, unsigned int *nr)
{
	const unsigned int body = spec->rows_before - 2;
	const int size = frame_size(number);
	unsigned int i;

	for (i = 0; i < body; i++)
		p = put_row(p, i, true, 8, 0);
	p = put_row(p, body, true, 8, 0);
	if (spec->rows == ROWS_NO_FP) {
		p = put_row(p, body + 1, true, 8, 0);
		p = put_row(p, body + 11, true, 8 + size, 0);
		p = put_row(p, body + 30, true, 8, 0);
	} else {
		p = put_row(p, body + 1, true, 16, -16);
		if (spec->rows == ROWS_SP)
			p = put_row(p, body + 11, true, 16 + size, -16);
		else
			p = put_row(p, body + 4, false, 16, -16);
		p = put_row(p, body + 24, true, 8, 0);
	}
	*nr = body + 4;
	return p;
}

void *map_file(size_t size, int prot, unsigned char **writable)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	void *p;

	if (fd < 0 || ftruncate(fd, size))
		die("no file of %zu bytes: %s", size, strerror(errno));
	*writable = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	p = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	close(fd);
	if (*writable == MAP_FAILED || p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

/*
 * Write a section for all @spec->functions at @object->text, through the
 * writable mapping @s.
 */
static size_t put_section(const struct object *object, unsigned char *s,
			  const struct world_spec *spec)
{
	unsigned char *attr = s + HEADER + spec->functions * FDE;
	unsigned char *const fres = attr;
	unsigned int i, rows = 0;

	for (i = 0; i < spec->functions; i++) {
		unsigned char *fde = s + HEADER + i * FDE;
		const uintptr_t at = (uintptr_t)object->section + (fde - s);
		unsigned char *end;
		unsigned int nr;

		put64(fde, (uintptr_t)object->text + i * SLOT - at);
		put32(fde + 8, SLOT);
		put32(fde + 12, attr - fres);
		end = put_rows(attr + ATTR, spec, i, &nr);
		memset(attr, 0, ATTR);
		put16(attr, nr);
		rows += nr;
		attr = end;
	}
	put_header(s, spec->functions, rows, attr - fres);
	return attr - s;
}

/*
 * Location of link @i of chain @chain: the object, and the number of the
 * function.
 */
static unsigned int place(const struct world_spec *spec, unsigned int chain,
			  unsigned int i, unsigned int *object)
{
	const unsigned int turn = i / RUN;
	/* Number of earlier links of this chain in that object. */
	const unsigned int before = turn / NR_OBJECTS * RUN + i % RUN;
	const unsigned int most = (CHAIN_LENGTH / RUN / NR_OBJECTS + 1) * RUN;

	*object = (turn + chain) % NR_OBJECTS;
	/* Spread over the whole object; 7919 is prime. */
	return (unsigned long)(chain * most + before) * 7919 % spec->functions;
}

void world_create(struct world *world, const struct world_spec *spec,
		  uintptr_t end)
{
	const size_t text_size = (spec->functions * SLOT + 4095) & ~4095UL;
	const size_t section_size = HEADER + spec->functions *
				    (FDE + ATTR + (spec->rows_before + 2) * MAX_ROW);
	const size_t size = text_size + ((section_size + 4095) & ~4095UL);
	unsigned char *writable[NR_OBJECTS];
	unsigned int i, chain, number, at;
	uintptr_t next;

	for (i = 0; i < NR_OBJECTS; i++) {
		struct object *object = &world->object[i];

		object->text = map_file(size, PROT_READ | PROT_EXEC,
					&writable[i]);
		object->section = object->text + text_size;
		if (mprotect(object->section, size - text_size, PROT_READ))
			die("mprotect: %s", strerror(errno));
		for (number = 0; number < spec->functions; number++)
			put_function(writable[i] + number * SLOT, spec, number,
				     end);
		object->reg = (struct sframe_unwind_register) {
			.size = sizeof(object->reg),
			.flags = SFRAME_UNWIND_REGISTER_VALIDATE,
			.sframe_start = (uintptr_t)object->section,
			.sframe_size = put_section(object, writable[i] +
						   text_size, spec),
			.text_start = (uintptr_t)object->text,
			.text_size = spec->functions * SLOT,
		};
	}
	for (chain = 0; chain < spec->chains; chain++) {
		next = end;
		for (i = CHAIN_LENGTH; i-- > 0; ) {
			number = place(spec, chain, i, &at);
			put_function(writable[at] + number * SLOT, spec, number,
				     next);
			next = (uintptr_t)world->object[at].text + number * SLOT;
		}
		world->chain[chain] = next;
	}
	for (i = 0; i < NR_OBJECTS; i++)
		munmap(writable[i], size);
}

void world_register(int fd, struct world *world)
{
	static char message[192];
	unsigned int i;

	for (i = 0; i < NR_OBJECTS; i++) {
		struct sframe_unwind_register *reg = &world->object[i].reg;

		reg->message = (uintptr_t)message;
		reg->message_size = sizeof(message);
		if (register_section(fd, reg))
			die("register: %s: %s", strerror(errno), message);
	}
}

void world_unregister(int fd, struct world *world)
{
	unsigned int i;

	for (i = 0; i < NR_OBJECTS; i++) {
		if (unregister_id(fd, world->object[i].reg.id))
			die("unregister: %s", strerror(errno));
	}
}

void make_jit(struct sframe_unwind_batch_entry *entry, unsigned int nr)
{
	static const struct world_spec spec = { .rows_before = 2 };
	unsigned char *unused, *s, *p;
	uintptr_t text, section;
	unsigned int i, rows;

	/* The code is neither executed nor read. */
	text = (uintptr_t)map_file((size_t)nr * JIT_TEXT, PROT_READ | PROT_EXEC,
				   &unused);
	munmap(unused, (size_t)nr * JIT_TEXT);
	section = (uintptr_t)map_file((size_t)nr * JIT_SECTION, PROT_READ, &s);
	for (i = 0; i < nr; i++) {
		unsigned char *at = s + (size_t)i * JIT_SECTION;
		unsigned char *attr = at + HEADER + FDE;

		entry[i] = (struct sframe_unwind_batch_entry) {
			.sframe_start = section + (size_t)i * JIT_SECTION,
			.sframe_size = JIT_SECTION,
			.text_start = text + (size_t)i * JIT_TEXT,
			.text_size = JIT_TEXT,
		};
		put64(at + HEADER, entry[i].text_start -
		      (entry[i].sframe_start + HEADER));
		put32(at + HEADER + 8, JIT_TEXT);
		p = put_rows(attr + ATTR, &spec, i % 4, &rows);
		put16(attr, rows);
		put_header(at, 1, rows, p - attr);
	}
	munmap(s, (size_t)nr * JIT_SECTION);
}
