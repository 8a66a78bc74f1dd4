/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stray: what a reader attached that was killed before it could tell, and that
 * nobody would detach.
 */
#ifndef ATTACH_STRAY_H
#define ATTACH_STRAY_H

#include <stdint.h>

#include "job.h"

/* Found at a time; if there are more, they are found the next time. */
#define STRAYS_MAX 64U

/* The kernel is not asked more often. */
#define STRAYS_MIN_NS (10 * SECOND)

/**
 * struct strays
 *
 * @nr_lost: as jobs.nr_lost was when the kernel was last asked.
 * @listed_at: when that was; 0 if nothing of it is left to do.
 * @has_more: may there be others? Then not before @next_at.
 * @ids, @nr: attachments that were not known then.
 */
struct strays {
	unsigned int nr_lost;
	uint64_t listed_at;
	bool has_more;
	uint64_t next_at;
	uint64_t ids[STRAYS_MAX];
	unsigned int nr;
};

/*
 * To be called now and then. If a reader has been lost, ask the kernel what is
 * attached, and detach what nobody knows of by the time at which all readers have
 * told what they were at.
 */
void strays_check(struct strays *strays, const struct jobs *jobs, int device);

#endif /* ATTACH_STRAY_H */
