// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind exec: run a program and print its stacks as it asks for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "cli.h"
#include "exec_answer.h"
#include "exec_image.h"
#include "exec_start.h"
#include "lib/memory_file.h"
#include "options.h"
#include "stack_print.h"

const char exec_help[] =
"usage: sframe-unwind exec [OPTION]... [--] COMMAND [ARGUMENT]...\n"
"\n"
"Run COMMAND and print the stack of its thread whenever it gets SIGNAL or calls\n"
"a sframe_unwind_request function of the shared library libsframe_unwind. A\n"
"statically linked COMMAND runs as it would without.\n"
"\n"
"  -s, --signal=SIGNAL  signal that prints a stack, a name or number; one that\n"
"                       sframe-unwind itself gets is passed on to COMMAND\n"
"  -d, --depth=N        largest number of frames, default 128\n"
"  -o, --output=FILE    print to FILE instead of standard error\n"
"      --no-fallback    use SFrame only, never assume frame pointers\n"
"  -h, --help           print this\n"
"  -V, --version        print the version\n"
"\n"
"Exit status: that of COMMAND, 128 plus its number if a signal ended it; 125 if\n"
"sframe-unwind fails or is used wrongly, 126 if COMMAND cannot be run, 127 if\n"
"there is none.\n";

/*
 * For so long a signal is kept from a program that the object is preloaded
 * into, and has not asked for its files yet.
 */
#define PATIENCE_MS 5000

/* Nobody who asks all the time shall keep us from the rest. */
#define ANSWERS_A_TURN 64

/**
 * struct session - one run of a program
 *
 * @setup: what the program is told.
 * @files: what it gets when it asks.
 * @socket: where it does.
 * @signals: a signalfd of the signal, which is blocked here, or -1.
 * @mask: signals that were blocked when we came.
 * @lifeline: write end, which no other process has.
 * @page: shared with the program.
 * @handle: the device.
 * @printer: prints stacks.
 * @lost: stacks that are known to be lost.
 * @child: the program.
 * @is_ready: does it get signals at once?
 * @is_held: is there one for it when it does?
 * @ready_ms: when it does, whether it has asked or not.
 */
struct session {
	struct exec_setup setup;
	int files[EXEC_NR_FILES];
	int socket;
	int signals;
	sigset_t mask;
	int lifeline;
	struct exec_page *page;
	struct sframe_unwind *handle;
	struct stack_printer *printer;
	uint64_t lost;
	pid_t child;
	bool is_ready;
	bool is_held;
	uint64_t ready_ms;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* Returns the number of a signal given as USR1, SIGUSR1 or 10; 0 if none. */
static int find_signal(const char *text)
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

/* The same, and 0 if programs cannot have a handler for it. */
static int parse_signal(const char *text)
{
	const int number = find_signal(text);
	sigset_t set;

	/* sigaddset() refuses those that the C library has for itself. */
	sigemptyset(&set);
	return number == SIGKILL || number == SIGSTOP ||
	       sigaddset(&set, number) ? 0 : number;
}

/* Start the program. Returns 0, or -1 having complained. */
static int start(struct session *session, const char *preload, char **command)
{
	const char *why;

	session->child = exec_start(&session->setup, &session->mask, preload,
				    command);
	if (session->child < 0)
		return -1;
	why = exec_image_refuses(session->child);
	if (why)
		complain("%s: no stacks will be printed: %s", command[0], why);
	session->is_ready = why;
	session->ready_ms = now_ms() + PATIENCE_MS;
	return 0;
}

/* The program can get signals now. */
static void set_ready(struct session *session)
{
	session->is_ready = true;
	if (session->is_held)
		kill(session->child, session->setup.signal);
	session->is_held = false;
}

/* What we get of the signal is for the program. */
static void pass_signals_on(struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signals, &info, sizeof(info)) == sizeof(info)) {
		/* From the keyboard: the program has it, too. */
		if (info.ssi_code == SI_KERNEL)
			continue;
		if (session->is_ready)
			kill(session->child, session->setup.signal);
		else
			session->is_held = true;
	}
}

