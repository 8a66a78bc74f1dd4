/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Targets: where the results of "convert -o DIR FILE..." go.
 *
 * DIR/NAME.sframe, NAME being the last part of FILE's path. Where several FILEs
 * have the same last part, each of these keeps its path below DIR, without what
 * would lead out of it: DIR/usr/lib/NAME.sframe of /usr/lib/NAME and of
 * ../usr/./lib/NAME. It depends on the FILEs of the command only, not on what
 * is in DIR.
 */
#ifndef TARGETS_H
#define TARGETS_H

#include <stddef.h>

/*
 * The paths of the results of @nr @files, in their order; NULL for one whose
 * path is that of an earlier one. To be freed by targets_free(). Returns NULL
 * if there is no memory.
 */
char **targets_plan(const char *dir, char **files, size_t nr);

void targets_free(char **targets, size_t nr);

/*
 * Make the directories of @target that are below the first @dir_length bytes of
 * it. Returns 0 or a negative errno.
 */
int targets_make_parents(const char *target, size_t dir_length);

#endif /* TARGETS_H */
