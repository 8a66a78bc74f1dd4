// SPDX-License-Identifier: GPL-2.0
/*
 * usage: load without-cfi FROM TO	a clone that has nothing to convert
 *        load little-cfi FROM TO	a clone that has little to convert
 *        load sparse TO TEXT CFI	TEXT bytes of code in a hole, CFI bytes of CFI
 *        load map FILE		map it, print a line, and wait
 *        load replace FILE OWN	map it endlessly, each time with OWN in its place
 *					before it can be opened
 *        load race LIBRARY DIR NUMBER	clones whose headers change back and forth
 *        load lease FILE		map it, and hold a write lease on it
 *        load kernel-log FROM PATH	map copies at PATH, then put a link there
 *        load bind FROM PATH		likewise, then bind the kernel's log over it
 *        load fifo FROM PATH		likewise, then put a FIFO there
 *        load rename LIBRARY DIR	exchange the library with changing clones
 *        load fuse FROM DIR		a file whose server stops answering
 *        load served FROM UID MS	as root: a file that UID serves to all users for
 *					a minute, answering after MS; 0: not at all
 *        load unclosed FROM UID	likewise, answering everything except close(2)
 *        load storm FILE		map and unmap it endlessly
 *        load new FROM DIR		make new files endlessly
 *        load exec PROGRAM		fork and exec endlessly, eight at a time
 *        load fork			fork endlessly
 *        load crowd NUMBER		start so many processes, or as many as possible
 *        load fill DIR		fill the file system
 *
 * All except the first three, served and unclosed run until they are killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

void *map_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *mapped = MAP_FAILED;

	if (fd >= 0) {
		mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			      fd, 0);
		close(fd);
	}
	return mapped == MAP_FAILED ? NULL : mapped;
}

static bool copy_file(const char *from, const char *to)
{
	const int in = open(from, O_RDONLY | O_CLOEXEC);
	const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			     0755);
	char bytes[65536];
	ssize_t got = -1;

	while (in >= 0 && out >= 0 && (got = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, got) != got)
			break;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return !got;
}

static int wait_for_ever(void)
{
	puts("running");
	fflush(stdout);
	for (;;)
		pause();
	return 0;
}

static int map(const char *path)
{
	return map_file(path) ? wait_for_ever() : 1;
}

/* Each mapping of @path is reported, but what is found there is @own. */
static int replace(const char *path, const char *own)
{
	const size_t nr = 1000;
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	const int other = open(own, O_RDONLY | O_CLOEXEC);
	char *place = mmap(NULL, nr * 8192, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t turn = 0;; turn++) {
		/* Pages between them keep the mappings apart. */
		char *at = place + turn % nr * 8192;

		if (mmap(at, 4096, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, file, 0) != at ||
		    mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, other,
			 0) != at)
			return 1;
		if (turn == 20) {
			puts("running");
			fflush(stdout);
		}
		usleep(2000);
	}
}

/* Forged headers while they are examined, the genuine ones when they are used. */
static int race(const char *library, const char *dir, unsigned int number)
{
	struct toggle toggle;
	char path[PATH_MAX];
	uint64_t value;

	for (unsigned int i = 1; i <= number; i++) {
		const clock_t end = clock() + CLOCKS_PER_SEC / 5;
		int fd;

		snprintf(path, sizeof(path), "%s/clone-%u", dir, i);
		if (!make_shrunk(library, path, i, &toggle) || !map_file(path))
			return 1;
		fd = open(path, O_WRONLY | O_CLOEXEC);
		for (unsigned int turn = 0; clock() < end; turn++) {
			value = turn % 2 ? toggle.forged : toggle.genuine;
			if (pwrite(fd, &value, sizeof(value),
				   toggle.offset) != sizeof(value))
				return 1;
			usleep(500);
		}
		value = toggle.genuine;
		if (pwrite(fd, &value, sizeof(value), toggle.offset) < 0)
			return 1;
		close(fd);
	}
	return wait_for_ever();
}

/* Take the lease again each time that the kernel breaks it. */
static int lease(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
		    MAP_FAILED)
		return 1;
	puts("running");
	fflush(stdout);
	for (;;) {
		sleep(1);
		fcntl(fd, F_SETLEASE, F_WRLCK);
	}
}

enum swap {
	SWAP_LINK,
	SWAP_BIND,
	SWAP_FIFO,
};

static bool put_in_place(const char *path, enum swap what)
{
	if (what == SWAP_BIND)
		return !mount("/proc/kmsg", path, NULL, MS_BIND, NULL);
	unlink(path);
	return !(what == SWAP_FIFO ? mkfifo(path, 0644) :
				     symlink("/proc/kmsg", path));
}

/* When the daemon opens the name, it refers to something else. */
static int swap(const char *from, const char *path, enum swap what)
{
	if (what == SWAP_BIND && !enter_namespaces())
		return 1;
	for (unsigned int turn = 0;; turn++) {
		void *mapped;

		unlink(path);
		if (!copy_file(from, path))
			return 1;
		mapped = map_file(path);
		if (!mapped)
			return 1;
		munmap(mapped, 4096);
		if (!put_in_place(path, what))
			return 1;
		if (turn == 20) {
			puts("running");
			fflush(stdout);
		}
		usleep(20000);
		if (what == SWAP_BIND && umount(path))
			return 1;
	}
}

