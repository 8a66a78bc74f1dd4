/* SPDX-License-Identifier: GPL-2.0 */
/* The decoder against the reference decoder, and against itself. */
#ifndef SFU_AGREE_H
#define SFU_AGREE_H

#include "lookup.h"
#include "tap.h"

struct agree {
	struct sfu_table table;
	struct ref_section ref;
	bool sound;
};

/*
 * Open and validate @size @bytes at @address; both decoders have to refuse or
 * accept them. Returns whether lookups can be compared: 1, and -1 if the
 * decoders disagree, else 0.
 */
int agree_begin(struct agree *agree, const u8 *bytes, u64 size, u64 address);

/*
 * Look up @pc. In a sound section the answer has to be the reference's, in
 * another one there has to be one.
 */
bool agree_lookup(struct agree *agree, u64 pc);

#endif /* SFU_AGREE_H */
