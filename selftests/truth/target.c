// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "target.h"

#define INT3		0xcc

/* Longer than any instruction or interrupt takes, unless something is broken. */
#define PATIENCE_USEC	(60 * 1000000U)

/* Above the program's own descriptors. */
#define FIRST_FD	200

#define FOLLOW_CLONES	\
	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)

/*
 * Starting
 */

static void preload(const char *agent, int device, int socket)
{
	char files[32];

	device = fcntl(device, F_DUPFD, FIRST_FD);
	socket = fcntl(socket, F_DUPFD, FIRST_FD);
	snprintf(files, sizeof(files), "%d %d", device, socket);
	setenv(AGENT_FILES, files, 1);
	setenv("LD_PRELOAD", agent, 1);
}

static void become(uid_t user)
{
	if (setgroups(0, NULL) || setgid(user) || setuid(user))
		_exit(126);
}

static void run_program(char *const *argv, const char *agent, int device,
			int socket, int gate, uid_t user)
{
	sigset_t none;
	char go;

	if (!freopen("/dev/null", "w", stdout))
		_exit(126);
	/* All that it starts can be killed together. */
	setpgid(0, 0);
	if (agent)
		preload(agent, device, socket);
	if (user)
		become(user);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Wait until traced. */
	if (read(gate, &go, 1) == 1)
		execvp(argv[0], argv);
	_exit(127);
}

/*
 * The main thread's exit is reported when all other threads have been waited
 * for: take what other traced threads have left. Their targets notice later.
 */
static void reap_others(const struct target *target)
{
	struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", target->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		const pid_t tid = atoi(entry->d_name);
		siginfo_t info = { .si_pid = 0 };

		/* A stop must stay. */
		if (tid && tid != target->pid &&
		    !waitid(P_PID, tid, &info,
			    WEXITED | WNOHANG | WNOWAIT | __WALL) &&
		    info.si_pid && info.si_code != CLD_TRAPPED)
			waitid(P_PID, tid, &info, WEXITED | WNOHANG | __WALL);
	}
	if (dir)
		closedir(dir);
}

/*
 * Wait for the thread's status, an exit if it has been waited for before.
 * Returns false after @usec.
 */
static bool wait_status(struct target *target, int *status, unsigned int usec)
{
	const struct timespec patience = {
		.tv_sec = usec / 1000000,
		.tv_nsec = usec % 1000000 * 1000,
	};
	sigset_t child;
	pid_t pid;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		pid = waitpid(target->pid, status, __WALL | WNOHANG);
		if (pid == target->pid)
			return true;
		if (pid < 0 && errno == ECHILD) {
			*status = 0;
			return true;
		}
		if (pid < 0) {
			perror("truth: waitpid");
			exit(1);
		}
		if (sigtimedwait(&child, NULL, &patience) < 0 &&
		    errno == EAGAIN)
			return waitpid(target->pid, status,
				       __WALL | WNOHANG) == target->pid;
		reap_others(target);
	}
}

static bool open_memory(struct target *target)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", target->pid);
	target->memory_fd = open(path, O_RDWR | O_CLOEXEC);
	if (target->memory_fd < 0)
		perror("truth: cannot open its memory");
	return target->memory_fd >= 0;
}

/* Another program does not have the breakpoints of the old one. */
static void follow_exec(struct target *target)
{
	target->executed = true;
	target->nr_breakpoints = 0;
	close(target->memory_fd);
	memory_forget(&target->memory);
	if (!open_memory(target))
		exit(1);
}

/*
 * Let the new thread or process run, which must not hit breakpoints because it
 * is not traced: in a copy of the memory they are removed from the copy.
 */
static void leave_clone(struct target *target, int event)
{
	unsigned long message;
	struct target clone;
	int status;

	if (ptrace(PTRACE_GETEVENTMSG, target->pid, 0, &message))
		return;
	clone = *target;
	clone.pid = message;
	if (waitpid(clone.pid, &status, __WALL) != clone.pid ||
	    !WIFSTOPPED(status))
		return;
	if (event != PTRACE_EVENT_FORK) {
		target_unbreak_all(target);
	} else if (open_memory(&clone)) {
		target_unbreak_all(&clone);
		close(clone.memory_fd);
	}
	ptrace(PTRACE_DETACH, clone.pid, 0, 0);
}

static enum target_event classify(struct target *target, int status)
{
	const int event = status >> 16;

