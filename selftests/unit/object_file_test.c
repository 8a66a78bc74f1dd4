// SPDX-License-Identifier: GPL-2.0
/*
 * Which files of objects are ours, and copies of those that are not.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_stub.h"
#include "fuse_overlay.h"
#include "tap.h"
#include "userspace/cli/profile/object_file.h"
#include "write_text.h"

#define USER	1234
#define OTHER	1235

/* On the file system of the root directory, in which only root can write. */
static char work[] = "/object_file_test.XXXXXX";

/* Make a file in a directory of @work. */
static bool make(const char *directory, mode_t mode, uid_t user,
		 const char *name, mode_t file_mode, uid_t file_user)
{
	char path[PATH_MAX];
	bool is_good;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", work, directory);
	is_good = (!mkdir(path, 0755) || access(path, F_OK) == 0) &&
		  !chown(path, user, user) && !chmod(path, mode);
	snprintf(path, sizeof(path), "%s/%s/%s", work, directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	is_good = is_good && fd >= 0 && write(fd, "x", 1) == 1 &&
		  !fchown(fd, file_user, file_user) && !fchmod(fd, file_mode);
	close(fd);
	return is_good;
}

/* Whether the file is ours, if this process is of @user. */
static bool is_ours(const char *directory, const char *name, uid_t user)
{
	struct open_file found;
	char path[PATH_MAX];
	bool is = false;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/%s", work, directory, name);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (!open_path_file(fd, &found)) {
		if (seteuid(user))
			abort();
		is = object_file_is_ours(&found);
		if (seteuid(0))
			abort();
		close(found.fd);
	}
	close(fd);
	return is;
}

static void test_of_root(void)
{
	EXPECT(make("root", 0755, 0, "file", 0644, 0));
	EXPECT(is_ours("root", "file", 0));
	EXPECT(is_ours("root", "file", USER));
	EXPECT(make("root", 0755, 0, "writable", 0646, 0));
	EXPECT(!is_ours("root", "writable", 0));
	EXPECT(!is_ours("root", "writable", USER));
	EXPECT(make("root", 0755, 0, "group", 0664, 0));
	EXPECT(!is_ours("root", "group", 0));
}

static void test_of_user(void)
{
	EXPECT(make("home", 0755, USER, "file", 0664, USER));
	EXPECT(is_ours("home", "file", USER));
	EXPECT(!is_ours("home", "file", OTHER));
	EXPECT(!is_ours("home", "file", 0));
	EXPECT(make("home", 0755, USER, "writable", 0646, USER));
	EXPECT(!is_ours("home", "writable", USER));
	/* Root has nothing of its own but what is of the system. */
	EXPECT(make("home", 0755, USER, "roots", 0644, 0));
	EXPECT(!is_ours("home", "roots", 0));
	EXPECT(make("home", 0755, OTHER, "others", 0644, USER));
	EXPECT(!is_ours("home", "others", USER));
}

static void test_directories(void)
{
	EXPECT(make("root", 0757, 0, "file", 0644, 0));
	EXPECT(!is_ours("root", "file", 0));
	EXPECT(make("root", 0775, 0, "file", 0644, 0));
	EXPECT(!is_ours("root", "file", 0));
	/* Others can put files beside. */
	EXPECT(make("root", 01777, 0, "file", 0644, 0));
	EXPECT(!is_ours("root", "file", 0));
	/* They cannot replace the directory below. */
	EXPECT(make("root/below", 0755, 0, "file", 0644, 0));
	EXPECT(is_ours("root/below", "file", 0));
	EXPECT(make("root", 0777, 0, "file", 0644, 0));
	EXPECT(!is_ours("root/below", "file", 0));
}

/* What its path leads to now may be another file. */
static void test_removed(void)
{
	struct open_file found;
	char path[PATH_MAX];
	int fd;

	EXPECT(make("root", 0755, 0, "removed", 0644, 0));
	snprintf(path, sizeof(path), "%s/root/removed", work);
	fd = open(path, O_PATH | O_CLOEXEC);
	EXPECT(!open_path_file(fd, &found));
	EXPECT(object_file_is_ours(&found));
	EXPECT(!unlink(path));
	EXPECT(!object_file_is_ours(&found));
	/* A file with the name by which the kernel tells that. */
	EXPECT(make("root", 0755, 0, "removed (deleted)", 0644, 0));
	EXPECT(!object_file_is_ours(&found));
	close(found.fd);
	close(fd);
}

static void test_copy(void)
{
	struct object_file file;
	char path[PATH_MAX], bytes[2];
	struct stat status;
	int fd;

	EXPECT(make("root", 0755, 0, "holes", 0644, 0));
	snprintf(path, sizeof(path), "%s/root/holes", work);
	fd = open(path, O_RDWR | O_CLOEXEC);
	EXPECT(pwrite(fd, "y", 1, 40 << 20) == 1 && !ftruncate(fd, 50 << 20));
	close(fd);
	EXPECT(object_file_open(&file, path));
	EXPECT(object_file_size_max(&file) > 50 << 20);
	EXPECT(file.stored < 1 << 20);
	EXPECT(object_file_copy(&file));
	EXPECT(file.stored < 1 << 20);
	EXPECT(!fstat(file.fd, &status));
	EXPECT_EQ(status.st_size, 50 << 20);
	EXPECT(status.st_blocks * 512 < 1 << 20);
	EXPECT(pread(file.fd, &bytes[0], 1, 0) == 1 &&
	       pread(file.fd, &bytes[1], 1, 40 << 20) == 1);
	EXPECT(bytes[0] == 'x' && bytes[1] == 'y');
	/* A child that reads it cannot make it larger, or fill it. */
	EXPECT(pwrite(file.fd, "z", 1, 1) < 0 && ftruncate(file.fd, 60 << 20));
	object_file_close(&file);
}

