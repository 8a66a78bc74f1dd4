// SPDX-License-Identifier: GPL-2.0
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inspect_scene.h"
#include "userspace/cli/profile/processes.h"

volatile sig_atomic_t is_interrupted;
pid_t pids[PROCESSES];
unsigned int nr_pids;

char *map_code(unsigned int nr)
{
	const long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * nr * page, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	for (unsigned int i = 0; i < nr; i++)
		if (mprotect(pages + 2 * i * page, page, PROT_READ | PROT_EXEC))
			return NULL;
	return pages;
}

int wait_for_end(void *data)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (data)
		prctl(PR_SET_NAME, data);
	for (;;)
		pause();
	return 0;
}

bool start(bool is_shared)
{
	static char stacks[PROCESSES][16384], names[PROCESSES][16];
	char *name = names[nr_pids];
	pid_t pid;

	snprintf(name, sizeof(names[0]), "process-%u", nr_pids);
	pid = is_shared ? clone(wait_for_end, stacks[nr_pids] + sizeof(stacks[0]),
				CLONE_VM | SIGCHLD, name) : fork();
	if (!pid)
		wait_for_end(name);
	pids[nr_pids++] = pid;
	return pid > 0;
}

static void begin_as_other(unsigned int nr)
{
	if (!map_code(nr) || setresuid(OTHER_USER, OTHER_USER, OTHER_USER))
		_exit(1);
}

bool start_other(unsigned int nr)
{
	int pipes[2];
	char byte;
	bool has_begun;

	if (pipe(pipes))
		return false;
	pids[nr_pids] = fork();
	if (!pids[nr_pids++]) {
		begin_as_other(nr);
		if (write(pipes[1], "", 1) == 1)
			wait_for_end(NULL);
		_exit(1);
	}
	close(pipes[1]);
	has_begun = read(pipes[0], &byte, 1) == 1;
	close(pipes[0]);
	return has_begun;
}

void end_all(void)
{
	while (nr_pids) {
		kill(pids[--nr_pids], SIGKILL);
		waitpid(pids[nr_pids], NULL, 0);
	}
}

void see(void *data, const struct sframe_unwind_profile_record *record)
{
	struct seen *seen = data;

	if (seen->history)
		history_add(seen->history, record);
	seen->maps += record->kind == SFRAME_UNWIND_PROFILE_MAP;
	seen->forks += record->kind == SFRAME_UNWIND_PROFILE_FORK;
	seen->names += record->kind == SFRAME_UNWIND_PROFILE_COMM;
	if (seen->enough && seen->maps == seen->enough)
		inspect_enough();
	if (seen->signal && seen->maps == seen->signal)
		is_interrupted = 1;
}
