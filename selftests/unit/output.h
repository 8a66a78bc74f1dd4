/* SPDX-License-Identifier: GPL-2.0 */
/* Files written by a generator; a failed write ends the program. */
#ifndef SFU_UNIT_OUTPUT_H
#define SFU_UNIT_OUTPUT_H

#include <stdio.h>
#include <stdlib.h>

static inline FILE *output_create(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static inline void output_done(FILE *file)
{
	if (ferror(file) | fclose(file)) {
		perror("write");
		exit(1);
	}
}

#endif /* SFU_UNIT_OUTPUT_H */
