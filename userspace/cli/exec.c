// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind exec: run a program and print the stacks that it requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "exec_attach.h"
#include "exec_convert.h"
#include "exec_image.h"
#include "exec_stacks.h"
#include "exec_start.h"
#include "lib/memory_file.h"
#include "options.h"
#include "preload.h"
#include "stack_print.h"

const char exec_help[] =
"usage: sframe-unwind exec [OPTION]... [--] COMMAND [ARGUMENT]...\n"
"\n"
"Run COMMAND and print the stack of a thread whenever it gets SIGNAL or calls a\n"
"sframe_unwind_request function of the shared library libsframe_unwind. Stacks of\n"
"a statically linked COMMAND cannot be printed.\n"
"\n"
"Where code has no SFrame data, it is converted from the call frame information\n"
"and attached, for the program alone; a stack waits for that up to 2 seconds.\n"
"\n"
"  -s, --signal=SIGNAL  signal that prints a stack, a name or number; if\n"
"                       sframe-unwind itself gets it, it is passed on to COMMAND\n"
"  -d, --depth=N        largest number of frames, default 128\n"
"  -o, --output=FILE    print to FILE instead of standard error\n"
"      --jit            register code that COMMAND generates, if it announces it to\n"
"                       libgcc: see sframe-unwind(1)\n"
"      --no-attach      do not convert and attach anything\n"
"      --no-fallback    use SFrame only, never assume frame pointers\n"
"  -h, --help           print this\n"
"  -V, --version        print the version\n"
"\n"
"Exit status: that of COMMAND, or 128 plus the number of the signal that ended\n"
"it; 125 if sframe-unwind fails or its usage is wrong, 126 if COMMAND cannot be\n"
"run, 127 if it does not exist.\n";

/*
 * A signal is held back for this time if the object in the program has not asked for
 * its files yet.
 */
#define PATIENCE_MS 5000

/* Answers in one round of the main loop, so that askers cannot stall it. */
#define ANSWERS_A_TURN 64

/*
 * Stacks in one round, and when the program has ended: it, and whoever has got the device
 * from it, can request more of them all the time.
 */
#define STACKS_A_TURN 256
#define STACKS_AT_END 65536

/**
 * struct session - one run of a program
 *
 * @setup: contents of the environment variable for the program.
 * @files: the files that the program gets when it asks.
 * @socket: socket for its requests.
 * @signals: signalfd of the signal, which is blocked here, or -1.
 * @mask: signal mask at the start.
 * @lifeline: write end of a pipe; no other process has it.
 * @page: page shared with the program.
 * @handle: the device.
 * @printer: prints stacks.
 * @attach: attaches sections.
 * @stacks: the stacks to be printed.
 * @lost: lost stacks that have been reported.
 * @child: the program.
 * @is_ready: signals are passed on to the program at once.
 * @is_held: a signal is held back until @is_ready.
 * @ready_ms: when to set @is_ready even if the program has not asked for its files.
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
	struct exec_attach *attach;
	struct exec_stacks *stacks;
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

/* As find_signal(), but returns 0 if a program cannot handle the signal. */
static int parse_signal(const char *text)
{
	const int number = find_signal(text);
	sigset_t set;

	/* sigaddset() refuses signals that the C library reserves. */
	sigemptyset(&set);
	return number == SIGKILL || number == SIGSTOP ||
	       sigaddset(&set, number) ? 0 : number;
}

/* Start the program. Returns 0, or prints a message and returns -1. */
static int start(struct session *session, const char *const preloads[2],
		 char **command)
{
	const char *why;

	session->child = exec_start(&session->setup, &session->mask, preloads,
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

/* Pass on the signal that was held back, and further ones at once. */
static void set_ready(struct session *session)
{
	session->is_ready = true;
	if (session->is_held)
		kill(session->child, session->setup.signal);
	session->is_held = false;
}

/* Pass signals that this process got on to the program. */
static void pass_signals_on(struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signals, &info, sizeof(info)) == sizeof(info)) {
		/* A signal from the keyboard: the program got it, too. */
		if (info.ssi_code == SI_KERNEL)
			continue;
		if (session->is_ready)
			kill(session->child, session->setup.signal);
		else
			session->is_held = true;
	}
}

/* Answer pending requests for files, at most ANSWERS_A_TURN. */
static void answer(struct session *session)
{
	pid_t asker;

	for (int i = 0; i < ANSWERS_A_TURN; i++) {
		if (!exec_answer(session->socket, &session->setup,
				 session->files, session->attach, &asker))
			break;
		if (asker)
			exec_attach_begin(session->attach, asker,
					  asker == session->child);
		if (asker == session->child)
			set_ready(session);
	}
}

/* If stacks were lost, wake all waiting threads: some wait for a stack that was lost. */
static void release_lost(struct session *session)
{
	struct sframe_unwind_stats stats;

	if (sframe_unwind_stats(session->handle, &stats) ||
	    stats.lost_full == session->lost)
		return;
	complain("%llu stacks lost",
		 (unsigned long long)(stats.lost_full - session->lost));
	session->lost = stats.lost_full;
	exec_stacks_wake_all(session->stacks);
}

