// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind attach: give the programs that run SFrame data, made of their
 * .eh_frame. A program of its own: see ../attach.c.
 *
 * One loop, which waits for whatever comes next and for nothing else: all that can
 * block, or take long, is done by children. See job.h for the way of a file.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fcntl.h>
#include <linux/sframe_unwind.h>

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
#include "stray.h"
#include "vdso.h"
#include "worker.h"

#define POLL_MS 1000	/* between looks at /proc without perf */

/* How often what has no event of its own is seen to. */
#define TICK_NS (500 * MS)

/* How long a program that converts is kept for the next file. */
#define WORKERS_IDLE_MS 2000

/**
 * struct session - one run of the command
 *
 * @device: client of the module that all is attached by.
 * @events: of perf; NULL: passes every options.poll_ms instead.
 * @is_ready: has that been told?
 * @tick_at: the next tick.
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
	bool is_ready;
	uint64_t tick_at;
};

static volatile sig_atomic_t is_ended;

static void end(int signal)
{
	(void)signal;
	is_ended = 1;
}

/* --- what happens */

static void on_mapping(void *data, const struct mapping *mapping)
{
	struct session *session = data;

	if (watch_has(&session->watch, mapping->pid))
		jobs_add_mapping(&session->jobs, mapping, NULL, false);
}

/* What the child has mapped by now may have been told by another CPU before. */
static void on_fork(void *data, pid_t child, pid_t parent)
{
	struct session *session = data;
	struct watch *watch = &session->watch;

	if (watch->all || !watch_has(watch, parent) ||
	    watch_has(watch, child) || watch_add(watch, child))
		return;
	user_add_process(users_of_process(session->jobs.users, child), child,
			 0, false);
}

static void handle_events(struct session *session)
{
	static const struct event_fns fns = {
		.mapping = on_mapping,
		.fork = on_fork,
	};

	if (session->events && now_ns() >= events_next(session->events) &&
	    events_handle(session->events, &fns, session))
		session->pass.wants_all = true;
}

static void tick(struct session *session, uint64_t now)
{
	if (now < session->tick_at)
		return;
	session->tick_at = now + TICK_NS;
	children_collect_left();
	workers_end_idle(WORKERS_IDLE_MS);
	users_forget_idle(session->jobs.users, now);
	jobs_drop_waiting(&session->jobs, now);
	jobs_recheck(&session->jobs, now);
	room_check(&session->room, &session->jobs, &session->pass);
	strays_check(&session->strays, &session->jobs, session->device);
	if (users_any_missed(session->jobs.users, now))
		session->pass.wants_missed = true;
}

/* Returns an exit status, having complained. */
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

/* Is all that was there at the start done, but for those who have to wait? */
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
		session->tick_at,
	};
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i] < next)
			next = times[i];
	return next;
}

/**
 * struct places - files that are polled, one kind behind the other
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

/* Wait for something to happen, and have what has happened in @places. */
static int wait_for_change(const struct session *session,
			   struct places *places, const sigset_t *unblocked)
{
	const uint64_t now = now_ns();
	uint64_t next = next_time(session);
	struct timespec interval = { 0 };

	if (session->events && now < events_next(session->events) &&
	    events_next(session->events) < next)
		next = events_next(session->events);
	if (next > now) {
		interval.tv_sec = (next - now) / SECOND;
		interval.tv_nsec = (next - now) % SECOND;
	}
	/* Signals arrive here and nowhere else. */
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
	/* Their children have been told of, or found, before. */
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

/* Why an error that concerns all files is one, and what to do about it. */
static int fail(struct session *session, int err)
{
	report_remove_bar(&session->report);
	if (err != -EPERM)
		return complain("attach: %s", strerror(-err));
	complain("%s", session->jobs.text);
	fputs("To attach for other processes takes CAP_PERFMON and CAP_SYS_PTRACE: be root. A\n"
	      "program can attach to itself without, by sframe_unwind_attach(3).\n",
	      stderr);
	return CLI_TROUBLE;
}

/* Until a signal, or the end of all processes that were to be watched. */
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

	/* Before anything is looked at, so that nothing is in between. */
	if (session->options.poll_ms)
		return 0;
	err = events_open(&session->events, !session->watch.all);
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
	jobs->readers = readers_create(session->device, jobs_told, jobs);
	if (!jobs->users || !jobs->known || !jobs->readers)
		return complain("no memory");
	closers_set_charge(charge, jobs->users);
	jobs->report = &session->report;
	session->report.known = jobs->known;
	session->pass.users = jobs->users;
	session->pass.watch = &session->watch;
	session->pass.poll_ns = session->options.poll_ms * MS;
	session->pass.wants_all = true;
	jobs->maps_ns = &session->pass.used_ns;
	return CLI_OK;
}

/* Children are killed and not waited for; the kernel detaches. */
static void close_session(struct session *session)
{
	jobs_end(&session->jobs);
	workers_end_idle(0);
	readers_free(session->jobs.readers);
	closers_end();
	known_files_free(session->jobs.known);
	closers_set_charge(NULL, NULL);
	users_free(session->jobs.users);
	pass_free(&session->pass);
	watch_free(&session->watch);
	events_close(session->events);
	if (session->device >= 0)
		close(session->device);
}

/* They are blocked but for the time that is spent in waiting. */
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
	static struct session session = { .device = -1 };
	int status;

	status = options_parse(&session.options, &session.watch, argc, argv);
	if (status)
		return status;
	session.report.is_quiet = session.options.is_quiet;
	session.report.is_verbose = session.options.is_verbose;
	report_begin(&session.report);
	status = open_session(&session);
	if (!status)
		status = run_session(&session);
	close_session(&session);
	return finish_output(status);
}
