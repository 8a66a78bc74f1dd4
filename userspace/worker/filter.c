// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.h"
#include "lib/memory_file.h"

/* Room for instructions; the filter has about 30. */
#define MAX_INSTRUCTIONS 128

static struct sock_filter instructions[MAX_INSTRUCTIONS];
static struct sock_fprog program = { .filter = instructions };

static int add_rules(scmp_filter_ctx filter)
{
	const uint64_t pages = PROT_READ | PROT_WRITE;
	const uint64_t kind = MAP_PRIVATE | MAP_ANONYMOUS;
	int err;

	err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
			       SCMP_A0(SCMP_CMP_EQ, 1));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(brk), 0);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				       SCMP_A2(SCMP_CMP_EQ, pages),
				       SCMP_A3(SCMP_CMP_EQ, kind));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW,
				       SCMP_SYS(exit_group), 0);
	return err;
}

/* Get the instructions from libseccomp, which can only export them to a file. */
static int take_program(scmp_filter_ctx filter)
{
	const int fd = memory_file_create("filter");
	ssize_t size = 0;
	int err;

	if (fd < 0)
		return -errno;
	err = seccomp_export_bpf(filter, fd);
	if (!err)
		size = pread(fd, instructions, sizeof(instructions), 0);
	close(fd);
	if (err)
		return err;
	/* If the buffer is full, the filter may have been truncated. */
	if (size <= 0 || size == sizeof(instructions))
		return -EFBIG;
	program.len = size / sizeof(instructions[0]);
	return 0;
}

bool filter_prepare(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err = -ENOMEM;

	if (filter) {
		err = add_rules(filter);
		if (!err)
			err = take_program(filter);
		seccomp_release(filter);
	}
	errno = -err;
	return !err;
}

bool filter_load(void)
{
	return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
