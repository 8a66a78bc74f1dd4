// SPDX-License-Identifier: GPL-2.0
/*
 * The object that "sframe-unwind exec" preloads, in a program that requests a
 * stack while it is in malloc(): the object must not allocate, look up symbols
 * or take locks there. Without sframe-unwind it does nothing at all.
 *
 * usage: preload_test OBJECT: the object that exec preloads, or the library
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

void *__libc_malloc(size_t size);
void __libc_free(void *memory);

static volatile sig_atomic_t in_handler, calls_in_handler, is_raising;
static volatile int result, errno_after;

static int (*request_self)(const void *handle, uint64_t user_data);
static int (*request)(const void *handle, unsigned int flags, int tid,
		      unsigned int depth, uint64_t user_data, uint64_t *cookie);

/* The library's handle starts with this member. */
static struct { int fd; } handle;

/* Replaces malloc() for the whole program; a signal arrives while it runs. */
void *malloc(size_t size)
{
	calls_in_handler += in_handler;
	if (is_raising) {
		is_raising = 0;
		raise(SIGUSR1);
	}
	return __libc_malloc(size);
}

void free(void *memory)
{
	calls_in_handler += in_handler;
	__libc_free(memory);
}

static void on_signal(int signal)
{
	(void)signal;
	in_handler = 1;
	errno = 4711;
	result = request_self(&handle, 0);
	if (result == -ENOTTY)
		result = request(&handle, 0, 0, 0, 0, NULL);
	errno_after = errno;
	in_handler = 0;
}

static void in_a_handler_in_malloc(void)
{
	signal(SIGUSR1, on_signal);
	is_raising = 1;
	free(malloc(1));
	EXPECT_EQ(is_raising, 0);
	EXPECT_EQ(calls_in_handler, 0);
	EXPECT_EQ(errno_after, 4711);
	/* From the file that it asked, which is not the module's device. */
	EXPECT_EQ(result, -ENOTTY);
}

static void dlopen_still_works(void)
{
	void *object = dlopen("libm.so.6", RTLD_NOW);

	EXPECT(object);
	EXPECT(dlsym(object, "cos"));
	dlclose(object);
	EXPECT(!dlopen("/nonexistent.so", RTLD_NOW));
	EXPECT(dlerror());
}

static void leaves_the_process_alone(void)
{
	sigset_t blocked;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int i = 1; i < NSIG; i++)
		EXPECT(sigismember(&blocked, i) != 1);
	for (int i = 3; i < 256; i++)
		EXPECT(i == handle.fd || fcntl(i, F_GETFD) < 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP_TEST(in_a_handler_in_malloc),
		TAP_TEST(dlopen_still_works),
		TAP_TEST(leaves_the_process_alone),
	};

	if (argc == 2 && !getenv("LD_PRELOAD")) {
		setenv("LD_PRELOAD", argv[1], 1);
		/* As if sframe-unwind had exited. */
		setenv("SFRAME_UNWIND_EXEC",
		       "00000:00112233445566778899aabbccddeeff:00112233445566778899aabbccddeeff:15:0:0",
		       1);
		for (int i = 3; i < 256; i++)
			close(i);
		execv("/proc/self/exe", argv);
	}
	handle.fd = open("/dev/null", O_RDONLY);
	request_self = dlsym(RTLD_DEFAULT, "sframe_unwind_request_self");
	request = dlsym(RTLD_DEFAULT, "sframe_unwind_request");
	if (!request_self || !request)
		tap_fail("%s is not preloaded", argv[1]);
	else
		tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
