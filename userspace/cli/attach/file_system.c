// SPDX-License-Identifier: GPL-2.0
/*
 * File system: its kind, and whether an administrator has mounted it.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "file_system.h"

/* Magic numbers that the kernel's header does not have. */
#define BCACHEFS_MAGIC	0xca451a4e
#define GFS2_MAGIC	0x01161970
#define HFSPLUS_MAGIC	0x482b
#define JFS_MAGIC	0x3153464a
#define LUSTRE_MAGIC	0x0bd00bd0
#define NTFS_MAGIC	0x5346544e
#define NTFS3_MAGIC	0x7366746e
#define ORANGEFS_MAGIC	0x20030528
#define ROMFS_MAGIC_	0x7275
#define UBIFS_MAGIC	0x24051905
#define VBOXSF_MAGIC	0x786f4256
#define ZFS_MAGIC	0x2fc12fc1

/* Other types of file systems hold no programs. */
static enum file_system_kind kind_of_type(uint32_t type)
{
	switch (type) {
	case BCACHEFS_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case CRAMFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case EXFAT_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case HFSPLUS_MAGIC:
	case ISOFS_SUPER_MAGIC:
	case JFFS2_SUPER_MAGIC:
	case JFS_MAGIC:
	case MSDOS_SUPER_MAGIC:
	case NILFS_SUPER_MAGIC:
	case NTFS3_MAGIC:
	case NTFS_MAGIC:
	case RAMFS_MAGIC:
	case REISERFS_SUPER_MAGIC:
	case ROMFS_MAGIC_:
	case SQUASHFS_MAGIC:
	case TMPFS_MAGIC:
	case UBIFS_MAGIC:
	case UDF_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case ZFS_MAGIC:
		return FILE_SYSTEM_LOCAL;
	case AFS_FS_MAGIC:
	case AFS_SUPER_MAGIC:
	case CEPH_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case CODA_SUPER_MAGIC:
	case ECRYPTFS_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC:
	case GFS2_MAGIC:
	case LUSTRE_MAGIC:
	case NFS_SUPER_MAGIC:
	case OCFS2_SUPER_MAGIC:
	case ORANGEFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case V9FS_MAGIC:
	case VBOXSF_MAGIC:
		return FILE_SYSTEM_SERVED;
	default:
		return FILE_SYSTEM_NONE;
	}
}

/* A line of /proc/PID/mountinfo. */
struct mount_line {
	dev_t device;
	char type[32];
};

/**
 * struct mount_sought - the mount to look for
 *
 * @mount: its ID, or 0 for the first mount of @device.
 * @device: device number; ignored if @mount is not 0.
 * @is_suid: with @device, only a mount without nosuid matches.
 */
struct mount_sought {
	uint64_t mount;
	dev_t device;
	bool is_suid;
};

/* Options of a mount begin with "rw" or "ro", so nosuid is never the first. */
static bool has_suid(const char *options)
{
	const char *at = strstr(options, ",nosuid");

	return !at || (at[7] && at[7] != ',');
}

static bool parse_line(const char *line, const struct mount_sought *sought,
		       struct mount_line *found)
{
	unsigned int major, minor;
	char options[256];
	const char *rest;
	uint64_t id;

	if (sscanf(line, "%" SCNu64 " %*u %u:%u %*s %*s %255s", &id, &major,
		   &minor, options) != 4)
		return false;
	if (sought->mount ? id != sought->mount :
			    makedev(major, minor) != sought->device ||
			    (sought->is_suid && !has_suid(options)))
		return false;
	found->device = makedev(major, minor);
	/* Blanks in names are escaped, so " - " ends the optional fields. */
	rest = strstr(line, " - ");
	return rest && sscanf(rest, " - %31s", found->type) == 1;
}

static const char here[] = "/proc/self/mountinfo";

static int find_mount(const char *path, const struct mount_sought *sought,
		      struct mount_line *found)
{
	FILE *file = fopen(path, "re");
	bool is_found = false;
	char *line = NULL;
	size_t size = 0;

	*found = (struct mount_line){ 0 };
	if (!file)
		return -errno;
	while (!is_found && getline(&line, &size, file) > 0)
		is_found = parse_line(line, sought, found);
	free(line);
	fclose(file);
	return is_found ? 0 : -ENOENT;
}

int file_system_kind(int fd, uint64_t mount)
{
	const struct mount_sought sought = { .mount = mount };
	struct mount_line line;
	enum file_system_kind kind;
	struct statfs stat;

	if (fstatfs(fd, &stat))
		return -errno;
	kind = kind_of_type(stat.f_type);
	/* fstatfs(2) cannot tell virtiofs, served by the host, from other FUSE. */
	if ((uint32_t)stat.f_type == FUSE_SUPER_MAGIC && mount &&
	    !find_mount(here, &sought, &line) &&
	    !strcmp(line.type, "virtiofs"))
		return FILE_SYSTEM_LOCAL;
	return kind;
}

int file_system_device(pid_t pid, uint64_t mount, dev_t *device)
{
	const struct mount_sought sought = { .mount = mount };
	struct mount_line line;
	char path[40];
	int err = -ENOENT;

	*device = 0;
	if (!mount)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	err = find_mount(path, &sought, &line);
	/* -EINVAL: the process is exiting and has no mount namespace any more. */
	if (err && err != -EACCES)
		err = find_mount(here, &sought, &line);
	*device = err ? 0 : line.device;
	return err;
}

/* Returns whether the device of @pid's mount is mounted in our namespace. */
static bool is_device_here(pid_t pid, uint64_t mount, bool is_suid)
{
	struct mount_sought sought = { .is_suid = is_suid };
	struct mount_line line;

	return !file_system_device(pid, mount, &sought.device) &&
	       !find_mount(here, &sought, &line);
}

bool file_system_is_here(pid_t pid, uint64_t mount)
{
	const struct mount_sought sought = { .mount = mount };
	struct mount_line line;

	return mount && (!find_mount(here, &sought, &line) ||
			 is_device_here(pid, mount, false));
}

bool file_system_is_suid_here(pid_t pid, uint64_t mount)
{
	return is_device_here(pid, mount, true);
}
