// SPDX-License-Identifier: GPL-2.0
/*
 * Recent: files that were examined for one user a short time ago.
 */
#include <stdlib.h>

#include "recent.h"

/* The table is divided into sets of so many entries; a key can be in one set only. */
#define WAYS 4U

void recents_free(struct recents *recents)
{
	free(recents->entries);
	*recents = (struct recents){ 0 };
}

static struct recent *set_of(const struct recents *recents,
			     const struct file_key *key)
{
	const uint64_t mixed = (key->inode ^ key->device << 40) *
			       0x9e3779b97f4a7c15;

	return &recents->entries[(mixed >> 40) % (RECENT_MAX / WAYS) * WAYS];
}

static struct recent *find_key(const struct recents *recents,
			       const struct file_key *key)
{
	struct recent *set;

	if (!recents->entries)
		return NULL;
	set = set_of(recents, key);
	for (unsigned int i = 0; i < WAYS; i++)
		if (set[i].checked_at && is_same_key(&set[i].key, key))
			return &set[i];
	return NULL;
}

struct recent *recents_find(const struct recents *recents,
			    const struct mapping *mapping)
{
	struct recent *recent = find_key(recents, &mapping->key);

	if (recent && mapping->generation && recent->generation &&
	    mapping->generation != recent->generation)
		return NULL;
	return recent;
}

/* Take the mapping to be rechecked. */
static void take(struct recents *recents, struct recent *recent,
		 struct mapping *mapping)
{
	*mapping = (struct mapping) {
		.pid = recent->recheck.pid,
		.generation = recent->generation,
		.start = recent->recheck.start,
		.end = recent->recheck.end,
		.key = recent->key,
	};
	recent->has_recheck = false;
	recents->nr_rechecks--;
}

static struct recent *oldest_of(struct recent *set)
{
	struct recent *oldest = set;

	for (unsigned int i = 1; i < WAYS; i++)
		if (set[i].checked_at < oldest->checked_at)
			oldest = &set[i];
	return oldest;
}

bool recents_add(struct recents *recents, const struct mapping *mapping,
		 uint64_t device, uint64_t inode, uint64_t now,
		 struct mapping *displaced)
{
	struct recent *recent = find_key(recents, &mapping->key);
	bool has_displaced = false;

	if (!recents->entries) {
		recents->entries = calloc(RECENT_MAX,
					  sizeof(*recents->entries));
		/* Without memory, the file is only examined again earlier. */
		if (!recents->entries)
			return false;
	}
	if (!recent) {
		recent = oldest_of(set_of(recents, &mapping->key));
		has_displaced = recent->has_recheck;
		if (has_displaced)
			take(recents, recent, displaced);
		recent->key = mapping->key;
	}
	recent->device = device;
	recent->inode = inode;
	recent->generation = mapping->generation;
	recent->checked_at = now;
	return has_displaced;
}

void recents_add_recheck(struct recents *recents, struct recent *recent,
			 const struct mapping *mapping, uint64_t at)
{
	recent->recheck = mapping_place(mapping);
	if (recent->has_recheck)
		return;
	recent->has_recheck = true;
	recent->recheck_at = at;
	recents->nr_rechecks++;
}

bool recents_take_recheck(struct recents *recents, uint64_t now,
			  struct mapping *mapping)
{
	if (!recents->nr_rechecks)
		return false;
	for (unsigned int i = 0; i < RECENT_MAX; i++) {
		struct recent *recent = &recents->entries[i];

		if (!recent->has_recheck || now < recent->recheck_at)
			continue;
		take(recents, recent, mapping);
		return true;
	}
	return false;
}