/* Mount an overlay of what a user has, and map a file in it. Returns where, or NULL. */
static char *map_in_overlay(bool is_in_namespace)
{
	static const char options[] = "lowerdir=lower:empty";
	int fd;

	if (is_in_namespace && (unshare(CLONE_NEWUSER | CLONE_NEWNS) ||
				!write_text("/proc/self/uid_map", "0 0 1") ||
				!write_text("/proc/self/setgroups", "deny") ||
				!write_text("/proc/self/gid_map", "0 0 1")))
		return NULL;
	if (chdir(work) || mount("none", "mount", "tmpfs", 0, NULL) ||
	    chdir("mount") || mkdir("lower", 0755) || mkdir("empty", 0755) ||
	    mkdir("over", 0755))
		return NULL;
	fd = open("lower/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	if (ftruncate(fd, 4096) || close(fd) ||
	    mount("overlay", "over", "overlay", 0, options))
		return NULL;
	fd = open("over/file", O_RDONLY | O_CLOEXEC);
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

/* What a file says whose mapping is in an overlay of another process: 1, 0, or -1 for none. */
static int may_block(bool is_in_namespace)
{
	struct history_object known = { .is_live = true };
	struct object_file file;
	char *at = NULL;
	int pipes[2], ret = -1;
	pid_t pid;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		at = map_in_overlay(is_in_namespace);
		if (write(pipes[1], &at, sizeof(at)) == sizeof(at))
			pause();
		_exit(1);
	}
	close(pipes[1]);
	if (read(pipes[0], &at, sizeof(at)) == sizeof(at) && at) {
		known.pid = pid;
		known.start = (uintptr_t)at;
		known.end = known.start + 4096;
		if (object_file_open_mapped(&file, &known))
			ret = file.may_block;
		object_file_close(&file);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pipes[0]);
	return ret;
}

/* Open a file of an overlay. Returns whether it may block. */
static bool open_served(struct object_file *file,
			const struct fuse_overlay *overlay)
{
	const struct history_object known = {
		.is_live = true,
		.pid = overlay->pid,
		.start = (uintptr_t)overlay->start,
		.end = (uintptr_t)overlay->start + FUSE_PAGE,
	};

	return object_file_open_mapped(file, &known) && file->may_block;
}

/* A file whose server does not answer when it is closed. */
static void test_close(void)
{
	struct fuse_overlay overlay;
	struct object_file file;
	char path[PATH_MAX];
	time_t begin;

	snprintf(path, sizeof(path), "%s/served", work);
	EXPECT(!mkdir(path, 0755));
	if (!fuse_overlay_start(&overlay, path, FUSE_NO_CLOSE, 0)) {
		fuse_overlay_stop(&overlay);
		printf("# no overlay of FUSE\n");
		return;
	}
	EXPECT(open_served(&file, &overlay));
	EXPECT(fcntl(file.fd, F_GETFL) & O_PATH);
	begin = time(NULL);
	object_file_close(&file);
	EXPECT(time(NULL) - begin < FUSE_SECONDS / 2);
	fuse_overlay_stop(&overlay);
	/* It is opened to be copied. */
	EXPECT(fuse_overlay_start(&overlay, path, FUSE_ANSWERS, 0));
	EXPECT(open_served(&file, &overlay));
	EXPECT(object_file_copy(&file));
	EXPECT_EQ(pread(file.fd, path, 5, 0), 5);
	EXPECT(!memcmp(path, "file", 5));
	object_file_close(&file);
	fuse_overlay_stop(&overlay);
}

/* An overlay that a user has mounted may be over one that his process serves. */
static void test_overlay(void)
{
	char path[PATH_MAX];
	int result;

	snprintf(path, sizeof(path), "%s/mount", work);
	EXPECT(!mkdir(path, 0755));
	EXPECT(!unshare(CLONE_NEWNS));
	EXPECT(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	result = may_block(true);
	if (result < 0)
		printf("# no overlay in a user namespace\n");
	else
		EXPECT_EQ(result, 1);
	/* In the mount namespace of this process. */
	result = may_block(false);
	snprintf(path, sizeof(path), "%s/mount/over", work);
	umount2(path, MNT_DETACH);
	snprintf(path, sizeof(path), "%s/mount", work);
	umount2(path, MNT_DETACH);
	if (result < 0)
		printf("# no overlay\n");
	else
		EXPECT_EQ(result, 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_of_root),
		TAP_TEST(test_of_user),
		TAP_TEST(test_directories),
		TAP_TEST(test_removed),
		TAP_TEST(test_copy),
		TAP_TEST(test_overlay),
		TAP_TEST(test_close),
	};

	if (geteuid()) {
		tap_skip("files of objects", "needs root");
		return tap_done();
	}
	if (!mkdtemp(work) || chmod(work, 0755))
		return 2;
	umask(0);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	remove_tree(work);
	return tap_done();
}
