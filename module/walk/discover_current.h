/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Discover current: whether discovery would give the same result again.
 */
#ifndef SFU_DISCOVER_CURRENT_H
#define SFU_DISCOVER_CURRENT_H

#include <linux/types.h>

struct sfu_found;
struct sfu_image;
struct sfu_space;

/*
 * Returns the latest image attached to the file of @found, see
 * sfu_attach_view_find().
 */
struct sfu_image *sfu_latest_attached(const struct sfu_space *space,
				      const struct sfu_found *found,
				      bool preferred);

/*
 * Returns whether discovery would give the same result as @found again, that
 * is, whether no attachment has changed it. @found must be a section of @space
 * whose file is still mapped. May sleep.
 */
bool sfu_discover_is_current(struct sfu_space *space, struct sfu_found *found);

#endif /* SFU_DISCOVER_CURRENT_H */
