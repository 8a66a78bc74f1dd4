/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stray: an attachment by a reader that was killed before it could reply. The table
 * of known files does not have it, so nothing else would detach it.
 */
#ifndef ATTACH_STRAY_H
#define ATTACH_STRAY_H

#include <stdint.h>

#include "job.h"

/*
 * Strays detached at a time: as many as the kernel attaches at most. If it attaches more,
 * further ones are found the next time.
 */
#define STRAYS_MAX 16384U

/* Minimum time between two listings of attachments. */
#define STRAYS_MIN_NS (10 * SECOND)

/**
 * struct strays
 *
 * @nr_lost: jobs.nr_lost at the time of the last listing.
 * @listed_at: when the attachments were listed; 0 if the listing has been handled.
 * @is_complete: all attachments have been listed.
 * @has_more: there may be more strays than @ids.
 * @next_at: do not list again before this time.
 * @ids, @nr: attachments in the listing that were not known.
 */
struct strays {
	unsigned int nr_lost;
	uint64_t listed_at;
	bool is_complete;
	bool has_more;
	uint64_t next_at;
	uint64_t ids[STRAYS_MAX];
	unsigned int nr;
};

/*
 * Call it periodically. If a reader was lost, list all attachments. When all requests
 * made before that have been replied to, detach those that are still unknown.
 */
void strays_check(struct strays *strays, const struct jobs *jobs, int device);

#endif /* ATTACH_STRAY_H */
