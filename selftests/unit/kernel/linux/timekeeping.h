/* SPDX-License-Identifier: GPL-2.0 */
/* Clocks are up to the test. */
#ifndef UNIT_KERNEL_TIMEKEEPING_H
#define UNIT_KERNEL_TIMEKEEPING_H

#endif /* UNIT_KERNEL_TIMEKEEPING_H */
