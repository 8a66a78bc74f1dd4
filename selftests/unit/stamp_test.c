// SPDX-License-Identifier: GPL-2.0
/*
 * Stamps: which files get one, and that a stamp stands for one state of one
 * file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "cfi_file.h"
#include "convert/cache/cache_room.h"
#include "convert/cache/stamp.h"
#include "memory_file.h"
#include "tap.h"

/* A time before the boot. */
#define BEFORE 1000000000

static char dir[64];
static struct sfu_cache *cache;
static struct cfi_file file;

/* The result of stat(2) for the file; changed by tests. */
static struct stat stat_now;
static struct statfs fs_now;
static uint64_t mount_now;
static int fd = -1;

/* Set up a file that gets a stamp. */
static void begin(void)
{
	watch_reads(-1);
	if (fd >= 0)
		close(fd);
	cfi_file_init(&file);
	fd = memory_file(&file, sizeof(file));
	if (fstat(fd, &stat_now))
		exit(1);
	stat_now.st_uid = 0;
	stat_now.st_mode = S_IFREG | 0755;
	stat_now.st_ctim.tv_sec = BEFORE;
	stat_now.st_ctim.tv_nsec = 1;
	stat_now.st_mtim.tv_sec = BEFORE;
	fs_now = (struct statfs){ .f_type = EXT4_SUPER_MAGIC };
	mount_now = 0;
	watch_reads(fd);
	watched_stat = &stat_now;
	watched_fs = &fs_now;
}

static int make(struct stamp *stamp)
{
	memset(stamp, 0, sizeof(*stamp));
	return sfu_stamp_make(stamp, fd, &stat_now, mount_now);
}

static void which_files(void)
{
	static const long good[] = { EXT4_SUPER_MAGIC, 0x58465342,
				     BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC };
	static const long bad[] = { TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC,
				    SQUASHFS_MAGIC, NFS_SUPER_MAGIC,
				    FUSE_SUPER_MAGIC, MSDOS_SUPER_MAGIC, 0 };
	struct stamp stamp;

	begin();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		fs_now.f_type = good[i];
		EXPECT_EQ(make(&stamp), 0);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fs_now.f_type = bad[i];
		EXPECT_EQ(make(&stamp), -EPERM);
	}
	begin();
	/* mkfs has set that time. */
	stat_now.st_ctim.tv_nsec = 0;
	EXPECT_EQ(make(&stamp), -EPERM);
	mount_now = 7;
	EXPECT_EQ(make(&stamp), 0);
	begin();
	fs_now.f_flags = ST_NODEV | ST_NOEXEC;
	EXPECT_EQ(make(&stamp), 0);
	fs_now.f_flags = ST_NOSUID;
	EXPECT_EQ(make(&stamp), -EPERM);
	begin();
	stat_now.st_uid = 1;
	EXPECT_EQ(make(&stamp), -EPERM);
	begin();
	stat_now.st_mode |= S_IWGRP;
	EXPECT_EQ(make(&stamp), -EPERM);
	begin();
	stat_now.st_mode |= S_IWOTH;
	EXPECT_EQ(make(&stamp), -EPERM);
	begin();
	stat_now.st_mode = S_IFIFO | 0755;
	EXPECT_EQ(make(&stamp), -EPERM);
}

/* A file that differs in one of these members is another file. */
static void what_counts(void)
{
	struct stamp first, other;

	begin();
	EXPECT_EQ(make(&first), 0);
	EXPECT_EQ(make(&other), 0);
	EXPECT(!memcmp(&first, &other, sizeof(first)));
#define COUNTS(member, change) do {					\
	stat_now.member += (change);					\
	EXPECT_EQ(make(&other), 0);					\
	EXPECT(memcmp(&first, &other, sizeof(first)));			\
	stat_now.member -= (change);					\
} while (0)
	COUNTS(st_dev, 1);
	COUNTS(st_ino, 1);
	COUNTS(st_size, 1);
	COUNTS(st_ctim.tv_sec, -1);
	COUNTS(st_ctim.tv_nsec, 1);
	COUNTS(st_mtim.tv_sec, -1);
	COUNTS(st_mtim.tv_nsec, 1);
#undef COUNTS
	/* Reading a file does not change its stamp. */
	stat_now.st_atim.tv_sec++;
	EXPECT_EQ(make(&other), 0);
	EXPECT(!memcmp(&first, &other, sizeof(first)));
}

/* Where the ctime can be anything, a stamp is for one mount that the caller knows. */
static void which_mounts(void)
{
	struct stamp first, other;

	begin();
	EXPECT_EQ(make(&first), 0);
	mount_now = 1;
	EXPECT_EQ(make(&other), 0);
	EXPECT(!memcmp(&first, &other, sizeof(first)));
	fs_now.f_type = OVERLAYFS_SUPER_MAGIC;
	EXPECT_EQ(make(&other), 0);
	EXPECT(memcmp(&first, &other, sizeof(first)));
	first = other;
	mount_now = 2;
	EXPECT_EQ(make(&other), 0);
	EXPECT(memcmp(&first, &other, sizeof(first)));
	stat_now.st_uid = 1;
	EXPECT_EQ(make(&other), -EPERM);
	begin();
	mount_now = 1;
	fs_now.f_type = OVERLAYFS_SUPER_MAGIC;
	fs_now.f_flags = ST_NOSUID;
	EXPECT_EQ(make(&other), -EPERM);
}

static char *path_of(const struct stamp *stamp)
{
	static char path[256];
	char name[DIGEST_TEXT_SIZE];

	sfu_digest_text(&stamp->inode, name);
	snprintf(path, sizeof(path), "%s/%s.stamp", dir, name);
	return path;
}

