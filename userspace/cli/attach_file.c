// SPDX-License-Identifier: GPL-2.0
/*
 * Files that have been looked at, and the objects that they were found to be.
 */
#include <stdlib.h>

#include "attach_file.h"

/* One file as it was when it was looked at. */
struct known_file {
	struct known_file *next;
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
	struct object *object;
};

static size_t bucket_of(const struct stat *stat)
{
	return (stat->st_ino ^ stat->st_dev * 31) % KNOWN_FILES_BUCKETS;
}

static struct known_file *find(const struct known_files *files,
			       const struct stat *stat)
{
	struct known_file *file = files->buckets[bucket_of(stat)];

	while (file && (file->inode != stat->st_ino ||
			file->device != stat->st_dev))
		file = file->next;
	return file;
}

struct object *known_files_find(const struct known_files *files,
				const struct stat *stat)
{
	const struct known_file *file = find(files, stat);

	if (!file || file->size != stat->st_size ||
	    !is_unchanged(&file->changed, stat))
		return NULL;
	return file->object;
}

void known_files_set(struct known_files *files, const struct stat *stat,
		     struct object *object)
{
	struct known_file **bucket = &files->buckets[bucket_of(stat)];
	struct known_file *file = find(files, stat);

	if (!file) {
		file = calloc(1, sizeof(*file));
		if (!file)
			return;
		file->device = stat->st_dev;
		file->inode = stat->st_ino;
		file->next = *bucket;
		*bucket = file;
	}
	file->size = stat->st_size;
	file->changed = stat->st_ctim;
	file->object = object;
}

void known_files_forget(struct known_files *files, const struct object *object)
{
	for (size_t i = 0; i < KNOWN_FILES_BUCKETS; i++)
		for (struct known_file *file = files->buckets[i]; file;
		     file = file->next)
			if (file->object == object)
				file->object = NULL;
}

void known_files_free(struct known_files *files)
{
	for (size_t i = 0; i < KNOWN_FILES_BUCKETS; i++) {
		while (files->buckets[i]) {
			struct known_file *file = files->buckets[i];

			files->buckets[i] = file->next;
			free(file);
		}
	}
}
