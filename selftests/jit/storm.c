// SPDX-License-Identifier: GPL-2.0
/*
 * A runtime storm: threads compile functions to the same places again and again, each with
 * another frame, describe them, run them, and take them back: by .eh_frame that is announced
 * to libgcc, or in a function table for each thread. All functions are called by
 * call_generated(), so whatever stack goes through one must have that behind it.
 *
 * usage: storm THREADS FUNCTIONS [table]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sframe_unwind.h>

#define PLACES		16	/* of each thread */
#define ROOM		256	/* bytes of a place */
#define SECTION		128	/* bytes of an .eh_frame */
#define GRANULE_BITS	4
#define ROWS_SIZE	(4U << 20)

#define MAX_PUSHES	8
#define MAX_ROWS	(2 * MAX_PUSHES + 3)

void __register_frame(void *begin);
void __deregister_frame(void *begin);

typedef unsigned int (*generated_t)(unsigned int turns, unsigned int (*callback)(void));

static unsigned long functions_each;
static struct sframe_unwind *handle;	/* NULL: functions are announced to libgcc */

/**
 * struct place - memory for a function
 *
 * @code: ROOM bytes.
 * @start, @size: the function.
 * @rows, @nr_rows: how it is unwound.
 * @section: its .eh_frame, if it is announced.
 * @is_used: there is a function, which was described.
 */
struct place {
	unsigned char *code, *start;
	size_t size;
	struct sframe_unwind_row rows[MAX_ROWS];
	unsigned int nr_rows;
	unsigned char section[SECTION];
	int is_used;
};

