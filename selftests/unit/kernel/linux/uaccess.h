/* SPDX-License-Identifier: GPL-2.0 */
/* User memory: the test's own, of which the first page cannot be read. */
#ifndef UNIT_KERNEL_UACCESS_H
#define UNIT_KERNEL_UACCESS_H

#include <stdint.h>

#define __user
#define u64_to_user_ptr(address)	((void *)(uintptr_t)(address))
#define get_user(value, from)						\
	((uintptr_t)(from) < 4096 ? -EFAULT : ((value) = READ_ONCE(*(from)), 0))

#endif /* UNIT_KERNEL_UACCESS_H */
