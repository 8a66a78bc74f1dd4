/* SPDX-License-Identifier: GPL-2.0 */
/* Lists: heads only. */
#ifndef UNIT_KERNEL_LIST_H
#define UNIT_KERNEL_LIST_H

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_head {
	void *first;
};

#endif /* UNIT_KERNEL_LIST_H */