static void gives_back(void)
{
	const struct digest content = { { 1, 2, 3 } };
	struct digest found;
	struct stamp stamp, other;
	char from[256];
	int out;

	begin();
	EXPECT_EQ(make(&stamp), 0);
	EXPECT_EQ(sfu_stamp_find(cache, &stamp, &found), -ENOENT);
	EXPECT_EQ(sfu_stamp_write(cache, &stamp, &content), 0);
	EXPECT_EQ(sfu_stamp_find(cache, &stamp, &found), 0);
	EXPECT(!memcmp(&found, &content, sizeof(found)));
	stat_now.st_ino++;
	EXPECT_EQ(make(&other), 0);
	EXPECT_EQ(sfu_stamp_find(cache, &other, &found), -ENOENT);
	/* A stamp of another file */
	strcpy(from, path_of(&stamp));
	EXPECT(!rename(from, path_of(&other)));
	EXPECT_EQ(sfu_stamp_find(cache, &other, &found), -EINVAL);
	/* Damaged, truncated, too long */
	EXPECT_EQ(sfu_stamp_write(cache, &stamp, &content), 0);
	out = open(path_of(&stamp), O_RDWR);
	for (off_t at = 0; at < 72; at++) {
		unsigned char byte;

		EXPECT(pread(out, &byte, 1, at) == 1);
		byte ^= 1;
		EXPECT(pwrite(out, &byte, 1, at) == 1);
		EXPECT_EQ(sfu_stamp_find(cache, &stamp, &found), -EINVAL);
		byte ^= 1;
		EXPECT(pwrite(out, &byte, 1, at) == 1);
	}
	EXPECT_EQ(sfu_stamp_find(cache, &stamp, &found), 0);
	EXPECT(pwrite(out, "", 1, 72) == 1);
	EXPECT_EQ(sfu_stamp_find(cache, &stamp, &found), -EINVAL);
	EXPECT(!ftruncate(out, 71));
	EXPECT_EQ(sfu_stamp_find(cache, &stamp, &found), -EINVAL);
	close(out);
}

/* Returns whether the result was in the cache, or -1. */
static int convert(void)
{
	const struct sframe_unwind_convert_options options = {
		.cache_dir = dir,
	};
	struct sframe_unwind_converted *converted;
	int known;

	if (sframe_unwind_convert_cached(fd, "file", &options, &converted))
		return -1;
	known = !!(converted->flags & SFRAME_UNWIND_CONVERTED_FROM_CACHE);
	sframe_unwind_converted_free(converted);
	return known;
}

/* When converted again, a file with a stamp is not even read. */
static void saves_reading(void)
{
	begin();
	EXPECT_EQ(convert(), 0);
	EXPECT(watched_bytes > 0);
	watched_bytes = 0;
	EXPECT_EQ(convert(), 1);
	EXPECT_EQ(watched_bytes, 0);
	/* The file has changed. */
	stat_now.st_ctim.tv_sec++;
	EXPECT_EQ(convert(), 1);
	EXPECT(watched_bytes > 0);
	/* A file of another user is read each time. */
	stat_now.st_uid = 1;
	watched_bytes = 0;
	EXPECT_EQ(convert(), 1);
	EXPECT(watched_bytes > 0);
	watched_bytes = 0;
	EXPECT_EQ(convert(), 1);
	EXPECT(watched_bytes > 0);
}

/* The time of the boot by the clock, or by the mount of /proc if that is earlier. */
static time_t booted(void)
{
	struct timespec now, up;
	struct stat proc;

	if (clock_gettime(CLOCK_REALTIME, &now) ||
	    clock_gettime(CLOCK_BOOTTIME, &up) || stat("/proc", &proc))
		exit(1);
	return proc.st_ctim.tv_sec < now.tv_sec - up.tv_sec ?
		       proc.st_ctim.tv_sec : now.tv_sec - up.tv_sec;
}

/*
 * A file that has changed since the boot gets no stamp: a user from whom root has got
 * it may still change it. Nor does one that was changed shortly before.
 */
static void since_boot(void)
{
	struct stamp stamp;

	begin();
	stat_now.st_ctim.tv_sec = booted() - 90;
	EXPECT_EQ(make(&stamp), 0);
	stat_now.st_ctim.tv_sec = booted() - 30;
	EXPECT_EQ(make(&stamp), -EPERM);
	stat_now.st_ctim.tv_sec = booted() + 30;
	EXPECT_EQ(make(&stamp), -EPERM);
	begin();
	stat_now.st_mtim.tv_sec = booted() + 30;
	EXPECT_EQ(make(&stamp), -EPERM);
	/* However old it is now: it was changed by a clock that was behind. */
	begin();
	stat_now.st_ctim.tv_sec = booted() + 30;
	clock_ahead = 1000000;
	EXPECT_EQ(make(&stamp), -EPERM);
	EXPECT_EQ(convert(), 1);
	watched_bytes = 0;
	EXPECT_EQ(convert(), 1);
	EXPECT(watched_bytes > 0);
	clock_ahead = 0;
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(which_files),
		TAP_TEST(what_counts),
		TAP_TEST(which_mounts),
		TAP_TEST(gives_back),
		TAP_TEST(saves_reading),
		TAP_TEST(since_boot),
	};
	uint64_t count, size;
	char limit[96];

	strcpy(dir, "/tmp/stamp.XXXXXX");
	if (!mkdtemp(dir) || sfu_cache_open(dir, &cache)) {
		perror(dir);
		return 1;
	}
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	sfu_cache_clean(cache, &count, &size);
	sfu_cache_close(cache);
	snprintf(limit, sizeof(limit), "%s/limit", dir);
	unlink(limit);
	rmdir(dir);
	return tap_done();
}
