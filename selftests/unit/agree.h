/* SPDX-License-Identifier: GPL-2.0 */
/* Compare the decoder with the reference decoder, and with itself. */
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
 * Open and validate @size @bytes at @address, which may be an extended section; both
 * decoders must refuse or accept them. Returns 1 if lookups can be compared, -1 if the
 * decoders disagree, else 0.
 */
int agree_begin(struct agree *agree, const u8 *bytes, u64 size, u64 address);

/*
 * Look up @pc. In a sound section the result must equal the reference's; in an
 * unsound one the lookup only has to return.
 */
bool agree_lookup(struct agree *agree, u64 pc);

/* As agree_lookup(), for the layout at @pc of an extended section. */
bool agree_layout(struct agree *agree, u64 pc);

#endif /* SFU_AGREE_H */