/* Give files to those who ask, if more do by and by. */
static void answer(struct session *session)
{
	pid_t asker;

	for (int i = 0; i < ANSWERS_A_TURN; i++) {
		if (!exec_answer(session->socket, &session->setup,
				 session->files, &asker))
			break;
		if (asker == session->child)
			set_ready(session);
	}
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

/* How long poll() may wait. */
static int patience_ms(const struct session *session)
{
	const uint64_t now = now_ms();

	if (!session->is_held)
		return -1;
	return now < session->ready_ms ? session->ready_ms - now : 0;
}

/* Nobody prints any more: don't let the program wait for it. */
static void end_printing(struct session *session)
{
	if (session->lifeline >= 0)
		close(session->lifeline);
	session->lifeline = -1;
}

/*
 * Print stacks, as long as that is possible, and pass signals on until the
 * program, known as @pidfd, has ended. Returns 0, or -1 having complained.
 */
static int serve(struct session *session, int pidfd)
{
	struct pollfd files[] = {
		{ .fd = sframe_unwind_fd(session->handle), .events = POLLIN },
		{ .fd = pidfd, .events = POLLIN },
		{ .fd = session->socket, .events = POLLIN },
		{ .fd = session->signals, .events = POLLIN },
	};
	int err = 0;

	do {
		if (poll(files, 4, patience_ms(session)) < 0 &&
		    errno != EINTR) {
			complain("poll: %s", strerror(errno));
			return -1;
		}
		if (!session->is_ready && now_ms() >= session->ready_ms)
			set_ready(session);
		if (!err && print_waiting(session)) {
			err = -1;
			files[0].fd = -1;
			end_printing(session);
		}
		answer(session);
		pass_signals_on(session);
	} while (!files[1].revents);
	return err;
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

/* Returns the exit status of the program, or EXEC_FAILED. */
static int run_session(struct session *session, const char *preload,
		       char **command)
{
	int pidfd, status, err;

	if (start(session, preload, command))
		return EXEC_FAILED;
	/* What the keyboard sends is for the program to decide on. */
	if (session->setup.signal != SIGINT)
		signal(SIGINT, SIG_IGN);
	if (session->setup.signal != SIGQUIT)
		signal(SIGQUIT, SIG_IGN);
	pidfd = syscall(SYS_pidfd_open, session->child, 0);
	if (pidfd < 0) {
		err = complain("pidfd_open: %s", strerror(errno));
	} else {
		err = serve(session, pidfd);
		close(pidfd);
	}
	end_printing(session);
	while (waitpid(session->child, &status, 0) < 0 && errno == EINTR)
		;
	return err ? EXEC_FAILED : exit_status(status);
}

static int open_page(struct session *session)
{
	void *map;
	int fd;

	fd = memory_file_create("sframe-unwind");
	if (fd < 0 || ftruncate(fd, sizeof(*session->page)))
		return -1;
	map = mmap(NULL, sizeof(*session->page), PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	session->page = map;
	session->files[EXEC_PAGE] = fd;
	return 0;
}

/* Have the signal come by a file, from now on. */
static int open_signals(struct session *session)
{
	sigset_t set;

	session->signals = -1;
	sigemptyset(&set);
	if (session->setup.signal)
		sigaddset(&set, session->setup.signal);
	if (sigprocmask(SIG_BLOCK, &set, &session->mask))
		return -1;
	if (session->setup.signal)
		session->signals = signalfd(-1, &set,
					    SFD_CLOEXEC | SFD_NONBLOCK);
	return session->setup.signal && session->signals < 0 ? -1 : 0;
}

/* What is opened here the end of the process closes. */
static int open_session(struct session *session, const char *output)
{
	FILE *out = stderr;
	int lifeline[2];

	if (sframe_unwind_open(&session->handle, 0))
		return complain("%s", sframe_unwind_error(NULL));
	session->files[EXEC_DEVICE] = sframe_unwind_fd(session->handle);
	session->socket = exec_answer_open(&session->setup);
	if (session->socket < 0 || open_signals(session) ||
	    open_page(session) || pipe2(lifeline, O_CLOEXEC))
		return complain("%s", strerror(errno));
	session->files[EXEC_LIFELINE] = lifeline[0];
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

/* usage_error(), of a command whose statuses are COMMAND's. */
static int misuse(const char *message)
{
	usage_error("exec", message);
	return EXEC_FAILED;
}

int exec_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "depth", required_argument, NULL, 'd' },
		{ "no-fallback", no_argument, NULL, 'n' },
		{ "output", required_argument, NULL, 'o' },
		{ "signal", required_argument, NULL, 's' },
		OPTIONS_LONG
	};
	static const struct options known = {
		"exec", exec_help, "+" OPTIONS_SHORT "d:o:s:", longs,
	};
	struct session session = {
		.setup.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK,
	};
	const char *output = NULL;
	char preload[2 * PATH_MAX];
	int option;

	while ((option = options_next(&known, argc, argv)) != -1) {
		switch (option) {
		case 'd':
			if (parse_depth(optarg, &session.setup.depth))
				return misuse("bad depth");
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
				return misuse("no such signal");
			break;
		default:
			return misuse(NULL);
		}
	}
	if (optind == argc)
		return misuse("no command given");
	if (exec_find_preload(preload, sizeof(preload)) ||
	    open_session(&session, output))
		return EXEC_FAILED;
	return run_session(&session, preload, argv + optind);
}
