/* SPDX-License-Identifier: GPL-2.0 */
/* poll(2): opaque types. */
#ifndef UNIT_KERNEL_POLL_H
#define UNIT_KERNEL_POLL_H

typedef unsigned int __poll_t;
typedef struct poll_table_struct poll_table;

#endif /* UNIT_KERNEL_POLL_H */
