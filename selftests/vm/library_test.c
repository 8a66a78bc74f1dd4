// SPDX-License-Identifier: GPL-2.0
/*
 * The library's promises about threads, forks and signals: a stack can be
 * requested anywhere, also in a handler that interrupted malloc(), in malloc()
 * itself and in a child of vfork(); all functions can be used in a child of
 * fork().
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <sframe_unwind.h>

#include "common.h"

void *__libc_malloc(size_t size);
void __libc_free(void *memory);

static struct sframe_unwind *handle;

/* Nesting depth of malloc() and free() in this thread. */
static __thread volatile sig_atomic_t in_malloc;
/* Calls that the library made in a handler. */
static volatile sig_atomic_t calls_in_handler;
static __thread volatile sig_atomic_t in_handler;
/* Whether malloc() requests a stack in each call, and the results. */
static __thread volatile sig_atomic_t is_profiling;
static volatile sig_atomic_t asked, failures, asked_in_malloc;

/* Request a stack. Must be visible in it. */
static __attribute__((noinline)) int ask(uint64_t user_data)
{
	const int err = sframe_unwind_request_self(handle, user_data);

	asm volatile("" ::: "memory");	/* no tail call */
	return err;
}

static void profile(void)
{
	if (!is_profiling)
		return;
	failures += ask(5) != 0;
	asked++;
}

/* Replaces malloc() for the whole program, including the library and libc. */
void *malloc(size_t size)
{
	void *memory;

	calls_in_handler += in_handler;
	in_malloc++;
	profile();
	memory = __libc_malloc(size);
	in_malloc--;
	return memory;
}

void free(void *memory)
{
	calls_in_handler += in_handler;
	in_malloc++;
	__libc_free(memory);
	in_malloc--;
}

#define IN_MALLOC 100

/* One signal only: where a handler takes longer than that, more would leave no time. */
static void set_alarm(void)
{
	const struct itimerval soon = { .it_value = { 0, 500 } };

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void on_signal(int signal)
{
	const bool is_in_malloc = in_malloc;

	in_handler = 1;
	errno = 4711;
	failures += ask(6) != 0 || errno != 4711;
	asked++;
	asked_in_malloc += is_in_malloc;
	if (signal == SIGALRM && asked_in_malloc < IN_MALLOC)
		set_alarm();
	in_handler = 0;
}

/* Whether the second frame is in ask(). */
static bool has_ask(const struct sframe_unwind_stack *stack)
{
	return sframe_unwind_stack_frames(stack) > 1 &&
	       sframe_unwind_stack_lookup(stack, 1) - (uintptr_t)ask < 128;
}

/*
 * Read all stacks; each must be of @pid, or any with 0, and start in ask().
 * Returns their number, or -1.
 */
static int take(struct sframe_unwind *from, pid_t pid)
{
	const struct sframe_unwind_stack *stack;
	int nr = 0;

	while (!sframe_unwind_read_stack(from, SFRAME_UNWIND_READ_NONBLOCK,
					 &stack)) {
		if (!has_ask(stack) || (pid && (pid_t)stack->pid != pid))
			return -1;
		nr++;
	}
	return nr;
}

FIXTURE(library)
{
};

FIXTURE_SETUP(library)
{
	ASSERT_EQ(0, sframe_unwind_open(&handle, 0));
	ASSERT_LE(1, sframe_unwind_register_objects(handle, 0, NULL, NULL));
	asked = 0;
	failures = 0;
	asked_in_malloc = 0;
	calls_in_handler = 0;
	ASSERT_NE(SIG_ERR, signal(SIGUSR1, on_signal));
	ASSERT_NE(SIG_ERR, signal(SIGALRM, on_signal));
}

FIXTURE_TEARDOWN(library)
{
	signal(SIGALRM, SIG_DFL);
	sframe_unwind_close(handle);
}

TEST_F(library, in_a_handler)
{
	const struct sframe_unwind_stack *stack;
	bool has_signal = false;

	raise(SIGUSR1);
	EXPECT_EQ(0, failures);
	ASSERT_EQ(0, sframe_unwind_read_stack(handle,
					      SFRAME_UNWIND_READ_NONBLOCK,
					      &stack));
	EXPECT_TRUE(has_ask(stack));
	EXPECT_EQ(6, stack->user_data);
	for (unsigned int i = 0; i < sframe_unwind_stack_frames(stack); i++)
		has_signal |= sframe_unwind_stack_how(stack, i) ==
			      SFRAME_UNWIND_FRAME_SIGNAL;
	EXPECT_TRUE(has_signal);
	EXPECT_EQ(0, take(handle, 0));
}

/* A failure in the handler does not overwrite the error message. */
TEST_F(library, keeps_the_message)
{
	char before[256];

	ASSERT_EQ(-ENOENT, sframe_unwind_unregister(handle, 1ULL << 60));
	snprintf(before, sizeof(before), "%s", sframe_unwind_error(handle));
	ASSERT_NE(0, before[0]);
	raise(SIGUSR1);
	EXPECT_STREQ(before, sframe_unwind_error(handle));
	EXPECT_EQ(1, take(handle, getpid()));
}

/* As allocation profilers do. */
TEST_F(library, in_malloc)
{
	char *text = NULL;
	size_t size = 0;
	void *object;
	FILE *file;

	is_profiling = 1;
	file = open_memstream(&text, &size);
	for (int i = 0; i < 100; i++)
		fprintf(file, "%d", i);
	fclose(file);
	free(text);
	object = dlopen("libm.so.6", RTLD_NOW);
	is_profiling = 0;
	ASSERT_NE(NULL, object);
	dlclose(object);
	EXPECT_LT(3, asked);
	EXPECT_EQ(0, failures);
	EXPECT_EQ(asked, take(handle, getpid()));
}

static void *interrupted(void *data)
{
	const struct itimerval never = {};
	void *blocks[64] = {};
	unsigned int i = 0;

	(void)data;
	set_alarm();
	while (asked_in_malloc < IN_MALLOC && failures == 0) {
		void **block = &blocks[i++ % 64];

		free(*block);
		*block = malloc(i * 977 % 200000);
		/* Before the ring is full. */
		if (i % 64 == 0 && take(handle, getpid()) < 0)
			failures += 1000;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	for (i = 0; i < 64; i++)
		free(blocks[i]);
	return NULL;
}

/* The thread may not have used the library before. */
TEST_F(library, in_a_handler_in_malloc)
{
	sigset_t alarm_only;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, interrupted, NULL));
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
	EXPECT_LE(IN_MALLOC, asked_in_malloc);
	EXPECT_EQ(0, failures);
	EXPECT_EQ(0, calls_in_handler);
}

