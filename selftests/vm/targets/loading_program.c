// SPDX-License-Identifier: GPL-2.0
/*
 * A program without SFrame data that loads one library after the other, and is busy below a
 * function of each at once, for some milliseconds, and then in a signal handler below it.
 *
 * usage: loading_program [-d] [-s] LIBRARY...
 *   -d  delete each library when it is loaded, and exit a second after the last one
 *   -s  while each is loaded, and up to the signal, stop the "attach" of the "record" that
 *	 has started this: nothing is attached to the library meanwhile
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define BUSY_NS	60000000L
#define STEP_NS	1000000L

static long used_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000L + used.tv_nsec;
}

/* A long step is one in which the VM did not run: no samples are taken then. */
__attribute__((noipa)) static int spin(void)
{
	long busy = 0, now = used_ns();
	volatile int n = 0;

	while (busy < BUSY_NS) {
		const long before = now;

		for (int i = 0; i < 10000; i++)
			n += i;
		now = used_ns();
		busy += now - before < STEP_NS ? now - before : STEP_NS;
	}
	return n & 1;
}

static void spin_in_handler(int signal)
{
	(void)signal;
	spin();
}

__attribute__((noipa)) static int raise_below(void)
{
	return raise(SIGUSR1);
}

/*
 * Returns the process of "attach", or 0: another child of our parent, in a process group of
 * its own.
 */
static pid_t find_attach(void)
{
	const pid_t parent = getppid();
	pid_t child, found = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		if (child != getpid() && getpgid(child) == child)
			found = child;
	if (file)
		fclose(file);
	return found;
}

int main(int argc, char **argv)
{
	int (*call)(int (*fn)(void));
	bool is_deleted = false;
	int option, sum = 0;
	pid_t attach = 0;
	void *library;

	signal(SIGUSR1, spin_in_handler);
	while ((option = getopt(argc, argv, "ds")) > 0) {
		if (option == 'd') {
			is_deleted = true;
		} else {
			attach = find_attach();
			if (!attach) {
				fprintf(stderr, "there is no \"attach\"\n");
				return 2;
			}
		}
	}
	for (int i = optind; i < argc; i++) {
		/* It cannot begin anything then for a library that it does not know yet. */
		if (attach)
			kill(attach, SIGSTOP);
		library = dlopen(argv[i], RTLD_NOW);
		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
		*(void **)&call = dlsym(library, "fresh_call");
		if (is_deleted)
			unlink(argv[i]);
		sum += call(spin);
		if (attach)
			kill(attach, SIGCONT);
		sum += call(raise_below);
	}
	if (is_deleted)
		sleep(1);
	return sum < 0;
}
