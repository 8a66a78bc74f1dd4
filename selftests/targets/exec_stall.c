// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into a program that "sframe-unwind exec" runs, it keeps the program from
 * its constructors, and so from being ready for signals, until the FIFO that
 * EXEC_STALL names is closed. That is gone then for the program's children.
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

	/* Not "sframe-unwind exec" itself. */
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
