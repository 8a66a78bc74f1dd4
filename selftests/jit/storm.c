// SPDX-License-Identifier: GPL-2.0
/*
 * A runtime storm: threads compile functions to the same places again and again, each with
 * another frame, announce their .eh_frame, run them, and take them back. All functions are
 * called by call_generated(), so whatever stack goes through one must have that behind it.
 *
 * usage: storm THREADS FUNCTIONS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PLACES		16	/* of each thread */
#define ROOM		256	/* bytes of a place */
#define SECTION		128	/* bytes of an .eh_frame */

void __register_frame(void *begin);
void __deregister_frame(void *begin);

typedef unsigned int (*generated_t)(unsigned int turns, unsigned int (*callback)(void));

static unsigned long functions_each;

/**
 * struct place - memory for a function
 *
 * @code: ROOM bytes.
 * @section: its .eh_frame.
 * @is_used: there is a function, which has been announced.
 */
struct place {
	unsigned char *code;
	unsigned char section[SECTION];
	int is_used;
};

static unsigned char *put(unsigned char *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

/* DW_CFA_advance_loc to @to, and DW_CFA_def_cfa_offset. Returns what follows. */
static unsigned char *put_row(unsigned char *at, unsigned int *from, unsigned int to,
			      unsigned int cfa_offset)
{
	*at++ = 0x40 | (to - *from);
	*at++ = 0x0e;
	for (; cfa_offset > 127; cfa_offset >>= 7)
		*at++ = cfa_offset | 0x80;
	*at++ = cfa_offset;
	*from = to;
	return at;
}

/*
 * Compile a function that pushes @pushes words, has @frame bytes more, loops, and calls its
 * argument: with padding in front of it that differs, so that no row is where one was.
 */
static void compile(struct place *place, unsigned int padding, unsigned int pushes,
		    unsigned int frame)
{
	static const unsigned char cie[] = {
		20, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0,
	};
	unsigned char *code = place->code, *at, *start, *fde = place->section + sizeof(cie);
	unsigned char *row = fde + 24;
	unsigned int i, from = 0, cfa = 8;
	uint64_t value;
	uint32_t word;

	memset(place->section, 0, sizeof(place->section));
	memcpy(place->section, cie, sizeof(cie));
	memset(code, 0xcc, ROOM);
	start = at = code + padding;
	for (i = 0; i < pushes; i++) {
		*at++ = 0x53;				/* push %rbx */
		row = put_row(row, &from, at - start, cfa += 8);
	}
	at = put(at, "\x48\x81\xec", 3);		/* sub $frame, %rsp */
	at = put(at, &frame, 4);
	row = put_row(row, &from, at - start, cfa += frame);
	at = put(at, "\xff\xcf\x75\xfc", 4);		/* 1: dec %edi; jnz 1b */
	at = put(at, "\xff\xd6", 2);			/* call *%rsi */
	at = put(at, "\x48\x81\xc4", 3);		/* add $frame, %rsp */
	at = put(at, &frame, 4);
	row = put_row(row, &from, at - start, cfa -= frame);
	for (i = 0; i < pushes; i++) {
		*at++ = 0x5b;				/* pop %rbx */
		row = put_row(row, &from, at - start, cfa -= 8);
	}
	*at++ = 0xc3;					/* ret */

	word = ((row - fde + 7) & ~7) - 4;
	put(fde, &word, 4);
	word = sizeof(cie) + 4;
	put(fde + 4, &word, 4);
	value = (uintptr_t)start;
	put(fde + 8, &value, 8);
	value = at - start;
	put(fde + 16, &value, 8);
	place->is_used = 1;
}

/* The rows' padding is DW_CFA_nop, and a length of 0 ends the section. */
_Static_assert(24 + 24 + 2 * 8 * 3 + 2 * 4 + 8 + 4 <= SECTION, "room for rows");

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
	struct place places[PLACES] = { 0 };
	unsigned char *memory = mmap(NULL, PLACES * ROOM,
				     PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return data;
	for (unsigned long i = 0; i < functions_each; i++) {
		const uint32_t with = next_random(&random);
		struct place *place = &places[with % PLACES];
		const unsigned int padding = with >> 4 & 63;

		place->code = memory + (place - places) * ROOM;
		if (place->is_used)
			__deregister_frame(place->section);
		compile(place, padding, 1 + (with >> 10 & 7), 8 + (with >> 13 & 1023) * 8);
		__register_frame(place->section);
		if (call_generated(place->code + padding, 1000) != 100)
			return data;
	}
	for (unsigned int i = 0; i < PLACES; i++)
		if (places[i].is_used)
			__deregister_frame(places[i].section);
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

	if (!threads || !nr)
		return 1;
	functions_each = (functions + nr - 1) / nr;
	for (unsigned long i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)(i + 1)))
			return 1;
	for (unsigned long i = 0; i < nr; i++)
		failed += pthread_join(threads[i], &result) || result;
	printf("%lu functions, %d threads failed\n", functions_each * nr, failed);
	free(threads);
	return failed != 0;
}
