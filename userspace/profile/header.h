/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What a profile has beside its records.
 */
#ifndef PROFILE_HEADER_H
#define PROFILE_HEADER_H

#include "profile/input.h"
#include "profile/sources.h"

#define PROFILE_FACTS	5

/**
 * struct known_file - build ID of a file, for mappings that have none
 *
 * @name: its path.
 * @build_id: the build ID.
 * @size: bytes of @build_id.
 */
struct known_file {
	char *name;
	uint8_t build_id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	unsigned int size;
};

/**
 * struct profile_header - what was read
 *
 * @sources: the sources.
 * @facts: texts by enum sframe_unwind_profile_fact, or NULL.
 * @files: build IDs.
 * @nr_files: number of @files.
 * @are_sorted: whether @files are sorted by name.
 * @begin: offset of the first record.
 * @end: offset of their end.
 * @is_pipe: whether the header's facts are among the records.
 * @is_unfinished: whether the recorder had no time to finish the file.
 */
struct profile_header {
	struct sources sources;
	char *facts[PROFILE_FACTS];
	struct known_file *files;
	size_t nr_files;
	bool are_sorted;
	uint64_t begin;
	uint64_t end;
	bool is_pipe;
	bool is_unfinished;
};

/*
 * Read the header of a profile. Returns 0, or -errno with a sentence in @error
 * of @error_size bytes.
 */
int sfu_header_read(struct profile_header *header, struct input *input, char *error,
		    size_t error_size);

/*
 * Use a record of a profile from a pipe, of a type >= RECORD_USER, that has the
 * same facts. Returns 0, -ENOMEM, or -EINVAL and the reason in *@why.
 */
int sfu_header_add_record(struct profile_header *header, const void *bytes,
			  const char **why);

/* Returns the build ID of a file, or NULL. */
const struct known_file *sfu_header_find_file(struct profile_header *header,
					      const char *name);

void sfu_header_free(struct profile_header *header);

#endif /* PROFILE_HEADER_H */
