/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marker: the mapping that ties a registered space to its mm, see space.c.
 */
#ifndef SFU_MARKER_H
#define SFU_MARKER_H

#include <linux/fs.h>

/*
 * Map the marker of the current mm, whose file has @fops. May sleep, takes the
 * mmap lock. Returns 0, also if another thread mapped it meanwhile; -ENOMEM; or
 * -EINTR.
 */
int sfu_marker_map(const struct file_operations *fops);

/* For these @fops: frees what belongs to the file. */
int sfu_marker_release(struct inode *inode, struct file *file);

#endif /* SFU_MARKER_H */