/* Take this thread's stack at once. Must be visible in it. */
static __attribute__((noinline)) int take_own(uint64_t *ips, uint8_t *how,
					  unsigned int max_depth,
					  enum sframe_unwind_stop *stop)
{
	const int nr = sframe_unwind_own_stack(handle, 0, ips, how, max_depth,
					       stop);

	asm volatile("" ::: "memory");	/* no tail call */
	return nr;
}

TEST_F(library, own_stack)
{
	const struct sframe_unwind_stack *stack;
	enum sframe_unwind_stop stop = 0;
	uint64_t ips[128];
	uint8_t how[128];
	int nr;

	errno = 4711;
	nr = take_own(ips, how, 128, &stop);
	ASSERT_LE(3, nr);
	EXPECT_NE(0, stop);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_REGS, how[0]);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how[1]);
	EXPECT_TRUE(ips[1] - (uintptr_t)take_own < 128);
	EXPECT_EQ(nr, take_own(ips, NULL, 128, NULL));
	EXPECT_EQ(-EINVAL, take_own(ips, NULL, 0, NULL));
	EXPECT_EQ(-EFAULT, take_own(NULL, NULL, 128, NULL));
	EXPECT_EQ(4711, errno);
	/* There is no record of it. */
	EXPECT_EQ(-EAGAIN, sframe_unwind_read_stack(handle,
						    SFRAME_UNWIND_READ_NONBLOCK,
						    &stack));
}

/* The child runs in its parent's memory, on its parent's stack. */
TEST_F(library, in_a_vfork_child)
{
	const struct sframe_unwind_stack *stack;
	pid_t child;
	int status;

	errno = 4711;
	child = vfork();
	if (!child)
		_exit(ask(7) != 0 || ask(7) != 0);
	EXPECT_EQ(4711, errno);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, sframe_unwind_read_stack(handle,
						SFRAME_UNWIND_READ_NONBLOCK,
						&stack));
		EXPECT_EQ(child, (pid_t)stack->pid);
		EXPECT_EQ(child, (pid_t)stack->tid);
		EXPECT_EQ(7, stack->user_data);
		EXPECT_TRUE(has_ask(stack));
	}
	EXPECT_EQ(0, ask(8));
	EXPECT_EQ(1, take(handle, getpid()));
}

