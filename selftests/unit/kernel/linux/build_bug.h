/* SPDX-License-Identifier: GPL-2.0 */
/* Compile-time checks. */
#ifndef UNIT_KERNEL_BUILD_BUG_H
#define UNIT_KERNEL_BUILD_BUG_H

#undef static_assert
#define static_assert(condition)	_Static_assert(condition, #condition)
#define BUILD_BUG_ON(condition)		_Static_assert(!(condition), #condition)

#endif /* UNIT_KERNEL_BUILD_BUG_H */
