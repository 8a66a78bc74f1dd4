// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind attach: attach SFrame data, made from .eh_frame, to running programs.
 * A separate program: see ../attach.c.
 *
 * The main loop blocks only in poll(2). Children do all work that can block or take
 * long. See job.h for the states of a file.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <fcntl.h>
#include <linux/sframe_unwind.h>

#include "changes.h"
#include "child.h"
#include "cli/cli.h"
#include "closer.h"
#include "events.h"
#include "job.h"
#include "options.h"
#include "pass.h"
#include "privilege.h"
#include "reader.h"
#include "room.h"
#include "runtimes.h"
#include "stray.h"
#include "vdso.h"
#include "worker.h"

#define POLL_MS 1000	/* between passes through /proc without perf */
#define CPUS_PATH "/sys/devices/system/cpu/online"
/* Interval of periodic work. */
#define TICK_NS (500 * MS)

/* How long idle converter processes, but for one, are kept for the next files. */
#define WORKERS_IDLE_MS 10000

/**
 * struct session - one run of the command
 *
 * @events: perf events; NULL: passes every options.poll_ms instead.
 * @device: client of the module that attaches everything.
 * @has_code: the module can attach to generated code.
 * @is_ready: "ready" has been reported.
 * @tick_at: time of the next periodic work.
 */
struct session {
	struct options options;
	struct watch watch;
	struct events *events;
	struct report report;
	struct jobs jobs;
	struct pass pass;
	struct room room;
	struct strays strays;
	int device;
	bool has_code;
	bool is_ready;
	uint64_t tick_at;
};

static volatile sig_atomic_t is_ended;

static void end(int signal)
{
	(void)signal;
	is_ended = 1;
}

static void lose_events(struct session *session)
{
	pass_lose_events(&session->pass);
	if (session->jobs.codes)
		codes_lose_events(session->jobs.codes);
}

static void handle_events(struct session *session)
{
	struct changes changes = {
		.watch = &session->watch,
		.jobs = &session->jobs,
		.pass = &session->pass,
	};

	if (session->events && now_ns() >= events_next(session->events) &&
	    events_handle(session->events, &changes_fns, &changes))
		lose_events(session);
}

static void tick(struct session *session, uint64_t now)
{
	if (now < session->tick_at)
		return;
	session->tick_at = now + TICK_NS;
	if (session->events && events_reopen(&session->events))
		lose_events(session);
	children_collect_left();
	workers_keep_spare(WORKERS_IDLE_MS);
	users_forget_idle(session->jobs.users, now);
	jobs_drop_waiting(&session->jobs, now);
	if (jobs_recheck(&session->jobs, now))
		session->pass.wants_all = true;
	if (session->jobs.codes)
		codes_check(session->jobs.codes, session->jobs.users, now);
	room_check(&session->room, &session->jobs, &session->pass);
	strays_check(&session->strays, &session->jobs, session->device);
	if (users_any_missed(session->jobs.users, now))
		session->pass.wants_missed = true;
}

/* Report "ready". Returns an exit status; prints a message on failure. */
static int tell_ready(struct session *session)
{
	session->is_ready = true;
	report_ready(&session->report, &session->jobs);
	if (session->options.ready_fd < 0)
		return CLI_OK;
	if (write(session->options.ready_fd, "ready\n", 6) != 6)
		return complain("--ready-fd: %s", strerror(errno));
	close(session->options.ready_fd);
	return CLI_OK;
}

/*
 * Returns whether everything that existed at the start is done, except for users who
 * are not served now.
 */
static bool is_ready(const struct session *session)
{
	return session->pass.nr_made &&
	       !users_any_first(session->jobs.users, now_ns());
}

/* --- the loop */

static uint64_t next_time(const struct session *session)
{
	const uint64_t times[] = {
		pass_next(&session->pass),
		jobs_next(&session->jobs),
		readers_next(session->jobs.readers),
		closers_next(),
		codes_next(session->jobs.users, now_ns()),
		session->tick_at,
	};
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i] < next)
			next = times[i];
	return next;
}

/**
 * struct places - files to poll: events, readers, closers, workers, processes
 */
struct places {
	struct pollfd *files;
	size_t nr_events;
	size_t nr_readers;
	size_t nr_closers;
	size_t nr_workers;
	size_t nr;
};

