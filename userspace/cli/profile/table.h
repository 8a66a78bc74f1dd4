/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables that give consecutive numbers, from 0, to keys.
 */
#ifndef CLI_PROFILE_TABLE_H
#define CLI_PROFILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instead of a number. */
#define TABLE_NONE	UINT32_MAX

/**
 * struct pair - a key
 *
 * @a: one part.
 * @b: the other part.
 */
struct pair {
	uint64_t a;
	uint64_t b;
};

/**
 * struct pairs - numbers of pairs; all 0 is an empty table
 *
 * @keys: the keys by number.
 * @nr: number of keys.
 * @slots: number + 1 of the key by hash, or 0.
 * @mask: number of @slots less 1.
 */
struct pairs {
	struct pair *keys;
	uint32_t nr;
	uint32_t *slots;
	uint32_t mask;
};

/* Returns the number of a pair, a new one if need be. */
uint32_t pairs_add(struct pairs *pairs, uint64_t a, uint64_t b);

/* Returns the number of a pair, or TABLE_NONE. */
uint32_t pairs_find(const struct pairs *pairs, uint64_t a, uint64_t b);

void pairs_free(struct pairs *pairs);

/**
 * struct strings - numbers of strings; all 0 is an empty table
 *
 * @pairs: hash of each, and a number that tells those of the same hash apart.
 * @texts: the strings by number.
 * @room: entries that @texts has room for.
 */
struct strings {
	struct pairs pairs;
	char **texts;
	uint32_t room;
};

/* Returns the number of a string, a new one if need be. */
uint32_t strings_add(struct strings *strings, const char *text);

/* Returns whether a string has a number. */
bool strings_has(const struct strings *strings, const char *text);

void strings_free(struct strings *strings);

/*
 * A hash of two numbers, with a secret key of this process: nobody can choose
 * many keys of the same hash.
 */
uint64_t table_hash(uint64_t a, uint64_t b);

/*
 * Make room for element @nr of @size bytes in an array with *@room elements, by
 * doubling it; new elements are zeroed. Without memory, the process ends with a
 * message, as do all functions of this file.
 */
void *table_grow(void *array, uint32_t *room, uint32_t nr, size_t size);

/* As malloc(), calloc() and strdup(), but never NULL. */
void *table_allocate(size_t size);
char *table_copy(const char *text);

#endif /* CLI_PROFILE_TABLE_H */
