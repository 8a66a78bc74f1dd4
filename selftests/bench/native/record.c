// SPDX-License-Identifier: GPL-2.0
/*
 * Record stacks of a program, at random moments.
 *
 * usage: record FILE NR PROGRAM [ARGUMENT]...
 * 
 * Stops the program every few milliseconds, and records its stack if it is in
 * its own code, until there are NR stacks. Then kills it.
 */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stacks.h"

/* Number of stops after which to give up. */
#define MAX_STOPS	100000

static struct {
	uint64_t base;
	uint64_t text_start;
	uint64_t text_end;
	uint64_t stack_end;
} map;

/* Find the addresses of program and stack. */
static void read_maps(pid_t pid, const char *program)
{
	char path[64], line[PATH_MAX + 128], name[PATH_MAX], flags[8];
	unsigned long start, end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		name[0] = '\0';
		sscanf(line, "%lx-%lx %7s %*s %*s %*s %s", &start, &end, flags,
		       name);
		if (!strcmp(name, "[stack]"))
			map.stack_end = end;
		if (strcmp(name, program))
			continue;
		if (!map.base)
			map.base = start;
		if (flags[2] == 'x') {
			map.text_start = start;
			map.text_end = end;
		}
	}
	if (f)
		fclose(f);
	if (!map.text_start || !map.stack_end)
		errx(1, "no mapping of %s", program);
}

static void copy_registers(struct stack *stack,
			   const struct user_regs_struct *regs)
{
	const uint64_t reg[NR_REGISTERS] = {
		regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi,
		regs->rdi, regs->rbp, regs->rsp, regs->r8, regs->r9, regs->r10,
		regs->r11, regs->r12, regs->r13, regs->r14, regs->r15, regs->rip
	};

	memcpy(stack->reg, reg, sizeof(reg));
}

/* Append the stack of the stopped @pid. Returns whether it is usable. */
static bool record(FILE *f, pid_t pid)
{
	static union {
		struct stack stack;
		char room[sizeof(struct stack) + MAX_BYTES];
	} u;
	struct user_regs_struct regs;
	struct iovec from, to;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		err(1, "registers of %d", pid);
	if (regs.rip < map.text_start || regs.rip >= map.text_end ||
	    regs.rsp >= map.stack_end || map.stack_end - regs.rsp > MAX_BYTES)
		return false;
	copy_registers(&u.stack, &regs);
	u.stack.size = map.stack_end - regs.rsp;
	from = (struct iovec) { (void *)regs.rsp, u.stack.size };
	to = (struct iovec) { u.stack.bytes, u.stack.size };
	if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)u.stack.size)
		return false;
	if (fwrite(&u, sizeof(u.stack) + u.stack.size, 1, f) != 1)
		err(1, "write");
	return true;
}

static void wait_for_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		errx(1, "%d ended", pid);
}

static void wait_some_time(void)
{
	const struct timespec t = { .tv_nsec = 500000 + random() % 3000000 };

	nanosleep(&t, NULL);
}

/* Start the program, and stop it. */
static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		execv(argv[0], argv);
		err(1, "%s", argv[0]);
	}
	usleep(300000);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
		err(1, "%s", argv[0]);
	wait_for_stop(pid);
	return pid;
}

int main(int argc, char **argv)
{
	struct stacks_head head = {};
	unsigned int nr, stops;
	FILE *f;
	pid_t pid;

	if (argc < 4)
		errx(1, "usage: record FILE NR PROGRAM [ARGUMENT]...");
	nr = atoi(argv[2]);
	f = fopen(argv[1], "w");
	if (!f || fwrite(&head, sizeof(head), 1, f) != 1)
		err(1, "%s", argv[1]);
	pid = start(argv + 3);
	read_maps(pid, argv[3]);
	snprintf(head.path, sizeof(head.path), "%s", argv[3]);
	head.base = map.base;
	for (stops = 0; head.nr < nr && stops < MAX_STOPS; stops++) {
		head.nr += record(f, pid);
		ptrace(PTRACE_CONT, pid, NULL, 0);
		wait_some_time();
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
			err(1, "%s", argv[3]);
		wait_for_stop(pid);
	}
	kill(pid, SIGKILL);
	rewind(f);
	if (fwrite(&head, sizeof(head), 1, f) != 1 || fclose(f))
		err(1, "%s", argv[1]);
	return head.nr < nr;
}
