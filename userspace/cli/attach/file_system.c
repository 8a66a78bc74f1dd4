// SPDX-License-Identifier: GPL-2.0
/*
 * File system: whether it stores files, and who answers for it.
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

/* Of file systems that the kernel's header does not have. */
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

/* Those that can have programs. Files of others have never been executed. */
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

/* What /proc/PID/mountinfo says of a mount. */
struct mount_line {
	dev_t device;
	char type[32];
};

/* Of the mount with that ID, or, if it is 0, of the first one of @device. */
static bool parse_line(const char *line, uint64_t mount, dev_t device,
		       struct mount_line *found)
{
	unsigned int major, minor;
	const char *rest;
	uint64_t id;

	if (sscanf(line, "%" SCNu64 " %*u %u:%u ", &id, &major, &minor) != 3 ||
	    (mount ? id != mount : makedev(major, minor) != device))
		return false;
	found->device = makedev(major, minor);
	/* Blanks in names are told otherwise; optional fields come before. */
	rest = strstr(line, " - ");
	return rest && sscanf(rest, " - %31s", found->type) == 1;
}

static int find_mount(const char *path, uint64_t mount, dev_t device,
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
		is_found = parse_line(line, mount, device, found);
	free(line);
	fclose(file);
	return is_found ? 0 : -ENOENT;
}

int file_system_kind(int fd, uint64_t mount)
{
	struct mount_line line;
	enum file_system_kind kind;
	struct statfs stat;

	if (fstatfs(fd, &stat))
		return -errno;
	kind = kind_of_type(stat.f_type);
	/* To fstatfs() they look the same: FUSE from this machine's host. */
	if ((uint32_t)stat.f_type == FUSE_SUPER_MAGIC &&
	    !find_mount("/proc/self/mountinfo", mount, 0, &line) &&
	    !strcmp(line.type, "virtiofs"))
		return FILE_SYSTEM_LOCAL;
	return kind;
}

int file_system_device(pid_t pid, uint64_t mount, dev_t *device)
{
	struct mount_line line;
	char path[40];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	err = find_mount(path, mount, 0, &line);
	/* -EINVAL: it is ending, and has no namespace any more. */
	if (err && err != -EACCES)
		err = find_mount("/proc/self/mountinfo", mount, 0, &line);
	*device = err ? 0 : line.device;
	return err;
}

bool file_system_is_here(pid_t pid, uint64_t mount)
{
	static const char here[] = "/proc/self/mountinfo";
	struct mount_line line;
	dev_t device;

	return mount && (!find_mount(here, mount, 0, &line) ||
			 (!file_system_device(pid, mount, &device) &&
			  !find_mount(here, 0, device, &line)));
}