static int fill_places(const struct session *session, struct places *places)
{
	const struct watch *watch = &session->watch;
	const struct pollfd *events = NULL;
	struct pollfd *at;

	places->nr_events = 0;
	if (session->events && now_ns() >= events_next(session->events))
		events = events_files(session->events, &places->nr_events);
	places->files = calloc(places->nr_events + READERS_MAX_ALL +
			       CLOSERS_MAX + JOBS_MAX_WORKERS + watch->nr + 1,
			       sizeof(*places->files));
	if (!places->files)
		return -ENOMEM;
	at = places->files;
	if (events)
		memcpy(at, events, places->nr_events * sizeof(*at));
	at += places->nr_events;
	places->nr_readers = readers_files(session->jobs.readers, at);
	at += places->nr_readers;
	places->nr_closers = closers_files(at);
	at += places->nr_closers;
	places->nr_workers = jobs_files(&session->jobs, at);
	at += places->nr_workers;
	if (watch->nr)
		memcpy(at, watch->processes, watch->nr * sizeof(*at));
	places->nr = at - places->files + watch->nr;
	return 0;
}

/* Poll @places until the next deadline. */
static int wait_for_change(const struct session *session,
			   struct places *places, const sigset_t *unblocked)
{
	const uint64_t now = now_ns();
	uint64_t next = next_time(session);
	struct timespec interval = { 0 };

	/* They may not be among @places though their time has come meanwhile. */
	if (session->events && events_next(session->events) < next &&
	    (!places->nr_events || events_any(session->events)))
		next = events_next(session->events);
	if (next > now) {
		interval.tv_sec = (next - now) / SECOND;
		interval.tv_nsec = (next - now) % SECOND;
	}
	/* Signals are only unblocked here. */
	if (ppoll(places->files, places->nr, &interval, unblocked) >= 0)
		return 0;
	return errno == EINTR ? 0 : -errno;
}

static void handle_change(struct session *session,
			  const struct places *places)
{
	const struct pollfd *at = places->files + places->nr_events;
	struct watch *watch = &session->watch;
	const uint64_t now = now_ns();

	readers_handle(session->jobs.readers, at);
	readers_check(session->jobs.readers, now);
	at += places->nr_readers;
	closers_handle(at);
	at += places->nr_closers + places->nr_workers;
	if (watch->nr)
		memcpy(watch->processes, at, watch->nr * sizeof(*at));
	jobs_check_workers(&session->jobs);
	handle_events(session);
	/* After the events, which report children of the processes that have ended. */
	watch_drop_ended(watch);
	tick(session, now);
}

static int step(struct session *session, const sigset_t *unblocked)
{
	struct pass *pass = &session->pass;
	struct places places;
	int err;

	if (pass_is_due(pass, now_ns())) {
		err = pass_step(pass);
		if (err)
			return err;
		session->report.done = pass->done;
		session->report.whole = pass->whole;
	}
	jobs_schedule(&session->jobs);
	err = fill_places(session, &places);
	if (err)
		return err;
	err = wait_for_change(session, &places, unblocked);
	if (!err && !is_ended)
		handle_change(session, &places);
	free(places.files);
	return err ? err : session->jobs.fatal;
}

/* Print the message of an error that concerns all files. Returns an exit status. */
static int fail(struct session *session, int err)
{
	report_remove_bar(&session->report);
	if (err != -EPERM)
		return complain("attach: %s", strerror(-err));
	complain("%s", session->jobs.text);
	fputs("Attaching for other processes needs CAP_PERFMON and CAP_SYS_PTRACE: run it as\n"
	      "root. A program can attach to itself without them: sframe_unwind_attach(3).\n",
	      stderr);
	return CLI_TROUBLE;
}

/* Run until a signal arrives or all watched processes have ended. */
static int serve(struct session *session, const sigset_t *unblocked)
{
	int err;

	while (!is_ended && (session->watch.all || session->watch.nr)) {
		err = step(session, unblocked);
		if (err)
			return fail(session, err);
		if (!session->is_ready && is_ready(session) &&
		    tell_ready(session))
			return CLI_TROUBLE;
	}
	return CLI_OK;
}

/* --- starting and ending */

static int query(struct session *session)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };

	session->device = open(SFRAME_UNWIND_DEVICE, O_RDWR | O_CLOEXEC);
	if (session->device < 0)
		return complain("%s: %s%s", SFRAME_UNWIND_DEVICE,
				strerror(errno),
				errno == ENOENT ? " (is the module loaded?)" :
						  "");
	if (ioctl(session->device, SFRAME_UNWIND_IOC_QUERY, &query))
		return complain("%s: %s", SFRAME_UNWIND_DEVICE,
				strerror(errno));
	if (!(query.features & SFRAME_UNWIND_FEATURE_ATTACH))
		return complain("the module is too old: it cannot attach");
	session->jobs.has_inodes =
		query.features & SFRAME_UNWIND_FEATURE_ATTACH_INODE;
	session->jobs.is_extended =
		query.features & SFRAME_UNWIND_FEATURE_ATTACH_EXTENDED;
	session->has_code =
		query.features & SFRAME_UNWIND_FEATURE_ATTACH_PROCESS &&
		query.features & SFRAME_UNWIND_FEATURE_KEEPS_FP;
	session->jobs.can_switch = session->jobs.is_extended &&
		query.features & SFRAME_UNWIND_FEATURE_KEEPS_FP_SWITCH;
	session->jobs.follows =
		query.features & SFRAME_UNWIND_FEATURE_ATTACH_UNCHANGED;
	session->jobs.max_attached = query.max_attached;
	session->jobs.max_memory = query.max_attached_memory;
	if (session->jobs.has_inodes)
		return CLI_OK;
	if (session->watch.all)
		return complain("the module is too old for --all: it attaches to all files with the same build ID, which anybody can choose");
	complain("the module is old: it attaches to all files with the same build ID, also to those of others");
	return CLI_OK;
}

