// SPDX-License-Identifier: GPL-2.0
/*
 * Files whose server is slow or silent: see load.h. In a user and mount
 * namespace of their own, which takes no privilege, or mounted by root.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"
#include "../include/fuse.h"

static bool write_text(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool is_good = fd >= 0 &&
			     write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return is_good;
}

bool enter_namespaces(void)
{
	char map[64], groups[64];

	snprintf(map, sizeof(map), "0 %u 1", (unsigned int)geteuid());
	snprintf(groups, sizeof(groups), "0 %u 1", (unsigned int)getegid());
	return !unshare(CLONE_NEWUSER | CLONE_NEWNS) &&
	       write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", map) &&
	       write_text("/proc/self/gid_map", groups);
}

static char bytes[1 << 20];

/* Read the file into whole pages. Returns their size. */
static size_t read_bytes(const char *from)
{
	const int fd = open(from, O_RDONLY | O_CLOEXEC);
	const ssize_t size = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));

	if (fd >= 0)
		close(fd);
	return size < 0 ? 0 : (size + 4095) & ~4095;
}

bool map_silent_fuse(const char *from, const char *dir)
{
	const size_t size = read_bytes(from);
	struct fuse fuse;
	pid_t reader;
	int i;

	if (!size || chdir(dir) || !enter_namespaces() ||
	    !fuse_mount(&fuse, bytes, size))
		return false;
	reader = fork();
	if (!reader) {
		const char *mapped = map_file(fuse.path);

		pause();
		_exit(mapped ? *mapped : 1);
	}
	/* Serve attributes and the open, and then no more. */
	for (i = 0; i < 6; i++) {
		struct pollfd file = { .fd = fuse.fd, .events = POLLIN };

		if (poll(&file, 1, 2000) < 1 ||
		    !fuse_serve_one(&fuse, FUSE_NO_PAGE))
			break;
	}
	printf("mapped a file of FUSE after %d answers\n", i);
	fflush(stdout);
	pause();
	return reader > 0;
}

/* Keep it mapped, so that others examine it. */
__attribute__((noreturn))
static void map_for_ever(const char *path)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		void *mapped = map_file(path);

		usleep(100000);
		if (mapped)
			munmap(mapped, 4096);
	}
}

/*
 * Mount it for all users, become @uid, and map it in a child. The mount ends
 * with its last process.
 */
static bool serve_as(struct fuse *fuse, const char *from, uid_t uid)
{
	const size_t size = read_bytes(from);

	if (!size || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !fuse_mount_with(fuse, bytes, size, ",allow_other") ||
	    setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return false;
	fuse->closer = fork();
	if (!fuse->closer) {
		fuse_die(fuse);
		map_for_ever(fuse->path);
	}
	puts("running");
	fflush(stdout);
	/*
	 * Exit after a minute: processes that wait for the silent server cannot
	 * be killed before.
	 */
	alarm(60);
	return fuse->closer > 0;
}

bool map_served_fuse(const char *from, uid_t uid, unsigned int ms)
{
	struct fuse fuse;

	if (!serve_as(&fuse, from, uid))
		return false;
	fuse.closer = 0;
	for (int i = 0; ms || i < 6; i++) {
		usleep(1000 * ms);
		fuse_serve_one(&fuse, FUSE_NO_PAGE);
	}
	pause();
	return true;
}

bool map_unclosed_fuse(const char *from, uid_t uid)
{
	struct fuse fuse;

	if (!serve_as(&fuse, from, uid))
		return false;
	for (;;)
		fuse_serve_one(&fuse, FUSE_NO_PAGE);
}
