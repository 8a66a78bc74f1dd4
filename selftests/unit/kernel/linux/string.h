/* SPDX-License-Identifier: GPL-2.0 */
/* The C library's functions. */
#ifndef UNIT_KERNEL_STRING_H
#define UNIT_KERNEL_STRING_H

#include <string.h>

#endif /* UNIT_KERNEL_STRING_H */