static void detach(void *data, uint64_t id)
{
	const struct session *session = data;
	struct sframe_unwind_detach arg = { .size = sizeof(arg), .id = id };

	ioctl(session->device, SFRAME_UNWIND_IOC_DETACH, &arg);
}

static int open_events(struct session *session)
{
	int err;

	/* Open events before the first pass, so that no mapping is missed in between. */
	if (session->options.poll_ms)
		return 0;
	err = events_open(&session->events, CPUS_PATH, events_exec_id());
	if (!err)
		return 0;
	session->options.poll_ms = POLL_MS;
	if (!session->report.is_quiet)
		complain("no events from perf (%s): looking at /proc every %d ms",
			 strerror(-err), POLL_MS);
	return 0;
}

static void charge(void *data, uid_t user, uint64_t ns)
{
	user_charge(users_get(data, user), ns);
}

static int open_session(struct session *session)
{
	struct jobs *jobs = &session->jobs;
	int status, err;

	status = query(session);
	if (status)
		return status;
	status = open_events(session);
	if (status)
		return status;
	err = privilege_drop();
	if (err)
		return complain("privileges cannot be dropped: %s",
				strerror(-err));
	jobs_init(jobs);
	jobs->users = users_create("/etc/subuid");
	jobs->known = known_files_create(detach, session);
	jobs->readers = readers_create(session->device, session->options.code_fd,
				       jobs_told, jobs);
	jobs->is_polling = session->options.poll_ms;
	if (!jobs->users || !jobs->known || !jobs->readers ||
	    (session->has_code && !jobs_begin_code(jobs)))
		return complain("no memory");
	closers_set_charge(charge, jobs->users);
	jobs->report = &session->report;
	session->report.known = jobs->known;
	(void)!getrandom(&session->pass.seen.key, sizeof(session->pass.seen.key), GRND_NONBLOCK);
	session->pass.users = jobs->users;
	session->pass.watch = &session->watch;
	session->pass.poll_ns = session->options.poll_ms * MS;
	session->pass.wants_all = true;
	jobs->maps_ns = &session->pass.used_ns;
	return CLI_OK;
}

/* Children are killed without waiting; closing the device detaches everything. */
static void close_session(struct session *session)
{
	jobs_end(&session->jobs);
	workers_end_idle();
	readers_free(session->jobs.readers);
	closers_end();
	codes_free(session->jobs.codes);
	known_files_free(session->jobs.known);
	closers_set_charge(NULL, NULL);
	users_free(session->jobs.users);
	pass_free(&session->pass);
	watch_free(&session->watch);
	events_close(session->events);
	if (session->device >= 0)
		close(session->device);
}

/* Catch the signals that end the command. They are blocked except in ppoll(2). */
static void catch_signals(sigset_t *unblocked)
{
	const struct sigaction action = { .sa_handler = end };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], &action, NULL);
		sigaddset(&set, signals[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, unblocked);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigdelset(unblocked, signals[i]);
}

static int run_session(struct session *session)
{
	const int vdso = vdso_copy();
	sigset_t unblocked;
	int status;

	catch_signals(&unblocked);
	if (vdso >= 0)
		jobs_add_vdso(&session->jobs, vdso);
	status = serve(session, &unblocked);
	if (!status)
		report_end(&session->report, &session->jobs, session->device);
	return status;
}

int main(int argc, char **argv)
{
	static struct session session;
	int status;

	session.device = -1;
	privilege_raise_files();
	status = options_parse(&session.options, &session.watch, argc, argv);
	if (status)
		return status;
	runtimes_read(RUNTIMES_PATH, session.options.is_quiet);
	session.report.is_quiet = session.options.is_quiet;
	session.report.is_verbose = session.options.is_verbose;
	report_begin(&session.report);
	status = open_session(&session);
	if (!status)
		status = run_session(&session);
	close_session(&session);
	return finish_output(status);
}
