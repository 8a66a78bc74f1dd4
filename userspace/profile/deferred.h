/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Call chains in two records: since Linux 7, the kernel can write the user's
 * part when the thread returns to user mode. It belongs to all samples of the
 * thread with the same cookie. Those may be before it in the file or, if they
 * are of another CPU, behind it.
 */
#ifndef PROFILE_DEFERRED_H
#define PROFILE_DEFERRED_H

#include <sys/queue.h>

#include "profile/parse.h"

struct held;

TAILQ_HEAD(held_list, held);
LIST_HEAD(held_bucket, held);

#define HELD_BUCKETS	65536u

/**
 * struct deferred - samples that wait, and user parts
 *
 * @samples: samples that wait for their user part, the oldest first.
 * @parts: user parts, the oldest first.
 * @ready: samples to return, and not in @samples any more.
 * @buckets: samples by thread and cookie, then parts; allocated with the first.
 * @keys: random numbers for the hash, so that no file can fill one bucket.
 * @samples_size: bytes of @samples.
 * @parts_size: bytes of @parts.
 */
struct deferred {
	struct held_list samples;
	struct held_list parts;
	struct held_list ready;
	struct held_bucket *buckets;
	uint64_t keys[2];
	size_t samples_size;
	size_t parts_size;
};

void sfu_deferred_init(struct deferred *deferred);

/*
 * Take over @parsed, a sample whose user part is in another record. Returns 0
 * if it waits, 1 if it was completed at once, or -ENOMEM.
 */
int sfu_deferred_add_sample(struct deferred *deferred, struct parsed *parsed);

/* Take over @parsed, a user part. Returns 0 or -ENOMEM. */
int sfu_deferred_add_part(struct deferred *deferred, const struct parsed *parsed);

/*
 * Get the next sample that need not wait any longer or, if @is_end, that waits.
 * Returns whether there is one.
 */
bool sfu_deferred_next(struct deferred *deferred, bool is_end,
		       struct parsed *parsed);

/* Forget everything. */
void sfu_deferred_reset(struct deferred *deferred);

#endif /* PROFILE_DEFERRED_H */
