/* SPDX-License-Identifier: GPL-2.0 */
/* A cache of sections in a directory of its own, for tests. */
#ifndef SFU_SECTION_CACHE_H
#define SFU_SECTION_CACHE_H

#include <stdbool.h>

#include "convert/cache/cache.h"
#include "tap.h"

/* A user that is neither root nor the one running the tests. */
#define STRANGER 65534

/* Bytes that one file of these tests counts towards the limit. */
#define FILE_ROOM 4096

/* A directory, and the cache in it. */
extern char work[64];
extern char dir[96];
extern struct sfu_cache *cache;

/* A conversion result that has left something out. */
extern struct sframe_unwind_converted *made;

/*
 * main() of a test: create a directory, run the tests, and check that nothing
 * is left.
 */
int run_with_cache(const struct tap_test *tests, unsigned int count);

/* Open an empty cache. Returns whether that worked. */
bool begin(void);

int reopen(void);

/* Format a string that stays valid for the next three calls. */
__attribute__((format(printf, 1, 2)))
const char *text(const char *format, ...);

/* Path of a file in the cache, and the name of file number N. */
const char *in(const char *name);
const char *name_of(unsigned char number);

unsigned int count_files(void);
bool is_there(const char *name);
void put_file(const char *name, const char *bytes);

/* Read the file and compare it with the result written. Returns 0 or an error. */
int read_back(const char *name);

/* Write the result to the file. */
int write_one(const char *name);

/* Write files 1 to @count, each used later than the one before. */
void fill(unsigned int count);

#endif /* SFU_SECTION_CACHE_H */
