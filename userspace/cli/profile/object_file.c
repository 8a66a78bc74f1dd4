// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/profile/object_file.h"

bool object_file_may_hang(const struct open_file *found)
{
	struct statfs status;

	return found->flags & OPEN_FILE_MAY_BLOCK &&
	       !fstatfs(found->fd, &status) &&
	       status.f_type == FUSE_SUPER_MAGIC;
}

/* Open for reading what @path_fd, which is closed, refers to. */
static bool take(struct object_file *file, int path_fd, bool is_of_others)
{
	struct open_file found;

	*file = (struct object_file){ .fd = -1 };
	if (path_fd < 0)
		return false;
	if (!open_path_file(path_fd, &found)) {
		file->device = found.device;
		file->inode = found.inode;
		file->size = found.size;
		file->is_ours = !found.owner || found.owner == geteuid();
		file->may_hang = object_file_may_hang(&found);
		if (!is_of_others || !file->may_hang)
			file->fd = open_file_to_read(&found);
		close(found.fd);
	}
	close(path_fd);
	return file->fd >= 0;
}

bool object_file_open(struct object_file *file, const char *path)
{
	return take(file, open(path, O_PATH | O_CLOEXEC), false);
}

bool object_file_open_mapped(struct object_file *file,
			     const struct history_object *known)
{
	const struct mapped_file mapped = {
		.pid = known->pid,
		.start = known->start,
		.end = known->end,
	};
	struct open_file found;

	*file = (struct object_file){ .fd = -1 };
	if (!known->is_live || open_mapped_file(&mapped, &found))
		return false;
	return take(file, found.fd, true);
}

bool object_file_open_in_root(struct object_file *file,
			      const struct history_object *known)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_SYMLINKS,
	};
	char path[64];
	int root, fd;

	*file = (struct object_file){ .fd = -1 };
	snprintf(path, sizeof(path), "/proc/%u/root", known->pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return false;
	fd = syscall(SYS_openat2, root, known->name, &how, sizeof(how));
	close(root);
	return take(file, fd, true);
}

bool object_file_copy(struct object_file *file)
{
	const int copy = memfd_create("object", MFD_CLOEXEC);
	uint64_t left = file->size;
	ssize_t got = 1;

	while (copy >= 0 && left && got > 0) {
		got = sendfile(copy, file->fd, NULL, left);
		left -= got > 0 ? got : 0;
	}
	if (copy < 0 || left) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	close(file->fd);
	file->fd = copy;
	return true;
}

void object_file_close(struct object_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}
