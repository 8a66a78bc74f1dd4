/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters: numbers of existing objects of each kind, and totals of events, in
 * the whole system. Shown as "name value" lines in the debugfs file
 * sframe_unwind/counters. All but the totals are 0 if no process uses the
 * module.
 */
#ifndef SFU_COUNTERS_H
#define SFU_COUNTERS_H

#include <linux/atomic.h>

enum sfu_counter {
	SFU_CLIENTS,		/* open files, and closed ones with requests */
	SFU_SPACES,		/* of processes that registered, or were observed */
	SFU_OBSERVED,		/* of these, without a marker */
	SFU_NODES,		/* of trees of sections, shared after fork */
	SFU_SECTIONS,
	SFU_CACHES,		/* rule caches of spaces */
	SFU_CACHE_PAGES,	/* pages of memory that they use */
	SFU_IMAGES,		/* sections in kernel memory */
	SFU_ATTACHMENTS,	/* of these, attached by clients */
	SFU_PINS,		/* inodes that something is attached to */
	SFU_PAYERS,		/* users that are or may be charged */
	SFU_REQUESTS,		/* accepted, neither delivered nor lost */
	SFU_POOL_REQUESTS,	/* memory for those of works and samplers, used or not */
	SFU_SAMPLERS,		/* of clients, and closed ones with requests */
	SFU_SAMPLE_EVENTS,	/* perf events of samplers */
	SFU_WORKS,		/* of other modules, and cancelled ones with requests */
	SFU_REQUESTERS,		/* of BPF programs: one while sframe_unwind:stack is traced */
	SFU_WALKS,		/* memory for walks, 9 KiB each */
	SFU_TOTAL_WALKS,
	SFU_TOTAL_ACCEPTED,
	SFU_TOTAL_DELIVERED,
	SFU_TOTAL_LOST_FULL,	/* the client's ring was full */
	SFU_TOTAL_LOST_CLOSED,	/* the client was closed */
	SFU_TOTAL_LOST_EXITED,	/* the thread was exiting; of works only */
	SFU_TOTAL_CORRUPT,	/* sections removed as corrupt or unreadable */
	SFU_TOTAL_STALE,	/* sections whose mappings had changed */
	SFU_TOTAL_DISCOVERED,	/* files examined by discovery */
	SFU_TOTAL_UNTRACED,	/* trace events that were caused by a trace event */
	SFU_TOTAL_NESTED_CALLS,	/* of BPF programs, within another one or a trace event */
#ifdef SFU_WATCH
	SFU_TOTAL_BENT,		/* addresses that user.h has clamped, see there */
#endif
	SFU_NR_COUNTERS
};

extern atomic_long_t sfu_counters[SFU_NR_COUNTERS];

static inline void sfu_count(enum sfu_counter counter)
{
	atomic_long_inc(&sfu_counters[counter]);
}

static inline void sfu_uncount(enum sfu_counter counter)
{
	atomic_long_dec(&sfu_counters[counter]);
}

static inline void sfu_count_many(enum sfu_counter counter, long nr)
{
	atomic_long_add(nr, &sfu_counters[counter]);
}

void sfu_counters_init(void);
void sfu_counters_exit(void);

#endif /* SFU_COUNTERS_H */
