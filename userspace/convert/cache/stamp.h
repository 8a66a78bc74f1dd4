/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Stamp: identifies the contents of a file by its inode, without reading the file. A
 * stamp is a file of the cache that contains the digest of the contents. Its name is a
 * digest of device, inode number, size, ctime, mtime, the system's boot ID and, if the
 * caller vouches for the mount, the mount's ID.
 *
 * It cannot be forged, because only files with all of these properties get one:
 *
 * - Owned by root and writable by nobody else: only root can write or create them.
 * - On ext4, XFS, Btrfs or F2FS, where only the kernel can set the ctime, and with a
 *   ctime that is not in whole seconds. Images made elsewhere, such as SquashFS, or
 *   ext4 by mkfs -d, have whatever times their makers choose, often one time for all
 *   files, so two images on the same device can have files with the same times. Other
 *   stamps are valid for one mount only, by an ID that is never used again, and only
 *   the caller can know whether an administrator has mounted it.
 * - Mounted without nosuid: a user who could choose the inodes of such a file system,
 *   for example on a USB stick, could become root by a set-user-ID program anyway.
 * - Unchanged since the boot. A later change need not get another ctime: a file that
 *   belonged to a user may still be mapped by him, shared and writable. Writes to a page
 *   that such a mapping has written before change no time until the page is written to
 *   the disk; on tmpfs, never. Nor does a read(2) with O_DIRECT to such a page that
 *   waits for a slow file meanwhile. The change of owner itself changes the ctime, so
 *   a file that has not changed since the boot was root's then, when nobody had it open.
 *   (A lease does not tell whether there are such mappings: not on overlayfs.)
 *
 * Device numbers can change at each boot, so stamps are valid for one boot only.
 */
#ifndef SFRAME_UNWIND_STAMP_H
#define SFRAME_UNWIND_STAMP_H

#include <sys/stat.h>

#include "cache.h"

/* Digest that identifies an inode in one state. */
struct stamp {
	struct digest inode;
};

/*
 * Make the stamp of the open file @fd. To write a stamp, @stat must be that of the
 * snapshot, so that the stamp is for what was read; to find one, that of fstat(2) now.
 * @mount is the unique ID of the file's mount (STATX_MNT_ID_UNIQUE) if only root can
 * have mounted and written what is there, or 0 if that is not known. Any thread.
 * Returns 0, or a negative errno without a message: -EPERM if the file cannot have a
 * stamp, or another error.
 */
int sfu_stamp_make(struct stamp *stamp, int fd, const struct stat *stat,
		   uint64_t mount);

/* Find the digest of the contents. Returns 0, or a negative errno such as -ENOENT. */
int sfu_stamp_find(struct sfu_cache *cache, const struct stamp *stamp,
		   struct digest *content);

/* Store the digest of the contents. Returns 0 or a negative errno. */
int sfu_stamp_write(struct sfu_cache *cache, const struct stamp *stamp,
		    const struct digest *content);

#endif /* SFRAME_UNWIND_STAMP_H */
