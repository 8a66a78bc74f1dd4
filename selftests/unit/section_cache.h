/* SPDX-License-Identifier: GPL-2.0 */
/* A cache of sections in a directory of its own, for tests. */
#ifndef SFU_SECTION_CACHE_H
#define SFU_SECTION_CACHE_H

#include <stdbool.h>

#include "convert/cache.h"
#include "tap.h"

/* A user who is not root, nor whoever runs the tests. */
#define STRANGER 65534

/* Bytes of the limit that one of our files takes. */
#define FILE_ROOM 4096

/* A directory, and the cache in it. */
extern char work[64];
extern char dir[96];
extern struct sfu_cache *cache;

/* A result, with something left out. */
extern struct sframe_unwind_converted *made;

/* main() of a test: a new directory, the tests, and nothing left. */
int run_with_cache(const struct tap_test *tests, unsigned int count);

/* An empty cache. Returns whether it could be opened. */
bool begin(void);

int reopen(void);

/* A string that is good until the fourth one after it. */
__attribute__((format(printf, 1, 2)))
const char *text(const char *format, ...);

/* Path of a file in the cache, and name of one by a number. */
const char *in(const char *name);
const char *name_of(unsigned char number);

unsigned int count_files(void);
bool is_there(const char *name);
void put_file(const char *name, const char *bytes);

/* Does the file give back what was written? Returns 0 or what went wrong. */
int read_back(const char *name);

/* Write the result to the file. */
int write_one(const char *name);

/* Files 1 to @count, used one after the other. */
void fill(unsigned int count);

#endif /* SFU_SECTION_CACHE_H */
