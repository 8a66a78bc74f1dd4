// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "targets.h"

/* A string and the number of its file. */
struct entry {
	const char *text;
	size_t file;
};

static const char *last_part(const char *file)
{
	const char *slash = strrchr(file, '/');

	if (!strcmp(file, "-"))
		return "stdin";
	return slash ? slash + 1 : file;
}

static int compare_entries(const void *a_pointer, const void *b_pointer)
{
	const struct entry *a = a_pointer, *b = b_pointer;
	const int order = strcmp(a->text, b->text);

	return order ? order : (a->file > b->file) - (a->file < b->file);
}

/* DIR/NAME.sframe */
static char *short_target(const char *dir, const char *file)
{
	char *target;

	return asprintf(&target, "%s/%s.sframe", dir, last_part(file)) < 0 ?
	       NULL : target;
}

/* DIR/PATH.sframe, where PATH is that of the file without "", "." and "..". */
static char *long_target(const char *dir, const char *file)
{
	char *target = malloc(strlen(dir) + strlen(file) +
			      sizeof("/stdin.sframe"));
	char *end;

	if (!target)
		return NULL;
	if (!strcmp(file, "-"))
		file = last_part(file);
	end = stpcpy(target, dir);
	while (*file) {
		const size_t length = strcspn(file, "/");

		if (length && (length > 2 || strncmp(file, "..", length))) {
			*end++ = '/';
			end = mempcpy(end, file, length);
		}
		file += length + (file[length] == '/');
	}
	memcpy(end, ".sframe", sizeof(".sframe"));
	return target;
}

/* Fill @targets. @entries is a scratch array of the same length. */
static bool name_all(char **targets, struct entry *entries, const char *dir,
		     char **files, size_t nr)
{
	size_t next;

	for (size_t i = 0; i < nr; i++)
		entries[i] = (struct entry){ last_part(files[i]), i };
	qsort(entries, nr, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < nr; i = next) {
		for (next = i + 1; next < nr; next++)
			if (strcmp(entries[i].text, entries[next].text))
				break;
		for (size_t j = i; j < next; j++) {
			const size_t file = entries[j].file;

			targets[file] = (next == i + 1 ? short_target :
					 long_target)(dir, files[file]);
			if (!targets[file])
				return false;
		}
	}
	return true;
}

/* Set targets that are the same as an earlier one to NULL. */
static void drop_doubles(char **targets, struct entry *entries, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		entries[i] = (struct entry){ targets[i], i };
	qsort(entries, nr, sizeof(*entries), compare_entries);
	/* Backwards, so that a freed string is not compared any more. */
	for (size_t i = nr; i-- > 1;) {
		if (strcmp(entries[i].text, entries[i - 1].text))
			continue;
		free(targets[entries[i].file]);
		targets[entries[i].file] = NULL;
	}
}

char **targets_plan(const char *dir, char **files, size_t nr)
{
	struct entry *entries = calloc(nr, sizeof(*entries));
	char **targets = calloc(nr, sizeof(*targets));

	if (!entries || !targets || !name_all(targets, entries, dir, files, nr)) {
		targets_free(targets, nr);
		targets = NULL;
	} else {
		drop_doubles(targets, entries, nr);
	}
	free(entries);
	return targets;
}

void targets_free(char **targets, size_t nr)
{
	for (size_t i = 0; targets && i < nr; i++)
		free(targets[i]);
	free(targets);
}

int targets_make_parents(const char *target, size_t dir_length)
{
	char *path = strdup(target);
	int err = 0;

	if (!path)
		return -ENOMEM;
	for (char *at = path + dir_length + 1; !err && (at = strchr(at, '/'));
	     at++) {
		*at = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			err = -errno;
		*at = '/';
	}
	free(path);
	return err;
}
