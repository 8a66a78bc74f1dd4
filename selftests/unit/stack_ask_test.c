// SPDX-License-Identifier: GPL-2.0
/*
 * In which order "stack" asks threads, and for how long: the module, processes and names are
 * the test's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli_stub.h"
#include "sframe_unwind.h"
#include "tap.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/profile/attaching.h"
#include "userspace/cli/profile/stack.h"

#define NR	6u	/* threads; four of them are asked first */

static uint64_t time_ns;

/* How long a request and names take. */
static uint64_t request_ns, names_ns;

/* A stack of one frame, which SFrame data has found. */
static struct answer {
	struct sframe_unwind_stack stack;
	uint64_t ip;
	uint64_t how;
} answers[NR];

static unsigned int nr_answers;
static bool is_attached;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ time_ns / SECOND, time_ns % SECOND };
	return 0;
}

/* --- in place of the module: threads answer at once */

int sframe_unwind_open(struct sframe_unwind **handle, unsigned int flags)
{
	(void)flags;
	*handle = NULL;
	return 0;
}

void sframe_unwind_close(struct sframe_unwind *handle)
{
	(void)handle;
}

/* A file that can always be read. */
int sframe_unwind_fd(const struct sframe_unwind *handle)
{
	static int fd = -1;

	(void)handle;
	if (fd < 0)
		fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return fd;
}

const char *sframe_unwind_error(const struct sframe_unwind *handle)
{
	(void)handle;
	return "";
}

int sframe_unwind_query(struct sframe_unwind *handle, struct sframe_unwind_query *query)
{
	(void)handle;
	query->max_depth = 16;
	return 0;
}

int sframe_unwind_request(const struct sframe_unwind *handle, unsigned int flags, pid_t tid,
			  unsigned int max_depth, uint64_t user_data, uint64_t *cookie)
{
	(void)handle;
	(void)flags;
	(void)max_depth;
	(void)cookie;
	time_ns += request_ns;
	answers[nr_answers++].stack = (struct sframe_unwind_stack){
		.record.size = sizeof(answers[0]),
		.user_data = user_data,
		.tid = tid,
		.nr_frames = 1,
		.stop = is_attached ? SFRAME_UNWIND_STOP_COMPLETE :
				      SFRAME_UNWIND_STOP_NO_RULE,
	};
	return 0;
}

int sframe_unwind_read_stack(struct sframe_unwind *handle, unsigned int flags,
			     const struct sframe_unwind_stack **stack)
{
	(void)handle;
	(void)flags;
	if (!nr_answers)
		return -EAGAIN;
	*stack = &answers[--nr_answers].stack;
	return 0;
}

/* --- in place of processes, names, and the daemon */

void stack_read_state(struct stack_thread *thread)
{
	thread->is_read = true;
	thread->state = 'R';
}

void stack_read_rest(struct stack_threads *threads)
{
	for (uint32_t i = 0; i < threads->nr; i++)
		stack_read_state(&threads->list[i]);
}

bool stack_is_frozen(const struct stack_thread *thread)
{
	(void)thread;
	return false;
}

void stack_read_kernel(struct stack_thread *thread)
{
	(void)thread;
}

void stack_names_prepare(struct stack_names *names, const struct stack_threads *threads)
{
	(void)names;
	(void)threads;
	time_ns += names_ns;
}

pid_t attaching_begin(const char *command, const struct attaching_pids *pids, int *ready)
{
	(void)command;
	(void)pids;
	*ready = -1;
	return 1;
}

void attaching_wait(const char *command, int ready, bool is_quiet,
		    const volatile sig_atomic_t *is_interrupted)
{
	(void)command;
	(void)ready;
	(void)is_quiet;
	(void)is_interrupted;
	is_attached = true;
}

void attaching_end(pid_t pid)
{
	(void)pid;
}

/* --- tests */

static struct stack_thread list[NR];
static struct stack_threads threads = { .list = list, .nr = NR };

/* Ask the threads of a process. */
static int ask(bool no_attach)
{
	const struct stack_options options = { .no_attach = no_attach };

	time_ns = 1000 * SECOND;
	nr_answers = 0;
	is_attached = false;
	for (unsigned int i = 0; i < NR; i++) {
		free(list[i].stack);
		list[i] = (struct stack_thread){ .pid = 10, .tid = 10 + i };
	}
	return stack_ask(&threads, NULL, &options);
}

/* Files of a process may be so made that their names take minutes. */
static void threads_are_asked_after_names_took_long(void)
{
	request_ns = 0;
	names_ns = 150 * SECOND;
	EXPECT_EQ(ask(false), CLI_OK);
	for (unsigned int i = 0; i < NR; i++) {
		EXPECT(list[i].stack);
		EXPECT_EQ(list[i].stack->stop, SFRAME_UNWIND_STOP_COMPLETE);
	}
}

/* What has not been read is taken for a thread that has ended, and not shown. */
static void threads_that_are_not_asked_are_read(void)
{
	request_ns = 40 * SECOND;
	names_ns = 0;
	EXPECT_EQ(ask(true), CLI_OK);
	for (unsigned int i = 0; i < NR; i++) {
		EXPECT(list[i].stack || list[i].why);
		EXPECT(list[i].is_read);
	}
	EXPECT(!list[NR - 1].stack);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(threads_are_asked_after_names_took_long),
		TAP_TEST(threads_that_are_not_asked_are_read),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
