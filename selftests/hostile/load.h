/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attacks on the daemon of "sframe-unwind attach --all" that need no privilege.
 * For its tests.
 */
#ifndef HOSTILE_LOAD_H
#define HOSTILE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Eight bytes of a file that alternate between two values. */
struct toggle {
	off_t offset;
	uint64_t genuine;
	uint64_t forged;
};

/* Make a copy with the same build ID and segments, but without CFI. */
bool make_without_cfi(const char *from, const char *to);

/*
 * Make a copy with the same build ID and segments, with the CFI of one
 * function.
 */
bool make_with_little_cfi(const char *from, const char *to);

/*
 * Make a copy with little CFI, whose executable segment is shorter until
 * toggled.
 */
bool make_shrunk(const char *from, const char *to, unsigned int by,
		 struct toggle *toggle);

/*
 * Make a file with @cfi_size bytes of CFI and a hole of @text_size bytes of
 * text.
 */
bool make_sparse(const char *to, uint64_t text_size, size_t cfi_size);

/* Map the first page of a file executable. Returns its address or NULL. */
void *map_file(const char *path);

/* Make a copy with a random build ID. */
bool make_stranger(const char *from, const char *to);

/* Enter a new user and mount namespace, as root of it. */
bool enter_namespaces(void);

/* Serve a copy of @from as a file of FUSE, map it, and stop answering. */
bool map_silent_fuse(const char *from, const char *dir);

/*
 * As root: mount such a file for all users, like an administrator who mounts a
 * network file system, and serve it as @uid for a minute, with each answer
 * after @ms; with 0 stop answering once it has been opened.
 */
bool map_served_fuse(const char *from, uid_t uid, unsigned int ms);

/* As above with a server that answers everything except close(2) by others. */
bool map_unclosed_fuse(const char *from, uid_t uid);

#endif /* HOSTILE_LOAD_H */
