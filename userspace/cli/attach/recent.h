/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recent: files that were examined for one user a short time ago, by the keys of their
 * mappings.
 *
 * A key may have led to another file than its own: the user may have put one in the
 * place of the mapping before that was opened, and on btrfs and overlayfs two files can
 * have the same key. So what is noted here counts for mappings of the same user only. What
 * is noted for root counts for all, as to files that only root can have written.
 */
#ifndef ATTACH_RECENT_H
#define ATTACH_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#include "mapping.h"

/* Files in the table of one user. */
#define RECENT_MAX 128U

/**
 * struct recent - a file
 *
 * @key, @generation: of the mapping that was examined.
 * @device, @inode: the file that was found there, as in stat(2).
 * @checked_at: when it was examined; 0 if the entry is empty.
 * @has_recheck: it was mapped again since, and is to be examined at @recheck_at.
 * @recheck: the latest of these mappings.
 */
struct recent {
	struct file_key key;
	uint64_t device;
	uint64_t inode;
	uint32_t generation;
	bool has_recheck;
	uint64_t checked_at;
	uint64_t recheck_at;
	struct mapping_place recheck;
};

/**
 * struct recents - files of one user
 *
 * @entries: RECENT_MAX entries, or NULL.
 * @nr_rechecks: number of files with a recheck.
 */
struct recents {
	struct recent *entries;
	unsigned int nr_rechecks;
};

void recents_free(struct recents *recents);

/* The file to which a mapping with this key and generation led, or NULL. */
struct recent *recents_find(const struct recents *recents,
			    const struct mapping *mapping);

/*
 * Note that @mapping led to that file. If this displaces a file with a recheck, sets
 * *@displaced to its mapping, to be examined now, and returns true.
 */
bool recents_add(struct recents *recents, const struct mapping *mapping,
		 uint64_t device, uint64_t inode, uint64_t now,
		 struct mapping *displaced);

/* Examine the file again at @at, or earlier if that has been requested before. */
void recents_add_recheck(struct recents *recents, struct recent *recent,
			 const struct mapping *mapping, uint64_t at);

/* Take a recheck whose time has come. Returns whether there was one. */
bool recents_take_recheck(struct recents *recents, uint64_t now,
			  struct mapping *mapping);

#endif /* ATTACH_RECENT_H */
