// SPDX-License-Identifier: GPL-2.0
/* Job: a process that generates programs and runs them, one after the other. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../storm/kernel.h"
#include "../include/random.h"
#include "cover.h"
#include "generate.h"
#include "job.h"
#include "shared.h"

/* Recent programs of a job that are kept as text. */
#define NR_RECENT	16

/* Seconds after which a killed process must have ended, even on a busy machine. */
#define OVERDUE		120

static int recent[NR_JOBS][NR_RECENT];

void job_init(const char *dir)
{
	unsigned int job, i;
	char name[512];

	for (job = 0; job < NR_JOBS; job++) {
		for (i = 0; i < NR_RECENT; i++) {
			snprintf(name, sizeof(name), "%s/recent-%u-%02u", dir,
				 job, i);
			recent[job][i] = open(name, O_WRONLY | O_CREAT |
					      O_TRUNC | O_CLOEXEC, 0666);
			if (recent[job][i] < 0)
				err(2, "%s", name);
		}
	}
}

/* Written before it runs, because the VM may crash. */
static void keep_recent(unsigned int nr)
{
	const struct job *job = &shared->job[nr];
	const int fd = recent[nr][job->programs % NR_RECENT];
	static char text[PROGRAM_TEXT + 64];
	int length;

	length = sprintf(text, "# program %lu of job %u\n", job->programs, nr);
	length += program_print(&job->program, text + length);
	if (pwrite(fd, text, length, 0) != length || ftruncate(fd, length))
		err(2, "cannot keep a program");
}

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000UL + time.tv_nsec / 1000000;
}

/* Wait until a child changes its state, or until @until in milliseconds. */
static void wait_for_child(const sigset_t *set, uint64_t until)
{
	const uint64_t now = now_ms(), left = until > now ? until - now : 0;
	const struct timespec time = {
		.tv_sec = left / 1000,
		.tv_nsec = left % 1000 * 1000000,
	};

	sigtimedwait(set, NULL, &time);
}

/*
 * Wait for @pid and all its descendants. They are killed when @pid ends or at
 * the time limit. Returns whether all have ended.
 */
static bool reap_all(struct job *job, pid_t pid, const sigset_t *set)
{
	uint64_t until = now_ms() + shared->limit;
	bool killed = false;
	pid_t got;

	for (;;) {
		got = waitpid(-1, NULL, WNOHANG);
		if (got < 0 && errno == ECHILD)
			return true;
		if (got == pid || (got <= 0 && !killed && now_ms() >= until)) {
			if (got != pid)
				job->killed++;
			kill(-pid, SIGKILL);
			if (!killed)
				until = now_ms() + OVERDUE * 1000;
			killed = true;
		} else if (got <= 0) {
			if (killed && now_ms() >= until)
				return false;
			/* For descendants forked while the others were killed. */
			if (killed)
				kill(-pid, SIGKILL);
			wait_for_child(set, killed && until - now_ms() > 50 ?
				       now_ms() + 50 : until);
		}
	}
}

bool job_run_program(unsigned int nr)
{
	struct job *job = &shared->job[nr];
	char text[16];
	sigset_t set;
	bool ended;
	pid_t pid;

	snprintf(text, sizeof(text), "%u", nr);
	setenv("KFUZZ_JOB", text, 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		setpgid(0, 0);
		run_program(nr);
	}
	setpgid(pid, pid);
	atomic_store(&job->child, pid);
	ended = reap_all(job, pid, &set);
	job->programs++;
	if (!ended) {
		fail("a killed process does not end after %u s", OVERDUE);
		kernel_show_process(pid);
	}
	return ended;
}

static void make_program(struct job *job)
{
	const unsigned int nr = atomic_load(&shared->nr_corpus);

	if (!nr || random_percent(&job->random, 25)) {
		generate_program(&job->program, &job->random);
		return;
	}
	job->program = shared->corpus[random_below(&job->random, nr)];
	generate_mutation(&job->program,
			  &shared->corpus[random_below(&job->random, nr)],
			  &job->random);
}

/* If two jobs add a program at the same time, only one succeeds. */
static void keep_program(const struct program *program)
{
	unsigned int i = atomic_load(&shared->nr_corpus);

	if (i >= MAX_CORPUS || atomic_flag_test_and_set(&shared->corpus_busy))
		return;
	i = atomic_load(&shared->nr_corpus);
	shared->corpus[i] = *program;
	atomic_store(&shared->nr_corpus, i + 1);
	atomic_flag_clear(&shared->corpus_busy);
}

void job_run(unsigned int nr, unsigned int seconds)
{
	const uint64_t end = now_ms() + seconds * 1000UL;
	struct job *job = &shared->job[nr];

	cover_map(nr);
	while (now_ms() < end && !atomic_load(&shared->failed)) {
		make_program(job);
		keep_recent(nr);
		if (!job_run_program(nr))
			return;
		if (cover_collect())
			keep_program(&job->program);
	}
}
