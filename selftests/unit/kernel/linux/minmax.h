/* SPDX-License-Identifier: GPL-2.0 */
/* min() is up to the test. */
#ifndef UNIT_KERNEL_MINMAX_H
#define UNIT_KERNEL_MINMAX_H

#endif /* UNIT_KERNEL_MINMAX_H */
