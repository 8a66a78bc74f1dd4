// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/profile/table.h"

/* Most keys of a table: the sizes below cannot overflow. */
#define KEYS_MAX	(1u << 30)

__attribute__((noreturn))
static void no_memory(void)
{
	exit(finish_output(complain("no memory")));
}

void *table_allocate(size_t size)
{
	void *new = calloc(1, size ? size : 1);

	if (!new)
		no_memory();
	return new;
}

char *table_copy(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		no_memory();
	return copy;
}

void *table_grow(void *array, uint32_t *room, uint32_t nr, size_t size)
{
	size_t more = *room ? *room : 4;

	if (nr < *room)
		return array;
	while (more <= nr)
		more *= 2;
	if (more > KEYS_MAX)
		no_memory();
	array = reallocarray(array, more, size);
	if (!array)
		no_memory();
	memset((char *)array + *room * size, 0, (more - *room) * size);
	*room = more;
	return array;
}

static uint32_t hash(uint64_t a, uint64_t b)
{
	uint64_t value = (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15ULL;

	value = (value ^ value >> 32 ^ b) * 0xd6e8feb86659fd93ULL;
	return value >> 32;
}

/* Keys are half of the slots at most. */
static void grow(struct pairs *pairs)
{
	const uint32_t nr_slots = pairs->slots ? (pairs->mask + 1) * 2 : 64;

	if (nr_slots > KEYS_MAX)
		no_memory();
	free(pairs->slots);
	pairs->slots = calloc(nr_slots, sizeof(*pairs->slots));
	pairs->keys = reallocarray(pairs->keys, nr_slots / 2,
				   sizeof(*pairs->keys));
	if (!pairs->slots || !pairs->keys)
		no_memory();
	pairs->mask = nr_slots - 1;
	for (uint32_t i = 0; i < pairs->nr; i++) {
		uint32_t slot = hash(pairs->keys[i].a, pairs->keys[i].b);

		while (pairs->slots[slot & pairs->mask])
			slot++;
		pairs->slots[slot & pairs->mask] = i + 1;
	}
}

/* Returns where the number of a pair is or belongs, or NULL if there is no table. */
static uint32_t *find_slot(const struct pairs *pairs, uint64_t a, uint64_t b)
{
	uint32_t slot = hash(a, b), number;

	if (!pairs->slots)
		return NULL;
	for (;; slot++) {
		number = pairs->slots[slot & pairs->mask];
		if (!number || (pairs->keys[number - 1].a == a &&
				pairs->keys[number - 1].b == b))
			return &pairs->slots[slot & pairs->mask];
	}
}

uint32_t pairs_find(const struct pairs *pairs, uint64_t a, uint64_t b)
{
	const uint32_t *slot = find_slot(pairs, a, b);

	return slot && *slot ? *slot - 1 : TABLE_NONE;
}

uint32_t pairs_add(struct pairs *pairs, uint64_t a, uint64_t b)
{
	uint32_t *slot = find_slot(pairs, a, b);

	if (slot && *slot)
		return *slot - 1;
	if (!slot || pairs->nr >= (pairs->mask + 1) / 2) {
		grow(pairs);
		slot = find_slot(pairs, a, b);
	}
	pairs->keys[pairs->nr] = (struct pair){ a, b };
	*slot = ++pairs->nr;
	return pairs->nr - 1;
}

void pairs_free(struct pairs *pairs)
{
	free(pairs->keys);
	free(pairs->slots);
	*pairs = (struct pairs){ 0 };
}

uint32_t strings_add(struct strings *strings, const char *text)
{
	uint64_t value = 14695981039346656037ULL;
	uint32_t number, old;

	for (const char *at = text; *at; at++)
		value = (value ^ (unsigned char)*at) * 1099511628211ULL;
	/* Different strings with the same hash have different second parts. */
	for (uint64_t other = 0;; other++) {
		old = strings->pairs.nr;
		number = pairs_add(&strings->pairs, value, other);
		if (number == old)
			break;
		if (!strcmp(strings->texts[number], text))
			return number;
	}
	strings->texts = table_grow(strings->texts, &strings->room, number,
				    sizeof(*strings->texts));
	strings->texts[number] = table_copy(text);
	return number;
}

void strings_free(struct strings *strings)
{
	for (uint32_t i = 0; i < strings->pairs.nr; i++)
		free(strings->texts[i]);
	free(strings->texts);
	pairs_free(&strings->pairs);
	*strings = (struct strings){ 0 };
}
