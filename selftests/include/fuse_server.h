/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FUSE file whose server is a process of its own, which answers reads while
 * its gate is open.
 */
#ifndef SELFTESTS_FUSE_SERVER_H
#define SELFTESTS_FUSE_SERVER_H

#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fuse.h"

/**
 * struct fuse_gate - shared by a test and its server
 *
 * @open: reads are answered while this semaphore could be taken.
 * @reads: number of reads so far.
 * @fails: reads are answered with EIO.
 */
struct fuse_gate {
	sem_t open;
	atomic_uint reads;
	atomic_bool fails;
};

/**
 * struct fuse_server - a server and its file
 *
 * @fuse: the file.
 * @gate: shared with the server.
 * @pid: of the server.
 */
struct fuse_server {
	struct fuse fuse;
	struct fuse_gate *gate;
	pid_t pid;
};

static inline void fuse_answer_read(struct fuse_server *server,
				    const struct fuse_in_header *head)
{
	const struct fuse_read_in *in = (const void *)(head + 1);
	struct fuse *fuse = &server->fuse;
	uint64_t size = in->size;

	if (in->offset + size > fuse->size)
		size = in->offset < fuse->size ? fuse->size - in->offset : 0;
	atomic_fetch_add(&server->gate->reads, 1);
	sem_wait(&server->gate->open);
	sem_post(&server->gate->open);
	if (atomic_load(&server->gate->fails))
		fuse_reply(fuse, head->unique, EIO, NULL, 0);
	else
		fuse_reply(fuse, head->unique, 0, fuse->bytes + in->offset,
			   size);
}

/* Answer requests until the file is unmounted. */
static inline void fuse_serve_all(struct fuse_server *server,
				  unsigned int open_flags)
{
	const struct fuse_open_out opened = {
		.fh = 1,
		.open_flags = open_flags,
	};
	static char buffer[FUSE_MIN_READ_BUFFER + FUSE_PAGE];
	const struct fuse_in_header *head = (const void *)buffer;
	struct fuse *fuse = &server->fuse;

	for (;;) {
		if (read(fuse->fd, buffer, sizeof(buffer)) <
		    (ssize_t)sizeof(*head)) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			return;
		}
		switch (head->opcode) {
		case FUSE_INIT:
			fuse_reply_init(fuse, head->unique);
			break;
		case FUSE_GETATTR:
			fuse_reply_attr(fuse, head->unique);
			break;
		case FUSE_OPEN:
			fuse_reply(fuse, head->unique, 0, &opened,
				   sizeof(opened));
			break;
		case FUSE_RELEASE:
			fuse_reply(fuse, head->unique, 0, NULL, 0);
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			break;
		case FUSE_READ:
			fuse_answer_read(server, head);
			break;
		default:
			fuse_reply(fuse, head->unique, ENOSYS, NULL, 0);
		}
	}
}

/*
 * Mount @bytes as a file and start a server, which answers open requests with
 * the FOPEN_* flags in @open_flags.
 */
static inline bool fuse_server_start(struct fuse_server *server,
				     const void *bytes, size_t size,
				     unsigned int open_flags)
{
	server->gate = mmap(NULL, sizeof(*server->gate), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (server->gate == MAP_FAILED || sem_init(&server->gate->open, 1, 1) ||
	    !fuse_mount(&server->fuse, bytes, size))
		return false;
	server->pid = fork();
	if (!server->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_serve_all(server, open_flags);
		_exit(0);
	}
	fuse_die(&server->fuse);
	return server->pid > 0;
}

static inline void fuse_server_close_gate(struct fuse_server *server)
{
	sem_wait(&server->gate->open);
}

static inline void fuse_server_open_gate(struct fuse_server *server)
{
	sem_post(&server->gate->open);
}

static inline void fuse_server_stop(struct fuse_server *server)
{
	if (server->pid > 0) {
		kill(server->pid, SIGKILL);
		waitpid(server->pid, NULL, 0);
	}
	fuse_unmount(&server->fuse);
}

/* Open the file. The kernel does not know its size before fstat(). */
static inline int fuse_server_open(const struct fuse_server *server)
{
	const int file = open(server->fuse.path, O_RDONLY | O_CLOEXEC);
	struct stat stat;

	if (file >= 0 && (fstat(file, &stat) ||
			  (uint64_t)stat.st_size != server->fuse.size)) {
		close(file);
		return -1;
	}
	return file;
}

#endif /* SELFTESTS_FUSE_SERVER_H */
