/* SPDX-License-Identifier: GPL-2.0 */
/* Divisions. */
#ifndef UNIT_KERNEL_MATH_H
#define UNIT_KERNEL_MATH_H

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#endif /* UNIT_KERNEL_MATH_H */
