/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files that have been looked at, and the objects that they were found to be.
 */
#ifndef ATTACH_FILE_H
#define ATTACH_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#define KNOWN_FILES_BUCKETS 1024

struct known_file;
struct object;

/* All zeroes is an empty one. */
struct known_files {
	struct known_file *buckets[KNOWN_FILES_BUCKETS];
};

/* Is the file that had been changed at @changed what @stat says now? */
static inline bool is_unchanged(const struct timespec *changed,
				const struct stat *stat)
{
	return changed->tv_sec == stat->st_ctim.tv_sec &&
	       changed->tv_nsec == stat->st_ctim.tv_nsec;
}

/*
 * What the file with @stat is, or NULL if that is not known or it has been
 * changed since.
 */
struct object *known_files_find(const struct known_files *files,
				const struct stat *stat);

/* Without memory it is forgotten at once, and looked at once more. */
void known_files_set(struct known_files *files, const struct stat *stat,
		     struct object *object);

/* There is no such object any more. */
void known_files_forget(struct known_files *files, const struct object *object);

void known_files_free(struct known_files *files);

#endif /* ATTACH_FILE_H */
