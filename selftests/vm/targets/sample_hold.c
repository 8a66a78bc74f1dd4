// SPDX-License-Identifier: GPL-2.0
/*
 * sample_hold CMD...: run CMD while perf events are open, and end as it ends.
 *
 * The kernel modifies its code when the first event of a kind is opened and when the
 * last one is closed, and QEMU without KVM occasionally executes the old code then: see
 * README.md. While this program runs, tests do not cause that. Meanwhile it opens and
 * closes its own events, no other CPU may execute the code that is modified.
 */
#include <glob.h>
#include <sys/wait.h>

#include "sampled.h"

/* Take all CPUs but the first one offline, or online. */
static void set_others(const char *online)
{
	glob_t files;
	size_t i;
	int fd;

	/* The only CPU has no such file. */
	if (glob("/sys/devices/system/cpu/cpu[1-9]*/online", 0, NULL, &files))
		return;
	for (i = 0; i < files.gl_pathc; i++) {
		fd = open(files.gl_pathv[i], O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, online, 1) != 1)
			perror(files.gl_pathv[i]);
		close(fd);
	}
	globfree(&files);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attrs[] = {
		software(PERF_COUNT_SW_PAGE_FAULTS),
		software(PERF_COUNT_SW_CONTEXT_SWITCHES),
		cpu_clock(1000000000),
		tracepoint("raw_syscalls/sys_enter"),
		tracepoint("signal/signal_generate"),
	};
	int fds[sizeof(attrs) / sizeof(attrs[0])], status = 0;
	const unsigned int nr = sizeof(attrs) / sizeof(attrs[0]);
	unsigned int i;
	pid_t pid;

	if (argc < 2) {
		fputs("usage: sample_hold CMD...\n", stderr);
		return 2;
	}
	set_others("0");
	for (i = 0; i < nr; i++) {
		attrs[i].disabled = 1;
		fds[i] = perf_open(&attrs[i], 0, -1);
		if (fds[i] < 0)
			perror("# sample_hold: perf_event_open");
		else
			fcntl(fds[i], F_SETFD, FD_CLOEXEC);
	}
	set_others("1");
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("sample_hold");
		status = 1 << 8;
	}
	set_others("0");
	for (i = 0; i < nr; i++)
		close(fds[i]);
	set_others("1");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
