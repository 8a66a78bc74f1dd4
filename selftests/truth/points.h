/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Points: instructions at which to stop an object's code, found without its
 * .sframe: starts of functions, changes of the frame in .eh_frame, and linkage
 * stubs.
 */
#ifndef TRUTH_POINTS_H
#define TRUTH_POINTS_H

#include "image.h"
#include "../include/random.h"

enum point_kind {
	POINT_ENTRY,
	POINT_CHANGE,
	POINT_STUB,
	NR_POINT_KINDS
};

/* Found once for each file, however often it is mapped. */
struct points {
	char *name;			/* of the object */
	struct point_list {
		uint64_t *offsets;	/* addresses in the file */
		size_t nr, space;
	} lists[NR_POINT_KINDS];
};

struct all_points {
	unsigned int nr;
	struct points objects[MAX_OBJECTS];
};

/* A random address in some object of @image, or 0 if there is none. */
uint64_t points_pick(struct all_points *all, const struct image *image,
		     uint64_t *random);
void points_free(struct all_points *all);

#endif /* TRUTH_POINTS_H */
