/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Build ID cache: perf's cache of files by build ID, ~/.debug.
 *
 * ~/.debug/.build-id/01/23456... is a link to a folder with the file "elf". As perf does,
 * the folder is named by the path that the file has, and by its build ID:
 * ~/.debug/usr/bin/ls/0123456... . "perf buildid-cache -l" lists the files that are still at
 * these paths. A path that could be mistaken for something else, which those of other users'
 * processes may be, is not used: such a file gets ~/.debug/sframe-unwind/0123456... .
 *
 * Nobody but the user and root may be able to change what is in any of the directories:
 * otherwise, somebody else could lead the user, who may be root, to write elsewhere, by links.
 * Copies are readable only for the user, as the files may be only for some.
 */
#ifndef CLI_PROFILE_BUILD_ID_CACHE_H
#define CLI_PROFILE_BUILD_ID_CACHE_H

#include <signal.h>

#include "cli/profile/object_file.h"

/**
 * struct build_id_cache - the cache
 *
 * @home: the value of HOME.
 * @top: the directory ~/.debug, or -1.
 * @is_interrupted: ends what is going on.
 */
struct build_id_cache {
	const char *home;
	int top;
	const volatile sig_atomic_t *is_interrupted;
};

/*
 * Open the cache of @home, which may be NULL; make it if there is none. Returns an exit
 * status; if it is not CLI_OK, after a message of @command.
 */
int build_id_cache_open(struct build_id_cache *cache, const char *command,
			const char *home);

/* The same without a message. Returns 0 or -errno: -EDESTADDRREQ if there is no HOME. */
int build_id_cache_try(struct build_id_cache *cache, const char *home);

/* Returns whether the cache has a file with the build ID of @known. */
bool build_id_cache_has(const struct build_id_cache *cache,
			const struct history_object *known);

/*
 * Copy @file, which was mapped by the name of @known. What is copied gets its place only
 * when it is complete. Returns 0, or a negative errno:
 * -ESTALE	the build ID of the copy is not that of @known, or the file has changed.
 * -EINTR	@cache->is_interrupted.
 * -EPERM	another user may change what is in a directory of the cache.
 * other	the file cannot be read, or the copy be written.
 */
int build_id_cache_put(const struct build_id_cache *cache,
		       const struct history_object *known,
		       const struct object_file *file);

/*
 * Copy the first @file->size bytes of a file, which may grow, to the file @name in @folder
 * of the cache, which may have two parts. Returns 0, or a negative errno as
 * build_id_cache_put(); -ESTALE: the file became shorter.
 */
int build_id_cache_put_as(const struct build_id_cache *cache, const char *folder,
			  const char *name, const struct object_file *file);

void build_id_cache_close(struct build_id_cache *cache);

#endif /* CLI_PROFILE_BUILD_ID_CACHE_H */
