// SPDX-License-Identifier: GPL-2.0
/*
 * The same beside threads, forks, signal handlers and cancellation, and without descriptors.
 *
 * Racing: run with KCSAN
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "generated.h"

#define NR_THREADS	4
#define ROUNDS		300

TEST_F(jit, fork)
{
	int status;
	pid_t child;

	__register_frame(self->jit.eh_frame);
	child = fork();
	if (!child) {
		int result = stack_of(&self->jit) != BEYOND;

		__deregister_frame(self->jit.eh_frame);
		result |= stack_of(&self->jit) != TO_JIT;
		__register_frame(self->jit.eh_frame);
		result |= stack_of(&self->jit) != BEYOND;
		_exit(result);
	}
	ASSERT_LT(0, child);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	__deregister_frame(self->jit.eh_frame);
}

/* A daemon closes all descriptors, or uses the numbers for other files. */
TEST_F(jit, descriptors_gone)
{
	struct sframe_unwind *mine;
	int i;

	ASSERT_EQ(0, close_range(3, ~0U, 0));
	ASSERT_EQ(0, sframe_unwind_open(&mine, 0));
	handle = mine;
	self->fd = sframe_unwind_fd(mine);
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));

	for (i = 500; i < 600; i++)
		ASSERT_EQ(i, dup2(STDERR_FILENO, i));
	__deregister_frame(self->jit.eh_frame);
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	__deregister_frame(self->jit.eh_frame);
	for (i = 500; i < 600; i++)
		EXPECT_EQ(0, close(i));
}

/* Code that cannot be unregistered for want of descriptors is so later. */
TEST_F(jit, no_descriptor)
{
	const struct rlimit none = { 3, 4096 }, many = { 1024, 4096 };
	struct jit second;

	ASSERT_TRUE(make(&second, true));
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(self->before + 1, count_sections(self->fd));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	ASSERT_EQ(0, close_range(500, ~0U, 0));
	__deregister_frame(self->jit.eh_frame);
	EXPECT_EQ(self->before + 1, count_sections(self->fd));
	__register_frame(second.eh_frame);
	EXPECT_EQ(TO_JIT, stack_of(&second));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &many));
	__deregister_frame(second.eh_frame);
	EXPECT_EQ(self->before, count_sections(self->fd));
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	__deregister_frame(self->jit.eh_frame);
	unmake(&second);
}

/* A few descriptors: ours is not among the lowest. */
TEST_F(jit, small_limit)
{
	const struct rlimit few = { 64, 4096 };
	int fd;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	ASSERT_EQ(0, close_range(500, ~0U, 0));
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	fd = dup(STDERR_FILENO);
	EXPECT_EQ(self->fd + 1, fd);
	close(fd);
	__deregister_frame(self->jit.eh_frame);
}

/* The calls are no cancellation points, and leave no lock held. */
static void *announce_cancelled(void *data)
{
	struct jit *jit = data;

	pthread_cancel(pthread_self());
	close_range(500, ~0U, 0);
	__register_frame(jit->eh_frame);
	close_range(500, ~0U, 0);
	mprotect(jit->text, PAGE, PROT_READ | PROT_EXEC);
	jit->text = NULL;
	pthread_testcancel();
	return NULL;
}

TEST_F(jit, cancelled)
{
	pthread_t thread;
	struct jit other;
	void *result, *text;

	ASSERT_TRUE(allocate(&other, PROT_READ | PROT_WRITE));
	generate(&other, false);
	text = other.text;
	ASSERT_EQ(0, pthread_create(&thread, NULL, announce_cancelled, &other));
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(PTHREAD_CANCELED, result);
	EXPECT_EQ(NULL, (void *)other.text);
	other.text = text;
	EXPECT_EQ(BEYOND, stack_of(&other));
	__deregister_frame(other.eh_frame);
	unmake(&other);
}

/* Signal handlers that fork, at any time. */
#define FORKS 100
static volatile sig_atomic_t nr_forks, nr_bad_children;

/* One signal only: where a fork takes longer than 3 ms, more would leave no time. */
static int set_alarm(void)
{
	const struct itimerval soon = { .it_value = { 0, 3000 } };

	return setitimer(ITIMER_REAL, &soon, NULL);
}

static void fork_in_handler(int signal)
{
	const int old_errno = errno;
	const pid_t child = fork();
	int status;

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		nr_bad_children++;
	if (++nr_forks < FORKS)
		set_alarm();
	errno = old_errno;
}

TEST_F(jit, forks_in_handlers)
{
	const struct sigaction action = {
		.sa_handler = fork_in_handler,
		.sa_flags = SA_RESTART,
	};
	struct jit late;

	/* While code waits, mprotect() takes the lock. */
	ASSERT_TRUE(allocate(&late, PROT_READ | PROT_WRITE));
	generate(&late, false);
	__register_frame(late.eh_frame);
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, set_alarm());
	while (nr_forks < FORKS)
		mprotect(late.text + PAGE, PAGE, PROT_READ | PROT_EXEC);
	EXPECT_EQ(0, nr_bad_children);
	__deregister_frame(late.eh_frame);
	unmake(&late);
}

/* Threads generate, call and take back code in the same memory again and again. */
static void *churn(void *data)
{
	struct jit jit;
	long wrong = 0;
	int i;

	(void)data;
	if (!allocate(&jit, PROT_READ | PROT_WRITE))
		return (void *)1L;
	for (i = 0; i < ROUNDS; i++) {
		wrong += mprotect(jit.text, PAGE, PROT_READ | PROT_WRITE) != 0;
		generate(&jit, i % 2);
		__register_frame(jit.eh_frame);
		wrong += mprotect(jit.text, PAGE, PROT_READ | PROT_EXEC) != 0;
		wrong += stack_of(&jit) != BEYOND;
		__deregister_frame(jit.eh_frame);
		wrong += stack_of(&jit) != TO_JIT;
	}
	unmake(&jit);
	return (void *)wrong;
}

TEST_F(jit, threads)
{
	pthread_t threads[NR_THREADS];
	void *wrong;
	int i;

	for (i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, churn, NULL));
	for (i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], &wrong));
		EXPECT_EQ(NULL, wrong);
	}
}

/*
 * Registrations by a thread while another one forks. The children do not announce code: libgcc's
 * own lock may have been held at the fork, for which they would wait also without the object.
 */
TEST_F(jit, threads_and_forks)
{
	pthread_t thread;
	struct jit late;
	void *wrong;
	int i, status;

	ASSERT_TRUE(allocate(&late, PROT_READ | PROT_WRITE));
	generate(&late, true);
	__register_frame(late.eh_frame);
	__register_frame(self->jit.eh_frame);
	ASSERT_EQ(0, pthread_create(&thread, NULL, churn, NULL));
	for (i = 0; i < 100; i++) {
		const pid_t child = fork();

		if (!child) {
			alarm(30);
			if (mprotect(late.text, PAGE, PROT_READ | PROT_EXEC))
				_exit(1);
			_exit(stack_of(&late) != BEYOND ||
			      stack_of(&self->jit) != BEYOND);
		}
		ASSERT_LT(0, child);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_EQ(0, status);
	}
	ASSERT_EQ(0, pthread_join(thread, &wrong));
	EXPECT_EQ(NULL, wrong);
	__deregister_frame(late.eh_frame);
	__deregister_frame(self->jit.eh_frame);
	unmake(&late);
}

TEST_HARNESS_MAIN
