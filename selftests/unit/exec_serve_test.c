// SPDX-License-Identifier: GPL-2.0
/*
 * "exec" sees the end of its program, and prints what that has requested, even if somebody
 * requests stacks all the time. The other parts of the command are stand-ins.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "tap.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/exec_answer.h"
#include "userspace/cli/exec_attach.h"
#include "userspace/cli/exec_convert.h"
#include "userspace/cli/exec_image.h"
#include "userspace/cli/exec_stacks.h"
#include "userspace/cli/exec_start.h"
#include "userspace/cli/preload.h"
#include "userspace/cli/options.h"
#include "userspace/cli/stack_print.h"

/* --- the device, with stacks that never end, or some at the program's end */

static int ready;
static unsigned int nr_stacks, nr_printed;
static bool is_endless;

int sframe_unwind_open(struct sframe_unwind **handle, unsigned int flags)
{
	(void)flags;
	*handle = (struct sframe_unwind *)&ready;
	return 0;
}

int sframe_unwind_fd(const struct sframe_unwind *handle)
{
	(void)handle;
	return ready;
}

static bool has_ended(void)
{
	siginfo_t info = { 0 };

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

int sframe_unwind_read_stack(struct sframe_unwind *handle, unsigned int flags,
			     const struct sframe_unwind_stack **stack)
{
	static const struct sframe_unwind_stack one;

	(void)handle;
	(void)flags;
	*stack = &one;
	if (!is_endless && (!nr_stacks || !has_ended()))
		return -EAGAIN;
	nr_stacks -= !is_endless;
	return 0;
}

int sframe_unwind_stats(struct sframe_unwind *handle, struct sframe_unwind_stats *stats)
{
	(void)handle;
	memset(stats, 0, sizeof(*stats));
	return 0;
}

const char *sframe_unwind_error(const struct sframe_unwind *handle)
{
	(void)handle;
	return "an error";
}

void exec_stacks_handle(struct exec_stacks *stacks, const struct sframe_unwind_stack *stack)
{
	(void)stacks;
	(void)stack;
	nr_printed++;
}

/* --- the other parts */

pid_t exec_start(const struct exec_setup *setup, const sigset_t *mask,
		 const char *const preloads[2], char **command)
{
	const pid_t pid = fork();

	(void)setup;
	(void)mask;
	(void)preloads;
	(void)command;
	if (!pid) {
		usleep(100000);
		_exit(3);
	}
	return pid;
}

int preload_find(enum preload_object object, char *path, size_t size)
{
	(void)object;
	snprintf(path, size, "/");
	return 0;
}

int exec_find_worker(char *path, size_t size)
{
	snprintf(path, size, "/");
	return 0;
}

void exec_convert_set_worker(const char *path)
{
	(void)path;
}

const char *exec_image_refuses(pid_t pid)
{
	(void)pid;
	return NULL;
}

int exec_answer_open(struct exec_setup *setup)
{
	(void)setup;
	return eventfd(0, EFD_CLOEXEC);
}

bool exec_answer(int socket, const struct exec_setup *setup,
		 const int files[EXEC_NR_FILES], struct exec_attach *attach,
		 pid_t *asker)
{
	(void)socket;
	(void)setup;
	(void)files;
	(void)attach;
	(void)asker;
	return false;
}

struct exec_attach *exec_attach_create(struct sframe_unwind *handle,
				       struct exec_page *page, bool is_on)
{
	(void)handle;
	(void)page;
	(void)is_on;
	return (struct exec_attach *)&ready;
}

void exec_attach_free(struct exec_attach *attach)
{
	(void)attach;
}

void exec_attach_begin(struct exec_attach *attach, pid_t pid, bool ahead)
{
	(void)attach;
	(void)pid;
	(void)ahead;
}

void exec_attach_poll(const struct exec_attach *attach,
		      struct pollfd files[EXEC_MAX_CONVERSIONS])
{
	(void)attach;
	for (unsigned int i = 0; i < EXEC_MAX_CONVERSIONS; i++)
		files[i] = (struct pollfd){ .fd = -1 };
}

bool exec_attach_run(struct exec_attach *attach,
		     const struct pollfd files[EXEC_MAX_CONVERSIONS])
{
	(void)attach;
	(void)files;
	return false;
}

struct exec_stacks *exec_stacks_create(struct exec_page *page,
				       struct exec_attach *attach,
				       struct stack_printer *printer)
{
	(void)page;
	(void)attach;
	(void)printer;
	return (struct exec_stacks *)&ready;
}

void exec_stacks_free(struct exec_stacks *stacks)
{
	(void)stacks;
}

void exec_stacks_run(struct exec_stacks *stacks, bool all)
{
	(void)stacks;
	(void)all;
}

int exec_stacks_timeout(const struct exec_stacks *stacks)
{
	(void)stacks;
	return -1;
}

void exec_stacks_end(struct exec_stacks *stacks)
{
	(void)stacks;
}

void exec_stacks_wake_all(struct exec_stacks *stacks)
{
	(void)stacks;
}

struct stack_printer *stack_printer_create(FILE *out)
{
	(void)out;
	return (struct stack_printer *)&ready;
}

int options_next(const struct options *options, int argc, char **argv)
{
	return getopt_long(argc, argv, options->shorts, options->longs, NULL);
}

int usage_error(const char *command, const char *what)
{
	return complain("%s: %s", command, what ? what : "usage");
}

/* --- tests */

static int run(void)
{
	char *argv[] = { "exec", "program", NULL };

	optind = 1;
	nr_printed = 0;
	return exec_main(2, argv);
}

static void endless(void)
{
	is_endless = true;
	alarm(60);
	EXPECT_EQ(run(), 3);
	alarm(0);
	EXPECT(nr_printed > 1000);
}

/* All that there is when the program has ended is printed. */
static void all(void)
{
	is_endless = false;
	nr_stacks = 20000;
	EXPECT_EQ(run(), 3);
	EXPECT_EQ(nr_printed, 20000);
	nr_stacks = 0;
	EXPECT_EQ(run(), 3);
	EXPECT_EQ(nr_printed, 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(endless),
		TAP_TEST(all),
	};

	ready = eventfd(1, EFD_CLOEXEC);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
