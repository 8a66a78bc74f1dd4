// SPDX-License-Identifier: GPL-2.0
/*
 * Identity of the file that a section is attached to: not another file with the
 * same numbers, on a device that reuses the device number, or in the same
 * memory; and attachments do not prevent deleting and unmounting the file.
 */
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "attach_fixture.h"
#include "fuse_server.h"
#include "process.h"

#define INODE	SFRAME_UNWIND_ATTACH_INODE
#define SYSTEM	SFRAME_UNWIND_ATTACH_SYSTEM

/* Enter a new mount namespace with a file system on @dir. */
static bool mount_own(char *dir)
{
	return !geteuid() && mkdtemp(dir) && !unshare(CLONE_NEWNS) &&
	       !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", dir, "tmpfs", 0, NULL);
}

static int make_at(const char *path, const struct elf_base *elf)
{
	const int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0755);

	if (file >= 0 && pwrite(file, elf, sizeof(*elf), 0) != sizeof(*elf)) {
		close(file);
		return -1;
	}
	return file;
}

/*
 * A mapped FUSE file with its headers in the page cache. Every such server
 * reports inode number 1 and generation 0.
 */
struct served {
	struct fuse_server server;
	struct stat stat;
	int file;
	unsigned char *at;
};

static bool serve(struct served *served, const struct elf_base *elf)
{
	if (!fuse_server_start(&served->server, elf, sizeof(*elf), 0))
		return false;
	served->file = fuse_server_open(&served->server);
	if (served->file < 0 || fstat(served->file, &served->stat))
		return false;
	served->at = map_elf(served->file);
	return served->at && *(volatile unsigned char *)served->at == 0x7f;
}

/* Returns whether the file system could be unmounted at once. */
static bool end(struct served *served)
{
	bool ok;

	unmap_elf(served->at);
	close(served->file);
	ok = !umount(served->server.fuse.path);
	fuse_server_stop(&served->server);
	return ok;
}

#define ROUNDS	10

/*
 * The file has been unmounted; another file system reuses its device number,
 * and has a file with the same inode number and headers.
 */
TEST_F(attach, mounted_again)
{
	static struct served first, second;
	unsigned int same = 0;
	int i;

	if (geteuid())
		SKIP(return, "needs root, for FUSE");
	self->arg.flags = INODE | SYSTEM;
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_TRUE(serve(&first, &self->elf));
		self->arg.elf_fd = first.file;
		ASSERT_EQ(0, attach(self->fd, &self->arg))
		{
			TH_LOG("%s", self->message);
		}
		EXPECT_EQ(CALLER, walk_small(self->fd, first.at));
		EXPECT_TRUE(end(&first));
		ASSERT_TRUE(serve(&second, &self->elf));
		same += first.stat.st_dev == second.stat.st_dev &&
			first.stat.st_ino == second.stat.st_ino;
		EXPECT_EQ(NO_RULE, walk_small(self->fd, second.at));
		/* The new file can have a section of its own. */
		self->arg.elf_fd = second.file;
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		EXPECT_EQ(CALLER, walk_small(self->fd, second.at));
		EXPECT_TRUE(end(&second));
	}
	/* Otherwise the numbers were not reused, and nothing was tested. */
	EXPECT_LT(ROUNDS / 2, same);
}

/* As above without a build ID, which is another way to identify a file. */
TEST_F(attach, mounted_again_without_build_id)
{
	static struct served first, second;

	if (geteuid())
		SKIP(return, "needs root, for FUSE");
	self->elf.phdr[ELF_NOTE].p_type = PT_NULL;
	self->arg.build_id_size = 0;
	ASSERT_TRUE(serve(&first, &self->elf));
	self->arg.elf_fd = first.file;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, first.at));
	EXPECT_TRUE(end(&first));
	ASSERT_TRUE(serve(&second, &self->elf));
	EXPECT_EQ(first.stat.st_dev, second.stat.st_dev);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, second.at));
	EXPECT_TRUE(end(&second));
}