/*
 * In a child of fork(): use the parent's client, and one of its own. Objects
 * that the parent registered are inherited; registering more needs a lock of
 * the dynamic linker that another thread may have held.
 */
static int use_all(bool had_threads)
{
	struct sframe_unwind *const parents = handle;
	struct sframe_unwind_section section;
	int err;

	err = ask(9);
	if (err)
		return 1;
	if (sframe_unwind_open(&handle, 0))
		return 2;
	if (!had_threads &&
	    sframe_unwind_register_objects(handle, 0, NULL, NULL))
		return 3;
	if (sframe_unwind_list(handle, 0, &section, 1, NULL) != 1)
		return 4;
	if (sframe_unwind_unregister(handle, 1ULL << 60) != -ENOENT ||
	    !sframe_unwind_error(handle)[0])
		return 5;
	if (ask(10) || take(handle, getpid()) != 1)
		return 6;
	sframe_unwind_close(handle);
	sframe_unwind_close(parents);
	return 0;
}

TEST_F(library, after_fork)
{
	pid_t child;
	int status;

	child = fork();
	if (!child)
		_exit(use_all(false));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	/* Parent and child share the client, so the child's stack arrives here. */
	EXPECT_EQ(1, take(handle, child));
	EXPECT_EQ(0, ask(11));
	EXPECT_EQ(1, take(handle, getpid()));
}

static volatile bool is_over;

/* Call the library as often as possible, at any place. */
static void *use(void *data)
{
	struct sframe_unwind_section section;
	const struct sframe_unwind_stack *stack;
	struct sframe_unwind *own;
	long bad = 0;

	(void)data;
	while (!is_over) {
		if (sframe_unwind_open(&own, 0)) {
			bad++;
			continue;
		}
		bad += sframe_unwind_register_objects(own, 0, NULL, NULL) < 0;
		bad += sframe_unwind_list(own, 0, &section, 1, NULL) != 1;
		bad += sframe_unwind_unregister(own, 1ULL << 60) != -ENOENT;
		bad += !sframe_unwind_error(own)[0];
		bad += sframe_unwind_request_self(own, 0) != 0;
		bad += sframe_unwind_read_stack(own,
						SFRAME_UNWIND_READ_NONBLOCK,
						&stack) != 0;
		sframe_unwind_close(own);
	}
	return (void *)bad;
}

TEST_F(library, after_fork_among_threads)
{
	pthread_t threads[3];
	void *bad;

	is_over = false;
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, use, NULL));
	for (int i = 0; i < 100; i++) {
		const pid_t child = fork();
		int status;

		if (!child) {
			/*
			 * If a lock was left locked by the fork, this would
			 * hang.
			 */
			signal(SIGALRM, SIG_DFL);
			alarm(60);
			_exit(use_all(true));
		}
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_EQ(1, take(handle, child));
	}
	is_over = true;
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &bad);
		EXPECT_EQ(NULL, bad);
	}
}

#define ASKING 4

static void *ask_often(void *data)
{
	long bad = 0;

	/*
	 * Without the barrier each thread could finish before the next one
	 * starts.
	 */
	for (int i = 0; i < 500; i++) {
		pthread_barrier_wait(data);
		bad += ask(12) != 0;
	}
	return (void *)bad;
}

/* Many threads request stacks with one handle while one thread reads. */
TEST_F(library, one_handle_many_threads)
{
	struct sframe_unwind_stats stats;
	pthread_t threads[ASKING];
	pthread_barrier_t barrier;
	int nr, taken = 0;
	void *bad;

	pthread_barrier_init(&barrier, NULL, ASKING);
	for (int i = 0; i < ASKING; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, ask_often,
					    &barrier));
	for (int i = 0; i < ASKING; i++) {
		while (pthread_tryjoin_np(threads[i], &bad)) {
			nr = take(handle, getpid());
			ASSERT_LE(0, nr);
			taken += nr;
		}
		EXPECT_EQ(NULL, bad);
	}
	nr = take(handle, getpid());
	ASSERT_LE(0, nr);
	ASSERT_EQ(0, sframe_unwind_stats(handle, &stats));
	EXPECT_EQ(500 * ASKING, taken + nr + stats.lost_full);
	pthread_barrier_destroy(&barrier);
}

TEST_HARNESS_MAIN
