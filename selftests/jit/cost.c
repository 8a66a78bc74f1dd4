// SPDX-License-Identifier: GPL-2.0
/*
 * What it takes to announce generated code: prints the time of __register_frame() and of
 * __deregister_frame() for an .eh_frame with FUNCTIONS functions, each of which keeps no frame
 * pointer: the median of ROUNDS. Under icount a nanosecond is an instruction.
 *
 * usage: cost FUNCTIONS ROUNDS [different]
 *   different   no two functions of an announcement, or of two that follow each other, have the
 *               same instructions
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ROOM 64		/* bytes of a function */

void __register_frame(void *begin);
void __deregister_frame(void *begin);

static const unsigned char cie[] = {
	20, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0,
};

/* push %rbp; push %rbx; sub $40, %rsp; ...; add; pop; pop; ret. The frame's size has 3 bytes. */
static const unsigned char instructions[] = {
	0x41, 0x0e, 16, 0x86, 2, 0x41, 0x0e, 24, 0x83, 3, 0x44, 0x0e, 0xc0, 0x80, 0,
	0x6e, 0x0e, 24, 0x41, 0x0e, 16, 0x41, 0x0e, 8,
};

#define FRAME_AT 12	/* in @instructions */

static unsigned char *put_fde(unsigned char *at, const unsigned char *section,
			      uint64_t start)
{
	const uint64_t size = ROOM - 4;
	const uint32_t length = 44, back = at + 4 - section;

	memset(at, 0, 4 + length);
	memcpy(at, &length, 4);
	memcpy(at + 4, &back, 4);
	memcpy(at + 8, &start, 8);
	memcpy(at + 16, &size, 8);
	memcpy(at + 24, instructions, sizeof(instructions));
	return at + 4 + length;
}

/* Give all functions other instructions than any has had: another size of the frame. */
static void differ(unsigned char *section, unsigned int nr)
{
	static uint32_t frame;

	for (unsigned int i = 0; i < nr; i++) {
		unsigned char *at = section + sizeof(cie) + i * 48 + 24 + FRAME_AT;

		frame++;
		at[0] = 0x80 | frame;
		at[1] = 0x80 | frame >> 7;
		at[2] = 1 + (frame >> 14);
	}
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static int compare(const void *a_pointer, const void *b_pointer)
{
	const double a = *(const double *)a_pointer, b = *(const double *)b_pointer;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	const unsigned int nr = argc > 1 ? atoi(argv[1]) : 100;
	const unsigned int rounds = argc > 2 ? atoi(argv[2]) : 1000;
	unsigned char *section = calloc(1, sizeof(cie) + nr * 48 + 4);
	unsigned char *at = section + sizeof(cie);
	double *announce = calloc(rounds, sizeof(*announce));
	double *take_back = calloc(rounds, sizeof(*take_back));
	double start, middle;
	void *text;

	text = mmap(NULL, (size_t)nr * ROOM, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!rounds || !announce || !take_back || !section || text == MAP_FAILED)
		return 1;
	memcpy(section, cie, sizeof(cie));
	for (unsigned int i = 0; i < nr; i++)
		at = put_fde(at, section, (uintptr_t)text + (uint64_t)i * ROOM);
	for (unsigned int i = 0; i < rounds + 10; i++) {
		if (argc > 3)
			differ(section, nr);
		start = now_ns();
		__register_frame(section);
		middle = now_ns();
		__deregister_frame(section);
		if (i < 10)
			continue;
		announce[i - 10] = middle - start;
		take_back[i - 10] = now_ns() - middle;
	}
	qsort(announce, rounds, sizeof(*announce), compare);
	qsort(take_back, rounds, sizeof(*take_back), compare);
	printf("%u functions: %.0f to announce, %.0f to take back\n", nr,
	       announce[rounds / 2], take_back[rounds / 2]);
	return 0;
}
