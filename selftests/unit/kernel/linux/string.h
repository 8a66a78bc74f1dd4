/* SPDX-License-Identifier: GPL-2.0 */
/* As everywhere. */
#ifndef UNIT_KERNEL_STRING_H
#define UNIT_KERNEL_STRING_H

#include <string.h>

#endif /* UNIT_KERNEL_STRING_H */
