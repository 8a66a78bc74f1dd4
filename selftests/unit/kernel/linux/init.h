/* SPDX-License-Identifier: GPL-2.0 */
/* __init has no meaning here. */
#ifndef UNIT_KERNEL_INIT_H
#define UNIT_KERNEL_INIT_H

#define __init

#endif /* UNIT_KERNEL_INIT_H */
