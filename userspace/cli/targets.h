/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Targets: paths of the results of "convert -o DIR FILE...".
 *
 * A result is DIR/NAME.sframe, where NAME is the last part of FILE's path. If several
 * FILEs have the same last part, each of these keeps its path below DIR, without the
 * components . and ..: DIR/usr/lib/NAME.sframe for /usr/lib/NAME and for
 * ../usr/./lib/NAME. The paths depend only on the FILEs, not on the contents of DIR.
 */
#ifndef TARGETS_H
#define TARGETS_H

#include <stddef.h>

/*
 * Returns the paths of the results of @nr @files, in their order, to be freed by
 * targets_free(). An entry is NULL if its path is that of an earlier one. Returns NULL
 * if there is no memory.
 */
char **targets_plan(const char *dir, char **files, size_t nr);

void targets_free(char **targets, size_t nr);

/*
 * Create the directories of @target below the directory that is its first @dir_length
 * bytes. Returns 0 or a negative errno.
 */
int targets_make_parents(const char *target, size_t dir_length);

#endif /* TARGETS_H */
