/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters: how many objects of each kind live in the whole system, and what
 * became of all requests. Shown, one "name value" a line, by the file counters
 * in debugfs under sframe_unwind; everything but totals is 0 when no process
 * uses the module.
 */
#ifndef SFU_COUNTERS_H
#define SFU_COUNTERS_H

#include <linux/atomic.h>

#define SFU_COUNTERS(X)							\
	X(clients)		/* open files, and closed ones with requests */ \
	X(spaces)		/* address spaces with a marker */	\
	X(tables)		/* tables of sections, shared after fork */ \
	X(sections)							\
	X(requests)		/* accepted, not delivered nor lost */	\
	X(total_walks)							\
	X(total_accepted)						\
	X(total_delivered)						\
	X(total_lost_full)	/* client's ring was full */		\
	X(total_lost_closed)	/* client was closed */			\
	X(total_corrupt)	/* sections removed as corrupt */

struct sfu_counters {
#define SFU_COUNTER_MEMBER(name) atomic_long_t name;
	SFU_COUNTERS(SFU_COUNTER_MEMBER)
#undef SFU_COUNTER_MEMBER
};

extern struct sfu_counters sfu_counters;

#define sfu_count(name)		atomic_long_inc(&sfu_counters.name)
#define sfu_uncount(name)	atomic_long_dec(&sfu_counters.name)

void sfu_counters_init(void);
void sfu_counters_exit(void);

#endif /* SFU_COUNTERS_H */