	if (!WIFSTOPPED(status)) {
		target->status = status;
		target->pid = 0;
		return TARGET_EXITED;
	}
	if (event == PTRACE_EVENT_EXEC)
		follow_exec(target);
	else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		 event == PTRACE_EVENT_CLONE)
		leave_clone(target, event);
	if (event)
		return TARGET_INTERRUPTED;
	if (WSTOPSIG(status) == SIGTRAP)
		return TARGET_TRAP;
	target->signal = WSTOPSIG(status);
	return TARGET_SIGNAL;
}

static enum target_event wait_event(struct target *target, unsigned int usec)
{
	int status;

	if (!wait_status(target, &status, usec)) {
		ptrace(PTRACE_INTERRUPT, target->pid, 0, 0);
		reap_others(target);
		if (!wait_status(target, &status, PATIENCE_USEC)) {
			fprintf(stderr, "truth: the program does not stop\n");
			exit(1);
		}
	}
	return classify(target, status);
}

/* Returns the agent's answer, or -ETIMEDOUT, -EPIPE. */
static int64_t hear(struct target *target)
{
	struct pollfd file = { .fd = target->socket, .events = POLLIN };
	struct agent_answer answer;
	int ret;

	do {
		ret = poll(&file, 1, PATIENCE_USEC / 1000);
	} while (ret < 0 && errno == EINTR);
	if (!ret)
		return -ETIMEDOUT;
	if (read(target->socket, &answer, sizeof(answer)) != sizeof(answer))
		return -EPIPE;
	return answer.result;
}

static bool let_execute(struct target *target, int gate, unsigned long options)
{
	int status;

	if (ptrace(PTRACE_SEIZE, target->pid, 0,
		   options | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)) {
		perror("truth: cannot trace");
		return false;
	}
	if (write(gate, "", 1) != 1 ||
	    !wait_status(target, &status, PATIENCE_USEC) ||
	    status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
		fprintf(stderr, "truth: cannot execute the program\n");
		return false;
	}
	return open_memory(target);
}

/* Let the program run until the agent answers. */
static bool await_agent(struct target *target)
{
	int64_t ret;

	ptrace(PTRACE_CONT, target->pid, 0, 0);
	ret = hear(target);
	if (ret <= 0) {
		fprintf(stderr, "truth: agent: %s\n",
			ret ? strerror(-ret) : "nothing to register");
		return false;
	}
	if (wait_event(target, 1) != TARGET_INTERRUPTED) {
		fprintf(stderr, "truth: unexpected event at the start\n");
		return false;
	}
	return true;
}

static void init(struct target *target, pid_t pid)
{
	memset(target, 0, sizeof(*target));
	target->pid = pid;
	target->memory.pid = pid;
	target->memory_fd = -1;
	target->socket = -1;
	target->patience = PATIENCE_USEC;
}

bool target_start(struct target *target, char *const *argv, const char *agent,
		  int device, uid_t user)
{
	int sockets[2], gate[2];
	pid_t pid;

	init(target, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ||
	    pipe2(gate, O_CLOEXEC)) {
		perror("truth");
		return false;
	}
	pid = fork();
	if (!pid)
		run_program(argv, agent, device, sockets[1], gate[0], user);
	init(target, pid);
	target->is_ours = true;
	target->socket = sockets[0];
	close(sockets[1]);
	close(gate[0]);
	/* The agent creates a thread. */
	if (let_execute(target, gate[1], agent ? 0 : FOLLOW_CLONES) &&
	    (!agent || await_agent(target))) {
		close(gate[1]);
		return true;
	}
	close(gate[1]);
	target_kill(target);
	return false;
}

int target_attach(struct target *target, pid_t tid)
{
	init(target, tid);
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACEEXEC | FOLLOW_CLONES)) {
		const int error = errno == EPERM ? -ESRCH : -errno;

		target->pid = 0;
		return error;
	}
	return open_memory(target) ? 0 : -EIO;
}

void target_kill(struct target *target)
{
	int status;

	if (target->pid && !target->is_ours) {
		target_unbreak_all(target);
		ptrace(PTRACE_DETACH, target->pid, 0, target->signal);
	} else if (target->pid) {
		kill(target->pid, SIGKILL);
		kill(-target->pid, SIGKILL);
		reap_others(target);
		while (waitpid(target->pid, &status, __WALL) == target->pid &&
		       WIFSTOPPED(status))
			;
	}
	target->pid = 0;
	if (target->memory_fd >= 0)
		close(target->memory_fd);
	if (target->socket >= 0)
		close(target->socket);
}

