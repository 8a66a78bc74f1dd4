/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file whose server receives the request of open(2) and never answers: a
 * process that opens it cannot be killed.
 */
#ifndef SELFTESTS_WORKER_STUCK_FILE_H
#define SELFTESTS_WORKER_STUCK_FILE_H

#include <poll.h>
#include <stdbool.h>

#include "selftests/include/fuse.h"

/**
 * struct stuck_file - the file and its server
 *
 * @fuse: the file system, served by this process.
 * @asked: number of opens that have not been answered.
 * @path: path of the file.
 */
struct stuck_file {
	struct fuse fuse;
	unsigned int asked;
	char *path;
};

static inline bool stuck_file_make(struct stuck_file *file)
{
	static unsigned char bytes[FUSE_PAGE];

	file->asked = 0;
	if (!fuse_mount(&file->fuse, bytes, sizeof(bytes)))
		return false;
	file->path = file->fuse.path;
	return true;
}

/* Answer everything except opens, until there have been @asked of these. */
static inline bool stuck_file_wait(struct stuck_file *file, unsigned int asked)
{
	static char buffer[FUSE_MIN_READ_BUFFER + FUSE_PAGE];
	static const struct fuse_statfs_out statfs;
	const struct fuse_in_header *head = (const void *)buffer;
	struct pollfd question = { .fd = file->fuse.fd, .events = POLLIN };

	while (file->asked < asked) {
		if (poll(&question, 1, 10000) != 1 ||
		    read(file->fuse.fd, buffer, sizeof(buffer)) <
			    (ssize_t)sizeof(*head))
			return false;
		if (head->opcode == FUSE_INIT)
			fuse_reply_init(&file->fuse, head->unique);
		else if (head->opcode == FUSE_GETATTR)
			fuse_reply_attr(&file->fuse, head->unique);
		else if (head->opcode == FUSE_STATFS)
			fuse_reply(&file->fuse, head->unique, 0, &statfs,
				   sizeof(statfs));
		else if (head->opcode == FUSE_OPEN)
			file->asked++;
		else if (head->opcode != FUSE_INTERRUPT)
			fuse_reply(&file->fuse, head->unique, ENOSYS, NULL, 0);
	}
	return true;
}

/* Close the server: all pending requests fail. */
static inline void stuck_file_end(struct stuck_file *file)
{
	fuse_unmount(&file->fuse);
}

#endif /* SELFTESTS_WORKER_STUCK_FILE_H */
