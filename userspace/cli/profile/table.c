// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/cli.h"
#include "cli/profile/table.h"
#include "lib/buffer.h"

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

	if (nr < *room && *room * size > BUFFER_MOVES)
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

/* --- SipHash-1-3, with a key of this process */

static uint64_t rotate(uint64_t value, unsigned int by)
{
	return value << by | value >> (64 - by);
}

static void round_of(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static void begin_hash(uint64_t v[4])
{
	static uint64_t key[2];

	if (!key[0] && getrandom(key, sizeof(key), GRND_NONBLOCK) !=
		       sizeof(key))
		key[0] = (uintptr_t)&key ^ 0x9e3779b97f4a7c15ULL;
	v[0] = key[0] ^ 0x736f6d6570736575ULL;
	v[1] = key[1] ^ 0x646f72616e646f6dULL;
	v[2] = key[0] ^ 0x6c7967656e657261ULL;
	v[3] = key[1] ^ 0x7465646279746573ULL;
}

static void add_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	round_of(v);
	v[0] ^= word;
}

static uint64_t end_hash(uint64_t v[4])
{
	v[2] ^= 0xff;
	for (unsigned int i = 0; i < 3; i++)
		round_of(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t table_hash(uint64_t a, uint64_t b)
{
	uint64_t v[4];

	begin_hash(v);
	add_word(v, a);
	add_word(v, b);
	return end_hash(v);
}

static uint64_t hash_text(const char *text)
{
	size_t left = strlen(text);
	uint64_t v[4], word;

	begin_hash(v);
	for (; left >= sizeof(word); left -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		add_word(v, word);
		text += sizeof(word);
	}
	/* Texts of different length differ in the last word's highest byte. */
	word = (uint64_t)(left + 1) << 56;
	memcpy(&word, text, left);
	add_word(v, word);
	return end_hash(v);
}

/* --- pairs */

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
		uint32_t slot = table_hash(pairs->keys[i].a,
					   pairs->keys[i].b);

		while (pairs->slots[slot & pairs->mask])
			slot++;
		pairs->slots[slot & pairs->mask] = i + 1;
	}
}

/* Returns where the number of a pair is or belongs, or NULL if there is no table. */
static uint32_t *find_slot(const struct pairs *pairs, uint64_t a, uint64_t b)
{
	uint32_t slot = table_hash(a, b), number;

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
	const uint64_t value = hash_text(text);
	uint32_t number, old;

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

bool strings_has(const struct strings *strings, const char *text)
{
	const uint64_t value = hash_text(text);
	uint32_t number;

	for (uint64_t other = 0;; other++) {
		number = pairs_find(&strings->pairs, value, other);
		if (number == TABLE_NONE || !strcmp(strings->texts[number], text))
			return number != TABLE_NONE;
	}
}

void strings_free(struct strings *strings)
{
	for (uint32_t i = 0; i < strings->pairs.nr; i++)
		free(strings->texts[i]);
	free(strings->texts);
	pairs_free(&strings->pairs);
	*strings = (struct strings){ 0 };
}
