/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replaces module/compat.h and kernel headers for module/perf/stack_map.c, with
 * atomic operations for several threads.
 */
#ifndef STACK_MAP_KERNEL_H
#define STACK_MAP_KERNEL_H

#define SFU_COMPAT_H
#define UNIT_KERNEL_ATOMIC_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags;
};

#define VM_SHARED		1
#define VM_WRITE		2
#define VM_MAYWRITE		4
#define vm_flags_clear(vma, flags)	((vma)->vm_flags &= ~(flags))

typedef struct {
	s64 value;
} atomic64_t;

#define atomic64_inc(n) \
	__atomic_fetch_add(&(n)->value, 1, __ATOMIC_SEQ_CST)
#define smp_store_release(to, value) \
	__atomic_store_n(to, value, __ATOMIC_RELEASE)
#define try_cmpxchg(at, old, value) \
	__atomic_compare_exchange_n(at, old, value, 0, __ATOMIC_SEQ_CST, \
				    __ATOMIC_SEQ_CST)
#define cmpxchg(at, old, value)						\
	({								\
		__typeof__(*(at)) old_ = (old);				\
		try_cmpxchg(at, &old_, value);				\
		old_;							\
	})
#define synchronize_rcu()	do { } while (0)

#define kzalloc(size, gfp)	((void)(gfp), calloc(1, size))
#define kvcalloc(nr, size, gfp)	((void)(gfp), calloc(nr, size))
#define kvfree(memory)		free(memory)
#define upper_32_bits(n)	((u32)((n) >> 32))
#define lower_32_bits(n)	((u32)(n))
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define ilog2(n)		(31 - __builtin_clz(n))

#endif /* STACK_MAP_KERNEL_H */
