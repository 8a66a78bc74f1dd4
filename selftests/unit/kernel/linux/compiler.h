/* SPDX-License-Identifier: GPL-2.0 */
/* READ_ONCE() and WRITE_ONCE(): env.h has them. */
#ifndef UNIT_KERNEL_COMPILER_H
#define UNIT_KERNEL_COMPILER_H

#include "env.h"

#endif /* UNIT_KERNEL_COMPILER_H */
