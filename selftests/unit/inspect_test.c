// SPDX-License-Identifier: GPL-2.0
/*
 * What it costs to look at what many processes have mapped, when users make it dear. That
 * nobody has to wait for it is inspect_waiting_test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli_stub.h"
#include "inspect_scene.h"
#include "tap.h"
#include "userspace/cli/profile/processes.h"

/* Wait until a process has a name of its own. */
static bool wait_for_name(pid_t pid)
{
	char path[64], name[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	for (unsigned int i = 0; i < 10000; i++) {
		FILE *file = fopen(path, "re");

		if (!file)
			return false;
		if (fgets(name, sizeof(name), file) &&
		    !strncmp(name, "process-", 8)) {
			fclose(file);
			return true;
		}
		fclose(file);
		usleep(1000);
	}
	return false;
}

/* Processes with the same memory are read once, and all of them have what is mapped. */
static void same_space(void)
{
	const unsigned int nr = 2000;
	struct seen seen = { .history = history_create(1u << 30) };
	char *code = map_code(nr);

	end_all();
	EXPECT(code);
	for (unsigned int i = 0; i < PROCESSES; i++)
		EXPECT(start(i % 4));
	for (unsigned int i = 0; i < PROCESSES; i++)
		EXPECT(wait_for_name(pids[i]));
	inspect_begin(NULL, 0);
	for (unsigned int i = 0; i < PROCESSES; i++)
		inspect_in_round(pids[i], true, see, &seen);
	/* Every fourth one has a copy of its own. */
	EXPECT_EQ(seen.forks, PROCESSES * 3 / 4 - 1);
	EXPECT_EQ(seen.names, PROCESSES);
	EXPECT(seen.maps > nr * (PROCESSES / 4 + 1));
	EXPECT(seen.maps < (nr + 200) * (PROCESSES / 4 + 1));
	history_update(seen.history);
	for (unsigned int i = 0; i < PROCESSES; i++) {
		char name[16];
		uint64_t version;
		struct process *process = history_process(seen.history, pids[i],
							  1, &version);

		EXPECT(process_find(process, (uintptr_t)code));
		snprintf(name, sizeof(name), "process-%u", i);
		EXPECT(!strcmp(history_comm(seen.history, pids[i], pids[i], 1),
			       name));
	}
	history_free(seen.history);
	/* Another round, and what asks for one process, read everything. */
	memset(&seen, 0, sizeof(seen));
	inspect_begin(NULL, 0);
	EXPECT(inspect_in_round(pids[1], false, see, &seen));
	EXPECT(inspect_process(pids[2], false, see, &seen));
	EXPECT_EQ(seen.forks, 0);
	EXPECT(seen.maps > 2 * nr);
	end_all();
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

/* A process that has most of the mappings that it may have is read as a whole. */
static void large(void)
{
	const unsigned int nr = 30000;
	struct seen seen = { 0 };
	char *code = map_code(nr);

	EXPECT(code);
	inspect_begin(NULL, 0);
	EXPECT(inspect_in_round(getpid(), true, see, &seen));
	EXPECT(seen.maps > nr);
	said[0] = '\0';
	inspect_complain();
	EXPECT_EQ(strlen(said), 0);
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

/*
 * All processes of another user have memory of their own, and as much as possible of it:
 * only some are read, and then those of this user.
 */
static void of_another(void)
{
	const unsigned int nr = 30000;
	struct seen seen = { 0 }, own = { 0 };

	end_all();
	for (unsigned int i = 0; i < 10; i++)
		EXPECT(start_other(nr));
	EXPECT(start(false));
	inspect_begin(NULL, 0);
	for (unsigned int i = 0; i < 10; i++)
		inspect_in_round(pids[i], true, see, &seen);
	EXPECT(seen.maps > 6 * nr);
	EXPECT(seen.maps < 8 * nr);
	EXPECT(inspect_in_round(pids[10], true, see, &own));
	EXPECT(own.maps > 0);
	inspect_complain();
	EXPECT(strstr(said, "too much mapped"));
	/* The next round counts anew. */
	memset(&seen, 0, sizeof(seen));
	inspect_begin(NULL, 0);
	EXPECT(inspect_in_round(pids[9], true, see, &seen));
	EXPECT(seen.maps > nr);
	end_all();
}

/* Other requests are counted, too, for each user. */
static void counted(void)
{
	unsigned int nr = 0;

	end_all();
	for (unsigned int i = 0; i < 2; i++) {
		pids[nr_pids] = fork();
		if (!pids[nr_pids++]) {
			const uid_t user = OTHER_USER - i;

			if (setresuid(user, user, user))
				_exit(1);
			wait_for_end("process-x");
		}
		EXPECT(wait_for_name(pids[i]));
	}
	inspect_begin(NULL, 0);
	while (nr < 100000 && inspect_count(pids[0]))
		nr++;
	EXPECT(nr > 100);
	EXPECT(nr < 10000);
	EXPECT(inspect_count(pids[1]));
	EXPECT(inspect_count(getpid()));
	inspect_begin(NULL, 0);
	EXPECT(inspect_count(pids[0]));
	end_all();
}

/* Who has no room for more reads no more. */
static void enough(void)
{
	struct seen seen = { .enough = 100 };
	const unsigned int nr = 2000;
	char *code = map_code(nr);

	EXPECT(code);
	inspect_begin(NULL, 0);
	EXPECT(!inspect_in_round(getpid(), true, see, &seen));
	EXPECT_EQ(seen.maps, 100);
	EXPECT(!inspect_in_round(getppid(), true, see, &seen));
	EXPECT_EQ(seen.maps, 100);
	/* It is not the end of anything else. */
	EXPECT(inspect_process(getpid(), true, see, &seen));
	EXPECT(seen.maps > nr);
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

static void full(void)
{
	const struct record_targets targets = {
		.tids = (pid_t[]){ getpid(), getppid() }, .nr = 2,
	};
	const unsigned int nr = 20000;
	struct history *history = history_create(1 << 20);
	char *code = map_code(nr);
	struct rusage before, after;

	EXPECT(code);
	getrusage(RUSAGE_SELF, &before);
	processes_inspect(&targets, NULL, processes_add_record, history);
	getrusage(RUSAGE_SELF, &after);
	EXPECT(history_is_full(history));
	EXPECT(after.ru_maxrss - before.ru_maxrss < 4096);
	history_free(history);
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(same_space),
		TAP_TEST(large),
		TAP_TEST(enough),
		TAP_TEST(full),
	};
	static const struct tap_test root[] = {
		TAP_TEST(of_another),
		TAP_TEST(counted),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	end_all();
	if (geteuid()) {
		tap_skip("of_another", "not root");
		tap_skip("counted", "not root");
	} else {
		tap_run(root, sizeof(root) / sizeof(root[0]));
	}
	end_all();
	return tap_done();
}
