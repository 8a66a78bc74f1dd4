// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind attach: give the programs that run SFrame data, made of their
 * .eh_frame.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "attach_events.h"
#include "attach_object.h"
#include "attach_process.h"
#include "attach_report.h"
#include "cli.h"

const char attach_help[] =
"usage: sframe-unwind attach [OPTION]... --all | -p PID...\n"
"\n"
"Convert the .eh_frame of all executables and shared objects that processes map\n"
"and that have no .sframe, and attach the result to them in the kernel, so that\n"
"stacks can be unwound through them. Goes on with what is started or loaded\n"
"later, until it is ended by SIGINT or SIGTERM: then everything is detached.\n"
"\n"
"  -a, --all          for all processes\n"
"  -p, --pid=PID,...  for these processes and their children; ends with them\n"
"      --poll=SECONDS look at /proc every SECONDS instead of listening to perf\n"
"      --ready-fd=N   when all that runs has been attached, write a line to file\n"
"                     descriptor N and close it\n"
"  -q, --quiet        print nothing but errors\n"
"  -v, --verbose      print a line for each object\n"
"      --help         print this\n"
"\n"
"Needs CAP_PERFMON and CAP_SYS_PTRACE, and CAP_CHECKPOINT_RESTORE to look at the\n"
"files of others; root has them all.\n"
"\n"
"Exit status: 0 when ended by a signal or with the last PID, 2 on failure.\n";

#define POLL_MS 1000	/* between looks at /proc without perf */

/**
 * struct session - one run of the command
 *
 * @poll_ms: milliseconds between looks at /proc; 0 with @events.
 * @ready_fd: where to write that the first pass is done, or -1.
 */
struct session {
	struct sframe_unwind *handle;
	struct objects *objects;
	struct watch watch;
	struct events *events;
	struct report report;
	int poll_ms;
	int ready_fd;
};

static volatile sig_atomic_t is_ended;

static void end(int signal)
{
	(void)signal;
	is_ended = 1;
}

/* Why an error that concerns all objects is one, and what to do about it. */
static int fail(struct session *session, int err)
{
	report_remove_bar(&session->report);
	if (err == -EPERM) {
		complain("%s", sframe_unwind_error(session->handle));
		fputs("To attach for other processes takes CAP_PERFMON and CAP_SYS_PTRACE: be root. A\n"
		      "program can attach to itself without, by sframe_unwind_attach(3).\n",
		      stderr);
		return CLI_TROUBLE;
	}
	return complain("attach: %s", strerror(-err));
}

/* --- passes */

/*
 * All processes have the same vDSO, of which there is no file: make one of what
 * we have of it.
 */
static int look_at_vdso(struct session *session)
{
	const uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	unsigned long from, to;
	char line[256];
	struct stat stat;
	bool is_other;
	FILE *maps;
	int fd, err = 0;

	maps = fopen("/proc/self/maps", "re");
	if (!maps || !start)
		goto out;
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &from, &to) != 2 || from != start)
			continue;
		fd = memfd_create("vdso", MFD_CLOEXEC);
		if (fd < 0)
			break;
		if (write(fd, (const void *)start, to - from) ==
			    (ssize_t)(to - from) && !fstat(fd, &stat))
			err = objects_look(session->objects, fd, &stat,
					   "[vdso]", NULL, 0, &is_other);
		close(fd);
		break;
	}
out:
	if (maps)
		fclose(maps);
	return err;
}

static bool on_progress(void *data, size_t done, size_t whole)
{
	struct session *session = data;

	report_progress(&session->report, done, whole);
	return !is_ended;
}

static int pass(struct session *session)
{
	int err;

	err = watch_pass(&session->watch, on_progress, session);
	report_remove_bar(&session->report);
	return err;
}

/* The kernel has no room for another object: detach those not in use. */
static int make_room(struct session *session)
{
	int err;

	objects_begin_use(session->objects);
	err = look_at_vdso(session);
	if (!err)
		err = pass(session);
	if (err || is_ended)
		return err;
	objects_end_use(session->objects);
	return pass(session);
}

static int full_pass(struct session *session)
{
	int err;

	err = pass(session);
	if (!err && objects_want_room(session->objects))
		err = make_room(session);
	/* It has no more: what is refused now stays so. */
	objects_want_room(session->objects);
	return err;
}

static int tell_ready(struct session *session)
{
	report_ready(&session->report, &session->watch);
	if (session->ready_fd < 0)
		return 0;
	if (write(session->ready_fd, "ready\n", 6) != 6)
		return complain("--ready-fd: %s", strerror(errno));
	close(session->ready_fd);
	return 0;
}

/* --- waiting */

/* Wait for something to happen. Returns whether it is a process's end. */
static int wait_for_change(struct session *session, const sigset_t *unblocked)
{
	const struct timespec interval = {
		.tv_sec = session->poll_ms / 1000,
		.tv_nsec = session->poll_ms % 1000 * 1000000L,
	};
	const struct pollfd *events = NULL;
	struct watch *watch = &session->watch;
	struct pollfd *files;
	size_t nr = 0;

	if (session->events)
		events = events_files(session->events, &nr);
	files = calloc(nr + watch->nr + 1, sizeof(*files));
	if (!files)
		return complain("no memory");
	if (nr)
		memcpy(files, events, nr * sizeof(*files));
	if (watch->nr)
		memcpy(files + nr, watch->processes,
		       watch->nr * sizeof(*files));
	/* Signals arrive here and nowhere else in this loop. */
	if (!is_ended && ppoll(files, nr + watch->nr,
			       session->poll_ms ? &interval : NULL,
			       unblocked) < 0 && errno != EINTR) {
		free(files);
		return complain("poll: %s", strerror(errno));
	}
	if (watch->nr)
		memcpy(watch->processes, files + nr,
		       watch->nr * sizeof(*files));
	free(files);
	return 0;
}

