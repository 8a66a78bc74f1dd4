/* SPDX-License-Identifier: GPL-2.0 */
/* Lists: heads only. */
#ifndef UNIT_KERNEL_LIST_H
#define UNIT_KERNEL_LIST_H

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

#endif /* UNIT_KERNEL_LIST_H */
