// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind exec: run a program and print its stacks as it asks for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "cli.h"
#include "exec_shared.h"
#include "stack_print.h"

const char exec_help[] =
"usage: sframe-unwind exec [OPTION]... [--] COMMAND [ARGUMENT]...\n"
"\n"
"Run COMMAND and print the stack of its thread whenever it gets SIGNAL or calls\n"
"a sframe_unwind_request function of the shared library libsframe_unwind.\n"
"\n"
"  -s, --signal=SIGNAL  signal that prints a stack, a name or number; one that\n"
"                       sframe-unwind itself gets is passed on to COMMAND\n"
"  -d, --depth=N        largest number of frames, default 128\n"
"  -o, --output=FILE    print to FILE instead of standard error\n"
"      --no-fallback    use SFrame only, never assume frame pointers\n"
"      --help           print this\n"
"\n"
"Exit status: that of COMMAND, 128 plus its number if a signal ended it, 126 if\n"
"COMMAND cannot be run, 127 if there is none, 2 if sframe-unwind fails.\n";

/* Files that the program inherits are out of the way of those it opens. */
#define MIN_INHERITED_FD 101

/**
 * struct session - one run of a program
 *
 * @setup: what the program is told; with the files of this process.
 * @lifeline: write end, which no other process has.
 * @page: shared with the program.
 * @handle: the device.
 * @printer: prints stacks.
 * @lost: stacks that are known to be lost.
 * @child: the program.
 */
struct session {
	struct exec_setup setup;
	int lifeline;
	struct exec_page *page;
	struct sframe_unwind *handle;
	struct stack_printer *printer;
	uint64_t lost;
	pid_t child;
};

/* For the handler that passes a signal on; set before that is installed. */
static pid_t signalled_child;

static void pass_on(int signal)
{
	const int old_errno = errno;

	kill(signalled_child, signal);
	errno = old_errno;
}

/* Returns the number of a signal given as USR1, SIGUSR1 or 10; 0 if none. */
static int parse_signal(const char *text)
{
	char *end;
	long number;

	number = strtol(text, &end, 10);
	if (end != text && !*end)
		return number > 0 && number < NSIG ? number : 0;
	if (!strncmp(text, "SIG", 3))
		text += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);

		if (name && !strcmp(name, text))
			return i;
	}
	return 0;
}

/* Where the object to preload is, from the directory of this program. */
static const char * const preload_places[] = {
	"/sframe_unwind/preload.so",		/* not installed */
	"/../lib/sframe_unwind/preload.so",	/* perhaps moved since */
};

static int find_preload(char *path, size_t size)
{
	char exe[PATH_MAX];
	ssize_t length;

	length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (length > 0) {
		exe[length] = '\0';
		*strrchr(exe, '/') = '\0';
		for (size_t i = 0; i < 2; i++) {
			snprintf(path, size, "%s%s", exe, preload_places[i]);
			if (!access(path, R_OK))
				return 0;
		}
	}
	snprintf(path, size, "%s", SFRAME_UNWIND_LIBDIR
		 "/sframe_unwind/preload.so");
	if (!access(path, R_OK))
		return 0;
	complain("%s: %s", path, strerror(errno));
	return -1;
}

/* What the dynamic linker splits LD_PRELOAD at can't be in a name there. */
static int set_preload(const char *path)
{
	const char *old = getenv("LD_PRELOAD");
	char *value;
	int err;

	if (strpbrk(path, " :")) {
		complain("%s: a path with a blank or colon cannot be preloaded",
			 path);
		return -1;
	}
	if (asprintf(&value, "%s%s%s", path, old && *old ? ":" : "",
		     old ? old : "") < 0)
		return -1;
	err = setenv("LD_PRELOAD", value, 1);
	free(value);
	return err;
}

/* A copy of @fd that exec keeps open. */
static int inherit(int fd)
{
	return fcntl(fd, F_DUPFD, MIN_INHERITED_FD);
}