/* Until a signal, or the end of all processes that were to be watched. */
static int serve(struct session *session, const sigset_t *unblocked)
{
	struct watch *watch = &session->watch;
	bool is_lost;
	int err;

	while (!is_ended && (watch->all || watch->nr)) {
		if (wait_for_change(session, unblocked))
			return CLI_TROUBLE;
		if (is_ended)
			break;
		is_lost = !session->events;
		err = session->events ?
		      events_handle(session->events, watch, &is_lost) : 0;
		if (!err && is_lost)
			err = full_pass(session);
		else if (!err && objects_want_room(session->objects))
			err = make_room(session);
		if (err)
			return fail(session, err);
		/* Their children have been told of, or found, before. */
		watch_drop_ended(watch);
	}
	return 0;
}

/* --- starting */

static int open_session(struct session *session)
{
	struct sframe_unwind_query query;
	int err;

	if (sframe_unwind_open(&session->handle, 0))
		return complain("%s", sframe_unwind_error(NULL));
	if (sframe_unwind_query(session->handle, &query))
		return complain("%s", sframe_unwind_error(session->handle));
	if (!(query.features & SFRAME_UNWIND_FEATURE_ATTACH))
		return complain("the module is too old: it cannot attach");
	session->objects = objects_create(session->handle, report_object,
					  report_busy, &session->report);
	if (!session->objects)
		return complain("%s", strerror(errno));
	session->watch.objects = session->objects;
	session->report.objects = session->objects;

	/* Before anything is looked at, so that nothing is in between. */
	if (session->poll_ms)
		return 0;
	err = events_open(&session->events);
	if (!err)
		return 0;
	session->poll_ms = POLL_MS;
	if (!session->report.is_quiet)
		complain("no events from perf (%s): looking at /proc every %d ms",
			 strerror(-err), POLL_MS);
	return 0;
}

/*
 * A second signal ends the command at once: closing the client, which detaches,
 * is done by the kernel then.
 */
static void catch_signals(void)
{
	const struct sigaction action = {
		.sa_handler = end,
		.sa_flags = SA_RESETHAND,
	};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int run_session(struct session *session)
{
	sigset_t set, unblocked;
	int err;

	catch_signals();
	err = look_at_vdso(session);
	if (!err)
		err = full_pass(session);
	if (err)
		return fail(session, err);
	if (is_ended)
		return CLI_OK;
	if (tell_ready(session))
		return CLI_TROUBLE;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &unblocked);
	err = serve(session, &unblocked);
	sigprocmask(SIG_SETMASK, &unblocked, NULL);
	return err;
}

static int add_pids(struct watch *watch, char *text)
{
	for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		char *rest;
		long pid;
		int err;

		errno = 0;
		pid = strtol(word, &rest, 10);
		if (errno || rest == word || *rest || pid <= 0 || pid > INT_MAX)
			return usage_error("attach", "bad process number");
		err = watch_add(watch, pid);
		if (err)
			return complain("process %ld: %s", pid,
					strerror(-err));
	}
	return 0;
}

static int parse_number(const char *text, double min, double max, double *to)
{
	char *rest;

	*to = strtod(text, &rest);
	return rest == text || *rest || !(*to >= min && *to <= max) ? -1 : 0;
}

static int parse_options(struct session *session, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "pid", required_argument, NULL, 'p' },
		{ "poll", required_argument, NULL, 'P' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "ready-fd", required_argument, NULL, 'r' },
		{ "verbose", no_argument, NULL, 'v' },
		{ 0 }
	};
	bool all = false;
	double number;
	int option;

	while ((option = getopt_long(argc, argv, "ap:qv", longs, NULL)) != -1) {
		switch (option) {
		case 'a':
			all = true;
			break;
		case 'p':
			if (add_pids(&session->watch, optarg))
				return CLI_USAGE;
			break;
		case 'P':
			if (parse_number(optarg, 0.001, 86400, &number))
				return usage_error("attach", "bad interval");
			session->poll_ms = number * 1000;
			break;
		case 'q':
			session->report.is_quiet = true;
			break;
		case 'r':
			if (parse_number(optarg, 0, INT_MAX, &number))
				return usage_error("attach", "bad file descriptor");
			session->ready_fd = number;
			break;
		case 'v':
			session->report.is_verbose = true;
			break;
		default:
			return usage_error("attach", NULL);
		}
	}
	if (optind != argc)
		return usage_error("attach", "unexpected argument");
	if (all == (session->watch.nr > 0))
		return usage_error("attach", "give either --all or -p");
	session->watch.all = all;
	return CLI_OK;
}

int attach_main(int argc, char **argv)
{
	struct session session = { .ready_fd = -1 };
	int status;

	status = parse_options(&session, argc, argv);
	if (status)
		return status;
	report_begin(&session.report);
	status = open_session(&session);
	if (!status)
		status = run_session(&session);
	if (!status)
		report_end(&session.report, &session.watch, session.handle);
	watch_free(&session.watch);
	events_close(session.events);
	if (session.objects)
		objects_free(session.objects);
	sframe_unwind_close(session.handle);
	return status;
}
