/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FUSE directory whose server is a process that makes others wait; and a process that
 * maps files of an overlay on it, as each user can have in namespaces of his own.
 */
#ifndef SELFTESTS_UNIT_FUSE_OVERLAY_H
#define SELFTESTS_UNIT_FUSE_OVERLAY_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/fuse.h"
#include "write_text.h"

#define FUSE_FILES	12u	/* "file-a", "file-b", ..., of one page each */
#define FUSE_SECONDS	20	/* of a server's life: then nobody waits any more */

/*
 * ANSWERS	to everything
 * NO_CLOSE	but to FUSE_FLUSH, which close(2) sends
 * NO_READ	reads fail after FUSE_READ_MS
 * NO_LOOKUP	but to FUSE_LOOKUP
 */
enum fuse_mood {
	FUSE_ANSWERS,
	FUSE_NO_CLOSE,
	FUSE_NO_READ,
	FUSE_NO_LOOKUP,
};

#define FUSE_READ_MS	700

/**
 * struct fuse_overlay - processes of an overlay
 *
 * @server: serves the directory.
 * @pid: has the files mapped.
 * @start: where the first one is; each next one is 2 pages further.
 */
struct fuse_overlay {
	pid_t server;
	pid_t pid;
	char *start;
};

static inline struct fuse_attr fuse_directory_attr(uint64_t inode)
{
	return (struct fuse_attr){
		.ino = inode,
		.size = FUSE_PAGE,
		.blocks = FUSE_PAGE / 512,
		.mode = inode == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0755,
		.nlink = 1,
		.blksize = FUSE_PAGE,
	};
}

static inline void fuse_directory_lookup(struct fuse *fuse, uint64_t question,
					 const char *name)
{
	struct fuse_entry_out entry = { .entry_valid = 3600, .attr_valid = 3600 };

	if (strncmp(name, "file-", 5) || strlen(name) != 6) {
		fuse_reply(fuse, question, ENOENT, NULL, 0);
		return;
	}
	entry.nodeid = FUSE_ROOT_ID + 1 + name[5] - 'a';
	entry.attr = fuse_directory_attr(entry.nodeid);
	fuse_reply(fuse, question, 0, &entry, sizeof(entry));
}

static inline void fuse_directory_read(struct fuse *fuse, uint64_t question,
				       enum fuse_mood mood)
{
	static const char page[FUSE_PAGE] = "file";

	if (mood != FUSE_NO_READ) {
		fuse_reply(fuse, question, 0, page, sizeof(page));
		return;
	}
	usleep(FUSE_READ_MS * 1000);
	fuse_reply(fuse, question, EIO, NULL, 0);
}

