// SPDX-License-Identifier: GPL-2.0
/*
 * Threads, by /proc.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/processes.h"
#include "cli/profile/stack.h"

/* Of the field "flags" in /proc/PID/stat: it runs only in the kernel. */
#define PF_KTHREAD	0x00200000u

/* Returns whether the thread exists and is not of the kernel. */
static bool read_stat(struct stack_thread *thread)
{
	char path[64], text[512], *name, *end;
	unsigned int flags = PF_KTHREAD;
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", thread->pid,
		 thread->tid);
	/* A process may have thousands of threads, so there is no stream for each. */
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	length = read(file, text, sizeof(text) - 1);
	close(file);
	if (length < 0)
		return false;
	text[length] = '\0';
	/* The name may contain anything, also newlines and parentheses. */
	name = strchr(text, '(');
	end = name ? strrchr(name, ')') : NULL;
	if (!end || sscanf(end + 1, " %c %*d %*d %*d %*d %*d %u",
			   &thread->state, &flags) != 2)
		return false;
	*end = '\0';
	snprintf(thread->comm, sizeof(thread->comm), "%s", name + 1);
	thread->is_read = true;
	return !(flags & PF_KTHREAD);
}

void stack_read_state(struct stack_thread *thread)
{
	if (!read_stat(thread))
		thread->state = 'X';
}

void stack_read_rest(struct stack_threads *threads)
{
	for (uint32_t i = 0; i < threads->nr; i++)
		if (!threads->list[i].is_read)
			stack_read_state(&threads->list[i]);
}

/* Returns whether @path has a line that begins with @start; *@rest gets what follows. */
static bool find_line(const char *path, const char *start, char *rest,
		      size_t size)
{
	FILE *file = fopen(path, "re");
	bool is_found = false;
	char line[512];

	while (file && !is_found && fgets(line, sizeof(line), file)) {
		is_found = !strncmp(line, start, strlen(start));
		line[strcspn(line, "\n")] = '\0';
		if (is_found)
			snprintf(rest, size, "%s", line + strlen(start));
	}
	if (file)
		fclose(file);
	return is_found;
}

bool stack_is_frozen(const struct stack_thread *thread)
{
	char path[640], cgroup[512], frozen[8];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/cgroup", thread->pid,
		 thread->tid);
	if (!find_line(path, "0::", cgroup, sizeof(cgroup)))
		return false;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cgroup.events", cgroup);
	return find_line(path, "frozen ", frozen, sizeof(frozen)) &&
	       !strcmp(frozen, "1");
}

static struct stack_thread *add_thread(struct stack_threads *threads, pid_t pid,
				       pid_t tid)
{
	const struct stack_thread thread = { .pid = pid, .tid = tid };

	threads->list = table_grow(threads->list, &threads->room, threads->nr,
				   sizeof(*threads->list));
	threads->list[threads->nr] = thread;
	return &threads->list[threads->nr++];
}

/* Add the thread unless it has ended or is of the kernel. */
static void add_and_read(struct stack_threads *threads, pid_t pid, pid_t tid)
{
	if (!read_stat(add_thread(threads, pid, tid)))
		threads->nr--;
}

/**
 * struct adding - a process whose threads are added
 *
 * @threads: where to.
 * @pid: the process.
 * @is_any: whether a thread was added: the others are no threads of the kernel either, and
 *	are read later.
 */
struct adding {
	struct stack_threads *threads;
	pid_t pid;
	bool is_any;
};

static void add_one(void *data, pid_t tid)
{
	struct adding *adding = data;
	const uint32_t before = adding->threads->nr;

	if (adding->is_any)
		add_thread(adding->threads, adding->pid, tid);
	else
		add_and_read(adding->threads, adding->pid, tid);
	adding->is_any = adding->threads->nr > before;
}

static void add_process(void *data, pid_t pid)
{
	struct adding adding = { .threads = data, .pid = pid };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	processes_each(path, add_one, &adding);
}

static void add_other_process(void *data, pid_t pid)
{
	if (pid != getpid())
		add_process(data, pid);
}

void stack_add_all(struct stack_threads *threads)
{
	processes_each("/proc", add_other_process, threads);
}

static int add_target(struct stack_threads *threads, pid_t id, bool is_thread)
{
	const char *what = is_thread ? "thread" : "process";
	const uint32_t before = threads->nr;
	const pid_t pid = processes_of_thread(id);

	if (!pid)
		return complain("stack: no %s %d", what, id);
	if (!is_thread && pid != id)
		return complain("stack: %d is a thread of process %d; try -t %d",
				id, pid, id);
	if (is_thread)
		add_and_read(threads, pid, id);
	else
		add_process(threads, pid);
	return threads->nr > before ? CLI_OK :
	       complain("stack: %s %d has ended, or runs only in the kernel",
			what, id);
}

int stack_add_targets(struct stack_threads *threads, const char *list,
		      bool are_threads)
{
	for (;;) {
		char *end;
		const long id = strtol(list, &end, 10);
		int status;

		if (end == list || id <= 0 || id > INT32_MAX ||
		    (*end && *end != ','))
			return usage_error("stack", are_threads ?
					   "no number of a thread" :
					   "no number of a process");
		status = add_target(threads, id, are_threads);
		if (status || !*end)
			return status;
		list = end + 1;
	}
}

void stack_read_kernel(struct stack_thread *thread)
{
	if (!thread->kernel)
		thread->kernel = inspect_kernel_stack(thread->pid, thread->tid);
}

void stack_free_threads(struct stack_threads *threads)
{
	for (uint32_t i = 0; i < threads->nr; i++) {
		free(threads->list[i].stack);
		free(threads->list[i].kernel);
	}
	free(threads->list);
	*threads = (struct stack_threads){ 0 };
}
