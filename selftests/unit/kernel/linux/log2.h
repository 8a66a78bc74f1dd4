/* SPDX-License-Identifier: GPL-2.0 */
/* Logarithms by compiler builtins. */
#ifndef UNIT_KERNEL_LOG2_H
#define UNIT_KERNEL_LOG2_H

#define const_ilog2(n)	(63 - __builtin_clzll(n))

#endif /* UNIT_KERNEL_LOG2_H */
