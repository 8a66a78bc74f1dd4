/* SPDX-License-Identifier: GPL-2.0 */
/* Barriers: arch/arch.h has them. */
#ifndef UNIT_KERNEL_BARRIER_H
#define UNIT_KERNEL_BARRIER_H

#include "arch/arch.h"

#endif /* UNIT_KERNEL_BARRIER_H */