static inline void fuse_directory_answer(struct fuse *fuse, enum fuse_mood mood,
					 const struct fuse_in_header *head)
{
	const struct fuse_attr_out attr = {
		.attr_valid = 3600,
		.attr = fuse_directory_attr(head->nodeid),
	};
	const struct fuse_statfs_out status = { .st = { .namelen = 255 } };
	const struct fuse_open_out opened = { .fh = 1 };

	switch (head->opcode) {
	case FUSE_INIT:
		fuse_reply_init(fuse, head->unique);
		break;
	case FUSE_LOOKUP:
		if (mood != FUSE_NO_LOOKUP)
			fuse_directory_lookup(fuse, head->unique,
					      (const char *)(head + 1));
		break;
	case FUSE_GETATTR:
		fuse_reply(fuse, head->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_STATFS:
		fuse_reply(fuse, head->unique, 0, &status, sizeof(status));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		fuse_reply(fuse, head->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		fuse_directory_read(fuse, head->unique, mood);
		break;
	case FUSE_FLUSH:
		if (mood != FUSE_NO_CLOSE)
			fuse_reply(fuse, head->unique, 0, NULL, 0);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		fuse_reply(fuse, head->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		fuse_reply(fuse, head->unique, ENOSYS, NULL, 0);
	}
}

__attribute__((noreturn))
static inline void fuse_directory_serve(struct fuse *fuse, enum fuse_mood mood)
{
	static char buffer[FUSE_MIN_READ_BUFFER + FUSE_PAGE];

	signal(SIGALRM, SIG_DFL);
	alarm(FUSE_SECONDS);
	for (;;) {
		const ssize_t got = read(fuse->fd, buffer, sizeof(buffer));

		if (got < 0 && errno != EINTR && errno != ENOENT)
			_exit(0);
		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			fuse_directory_answer(fuse, mood, (const void *)buffer);
	}
}

/* Mount such a directory at @path. Returns its server, or -1. */
static inline pid_t fuse_directory_start(const char *path, enum fuse_mood mood)
{
	struct fuse fuse = { .fd = open("/dev/fuse", O_RDWR | O_CLOEXEC) };
	char options[96];
	pid_t pid;

	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse.fd);
	if (fuse.fd < 0 || mount("sframe_unwind_test", path, "fuse",
				 MS_NOSUID | MS_NODEV, options)) {
		fuse_die(&fuse);
		return -1;
	}
	pid = fork();
	if (!pid)
		fuse_directory_serve(&fuse, mood);
	fuse_die(&fuse);
	return pid;
}

static inline void fuse_end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Programs in a chroot(2) get no user namespaces; to root, one for mounts is the same. */
static inline bool fuse_enter_namespaces(uid_t user)
{
	if (!user && !unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return write_text("/proc/self/uid_map", "0 0 1") &&
		       write_text("/proc/self/setgroups", "deny") &&
		       write_text("/proc/self/gid_map", "0 0 1");
	return !unshare(CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static inline char *fuse_map_overlay(void)
{
	char *pages = mmap(NULL, 2 * FUSE_FILES * FUSE_PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned int i = 0; i < FUSE_FILES; i++) {
		const char name[] = { 'o', 'v', 'e', 'r', '/', 'f', 'i', 'l', 'e', '-',
				      'a' + i, 0 };
		const int fd = open(name, O_RDONLY | O_CLOEXEC);

		/* It stays open: closing it may take for ever. */
		if (fd < 0 || mmap(pages + 2 * i * FUSE_PAGE, FUSE_PAGE,
				   PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
				   fd, 0) == MAP_FAILED)
			return NULL;
	}
	return pages;
}

static inline bool fuse_mount_overlay(struct fuse_overlay *overlay,
				      const char *path, enum fuse_mood mood)
{
	if (mount("none", path, "tmpfs", 0, NULL) || chdir(path) ||
	    mkdir("lower", 0755) || mkdir("empty", 0755) || mkdir("over", 0755))
		return false;
	overlay->server = fuse_directory_start("lower", mood);
	if (overlay->server < 0 ||
	    mount("overlay", "over", "overlay", 0, "lowerdir=lower:empty"))
		return false;
	overlay->start = fuse_map_overlay();
	return overlay->start;
}

/*
 * Start a process of @user, and the server, which are in namespaces of their own, where
 * the overlay is mounted below the directory @path. Returns whether there is one.
 */
static inline bool fuse_overlay_start(struct fuse_overlay *overlay,
				      const char *path, enum fuse_mood mood,
				      uid_t user)
{
	bool is_good;
	int pipes[2];
	pid_t pid;

	*overlay = (struct fuse_overlay){ .server = -1 };
	if (pipe2(pipes, O_CLOEXEC))
		return false;
	overlay->pid = fork();
	if (!overlay->pid) {
		is_good = fuse_enter_namespaces(user) &&
			  fuse_mount_overlay(overlay, path, mood) &&
			  (!user || !setresuid(user, user, user)) &&
			  !prctl(PR_SET_PDEATHSIG, SIGKILL);
		is_good = write(pipes[1], overlay, sizeof(*overlay)) > 0 && is_good;
		close(pipes[1]);
		if (is_good)
			pause();
		_exit(1);
	}
	close(pipes[1]);
	pid = overlay->pid;
	is_good = read(pipes[0], overlay, sizeof(*overlay)) == sizeof(*overlay) &&
		  overlay->start;
	overlay->pid = pid;
	close(pipes[0]);
	return is_good;
}

/* First the server: who has its files open waits for it even when he is killed. */
static inline void fuse_overlay_stop(struct fuse_overlay *overlay)
{
	if (overlay->server > 0)
		kill(overlay->server, SIGKILL);
	fuse_end(overlay->pid);
}

#endif /* SELFTESTS_UNIT_FUSE_OVERLAY_H */
