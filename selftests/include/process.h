/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Other threads and processes: capabilities, user IDs, state, exit status.
 */
#ifndef SELFTESTS_PROCESS_H
#define SELFTESTS_PROCESS_H

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wrappers.h"

/* An unprivileged user. */
#define USER	1000

/* Exit status of a child, or -1. */
static inline int outcome_of(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child ||
	    !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#define CAP_MASK(cap)	(1ULL << (cap))

/* Drop all capabilities except @mask. */
static inline int keep_capabilities(__u64 mask)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = mask, .permitted = mask },
		{ .effective = mask >> 32, .permitted = mask >> 32 },
	};

	return syscall(SYS_capset, &head, data);
}

/* Become an unprivileged user that can access its own files in /proc. */
static inline int become(uid_t uid)
{
	return setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
	       prctl(PR_SET_DUMPABLE, 1);
}

/* Fork a child as @uid that sleeps until it is killed. */
static inline pid_t fork_sleeper(uid_t uid)
{
	pid_t child = fork();

	if (!child) {
		if (become(uid))
			_exit(1);
		for (;;)
			pause();
	}
	return child;
}

/* Request the stack of a thread. Returns 0 or the errno. */
static inline int try_request(int fd, pid_t tid)
{
	struct sframe_unwind_request req = request_self();

	req.tid = tid;
	return request(fd, &req) ? errno : 0;
}

/*
 * As request(), until the thread takes one more. If it is preempted while it
 * delivers stacks, many requests can join its walk; then no more of them may.
 */
static inline int request_in_turn(int fd, struct sframe_unwind_request *req)
{
	int ret;

	while ((ret = request(fd, req)) && errno == EAGAIN)
		sched_yield();
	return ret;
}

/* The state letter of a thread of any process; see proc(5). */
static inline char thread_state(pid_t tid)
{
	char name[64], state = 0, *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/stat", tid);
	f = fopen(name, "r");
	if (f && getline(&line, &size, f) > 0)
		state = strrchr(line, ')')[2];
	if (f)
		fclose(f);
	free(line);
	return state;
}

/* Whether the thread sleeps in the kernel. */
static inline bool is_asleep(pid_t tid)
{
	return thread_state(tid) == 'S';
}

/* Whether the thread sleeps in system call @nr. */
static inline bool sleeps_in(pid_t tid, long nr)
{
	char name[64], *line = NULL;
	bool asleep = is_asleep(tid);
	size_t size = 0;
	long in = -1;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/syscall", tid);
	f = fopen(name, "r");
	if (f && getline(&line, &size, f) > 0)
		in = strtol(line, NULL, 10);
	if (f)
		fclose(f);
	free(line);
	return asleep && in == nr;
}

/* Control data of one SCM_RIGHTS message. */
union fd_message {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static inline int send_fd(int sock, int fd)
{
	union fd_message control = {};
	struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -1;
}

static inline int receive_fd(int sock)
{
	union fd_message control = {};
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd = -1;

	if (recvmsg(sock, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Bring @cpu online or take it offline. Returns whether that was possible. */
static inline bool set_online(unsigned int cpu, bool online)
{
	char path[64];
	FILE *file;
	bool done;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	file = fopen(path, "we");
	done = file && fprintf(file, "%d", online) > 0;
	return file && !fclose(file) && done;
}

#endif /* SELFTESTS_PROCESS_H */
