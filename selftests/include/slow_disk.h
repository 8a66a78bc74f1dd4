/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file system on a disk that answers only when the test allows it: romfs on a
 * loop device whose backing file is served by FUSE.
 */
#ifndef SELFTESTS_SLOW_DISK_H
#define SELFTESTS_SLOW_DISK_H

#include <arpa/inet.h>
#include <linux/loop.h>

#include "fuse_server.h"

#define DISK_PAGE	4096U
#define DISK_FILES	6
#define DISK_FILE_PAGES	64U
#define DISK_SIZE	((1 + DISK_FILES * (DISK_FILE_PAGES + 1)) * DISK_PAGE)

/* romfs: file types, and the flag of executables. */
#define DISK_DIRECTORY	1
#define DISK_FILE	2
#define DISK_EXEC	8

/**
 * struct slow_disk - the disk and its file system
 *
 * @server: of the loop device's backing file.
 * @device: name of the loop device.
 * @loop: descriptor of the loop device.
 * @dir: where the file system is mounted, with files named 0, 1 and so on.
 */
struct slow_disk {
	struct fuse_server server;
	char device[32];
	int loop;
	char dir[32];
};

/* Write the header of a file at @at; its contents start 32 bytes further. */
static inline void disk_put_file(unsigned char *disk, uint32_t at,
				 uint32_t next, uint32_t info, uint32_t size,
				 char name)
{
	const uint32_t words[] = {
		htonl(next), htonl(info), htonl(size), 0,
	};

	memcpy(disk + at, words, sizeof(words));
	disk[at + sizeof(words)] = name;
}

/* Fill the disk with files of the same contents, each starting at a page. */
static inline void disk_fill(unsigned char *disk, const void *bytes,
			     size_t size)
{
	const uint32_t head[] = { htonl(DISK_SIZE), 0 };
	uint32_t i, at, next, sum = 0;

	memset(disk, 0, DISK_SIZE);
	memcpy(disk, "-rom1fs-", 8);
	memcpy(disk + 8, head, sizeof(head));
	/* The root directory, whose first entry is the first file. */
	next = 2 * DISK_PAGE - 32;
	disk_put_file(disk, 32, DISK_DIRECTORY | DISK_EXEC, next, 0, '.');
	for (i = 0; i < DISK_FILES; i++) {
		at = next;
		next = at + (DISK_FILE_PAGES + 1) * DISK_PAGE;
		disk_put_file(disk, at, (i + 1 < DISK_FILES ? next : 0) |
					DISK_FILE | DISK_EXEC,
			      0, DISK_FILE_PAGES * DISK_PAGE, '0' + i);
		memcpy(disk + at + 32, bytes, size);
	}
	/* The big-endian words of the first 512 bytes must add up to 0. */
	for (i = 0; i < 512 / 4; i++)
		sum += ntohl(((uint32_t *)disk)[i]);
	((uint32_t *)disk)[3] = htonl(-sum);
}

static inline bool disk_attach(struct slow_disk *disk)
{
	const int file = fuse_server_open(&disk->server);
	const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	const struct loop_info64 info = { .lo_flags = LO_FLAGS_READ_ONLY };
	bool ok = false;

	snprintf(disk->device, sizeof(disk->device), "/dev/loop%d",
		 ioctl(control, LOOP_CTL_GET_FREE));
	disk->loop = open(disk->device, O_RDONLY | O_CLOEXEC);
	if (file >= 0 && disk->loop >= 0)
		ok = !ioctl(disk->loop, LOOP_SET_FD, file) &&
		     !ioctl(disk->loop, LOOP_SET_STATUS64, &info);
	close(control);
	close(file);
	return ok;
}

/* Returns false without root, or if loop, romfs or FUSE do not work. */
static inline bool disk_make(struct slow_disk *disk, const void *bytes,
			     size_t size)
{
	static unsigned char image[DISK_SIZE];

	disk->loop = -1;
	strcpy(disk->dir, "/tmp/slow_disk.XXXXXX");
	if (geteuid() ||
	    system("modprobe loop 2>/dev/null; modprobe romfs 2>/dev/null") < 0)
		return false;
	disk_fill(image, bytes, size);
	return fuse_server_start(&disk->server, image, sizeof(image), 0) &&
	       disk_attach(disk) && mkdtemp(disk->dir) &&
	       !mount(disk->device, disk->dir, "romfs", MS_RDONLY, NULL);
}

static inline void disk_end(struct slow_disk *disk)
{
	umount2(disk->dir, MNT_DETACH);
	rmdir(disk->dir);
	if (disk->loop >= 0) {
		ioctl(disk->loop, LOOP_CLR_FD, 0);
		close(disk->loop);
	}
	fuse_server_stop(&disk->server);
}

static inline int disk_open(const struct slow_disk *disk, unsigned int nr)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%u", disk->dir, nr);
	return open(path, O_RDONLY | O_CLOEXEC);
}

#endif /* SELFTESTS_SLOW_DISK_H */
