/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second decoder to compare the first one with. Written from the description
 * of the format, shares no code and no constants with module/decode/sframe.c, and does
 * everything the long way: looks at all of the section before it says a word
 * about any address, and searches by walking.
 */
#ifndef SFU_REFERENCE_H
#define SFU_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

/* The base of a place that is a DWARF register has its number instead. */
#define REF_CFA		-1
#define REF_SAME	-2	/* not changed by the function */

struct ref_place {
	long base;
	bool in_memory;		/* at base + offset, rather than being that */
	long offset;
};

enum ref_answer {
	REF_NONE,		/* nothing is known about the address */
	REF_OUTERMOST,
	REF_SIGNAL,		/* a signal frame about which nothing is known */
	REF_RULE,
};

struct ref_rule {
	enum ref_answer answer;
	bool signal;
	struct ref_place cfa, ra, fp;
};

struct ref_section {
	const uint8_t *bytes;
	uint64_t size, address;
	uint64_t near;		/* number of the entry to start searching at */
};

/* Can this be decoded: version, machine, and nothing wrong anywhere? */
bool ref_is_sound(const struct ref_section *section);

/* Of a sound section. */
struct ref_rule ref_lookup(struct ref_section *section, uint64_t pc);

#endif /* SFU_REFERENCE_H */
