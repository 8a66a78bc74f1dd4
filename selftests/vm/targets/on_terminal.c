// SPDX-License-Identifier: GPL-2.0
/*
 * Run a command on a terminal of its own, press keys, and print what it writes there,
 * and then its status.
 *
 * usage: on_terminal COLUMNSxLINES TEXT KEYS COMMAND [ARGUMENT]...
 *   TEXT  the first key is pressed when the command has written this
 *   KEYS  words, each of which is written when the command has answered the one before;
 *         "enter" is that key, @COLUMNSxLINES gives the terminal this size instead
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS	60000
#define QUIET_MS	700

static char seen[1 << 20];
static size_t nr_seen;

/* Read once. Returns whether there was anything within @ms; -1 at the end. */
static int read_some(int fd, int ms)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };
	ssize_t nr;

	if (poll(&file, 1, ms) <= 0)
		return 0;
	if (nr_seen + 4096 > sizeof(seen))
		nr_seen = 0;
	nr = read(fd, seen + nr_seen, 4095);
	if (nr <= 0)
		return -1;
	fwrite(seen + nr_seen, 1, nr, stdout);
	nr_seen += nr;
	seen[nr_seen] = '\0';
	return 1;
}

static void set_size(struct winsize *size, const char *text)
{
	if (sscanf(text, "%hux%hu", &size->ws_col, &size->ws_row) != 2)
		exit(2);
}

static void press(int fd, const char *key)
{
	struct winsize size = { 0 };

	if (key[0] == '@') {
		set_size(&size, key + 1);
		ioctl(fd, TIOCSWINSZ, &size);
	} else if (!strcmp(key, "enter")) {
		key = "\r";
	}
	if (key[0] != '@' && write(fd, key, strlen(key)) < 0)
		exit(2);
}

int main(int argc, char **argv)
{
	struct winsize size = { 0 };
	int fd, status;
	pid_t child;

	if (argc < 5)
		return 2;
	set_size(&size, argv[1]);
	child = forkpty(&fd, NULL, NULL, &size);
	if (!child) {
		setenv("TERM", "vt100", 1);
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	while (!strstr(seen, argv[2]))
		if (read_some(fd, PATIENCE_MS) <= 0)
			break;
	for (char *key = strtok(argv[3], " "); key; key = strtok(NULL, " ")) {
		press(fd, key);
		if (read_some(fd, PATIENCE_MS) < 0)
			break;
		while (read_some(fd, QUIET_MS) > 0)
			;
	}
	while (read_some(fd, PATIENCE_MS) > 0)
		;
	waitpid(child, &status, 0);
	printf("\nstatus %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}
