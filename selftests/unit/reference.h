/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second decoder to compare the first one with. Written from the description
 * of the format, it shares no code and no constants with
 * module/decode/sframe.c, and takes no shortcuts: it checks the whole section
 * before it answers for any address, and searches linearly. It knows extended
 * sections, too.
 */
#ifndef SFU_REFERENCE_H
#define SFU_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

/* A base that is a DWARF register is its number; these are the others. */
#define REF_CFA		-1
#define REF_SAME	-2	/* not changed by the function */

struct ref_place {
	long base;
	bool in_memory;		/* the word at base + offset instead of that sum */
	long offset;
	bool is_extended;	/* a CFA that only extended sections have; base: 0 to 19 */
	bool is_address;	/* that word is the address of the word that is meant */
	bool has_more;
	long more;		/* added at the end */
};

enum ref_answer {
	REF_NONE,		/* the address has no rule */
	REF_OUTERMOST,
	REF_SIGNAL,		/* a signal frame without rows */
	REF_RULE,
};

struct ref_rule {
	enum ref_answer answer;
	bool signal;
	struct ref_place cfa, ra, fp;
};

/* Where registers have been saved, see decode/sframe_format.h. */
struct ref_layout {
	bool is_known;
	uint8_t slots[5], flags;
};

struct ref_section {
	const uint8_t *bytes;
	uint64_t size, address;
	uint64_t near;		/* index of the entry to start searching at */
	bool may_extend;	/* accept an extended section */
};

/*
 * Whether the section can be decoded: version and machine match, and nothing in
 * it is malformed.
 */
bool ref_is_sound(const struct ref_section *section);

/* @section must be sound. */
struct ref_rule ref_lookup(struct ref_section *section, uint64_t pc);

/* @section must be sound. Not known, unless it is extended. */
struct ref_layout ref_find_layout(const struct ref_section *section, uint64_t pc);

#endif /* SFU_REFERENCE_H */
