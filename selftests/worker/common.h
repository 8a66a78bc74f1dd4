/* SPDX-License-Identifier: GPL-2.0 */
/* Common to the tests of workers. */
#ifndef SELFTESTS_WORKER_COMMON_H
#define SELFTESTS_WORKER_COMMON_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/descriptors.h"
#include "selftests/unit/tap.h"
#include "userspace/cli/attach/child.h"
#include "userspace/cli/attach/worker.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/* Create a sealed memfd with @bytes. */
static inline int make_sealed(const void *bytes, size_t size)
{
	const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size ||
	    fcntl(fd, F_ADD_SEALS, SEALS))
		abort();
	return fd;
}

/* Read the file @path into memory to be freed. */
static inline unsigned char *read_file(const char *path, size_t *size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const off_t end = lseek(fd, 0, SEEK_END);
	unsigned char *bytes = malloc(end + 1);

	if (fd < 0 || !bytes || pread(fd, bytes, end, 0) != end)
		abort();
	close(fd);
	*size = end;
	return bytes;
}

static inline int make_snapshot(const char *path)
{
	size_t size;
	unsigned char *bytes = read_file(path, &size);
	const int fd = make_sealed(bytes, size);

	free(bytes);
	return fd;
}

/* Wait for the worker's end, or for its deadline. */
static inline void wait_for_worker(struct worker *worker,
				   struct worker_end *end)
{
	struct pollfd ended = { .fd = worker_fd(worker), .events = POLLIN };

	while (worker_finish(worker, end))
		poll(&ended, 1, 10);
}

/* Convert the file @fd, which is closed. Returns worker_start()'s error. */
static inline int run_worker(int fd, const struct worker_limits *limits,
			     struct worker_end *end)
{
	struct worker *worker;
	int err;

	memset(end, 0, sizeof(*end));
	end->result_fd = -1;
	err = worker_start(&worker, fd, limits);
	close(fd);
	if (!err)
		wait_for_worker(worker, end);
	return err;
}

/* Whether this process has children, including zombies. */
static inline bool has_children(void)
{
	children_collect_left();
	return waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
}

/* PID of the only child. */
static inline pid_t only_child(void)
{
	const int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	char pids[64] = "";

	if (fd < 0 || read(fd, pids, sizeof(pids) - 1) < 0)
		abort();
	close(fd);
	return atoi(pids);
}

/* Wait for killed children to die. Returns whether all have died. */
static inline bool wait_for_children(void)
{
	for (int tries = 0; has_children() && tries < 500; tries++)
		poll(NULL, 0, 10);
	return !has_children();
}

/* At the end of each test there must be no child and no new descriptor. */
static inline void test_nothing_left(unsigned int descriptors)
{
	workers_end_idle();
	if (!wait_for_children())
		tap_fail("there are processes left");
	children_collect_left();
	if (children_left_of_all())
		tap_fail("%u children left", children_left_of_all());
	if (count_descriptors() != descriptors)
		tap_fail("%u descriptors, not %u", count_descriptors(),
			 descriptors);
	tap_case("leaves no process and no descriptor behind");
}

#endif /* SELFTESTS_WORKER_COMMON_H */