static unsigned char *put(unsigned char *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

/* From @at on, the CFA is rsp + @cfa. */
static void add_row(struct place *place, const unsigned char *at, unsigned int cfa)
{
	place->rows[place->nr_rows++] = (struct sframe_unwind_row)
		SFRAME_UNWIND_ROW_SP(at - place->start, cfa);
}

/*
 * Compile a function that pushes @pushes words, has @frame bytes more, loops, and calls its
 * argument: with padding in front of it that differs, so that no row is where one was.
 */
static void compile(struct place *place, unsigned int padding, unsigned int pushes,
		    unsigned int frame)
{
	unsigned char *at = place->code + padding;
	unsigned int i, cfa = 8;

	memset(place->code, 0xcc, ROOM);
	place->start = at;
	place->nr_rows = 0;
	add_row(place, at, cfa);
	for (i = 0; i < pushes; i++) {
		*at++ = 0x53;				/* push %rbx */
		add_row(place, at, cfa += 8);
	}
	at = put(at, "\x48\x81\xec", 3);		/* sub $frame, %rsp */
	at = put(at, &frame, 4);
	add_row(place, at, cfa += frame);
	at = put(at, "\xff\xcf\x75\xfc", 4);		/* 1: dec %edi; jnz 1b */
	at = put(at, "\xff\xd6", 2);			/* call *%rsi */
	at = put(at, "\x48\x81\xc4", 3);		/* add $frame, %rsp */
	at = put(at, &frame, 4);
	add_row(place, at, cfa -= frame);
	for (i = 0; i < pushes; i++) {
		*at++ = 0x5b;				/* pop %rbx */
		add_row(place, at, cfa -= 8);
	}
	*at++ = 0xc3;					/* ret */
	place->size = at - place->start;
}

/* DW_CFA_advance_loc by @bytes, and DW_CFA_def_cfa_offset. Returns what follows. */
static unsigned char *put_row(unsigned char *at, unsigned int bytes, unsigned int cfa)
{
	*at++ = 0x40 | bytes;
	*at++ = 0x0e;
	for (; cfa > 127; cfa >>= 7)
		*at++ = cfa | 0x80;
	*at++ = cfa;
	return at;
}

static void write_section(struct place *place)
{
	static const unsigned char cie[] = {
		20, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0,
	};
	unsigned char *fde = place->section + sizeof(cie), *row = fde + 24;
	const uint64_t start = (uintptr_t)place->start, size = place->size;
	const struct sframe_unwind_row *rows = place->rows;
	uint32_t word;

	memset(place->section, 0, sizeof(place->section));
	memcpy(place->section, cie, sizeof(cie));
	/* The CIE has the first row. */
	for (unsigned int i = 1; i < place->nr_rows; i++)
		row = put_row(row, rows[i].start - rows[i - 1].start, rows[i].cfa.offset);
	word = ((row - fde + 7) & ~7) - 4;
	put(fde, &word, 4);
	word = sizeof(cie) + 4;
	put(fde + 4, &word, 4);
	put(fde + 8, &start, 8);
	put(fde + 16, &size, 8);
}

/* The rows' padding is DW_CFA_nop, and a length of 0 ends the section. */
_Static_assert(24 + 24 + 2 * MAX_PUSHES * 3 + 2 * 4 + 8 + 4 <= SECTION, "room for rows");

/* Returns 0 or an error. */
static int describe(struct place *place, struct sframe_unwind_table *table)
{
	const struct sframe_unwind_function function = {
		.start = (uintptr_t)place->start,
		.size = place->size,
		.rows = place->rows,
		.nr_rows = place->nr_rows,
	};
	int err = 0;

	if (table) {
		err = sframe_unwind_table_add(table, &function);
		if (err)
			fprintf(stderr, "%s\n", sframe_unwind_table_error(table));
	} else {
		write_section(place);
		__register_frame(place->section);
	}
	place->is_used = !err;
	return err;
}

static void take_back(struct place *place, struct sframe_unwind_table *table)
{
	if (!place->is_used)
		return;
	if (table)
		sframe_unwind_table_remove(table, place->start);
	else
		__deregister_frame(place->section);
	place->is_used = 0;
}

__attribute__((noinline)) unsigned int callback(void)
{
	volatile unsigned int i;

	for (i = 0; i < 100; i++)
		;
	return i;
}

__attribute__((noinline)) unsigned int call_generated(unsigned char *start, unsigned int turns)
{
	generated_t generated;
	unsigned int ret;

	memcpy(&generated, &start, sizeof(generated));
	ret = generated(turns, callback);
	__asm__ volatile("" : "+r"(ret));
	return ret;
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void *run_thread(void *data)
{
	uint32_t random = (uintptr_t)data * 2654435761U + 1;
	struct sframe_unwind_table *table = NULL;
	struct place places[PLACES] = { 0 };
	unsigned char *memory = mmap(NULL, PLACES * ROOM,
				     PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED ||
	    (handle && sframe_unwind_table_create(&table, handle, memory, PLACES * ROOM,
						  GRANULE_BITS, PLACES, ROWS_SIZE)))
		return data;
	for (unsigned long i = 0; i < functions_each; i++) {
		const uint32_t with = next_random(&random);
		struct place *place = &places[with % PLACES];

		place->code = memory + (place - places) * ROOM;
		take_back(place, table);
		compile(place, with >> 4 & 63, 1 + (with >> 10) % MAX_PUSHES,
			8 + (with >> 13 & 1023) * 8);
		if (describe(place, table) || call_generated(place->start, 1000) != 100)
			return data;
	}
	for (unsigned int i = 0; i < PLACES; i++)
		take_back(&places[i], table);
	sframe_unwind_table_free(table);
	munmap(memory, PLACES * ROOM);
	return NULL;
}

int main(int argc, char **argv)
{
	const unsigned long nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 16;
	const unsigned long functions = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
	pthread_t *threads = calloc(nr, sizeof(*threads));
	void *result;
	int failed = 0;

	if (!threads || !nr || (argc > 3 && sframe_unwind_open(&handle, 0)))
		return 1;
	functions_each = (functions + nr - 1) / nr;
	for (unsigned long i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)(i + 1)))
			return 1;
	for (unsigned long i = 0; i < nr; i++)
		failed += pthread_join(threads[i], &result) || result;
	printf("%lu functions, %d threads failed\n", functions_each * nr, failed);
	sframe_unwind_close(handle);
	free(threads);
	return failed != 0;
}
