// SPDX-License-Identifier: GPL-2.0
/* Content: generated sections and stacks. */
#include <string.h>

#include "../include/random.h"
#include "broken.h"
#include "content.h"
#include "run.h"

#define STACK_SIZE	2048
#define DEEP		1536

/* An address for a walk: the start of a function, or a place in one. */
static uint64_t code_address(uint64_t slot, uint64_t *random)
{
	static const uint32_t starts[] = {
		PLAIN_PC, WIDE_PC, FLEX_PC, STUBS_PC, OUTERMOST_PC, NOROWS_PC,
		RESTORER_PC, HANDLER_PC, LATE_PC, HUGE_PC
	};
	const unsigned int nr = sizeof(starts) / sizeof(starts[0]);

	if (random_percent(random, 10))
		return slot + TEXT + random_below(random, HUGE_SIZE);
	return slot + starts[random_below(random, nr)] +
	       random_below(random, 0x40);
}

static uint64_t stack_word(uint64_t at, uint64_t *random)
{
	const uint64_t slot = at & -SLOT_SIZE;

	switch (random_below(random, 16)) {
	case 0:
		return 0;
	case 1:
		return random_next(random);
	case 2:
		return code_address(slot ^ SLOT_SIZE, random);
	case 3 ... 5:
		return at + random_below(random, 64) * 8;
	case 6:
		return random_below(random, 0x2000);
	default:
		return code_address(slot, random);
	}
}

static size_t make_stack(uint64_t seed, uint64_t at, uint64_t *to)
{
	unsigned int i;

	for (i = 0; i < STACK_SIZE / sizeof(*to); i++)
		to[i] = stack_word(at + i * sizeof(*to), &seed);
	return STACK_SIZE;
}

/* More frames of one function than any walk visits. */
static size_t make_deep(uint64_t at, uint64_t *to)
{
	unsigned int i;

	for (i = 0; i < DEEP; i++)
		to[i] = (at & -SLOT_SIZE) + PLAIN_PC + 1;
	return DEEP * sizeof(*to);
}

void content_flip(void *to, size_t size, uint64_t seed)
{
	unsigned int nr = 1 + random_below(&seed, 4);
	unsigned char *bytes = to;

	while (nr--) {
		unsigned char *byte = &bytes[random_below(&seed, size)];

		if (random_percent(&seed, 50))
			*byte ^= 1 << random_below(&seed, 8);
		else
			*byte = random_next(&seed);
	}
}

size_t content_make(enum content content, uint64_t seed, uint64_t at, void *to)
{
	unsigned int i;

	switch (content) {
	case CONTENT_SECTION:
	default:
		memcpy(to, &base, sizeof(base));
		return sizeof(base);
	case CONTENT_BROKEN:
		return broken_build(&broken[seed % NR_BROKEN], to);
	case CONTENT_FLIPPED:
		memcpy(to, &base, sizeof(base));
		content_flip(to, sizeof(base), seed);
		return sizeof(base);
	case CONTENT_STACK:
		return make_stack(seed, at, to);
	case CONTENT_DEEP:
		return make_deep(at, to);
	case CONTENT_TABLE:
		return content_make_table(seed, to);
	case CONTENT_RANDOM:
		for (i = 0; i < 64; i++)
			((uint64_t *)to)[i] = random_next(&seed);
		return 64 * sizeof(uint64_t);
	}
}
