/* SPDX-License-Identifier: GPL-2.0 */
/* env.h has what is needed. */
#ifndef UNIT_KERNEL_NOSPEC_H
#define UNIT_KERNEL_NOSPEC_H

#endif /* UNIT_KERNEL_NOSPEC_H */
