/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Stamp: which contents a file has, from what the kernel says of its inode,
 * without reading it. A file of the cache, named by a digest of device, inode,
 * size, times of change and of modification, and of the running of the system,
 * that has the digest of the contents in it.
 *
 * It can not be forged, as only these files have one:
 *
 * - Owned by root, and writable by nobody else: whoever writes them, or makes
 *   one, is root.
 * - On ext4, XFS, Btrfs or F2FS, where the kernel sets the time of change, and
 *   nobody else can. Images made elsewhere, as SquashFS's, have what times their
 *   makers like, and the files of one may have the same as those of another.
 * - Mounted with set-user-ID programs allowed: who makes up the inodes of such a
 *   file system, on a stick that is mounted for him, would be root by them.
 * - Unchanged for some seconds: a later change has another time.
 *
 * Devices are numbered anew with each start of the system: so stamps end then.
 */
#ifndef SFRAME_UNWIND_STAMP_H
#define SFRAME_UNWIND_STAMP_H

#include <sys/stat.h>

#include "cache.h"

/* What stands for an inode in one state. */
struct stamp {
	struct digest inode;
};

/*
 * Make the stamp of the open file @fd with @stat: of a snapshot, so that it holds
 * for what was read, or, to look for one, of fstat(2) now. Returns 0, or a negative
 * errno without a message: -EPERM if it is a file that has none, another if it
 * cannot be found out.
 */
int sfu_stamp_make(struct stamp *stamp, int fd, const struct stat *stat);

/* Find the digest of the contents. Returns 0, or a negative errno as -ENOENT. */
int sfu_stamp_find(struct sfu_cache *cache, const struct stamp *stamp,
		   struct digest *content);

/* Keep the digest of the contents. Returns 0 or a negative errno. */
int sfu_stamp_write(struct sfu_cache *cache, const struct stamp *stamp,
		    const struct digest *content);

#endif /* SFRAME_UNWIND_STAMP_H */