/*
 * Print available stacks, at most @max. Returns 0, or prints a message and returns -1.
 */
static int print_waiting(struct session *session, unsigned int max)
{
	const struct sframe_unwind_stack *stack;
	int err = 0;

	while (max-- && !(err = sframe_unwind_read_stack(session->handle,
						SFRAME_UNWIND_READ_NONBLOCK,
						&stack)))
		exec_stacks_handle(session->stacks, stack);
	release_lost(session);
	if (!err || err == -EAGAIN || err == -EINTR)
		return 0;
	complain("%s", sframe_unwind_error(session->handle));
	return -1;
}

/* Timeout for poll(). */
static int patience_ms(const struct session *session)
{
	const int stacks = exec_stacks_timeout(session->stacks);
	const uint64_t now = now_ms();
	int signals;

	if (!session->is_held)
		return stacks;
	signals = now < session->ready_ms ? session->ready_ms - now : 0;
	return stacks < 0 || signals < stacks ? signals : stacks;
}

/* Close the lifeline, so that the program does not wait for printing any more. */
static void end_printing(struct session *session)
{
	if (session->lifeline >= 0)
		close(session->lifeline);
	session->lifeline = -1;
}

/*
 * Print stacks and pass signals on until the program @pidfd has ended. If printing
 * fails, prints a message, continues without printing, and returns -1 at the end. Returns
 * 0 on success.
 */
static int serve(struct session *session, int pidfd)
{
	struct pollfd files[4 + EXEC_MAX_CONVERSIONS] = {
		{ .fd = sframe_unwind_fd(session->handle), .events = POLLIN },
		{ .fd = pidfd, .events = POLLIN },
		{ .fd = session->socket, .events = POLLIN },
		{ .fd = session->signals, .events = POLLIN },
	};
	int err = 0;

	do {
		exec_attach_poll(session->attach, files + 4);
		if (poll(files, 4 + EXEC_MAX_CONVERSIONS,
			 patience_ms(session)) < 0 &&
		    errno != EINTR) {
			complain("poll: %s", strerror(errno));
			return -1;
		}
		if (!session->is_ready && now_ms() >= session->ready_ms)
			set_ready(session);
		if (!err && print_waiting(session, STACKS_A_TURN)) {
			err = -1;
			files[0].fd = -1;
			end_printing(session);
		}
		exec_stacks_run(session->stacks,
				exec_attach_run(session->attach, files + 4));
		answer(session);
		pass_signals_on(session);
	} while (!files[1].revents);
	if (!err && print_waiting(session, STACKS_AT_END))
		err = -1;
	exec_stacks_end(session->stacks);
	return err;
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

/* Returns the exit status of the program, or EXEC_FAILED. */
static int run_session(struct session *session, const char *const preloads[2],
		       char **command)
{
	int pidfd, status, err;

	if (start(session, preloads, command))
		return EXEC_FAILED;
	/* The program decides about signals from the keyboard. */
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
	exec_stacks_free(session->stacks);
	exec_attach_free(session->attach);
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
	/* Not in children that read files of others. */
	if (madvise(map, sizeof(*session->page), MADV_DONTFORK)) {
		munmap(map, sizeof(*session->page));
		return -1;
	}
	session->page = map;
	session->files[EXEC_PAGE] = fd;
	return 0;
}

/* Block the signal, and receive it by a signalfd. */
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

/* Open everything. It stays open until the process ends. */
static int open_session(struct session *session, const char *output,
			bool attaches)
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
	session->attach = exec_attach_create(session->handle, session->page,
					     attaches);
	if (session->printer && session->attach)
		session->stacks = exec_stacks_create(session->page,
						     session->attach,
						     session->printer);
	return session->stacks ? 0 : complain("no memory");
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

/* usage_error() with the exit status 125, because others are those of COMMAND. */
static int misuse(const char *message)
{
	usage_error("exec", message);
	return EXEC_FAILED;
}

int exec_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "depth", required_argument, NULL, 'd' },
		{ "jit", no_argument, NULL, 'j' },
		{ "no-attach", no_argument, NULL, 'a' },
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
	char preload[2 * PATH_MAX], jit[2 * PATH_MAX], worker[2 * PATH_MAX];
	const char *preloads[2] = { preload, NULL };
	bool attaches = true;
	int option;

	while ((option = options_next(&known, argc, argv)) != -1) {
		switch (option) {
		case 'a':
			attaches = false;
			break;
		case 'd':
			if (parse_depth(optarg, &session.setup.depth))
				return misuse("bad depth");
			break;
		case 'j':
			preloads[1] = jit;
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
	if (preload_find(PRELOAD_EXEC, preload, sizeof(preload)) ||
	    (preloads[1] && preload_find(PRELOAD_JIT, jit, sizeof(jit))) ||
	    (attaches && exec_find_worker(worker, sizeof(worker))) ||
	    open_session(&session, output, attaches))
		return EXEC_FAILED;
	if (attaches)
		exec_convert_set_worker(worker);
	return run_session(&session, preloads, argv + optind);
}
