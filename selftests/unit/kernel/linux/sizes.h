/* SPDX-License-Identifier: GPL-2.0 */
/* Sizes. */
#ifndef UNIT_KERNEL_SIZES_H
#define UNIT_KERNEL_SIZES_H

#define SZ_16M	(16 << 20)
#define SZ_64M	(64 << 20)
#define SZ_256K	(256 << 10)
#define SZ_1G	(1 << 30)

#endif /* UNIT_KERNEL_SIZES_H */
