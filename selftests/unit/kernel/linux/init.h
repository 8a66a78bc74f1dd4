/* SPDX-License-Identifier: GPL-2.0 */
/* What runs when the module is loaded is as other functions are here. */
#ifndef UNIT_KERNEL_INIT_H
#define UNIT_KERNEL_INIT_H

#define __init

#endif /* UNIT_KERNEL_INIT_H */