/* Exchange the names of a library and its clone, while the clone changes. */
static int exchange(const char *library, const char *dir)
{
	char genuine[PATH_MAX], clone[PATH_MAX];
	struct toggle toggle;

	snprintf(genuine, sizeof(genuine), "%s/genuine", dir);
	snprintf(clone, sizeof(clone), "%s/exchanged", dir);
	puts("running");
	fflush(stdout);
	for (unsigned int turn = 0;; turn++) {
		int fd;

		unlink(genuine);
		unlink(clone);
		if (!copy_file(library, genuine) ||
		    !make_shrunk(library, clone, 1 + turn % 64, &toggle))
			continue;
		fd = open(clone, O_WRONLY | O_CLOEXEC);
		for (int i = 0; i < 200; i++) {
			const uint64_t *value = i % 2 ? &toggle.genuine :
							&toggle.forged;
			void *mapped = map_file(genuine);

			if (pwrite(fd, value, sizeof(*value), toggle.offset) < 0)
				break;
			renameat2(AT_FDCWD, genuine, AT_FDCWD, clone,
				  RENAME_EXCHANGE);
			usleep(500);
			if (mapped)
				munmap(mapped, 4096);
		}
		close(fd);
	}
	return 0;
}

static int storm(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	puts("running");
	fflush(stdout);
	for (;;) {
		void *mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
				    MAP_PRIVATE, fd, 0);

		if (mapped == MAP_FAILED)
			return 1;
		munmap(mapped, 4096);
	}
}

static int ever_new(const char *from, const char *dir)
{
	char path[PATH_MAX];
	void *mapped;

	puts("running");
	fflush(stdout);
	for (unsigned int i = 0;; i++) {
		snprintf(path, sizeof(path), "%s/new-%u", dir, i % 64);
		unlink(path);
		if (!copy_file(from, path))
			continue;
		mapped = map_file(path);
		if (mapped)
			munmap(mapped, 4096);
	}
	return 0;
}

/* Fork endlessly; children execute @program, or exit if it is NULL. */
static int execute(char *program)
{
	char *arguments[] = { program, NULL };
	unsigned int nr = 0;
	int null;

	puts("running");
	fflush(stdout);
	null = open("/dev/null", O_RDWR);
	for (;;) {
		const pid_t child = fork();

		if (!child) {
			dup2(null, 1);
			if (program)
				execv(program, arguments);
			_exit(1);
		}
		nr += child > 0;
		if (child < 0 || nr >= 8)
			nr -= wait(NULL) > 0;
	}
}

static int crowd(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const pid_t child = fork();

		if (child < 0)
			break;
		if (!child)
			for (;;)
				pause();
	}
	return wait_for_ever();
}

static int fill(const char *dir)
{
	static char bytes[1 << 20];
	char path[PATH_MAX];

	memset(bytes, 1, sizeof(bytes));
	puts("running");
	fflush(stdout);
	snprintf(path, sizeof(path), "%s/fill", dir);
	for (;;) {
		const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		while (write(fd, bytes, sizeof(bytes)) > 0)
			;
		sleep(2);
		close(fd);
		unlink(path);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "without-cfi") && argc == 4)
		return !make_without_cfi(argv[2], argv[3]);
	if (!strcmp(what, "little-cfi") && argc == 4)
		return !make_with_little_cfi(argv[2], argv[3]);
	if (!strcmp(what, "sparse") && argc == 5)
		return !make_sparse(argv[2], strtoull(argv[3], NULL, 0),
				    strtoull(argv[4], NULL, 0));
	if (!strcmp(what, "map") && argc == 3)
		return map(argv[2]);
	if (!strcmp(what, "replace") && argc == 4)
		return replace(argv[2], argv[3]);
	if (!strcmp(what, "race") && argc == 5)
		return race(argv[2], argv[3], atoi(argv[4]));
	if (!strcmp(what, "lease") && argc == 3)
		return lease(argv[2]);
	if (!strcmp(what, "kernel-log") && argc == 4)
		return swap(argv[2], argv[3], SWAP_LINK);
	if (!strcmp(what, "bind") && argc == 4)
		return swap(argv[2], argv[3], SWAP_BIND);
	if (!strcmp(what, "fifo") && argc == 4)
		return swap(argv[2], argv[3], SWAP_FIFO);
	if (!strcmp(what, "rename") && argc == 4)
		return exchange(argv[2], argv[3]);
	if (!strcmp(what, "fuse") && argc == 4)
		return !map_silent_fuse(argv[2], argv[3]);
	if (!strcmp(what, "served") && argc == 5)
		return !map_served_fuse(argv[2], atoi(argv[3]), atoi(argv[4]));
	if (!strcmp(what, "unclosed") && argc == 4)
		return !map_unclosed_fuse(argv[2], atoi(argv[3]));
	if (!strcmp(what, "storm") && argc == 3)
		return storm(argv[2]);
	if (!strcmp(what, "new") && argc == 4)
		return ever_new(argv[2], argv[3]);
	if (!strcmp(what, "exec") && argc == 3)
		return execute(argv[2]);
	if (!strcmp(what, "fork") && argc == 2)
		return execute(NULL);
	if (!strcmp(what, "crowd") && argc == 3)
		return crowd(atoi(argv[2]));
	if (!strcmp(what, "fill") && argc == 3)
		return fill(argv[2]);
	fprintf(stderr, "load: see the top of load.c\n");
	return 2;
}