/* In the child: become the program. */
__attribute__((noreturn))
static void run(const struct session *session, const char *preload,
		char **command)
{
	const struct exec_setup *setup = &session->setup;
	char text[128];
	sigset_t set;
	int err;

	snprintf(text, sizeof(text), EXEC_SETUP_FORMAT, inherit(setup->device),
		 inherit(setup->page), inherit(setup->lifeline), setup->signal,
		 setup->depth, setup->flags);
	if (setenv(EXEC_VARIABLE, text, 1) || set_preload(preload))
		_exit(CLI_TROUBLE);
	if (setup->signal) {
		/* Until the preloaded object is ready for it. */
		sigemptyset(&set);
		sigaddset(&set, setup->signal);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	execvp(command[0], command);
	err = errno;
	complain("%s: %s", command[0], strerror(err));
	_exit(err == ENOENT ? 127 : 126);
}

static void wake(uint32_t *slot)
{
	__atomic_store_n(slot, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, slot, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Let the thread with this ticket go on. */
static void acknowledge(struct session *session, uint64_t ticket)
{
	uint32_t *slot = exec_slot(session->page, ticket);

	if (ticket && __atomic_load_n(slot, __ATOMIC_ACQUIRE) == ticket)
		wake(slot);
}

/* A stack that found no place will never be printed: wait no longer. */
static void release_lost(struct session *session)
{
	struct sframe_unwind_stats stats;

	if (sframe_unwind_stats(session->handle, &stats) ||
	    stats.lost_full == session->lost)
		return;
	complain("%llu stacks lost",
		 (unsigned long long)(stats.lost_full - session->lost));
	session->lost = stats.lost_full;
	for (unsigned int i = 0; i < EXEC_SLOTS; i++)
		if (__atomic_load_n(&session->page->slots[i], __ATOMIC_ACQUIRE))
			wake(&session->page->slots[i]);
}

/* Print what there is. Returns 0, or -1 having complained. */
static int print_waiting(struct session *session)
{
	const struct sframe_unwind_stack *stack;
	int err;

	while (!(err = sframe_unwind_read_stack(session->handle,
						SFRAME_UNWIND_READ_NONBLOCK,
						&stack))) {
		stack_printer_print(session->printer, stack);
		acknowledge(session, stack->user_data);
	}
	release_lost(session);
	if (err == -EAGAIN || err == -EINTR)
		return 0;
	complain("%s", sframe_unwind_error(session->handle));
	return -1;
}

/* Print stacks until the program, known as @pidfd, has ended. */
static int serve(struct session *session, int pidfd)
{
	struct pollfd files[] = {
		{ .fd = sframe_unwind_fd(session->handle), .events = POLLIN },
		{ .fd = pidfd, .events = POLLIN },
	};

	do {
		if (poll(files, 2, -1) < 0 && errno != EINTR) {
			complain("poll: %s", strerror(errno));
			return -1;
		}
		if (print_waiting(session))
			return -1;
	} while (!files[1].revents);
	return 0;
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

/* Returns the exit status of the program, or CLI_TROUBLE. */
static int run_session(struct session *session, const char *preload,
		       char **command)
{
	int pidfd, status, err;

	session->child = fork();
	if (session->child < 0)
		return complain("fork: %s", strerror(errno));
	if (!session->child)
		run(session, preload, command);

	/* What the keyboard sends is for the program to decide on. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signalled_child = session->child;
	if (session->setup.signal)
		signal(session->setup.signal, pass_on);
	pidfd = syscall(SYS_pidfd_open, session->child, 0);
	if (pidfd < 0) {
		err = complain("pidfd_open: %s", strerror(errno));
	} else {
		err = serve(session, pidfd);
		close(pidfd);
	}
	/* Nobody prints any more: don't let the program wait for it. */
	close(session->lifeline);
	while (waitpid(session->child, &status, 0) < 0 && errno == EINTR)
		;
	return err ? CLI_TROUBLE : exit_status(status);
}

static int open_page(struct session *session)
{
	void *map;
	int fd;

	fd = memfd_create("sframe-unwind", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, sizeof(*session->page)))
		return -1;
	map = mmap(NULL, sizeof(*session->page), PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	session->page = map;
	session->setup.page = fd;
	return 0;
}

/* What is opened here the end of the process closes. */
static int open_session(struct session *session, const char *output)
{
	FILE *out = stderr;
	int lifeline[2];

	if (sframe_unwind_open(&session->handle, 0))
		return complain("%s", sframe_unwind_error(NULL));
	session->setup.device = sframe_unwind_fd(session->handle);
	if (open_page(session) || pipe2(lifeline, O_CLOEXEC))
		return complain("%s", strerror(errno));
	session->setup.lifeline = lifeline[0];
	session->lifeline = lifeline[1];
	if (output) {
		out = fopen(output, "we");
		if (!out)
			return complain("%s: %s", output, strerror(errno));
	}
	session->printer = stack_printer_create(out);
	return session->printer ? 0 : complain("no memory");
}

static int parse_depth(const char *text, unsigned int *depth)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || !value || value > UINT_MAX)
		return -1;
	*depth = value;
	return 0;
}

int exec_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "depth", required_argument, NULL, 'd' },
		{ "no-fallback", no_argument, NULL, 'n' },
		{ "output", required_argument, NULL, 'o' },
		{ "signal", required_argument, NULL, 's' },
		{ 0 }
	};
	struct session session = {
		.setup.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK,
	};
	const char *output = NULL;
	char preload[2 * PATH_MAX];
	int option;

	while ((option = getopt_long(argc, argv, "+d:o:s:", longs, NULL)) != -1) {
		switch (option) {
		case 'd':
			if (parse_depth(optarg, &session.setup.depth))
				return usage_error("exec", "bad depth");
			break;
		case 'n':
			session.setup.flags = 0;
			break;
		case 'o':
			output = optarg;
			break;
		case 's':
			session.setup.signal = parse_signal(optarg);
			if (!session.setup.signal)
				return usage_error("exec", "no such signal");
			break;
		default:
			return usage_error("exec", NULL);
		}
	}
	if (optind == argc)
		return usage_error("exec", "no command given");
	if (find_preload(preload, sizeof(preload)) ||
	    open_session(&session, output))
		return CLI_TROUBLE;
	return run_session(&session, preload, argv + optind);
}
