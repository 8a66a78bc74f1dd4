// SPDX-License-Identifier: GPL-2.0
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/profile/demangle.h"
#include "cli/profile/table.h"

#ifdef HAVE_IBERTY
#include <libiberty/demangle.h>

/* Longest mangled name, and longest result. */
#define LENGTH_MAX	4096u
#define RESULT_MAX	65536u

/*
 * References of a name to its own parts can make the result, or the work, double with each
 * of them, and names are not trusted. So there is a limit to the CPU time for one. After
 * LATE_MAX names that met it, those with more than FEW_REFERENCES are left as they are.
 */
#define TIME_NS		20000000
#define LATE_MAX	50u
#define FEW_REFERENCES	8u

/*
 * Libiberty's functions with a callback allocate no memory for a C++ name, so they can be
 * left by siglongjmp(), from the callback and from the handler of the timer, which belongs
 * to this thread. They may allocate some for a name of Rust's newer kind, "_R...". That is
 * left by the callback only: the work for it is in proportion to the result.
 */
static struct {
	timer_t timer;
	pid_t owner;
	unsigned int late;
	volatile sig_atomic_t is_running;
	sigjmp_buf leave;
	size_t length;
	char result[RESULT_MAX];
} demangling;

static void handle_timer(int number)
{
	(void)number;
	if (demangling.is_running)
		siglongjmp(demangling.leave, 1);
}

/* Make the timer, which a child made by fork() does not inherit. */
static bool make_timer(void)
{
	const struct sigaction action = {
		.sa_handler = handle_timer,
		.sa_flags = SA_NODEFER,
	};
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGVTALRM,
	};

	if (demangling.owner == getpid())
		return true;
	event._sigev_un._tid = gettid();
	if (sigaction(SIGVTALRM, &action, NULL) ||
	    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &demangling.timer))
		return false;
	demangling.owner = getpid();
	return true;
}

static void set_timer(long ns)
{
	const struct itimerspec time = { .it_value.tv_nsec = ns };

	timer_settime(demangling.timer, 0, &time, NULL);
}

static void add(const char *text, size_t length, void *data)
{
	(void)data;
	if (length >= RESULT_MAX - demangling.length)
		siglongjmp(demangling.leave, 1);
	memcpy(demangling.result + demangling.length, text, length);
	demangling.length += length;
}

/* As cplus_demangle() with DMGL_AUTO: Rust's older names look like those of C++. */
static bool run(const char *name)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	demangling.length = 0;
	if (rust_demangle_callback(name, options, add, NULL))
		return true;
	demangling.length = 0;
	return cplus_demangle_v3_callback(name, options, add, NULL);
}

/* Returns how often the name may refer to a part of itself. */
static unsigned int count_references(const char *name)
{
	unsigned int nr = 0;

	for (; *name; name++)
		nr += *name == 'S' || *name == 'T' || *name == 'B';
	return nr;
}

char *demangle(const char *name)
{
	volatile bool is_good = false;

	if (name[0] != '_' || strnlen(name, LENGTH_MAX) == LENGTH_MAX)
		return NULL;
	if ((demangling.late >= LATE_MAX || !make_timer()) &&
	    count_references(name) > FEW_REFERENCES)
		return NULL;
	if (!sigsetjmp(demangling.leave, 0)) {
		demangling.is_running = name[1] != 'R';
		set_timer(TIME_NS);
		is_good = run(name);
	} else {
		demangling.late++;
	}
	demangling.is_running = 0;
	set_timer(0);
	if (!is_good)
		return NULL;
	demangling.result[demangling.length] = '\0';
	return table_copy(demangling.result);
}
#else
char *demangle(const char *name)
{
	(void)name;
	return NULL;
}
#endif
