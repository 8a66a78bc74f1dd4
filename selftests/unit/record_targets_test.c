// SPDX-License-Identifier: GPL-2.0
/* Where "record" takes samples: whether it follows all threads of the processes. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/profile/record.h"

int usage_error(const char *command, const char *message)
{
	(void)command;
	(void)message;
	return CLI_USAGE;
}

static int began[2], over[2];

static void *thread(void *tid)
{
	char byte;

	*(pid_t *)tid = syscall(SYS_gettid);
	if (write(began[1], "", 1) != 1 || read(over[0], &byte, 1) < 0)
		abort();
	return NULL;
}

static void all_threads(void)
{
	pid_t tids[3] = { getpid() };
	struct record_targets targets = { .tids = tids };
	pthread_t threads[2];
	char byte;

	EXPECT(record_targets_are_processes(&targets));
	targets.nr = 1;
	EXPECT(record_targets_are_processes(&targets));
	EXPECT(!pipe(began) && !pipe(over));
	for (unsigned int i = 0; i < 2; i++)
		EXPECT(!pthread_create(&threads[i], NULL, thread, &tids[1 + i]) &&
		       read(began[0], &byte, 1) == 1);
	EXPECT(!record_targets_are_processes(&targets));
	targets.nr = 2;
	EXPECT(!record_targets_are_processes(&targets));
	targets.nr = 3;
	EXPECT(record_targets_are_processes(&targets));
	/* In any order, also without the first one. */
	tids[0] = tids[2];
	tids[2] = getpid();
	EXPECT(record_targets_are_processes(&targets));
	targets.nr = 2;
	EXPECT(!record_targets_are_processes(&targets));
	/* One has ended. */
	targets.nr = 3;
	close(over[1]);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	EXPECT(record_targets_are_processes(&targets));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(all_threads),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
