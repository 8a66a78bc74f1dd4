/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FUSE file system of one file, served by the test itself: it answers the
 * kernel's requests until one asks for a certain page, and leaves that request
 * unanswered.
 */
#ifndef SELFTESTS_FUSE_H
#define SELFTESTS_FUSE_H

#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "wrappers.h"

#define FUSE_PAGE	4096U

/**
 * struct fuse - one mounted file
 *
 * @fd: of /dev/fuse.
 * @path: of the file.
 * @bytes, @size: its contents.
 * @open_question: unique number of the unanswered read request, or 0.
 * @open_offset: offset that it reads from.
 * @closer: if not 0, FUSE_FLUSH requests, which close(2) sends, are answered
 *	for this process only.
 */
struct fuse {
	int fd;
	char path[32];
	const unsigned char *bytes;
	uint64_t size;
	uint64_t open_question;
	uint64_t open_offset;
	pid_t closer;
};

/*
 * Mount @bytes as a file, with @more options, each preceded by a comma. No
 * process may open it before fuse_serve().
 */
static inline bool fuse_mount_with(struct fuse *fuse, const void *bytes,
				   size_t size, const char *more)
{
	char options[96];
	int file;

	*fuse = (struct fuse) {
		.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC),
		.path = "/tmp/fuse.XXXXXX",
		.bytes = bytes,
		.size = size,
	};
	file = mkstemp(fuse->path);
	if (fuse->fd < 0 || file < 0)
		return false;
	close(file);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=100000,user_id=0,group_id=0%s", fuse->fd, more);
	return !mount("sframe_unwind_test", fuse->path, "fuse",
		      MS_NOSUID | MS_NODEV, options);
}

static inline bool fuse_mount(struct fuse *fuse, const void *bytes, size_t size)
{
	return fuse_mount_with(fuse, bytes, size, "");
}

/* Close the server's connection: unanswered requests fail. */
static inline void fuse_die(struct fuse *fuse)
{
	if (fuse->fd >= 0)
		close(fuse->fd);
	fuse->fd = -1;
}

static inline void fuse_unmount(struct fuse *fuse)
{
	fuse_die(fuse);
	umount2(fuse->path, MNT_DETACH);
	unlink(fuse->path);
}

static inline bool fuse_reply(struct fuse *fuse, uint64_t question, int err,
			      const void *data, size_t size)
{
	struct fuse_out_header head = {
		.len = sizeof(head) + size,
		.error = -err,
		.unique = question,
	};
	struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ (void *)data, size },
	};

	return writev(fuse->fd, parts, 2) == (ssize_t)head.len;
}

static inline bool fuse_reply_init(struct fuse *fuse, uint64_t question)
{
	/*
	 * One page is read at a time, and a reader that waits for it can be
	 * killed.
	 */
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = FUSE_PAGE,
		.flags = FUSE_ASYNC_READ,
		.max_write = FUSE_PAGE,
		.max_background = 16,
	};

	return fuse_reply(fuse, question, 0, &init, sizeof(init));
}

static inline bool fuse_reply_attr(struct fuse *fuse, uint64_t question)
{
	const struct fuse_attr_out attr = {
		.attr_valid = 3600,
		.attr = {
			.ino = FUSE_ROOT_ID,
			.size = fuse->size,
			.mode = S_IFREG | 0755,
			.nlink = 1,
			.blksize = FUSE_PAGE,
		},
	};

	return fuse_reply(fuse, question, 0, &attr, sizeof(attr));
}

static inline bool fuse_reply_read(struct fuse *fuse, uint64_t question,
				   uint64_t offset)
{
	return fuse_reply(fuse, question, 0, fuse->bytes + offset, FUSE_PAGE);
}

/* Answer the read that fuse_serve() left unanswered. */
static inline bool fuse_answer(struct fuse *fuse)
{
	const uint64_t question = fuse->open_question;

	fuse->open_question = 0;
	return fuse_reply_read(fuse, question, fuse->open_offset);
}

#define FUSE_NO_PAGE	(~0ULL)

/* Answer one request, unless it reads the page at @stall. */
static inline bool fuse_serve_one(struct fuse *fuse, uint64_t stall)
{
	static char buffer[FUSE_MIN_READ_BUFFER + FUSE_PAGE];
	const struct fuse_in_header *head = (const void *)buffer;
	const struct fuse_read_in *in = (const void *)(head + 1);
	const struct fuse_open_out opened = { .fh = 1 };
	static const struct fuse_statfs_out statfs;

	if (read(fuse->fd, buffer, sizeof(buffer)) < (ssize_t)sizeof(*head))
		return false;
	switch (head->opcode) {
	case FUSE_INIT:
		return fuse_reply_init(fuse, head->unique);
	case FUSE_GETATTR:
		return fuse_reply_attr(fuse, head->unique);
	case FUSE_OPEN:
		return fuse_reply(fuse, head->unique, 0, &opened,
				  sizeof(opened));
	case FUSE_RELEASE:
		return fuse_reply(fuse, head->unique, 0, NULL, 0);
	case FUSE_STATFS:
		return fuse_reply(fuse, head->unique, 0, &statfs,
				  sizeof(statfs));
	case FUSE_FLUSH:
		return (fuse->closer && head->pid != (uint32_t)fuse->closer) ||
		       fuse_reply(fuse, head->unique,
				  fuse->closer ? 0 : ENOSYS, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return true;
	case FUSE_READ:
		if (in->size != FUSE_PAGE ||
		    in->offset + FUSE_PAGE > fuse->size)
			return false;
		if (in->offset != stall)
			return fuse_reply_read(fuse, head->unique, in->offset);
		fuse->open_question = head->unique;
		fuse->open_offset = in->offset;
		return true;
	default:
		return fuse_reply(fuse, head->unique, ENOSYS, NULL, 0);
	}
}

/*
 * Serve the process of @pidfd until it waits for the page at offset @stall,
 * which may be FUSE_NO_PAGE. Returns false on an error, or if the process has
 * ended.
 */
static inline bool fuse_serve(struct fuse *fuse, int pidfd, uint64_t stall)
{
	struct pollfd fds[] = {
		{ .fd = fuse->fd, .events = POLLIN },
		{ .fd = pidfd, .events = POLLIN },
	};

	while (!fuse->open_question) {
		if (poll(fds, 2, -1) < 1 || fds[1].revents ||
		    !fuse_serve_one(fuse, stall))
			return false;
	}
	return true;
}

#endif /* SELFTESTS_FUSE_H */
