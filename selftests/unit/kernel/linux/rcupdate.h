/* SPDX-License-Identifier: GPL-2.0 */
/* RCU for a single thread. */
#ifndef UNIT_KERNEL_RCUPDATE_H
#define UNIT_KERNEL_RCUPDATE_H

#include <stdlib.h>

struct rcu_head {
	void *unused;
};

#define rcu_read_lock()			do { } while (0)
#define rcu_read_unlock()		do { } while (0)
#define rcu_access_pointer(pointer)	(pointer)
#define rcu_dereference(pointer)	(pointer)
#define rcu_dereference_check(pointer, condition)	(pointer)
#define rcu_assign_pointer(pointer, value)	((pointer) = (value))
#define RCU_INIT_POINTER(pointer, value)	((pointer) = (value))
#define kvfree_rcu(object, head)	free(object)
#define kfree_rcu(object, head)		free(object)

#endif /* UNIT_KERNEL_RCUPDATE_H */