/* New inodes reuse the memory and number of deleted ones. */
TEST_F(attach, deleted_and_made_anew)
{
	char dir[] = "/tmp/attach_identity.XXXXXX", path[64];
	unsigned char *at;
	int file, i;

	if (!mount_own(dir))
		SKIP(return, "cannot mount");
	snprintf(path, sizeof(path), "%s/file", dir);
	self->arg.flags = INODE;
	for (i = 0; i < 100; i++) {
		file = make_at(path, &self->elf);
		at = map_elf(file);
		ASSERT_NE(NULL, at);
		EXPECT_EQ(NO_RULE, walk_small(self->fd, at));
		self->arg.elf_fd = file;
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		EXPECT_EQ(CALLER, walk_small(self->fd, at));
		/* The file stays the same while it is open or mapped. */
		ASSERT_EQ(0, unlink(path));
		EXPECT_EQ(CALLER, walk_small(self->fd, at));
		close(file);
		EXPECT_EQ(CALLER, walk_large(self->fd, at));
		unmap_elf(at);
	}
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

static unsigned long free_blocks(const char *dir)
{
	struct statvfs stat;

	return statvfs(dir, &stat) ? 0 : stat.f_bfree;
}

/* A deleted file takes no room any more, although a section is attached to it. */
TEST_F(attach, gives_room_back)
{
	char dir[] = "/tmp/attach_identity.XXXXXX", path[64];
	unsigned long before;
	int file;

	if (!mount_own(dir))
		SKIP(return, "cannot mount");
	before = free_blocks(dir);
	snprintf(path, sizeof(path), "%s/file", dir);
	file = make_at(path, &self->elf);
	ASSERT_LE(0, file);
	self->arg.elf_fd = file;
	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_GT(before, free_blocks(dir));
	close(file);
	ASSERT_EQ(0, unlink(path));
	EXPECT_EQ(before, free_blocks(dir));
	/* The attachment can still be listed and detached. */
	EXPECT_EQ(0, hits(self->fd, self->arg.id));
	EXPECT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

/* An attachment does not prevent unmounting; it can be detached afterwards. */
TEST_F(attach, unmounted)
{
	char dir[] = "/tmp/attach_identity.XXXXXX", path[64];
	unsigned char *at;
	int file, i;

	if (!mount_own(dir))
		SKIP(return, "cannot mount");
	self->arg.flags = INODE;
	for (i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "%s/file%d", dir, i);
		file = make_at(path, &self->elf);
		at = map_elf(file);
		ASSERT_NE(NULL, at);
		self->arg.elf_fd = file;
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		EXPECT_EQ(CALLER, walk_small(self->fd, at));
		if (i % 2)
			ASSERT_EQ(0, detach(self->fd, self->arg.id));
		unmap_elf(at);
		close(file);
	}
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
	EXPECT_EQ(0, detach(self->fd, self->arg.id - 1));
}

/* A file is the same by whatever name it is opened, and however often. */
TEST_F(attach, several_names)
{
	char dir[] = "/tmp/attach_identity.XXXXXX", path[64], link_path[64];
	unsigned char *at, *second;
	int file, other;

	if (!mount_own(dir))
		SKIP(return, "cannot mount");
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(link_path, sizeof(link_path), "%s/link", dir);
	file = make_at(path, &self->elf);
	ASSERT_EQ(0, link(path, link_path));
	other = open(link_path, O_RDONLY | O_CLOEXEC);
	at = map_elf(file);
	second = map_elf(other);
	ASSERT_NE(NULL, at);
	ASSERT_NE(NULL, second);
	self->arg.elf_fd = other;
	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	EXPECT_EQ(CALLER, walk_small(self->fd, second));
	/* One name is left. */
	ASSERT_EQ(0, unlink(path));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	unmap_elf(at);
	unmap_elf(second);
	close(file);
	close(other);
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

/*
 * An overlay of two layers, as in containers. Returns the path of the file, or
 * NULL.
 */
static const char *make_overlay(const char *dir, const struct elf_base *elf)
{
	static const char * const names[] = { "lower", "upper", "work", "both" };
	static char path[64];
	char options[256];
	unsigned int i;

	if (system("modprobe overlay 2>/dev/null") < 0)
		return NULL;
	for (i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (mkdir(path, 0755))
			return NULL;
	}
	snprintf(path, sizeof(path), "%s/lower/elf", dir);
	close(make_at(path, elf));
	snprintf(options, sizeof(options),
		 "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dir,
		 dir, dir);
	snprintf(path, sizeof(path), "%s/both", dir);
	if (mount("none", path, "overlay", 0, options))
		return NULL;
	strcat(path, "/elf");
	return path;
}

TEST_F(attach, overlayfs)
{
	char dir[] = "/tmp/attach_identity.XXXXXX";
	unsigned char *at, *second;
	const char *path;
	int file, changed;

	if (!mount_own(dir))
		SKIP(return, "cannot mount");
	path = make_overlay(dir, &self->elf);
	if (!path)
		SKIP(return, "no overlayfs");
	file = open(path, O_RDONLY | O_CLOEXEC);
	at = map_elf(file);
	ASSERT_NE(NULL, at);
	self->arg.elf_fd = file;
	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	/* Writing makes a copy in the upper layer, which is another file. */
	changed = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(1, pwrite(changed, "\xcc", 1, sizeof(self->elf) - 1));
	second = map_elf(changed);
	ASSERT_NE(NULL, second);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, second));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	self->arg.elf_fd = changed;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, second));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	unmap_elf(at);
	unmap_elf(second);
	close(file);
	close(changed);
}

/* Attached by its path in the lower layer, which other containers share. */
TEST_F(attach, overlayfs_from_below)
{
	char dir[] = "/tmp/attach_identity.XXXXXX", lower[64];
	unsigned char *at;
	const char *path;
	int file;

	if (!mount_own(dir))
		SKIP(return, "cannot mount");
	path = make_overlay(dir, &self->elf);
	if (!path)
		SKIP(return, "no overlayfs");
	snprintf(lower, sizeof(lower), "%s/lower/elf", dir);
	self->arg.elf_fd = open(lower, O_RDONLY | O_CLOEXEC);
	self->arg.flags = INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	close(self->arg.elf_fd);
	file = open(path, O_RDONLY | O_CLOEXEC);
	at = map_elf(file);
	ASSERT_NE(NULL, at);
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	unmap_elf(at);
	close(file);
}

TEST_HARNESS_MAIN
