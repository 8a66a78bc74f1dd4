// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into a program run by "sframe-unwind exec": delays the program's
 * constructors, so that it is not ready for signals, until the FIFO named by
 * EXEC_STALL is closed. The FIFO is removed first, so that the program's
 * children are not delayed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor))
static void stall(void)
{
	const char *path = getenv("EXEC_STALL");
	char byte;
	int fd;

	/* Not in "sframe-unwind exec" itself. */
	if (!path || !getenv("SFRAME_UNWIND_EXEC"))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	unlink(path);
	while (read(fd, &byte, 1) > 0)
		;
	close(fd);
}
