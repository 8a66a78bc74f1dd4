// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "cache_dir.h"
#include "cache_room.h"
#include "lib/buffer.h"
#include "open_cache.h"
#include "stamp.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/*
 * Files changed within so many seconds before the boot count as changed since: file
 * systems round their times, and the clocks of servers differ.
 */
#define BEFORE_BOOT_SECONDS 60

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 36

static const char stamp_magic[] = "SFUSTAMP";

/* Contents of a stamp file; @digest is over the other members and the stamp. */
struct stamp_file {
	char magic[8];
	struct digest content;
	struct digest digest;
};

/*
 * Returns whether the kernel has set the ctime. On these file systems nobody else can
 * change it, but mkfs can fill them: files of an image made for reproducible builds all
 * have the same time, in whole seconds, and equal inode numbers in each of its versions.
 */
static bool has_own_times(const struct statfs *fs, const struct stat *stat)
{
	if (!stat->st_ctim.tv_nsec)
		return false;
	switch (fs->f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/*
 * The boot ID, and the time when /proc was mounted, by the clock as it was then; read
 * once. @error is a negative errno if they cannot be read.
 */
static struct {
	pthread_once_t once;
	char id[BOOT_ID_SIZE];
	time_t mounted;
	int error;
} boot = { .once = PTHREAD_ONCE_INIT };

static void read_boot(void)
{
	const int fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
	struct stat proc;

	if (fd < 0 || stat("/proc", &proc)) {
		boot.error = -errno;
	} else {
		boot.mounted = proc.st_ctim.tv_sec;
		if (read(fd, boot.id, BOOT_ID_SIZE) != BOOT_ID_SIZE)
			boot.error = -EIO;
	}
	if (fd >= 0)
		close(fd);
}

/*
 * Returns whether the file has not changed since the boot. If the clock was set forward
 * since, the boot seems to be later than it was, but the time of the mount does not.
 */
static bool is_older_than_boot(const struct stat *stat)
{
	struct timespec now, up;
	time_t booted;

	if (clock_gettime(CLOCK_REALTIME, &now) ||
	    clock_gettime(CLOCK_BOOTTIME, &up))
		return false;
	booted = now.tv_sec - up.tv_sec;
	if (booted > boot.mounted)
		booted = boot.mounted;
	booted -= BEFORE_BOOT_SECONDS;
	return stat->st_ctim.tv_sec < booted && stat->st_mtim.tv_sec < booted;
}

int sfu_stamp_make(struct stamp *stamp, int fd, const struct stat *stat,
		   uint64_t mount)
{
	static const char about[] = "sframe_unwind stamp 3";
	uint64_t members[] = {
		0,
		stat->st_dev, stat->st_ino, stat->st_size,
		stat->st_ctim.tv_sec, stat->st_ctim.tv_nsec,
		stat->st_mtim.tv_sec, stat->st_mtim.tv_nsec,
	};
	struct digest_run run;
	struct statfs fs;
	int err;

	pthread_once(&boot.once, read_boot);
	if (boot.error)
		return boot.error;
	/* First the checks that need no system call on the file, which could block. */
	if (!S_ISREG(stat->st_mode) || stat->st_uid ||
	    stat->st_mode & (S_IWGRP | S_IWOTH) || !is_older_than_boot(stat))
		return -EPERM;
	if (fstatfs(fd, &fs))
		return -errno;
	if (fs.f_flags & ST_NOSUID)
		return -EPERM;
	if (!has_own_times(&fs, stat)) {
		if (!mount)
			return -EPERM;
		members[0] = mount;
	}
	err = sfu_digest_begin(&run);
	if (err)
		return err;
	sfu_digest_add(&run, about, sizeof(about));
	sfu_digest_add(&run, boot.id, sizeof(boot.id));
	sfu_digest_add(&run, members, sizeof(members));
	sfu_digest_end(&run, &stamp->inode);
	return 0;
}

/* Room for the name of a stamp's file. */
#define NAME_SIZE (DIGEST_TEXT_SIZE + sizeof(".stamp"))

static void make_name(const struct stamp *stamp, char name[NAME_SIZE])
{
	char text[DIGEST_TEXT_SIZE];

	sfu_digest_text(&stamp->inode, text);
	snprintf(name, NAME_SIZE, "%s.stamp", text);
}

static int make_file(struct stamp_file *file, const struct stamp *stamp,
		     const struct digest *content)
{
	struct digest_run run;

	memcpy(file->magic, stamp_magic, sizeof(file->magic));
	file->content = *content;
	if (sfu_digest_begin(&run))
		return -ENOMEM;
	sfu_digest_add(&run, file->magic, sizeof(file->magic));
	sfu_digest_add(&run, &file->content, sizeof(file->content));
	sfu_digest_add(&run, &stamp->inode, sizeof(stamp->inode));
	sfu_digest_end(&run, &file->digest);
	return 0;
}

int sfu_stamp_find(struct sfu_cache *cache, const struct stamp *stamp,
		   struct digest *content)
{
	struct stamp_file found, good;
	unsigned char *bytes;
	char name[NAME_SIZE];
	size_t size;
	int err;

	make_name(stamp, name);
	err = sfu_cache_dir_read(cache->dir, name, CACHE_USE, &bytes, &size);
	if (err)
		return err;
	if (size == sizeof(found))
		memcpy(&found, bytes, sizeof(found));
	free(bytes);
	if (size != sizeof(found))
		return -EINVAL;
	err = make_file(&good, stamp, &found.content);
	if (!err && memcmp(&good, &found, sizeof(good)))
		err = -EINVAL;
	if (!err)
		*content = found.content;
	return err;
}

int sfu_stamp_write(struct sfu_cache *cache, const struct stamp *stamp,
		    const struct digest *content)
{
	struct stamp_file file;
	char name[NAME_SIZE];
	int err;

	make_name(stamp, name);
	err = make_file(&file, stamp, content);
	if (!err)
		err = sfu_cache_make_room(cache, sizeof(file));
	return err ? err : sfu_cache_dir_write(cache->dir, name, &file,
					       sizeof(file), false);
}
