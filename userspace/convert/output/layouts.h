/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Layouts: choose the layouts of an extended section, and number them.
 */
#ifndef SFRAME_UNWIND_LAYOUTS_H
#define SFRAME_UNWIND_LAYOUTS_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/buffer.h"
#include "module/decode/sframe.h"
#include "module/decode/sframe_format.h"

/* A layout, as a number: its slots, the first one lowest, and its flags above. */
#define SLOT_BITS	8
#define LAYOUT_FLAGS	(SLOT_BITS * SFU_NR_SAVED)
#define LAYOUT_SLOTS	((1ULL << LAYOUT_FLAGS) - 1)
#define LAYOUT_UNKNOWN	LAYOUT_SLOTS

/* Code from @start on, up to the next run. */
struct run {
	uint64_t start;
	uint64_t layout;
};

_Static_assert(LAYOUT_UNKNOWN % 256 == SFRAME_EXT_SLOT_UNKNOWN,
	       "all slots of that layout are unknown");

static inline uint8_t layout_flags(uint64_t layout)
{
	return layout >> LAYOUT_FLAGS;
}

/*
 * Replace the layouts of @runs, an array of struct run, by their numbers, and set
 * *@layouts to the layouts by their numbers, to be freed by the caller. Runs that are
 * like the one before are left out. Rare layouts may be replaced by others that only
 * make more registers unsure.
 *
 * Returns the number of layouts; runs with none of them have that as their number. Or a
 * negative errno with a message.
 */
ssize_t sfu_layouts_number(struct buffer *runs, uint64_t **layouts);

#endif /* SFRAME_UNWIND_LAYOUTS_H */
