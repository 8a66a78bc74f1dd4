/* SPDX-License-Identifier: GPL-2.0 */
/* Reference counts for a single thread, checked for underflow and reuse. */
#ifndef UNIT_KERNEL_REFCOUNT_H
#define UNIT_KERNEL_REFCOUNT_H

#include <assert.h>
#include <linux/types.h>

typedef struct {
	int refs;
} refcount_t;

static inline void refcount_set(refcount_t *r, int n)
{
	r->refs = n;
}

static inline u32 refcount_read(const refcount_t *r)
{
	return r->refs;
}

static inline void refcount_inc(refcount_t *r)
{
	assert(r->refs > 0);
	r->refs++;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	assert(r->refs > 0);
	return !--r->refs;
}

static inline bool refcount_dec_not_one(refcount_t *r)
{
	assert(r->refs > 0);
	if (r->refs == 1)
		return false;
	r->refs--;
	return true;
}

#endif /* UNIT_KERNEL_REFCOUNT_H */
