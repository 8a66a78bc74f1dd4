/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a user can do to the daemon of "sframe-unwind attach --all" without any
 * privilege. For its tests.
 */
#ifndef HOSTILE_LOAD_H
#define HOSTILE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Eight bytes of a file that are to be the one or the other. */
struct toggle {
	off_t offset;
	uint64_t genuine;
	uint64_t forged;
};

/* A copy with the same build ID and segments, but without CFI. */
bool make_without_cfi(const char *from, const char *to);

/* The same with the CFI of one function. */
bool make_with_little_cfi(const char *from, const char *to);

/* A copy with little CFI, and, for now, an executable segment that is shorter. */
bool make_shrunk(const char *from, const char *to, unsigned int by,
		 struct toggle *toggle);

/* A file with @cfi_size bytes of CFI and @text_size of text that are not stored. */
bool make_sparse(const char *to, uint64_t text_size, size_t cfi_size);

/* Map the first page of a file executable. Returns its address or NULL. */
void *map_file(const char *path);

/* A copy with a build ID of its own, by chance. */
bool make_stranger(const char *from, const char *to);

/* Be root in a user and a mount namespace of our own. */
bool enter_namespaces(void);

/* Serve a copy of @from as a file of FUSE, map it, and never answer again. */
bool map_silent_fuse(const char *from, const char *dir);

/*
 * As root: mount such a file for everybody, as an administrator may have done with
 * a file system of the network, and serve it as @uid for a minute, each answer
 * after @ms; if that is 0, be silent when it has been opened.
 */
bool map_served_fuse(const char *from, uid_t uid, unsigned int ms);

/* The same with a server that answers all but the close(2) of others. */
bool map_unclosed_fuse(const char *from, uid_t uid);

#endif /* HOSTILE_LOAD_H */
