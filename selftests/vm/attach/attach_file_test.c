// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching to files without a build ID: the right file is identified, however
 * it was opened, and whether or not the kernel still has it cached.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "attach.h"
#include "slow_disk.h"

FIXTURE(file)
{
	int fd;
	struct elf_base elf;
	struct elf_sframe sframe;
	struct sframe_unwind_attach arg;
};

FIXTURE_SETUP(file)
{
	ASSERT_TRUE(make_bare(&self->elf, &self->sframe, &self->arg));
	close(self->arg.elf_fd);
	self->elf.phdr[ELF_NOTE].p_type = PT_NULL;
	self->arg.build_id_size = 0;
	self->fd = -1;
}

FIXTURE_TEARDOWN(file)
{
	close(self->arg.sframe_fd);
	close(self->fd);
}

/* Read all of @file into the page cache and walk through its code. */
static enum outcome walk_file(int fd, int file)
{
	unsigned char *at = map_elf(file);
	static char page[PAGE];
	enum outcome outcome;
	off_t offset = 0;

	while (pread(file, page, PAGE, offset) > 0)
		offset += PAGE;
	outcome = at ? walk_small(fd, at) : FAILED;
	unmap_elf(at);
	return outcome;
}

/* Make the directory @name in @dir. Returns its path, in a buffer of its own. */
static const char *make_directory(const char *dir, const char *name)
{
	static char paths[4][64];
	static unsigned int nr;
	char *path = paths[nr++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return mkdir(path, 0755) ? NULL : path;
}

static int open_in(const char *dir, int flags)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/elf", dir);
	return open(path, flags | O_CLOEXEC, 0755);
}

/* A file of overlayfs is a file of the file system underneath. */
TEST_F(file, overlayfs)
{
	const char *lower, *upper, *work, *both;
	char dir[] = "/tmp/attach_file_test.XXXXXX";
	int file, real, through;
	char options[256];

	ASSERT_NE(NULL, mkdtemp(dir));
	if (system("modprobe overlay 2>/dev/null") < 0)
		TH_LOG("no modprobe");
	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL))
		SKIP(return, "cannot mount");
	lower = make_directory(dir, "lower");
	upper = make_directory(dir, "upper");
	work = make_directory(dir, "work");
	both = make_directory(dir, "both");
	file = open_in(lower, O_CREAT | O_RDWR);
	ASSERT_EQ(sizeof(self->elf), write(file, &self->elf,
					   sizeof(self->elf)));
	close(file);
	snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s",
		 lower, upper, work);
	if (mount("none", both, "overlay", 0, options))
		SKIP(return, "no overlayfs");
	self->fd = open_client(0);
	through = open_in(both, O_RDONLY);
	real = open_in(lower, O_RDONLY);
	ASSERT_LE(0, through);
	ASSERT_LE(0, real);
	EXPECT_EQ(NO_RULE, walk_file(self->fd, through));
	/* Attaching by either path serves code mapped by both. */
	self->arg.elf_fd = through;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_file(self->fd, through));
	EXPECT_EQ(CALLER, walk_file(self->fd, real));
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	self->arg.elf_fd = real;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_file(self->fd, through));
	EXPECT_EQ(CALLER, walk_file(self->fd, real));
	close(real);
	close(through);
}

/* Make the kernel drop inodes of files that are not open. */
static bool forget_files(void)
{
	const int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	const bool done = fd >= 0 && write(fd, "3", 1) == 1;

	close(fd);
	return done;
}

/* A file whose inode was dropped is recognized when it is opened again. */
TEST_F(file, forgotten_by_the_kernel)
{
	struct slow_disk disk = {};
	int file[DISK_FILES];
	unsigned int i;

	if (!disk_make(&disk, &self->elf, sizeof(self->elf)))
		SKIP(return, "needs root, FUSE, loop devices and romfs");
	self->fd = open_client(0);
	self->arg.elf_fd = disk_open(&disk, 0);
	ASSERT_LE(0, self->arg.elf_fd);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_file(self->fd, self->arg.elf_fd));
	close(self->arg.elf_fd);
	ASSERT_TRUE(forget_files());
	/*
	 * The last file first, so that it gets the memory of the first one's
	 * inode.
	 */
	for (i = DISK_FILES; i-- > 0;) {
		file[i] = disk_open(&disk, i);
		ASSERT_LE(0, file[i]);
		EXPECT_EQ(i ? NO_RULE : CALLER, walk_file(self->fd, file[i]));
	}
	for (i = 0; i < DISK_FILES; i++)
		close(file[i]);
	disk_end(&disk);
}

TEST_HARNESS_MAIN
