// SPDX-License-Identifier: GPL-2.0
/*
 * A process that holds its own mmap lock, so that who looks at its mappings waits for
 * ever. Prints its number when it does, and runs until stdin is closed.
 *
 * usage: stall_program FILE	a file that no other process has mapped
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "mmap_lock.h"

static void be_victim(struct mmap_lock *lock, const char *path)
{
	const int file = open(path, O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_NAME, "stalls");
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) ==
	    MAP_FAILED || !mmap_lock_prepare(lock) || !mmap_lock_hold(lock))
		_exit(1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const unsigned char page[PAGE];
	struct mmap_lock *lock = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct fuse fuse;
	pid_t pid;
	char byte;

	if (argc != 2 || lock == MAP_FAILED || !fuse_mount(&fuse, page, sizeof(page)))
		return 1;
	lock->path = fuse.path;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_die(&fuse);
		be_victim(lock, argv[1]);
	}
	if (!mmap_lock_block(lock, &fuse, pid))
		return 1;
	printf("%d\n", pid);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	kill(pid, SIGKILL);
	fuse_answer(&fuse);
	waitpid(pid, NULL, 0);
	fuse_unmount(&fuse);
	return 0;
}
