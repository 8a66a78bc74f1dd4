/* SPDX-License-Identifier: GPL-2.0 */
/* Tally: counters by name. */
#ifndef TRUTH_TALLY_H
#define TRUTH_TALLY_H

#include <stdio.h>
#include <string.h>

#define TALLY_NAMES	64

struct tally {
	unsigned int nr;
	struct {
		char name[160];
		unsigned long count;
	} names[TALLY_NAMES];
};

/* Count @name. Returns the new count. */
static inline unsigned long tally_count(struct tally *tally, const char *name)
{
	unsigned int i;

	for (i = 0; i < tally->nr; i++) {
		if (!strcmp(tally->names[i].name, name))
			return ++tally->names[i].count;
	}
	/* The last entry counts all names that have no entry. */
	if (i == TALLY_NAMES)
		return ++tally->names[--i].count;
	snprintf(tally->names[i].name, sizeof(tally->names[i].name), "%s",
		 name);
	tally->names[i].count = 1;
	tally->nr++;
	return 1;
}

#endif /* TRUTH_TALLY_H */