/*
 * Breakpoints
 */

static bool poke(struct target *target, uint64_t address, uint8_t byte)
{
	return pwrite(target->memory_fd, &byte, 1, address) == 1;
}

static int find_breakpoint(const struct target *target, uint64_t address)
{
	for (unsigned int i = 0; i < target->nr_breakpoints; i++) {
		if (target->breakpoints[i].address == address)
			return i;
	}
	return -1;
}

bool target_break(struct target *target, uint64_t address)
{
	struct breakpoint *new = &target->breakpoints[target->nr_breakpoints];

	if (target->nr_breakpoints == MAX_BREAKPOINTS ||
	    find_breakpoint(target, address) >= 0)
		return false;
	new->address = address;
	if (pread(target->memory_fd, &new->byte, 1, address) != 1 ||
	    !poke(target, address, INT3))
		return false;
	target->nr_breakpoints++;
	return true;
}

void target_unbreak(struct target *target, uint64_t address)
{
	const int i = find_breakpoint(target, address);

	if (i < 0)
		return;
	poke(target, address, target->breakpoints[i].byte);
	target->breakpoints[i] =
		target->breakpoints[--target->nr_breakpoints];
}

void target_unbreak_all(struct target *target)
{
	while (target->nr_breakpoints)
		target_unbreak(target, target->breakpoints[0].address);
}

/*
 * Continuing
 */

bool target_registers(struct target *target, struct user_regs_struct *regs)
{
	if (!ptrace(PTRACE_GETREGS, target->pid, 0, regs))
		return true;
	if (errno != ESRCH) {
		perror("truth: PTRACE_GETREGS");
		exit(1);
	}
	return false;
}

static void resume(struct target *target, int request)
{
	memory_forget(&target->memory);
	ptrace(request, target->pid, 0, target->signal);
	target->signal = 0;
}

enum target_event target_step(struct target *target)
{
	struct user_regs_struct regs;

	if (target_registers(target, &regs))
		target_unbreak(target, regs.rip);
	resume(target, PTRACE_SINGLESTEP);
	return wait_event(target, target->patience);
}

/* Whether a trap is pending that has not stopped the thread yet. */
static bool is_trap_pending(const struct target *target)
{
	struct __ptrace_peeksiginfo_args args = { .nr = 8 };
	siginfo_t infos[8];
	const long nr = ptrace(PTRACE_PEEKSIGINFO, target->pid, &args, infos);

	for (long i = 0; i < nr; i++) {
		if (infos[i].si_signo == SIGTRAP)
			return true;
	}
	return false;
}

enum target_event target_interrupt(struct target *target)
{
	return wait_event(target, 0);
}

void target_release(struct target *target)
{
	resume(target, PTRACE_CONT);
}

enum target_event target_continue(struct target *target, unsigned int usec)
{
	struct user_regs_struct regs;
	enum target_event event;

	if (target_registers(target, &regs))
		target_unbreak(target, regs.rip);
	resume(target, PTRACE_CONT);
	event = wait_event(target, usec);
	/* An interrupt is reported before a trap at the same time. */
	if (event == TARGET_INTERRUPTED && is_trap_pending(target)) {
		resume(target, PTRACE_CONT);
		event = wait_event(target, PATIENCE_USEC);
	}
	if (event != TARGET_TRAP)
		return event;

	if (target_registers(target, &regs) &&
	    find_breakpoint(target, regs.rip - 1) >= 0) {
		regs.rip--;
		target_unbreak(target, regs.rip);
		ptrace(PTRACE_SETREGS, target->pid, 0, &regs);
	}
	return event;
}

bool target_handles(const struct target *target, int signal)
{
	unsigned long caught = 0;
	char path[32], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", target->pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigCgt: %lx", &caught) == 1)
			break;
	}
	fclose(file);
	return caught >> (signal - 1) & 1;
}

int target_request(struct target *target, uint64_t user_data,
		   unsigned int max_depth)
{
	const struct agent_order order = {
		.user_data = user_data,
		.max_depth = max_depth,
	};

	if (write(target->socket, &order, sizeof(order)) != sizeof(order))
		return -errno;
	return hear(target);
}
