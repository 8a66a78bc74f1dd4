// SPDX-License-Identifier: GPL-2.0
/*
 * What "top" and "trace" know of processes, by the rings of two CPUs, which are the test's: they
 * are read one after the other, while processes go on.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rings.h"
#include "sframe_unwind.h"
#include "tap.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/profile/attaching.h"
#include "userspace/cli/profile/live.h"
#include "userspace/cli/profile/processes.h"
#include "userspace/cli/profile/record_files.h"
#include "userspace/cli/profile/record_jit.h"
#include "userspace/cli/profile/record_sums.h"

#define CODE	RINGS_CODE

/* --- in place of the kernel, and of all that takes samples */

static uint64_t time_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ time_ns / SECOND, time_ns % SECOND };
	return 0;
}

int record_sampler_open(struct record_sampler *sampler, const char *command,
			struct record_options *options, pid_t child, bool raw)
{
	(void)sampler;
	(void)command;
	(void)options;
	(void)child;
	(void)raw;
	return CLI_OK;
}

void record_sampler_close(struct record_sampler *sampler, struct record_options *options)
{
	(void)sampler;
	(void)options;
}

uint32_t record_sampler_event(const struct record_sampler *sampler, uint32_t id)
{
	(void)sampler;
	return id;
}

/* How many there are; whenever one is read, it is later. */
static unsigned int nr_samples;

int sframe_unwind_sampler_read(struct sframe_unwind_samples *samples,
			       struct sframe_unwind_sample_record *record)
{
	(void)samples;
	if (!nr_samples)
		return 0;
	nr_samples--;
	*record = (struct sframe_unwind_sample_record){ .time = time_ns++ };
	return 1;
}

int sframe_unwind_sampler_control(struct sframe_unwind_samples *samples, unsigned int action,
				  unsigned int event)
{
	(void)samples;
	(void)action;
	(void)event;
	return 0;
}

int sframe_unwind_sampler_stats(struct sframe_unwind_samples *samples,
				struct sframe_unwind_sample_stats *stats)
{
	(void)samples;
	(void)stats;
	return -1;
}

int sframe_unwind_sampler_fd(const struct sframe_unwind_samples *samples)
{
	(void)samples;
	return -1;
}

uint64_t record_sums_lost(const struct sframe_unwind_sample_stats *stats)
{
	(void)stats;
	return 0;
}

struct record_waiting *record_waiting_create(void)
{
	return NULL;
}

void record_waiting_free(struct record_waiting *waiting)
{
	(void)waiting;
}

void record_waiting_begin_round(struct record_waiting *waiting)
{
	(void)waiting;
}

int record_waiting_add(struct record_waiting *waiting,
		       const struct sframe_unwind_sample_record *from,
		       const struct record_copy *copy, uint32_t event, bool is_off_cpu,
		       struct sframe_unwind_profile_writer *writer)
{
	(void)waiting;
	(void)from;
	(void)copy;
	(void)event;
	(void)is_off_cpu;
	(void)writer;
	return 0;
}

int record_waiting_switch(struct record_waiting *waiting, pid_t tid, uint64_t time,
			  enum record_switch what,
			  struct sframe_unwind_profile_writer *writer)
{
	(void)waiting;
	(void)tid;
	(void)time;
	(void)what;
	(void)writer;
	return 0;
}

const struct record_counts *record_counts(const struct record_waiting *waiting)
{
	(void)waiting;
	return NULL;
}

void record_files_complete(struct record_files *files,
			   struct sframe_unwind_profile_record *record, dev_t device,
			   uint64_t inode, uint64_t generation)
{
	(void)files;
	(void)record;
	(void)device;
	(void)inode;
	(void)generation;
}

void record_files_add(struct record_files *files,
		      const struct sframe_unwind_profile_record *record)
{
	(void)files;
	(void)record;
}

void record_jit_add(struct record_jit *jit, const struct sframe_unwind_profile_record *record)
{
	(void)jit;
	(void)record;
}

void copies_follow(struct copies *copies, const struct sframe_unwind_profile_record *record,
		   const struct object_inode *inode)
{
	(void)copies;
	(void)record;
	(void)inode;
}

void inspect_begin(const volatile sig_atomic_t *is_interrupted, unsigned int ms)
{
	(void)is_interrupted;
	(void)ms;
}

struct names *names_create(struct history *history, const struct names_options *options,
			   const char *release)
{
	(void)history;
	(void)options;
	(void)release;
	return NULL;
}

void names_free(struct names *names)
{
	(void)names;
}

void processes_add_record(void *data, const struct sframe_unwind_profile_record *record)
{
	history_add(data, record);
}

/* Process 7 exists already. */
void processes_inspect(const struct record_targets *targets,
		       const volatile sig_atomic_t *is_interrupted, inspect_fn fn, void *data)
{
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = 7,
		.tid = 7,
		.map = { .start = CODE, .size = 4096, .name = "/lib/a", .is_code = 1 },
	};

	(void)targets;
	(void)is_interrupted;
	fn(data, &record);
}

/* --- programs, the daemon and options, which the test has not */

int command_start(struct command *command, const char *name, char **argv, bool has_files,
		  const char *preload, const volatile sig_atomic_t *is_interrupted)
{
	(void)command;
	(void)name;
	(void)argv;
	(void)has_files;
	(void)preload;
	(void)is_interrupted;
	abort();
}

void command_go(const struct command *command)
{
	(void)command;
}

bool command_has_failed(const struct command *command)
{
	(void)command;
	return false;
}

void command_end(struct command *command)
{
	(void)command;
}

pid_t attaching_start(const char *command, const struct attaching_pids *pids, bool is_quiet,
		      const volatile sig_atomic_t *is_interrupted)
{
	(void)command;
	(void)pids;
	(void)is_quiet;
	(void)is_interrupted;
	abort();
}

void attaching_end(pid_t pid)
{
	(void)pid;
}

int record_add_events(struct record_options *options, const char *command,
		      char *list)
{
	(void)options;
	(void)command;
	(void)list;
	abort();
}

int record_add_place(struct record_options *options, const char *command, int option,
		     const char *list)
{
	(void)options;
	(void)command;
	(void)option;
	(void)list;
	abort();
}

int record_add_targets(struct record_targets *targets, const char *command, const char *list,
		       bool are_threads)
{
	(void)targets;
	(void)command;
	(void)list;
	(void)are_threads;
	abort();
}

int usage_error(const char *command, const char *problem)
{
	(void)command;
	(void)problem;
	abort();
}

/* --- the tests */

static struct record_options options;
static struct live live;

static int begin(void)
{
	static uint32_t id = 1;

	options = (struct record_options){
		.no_attach = true,
		.nr_events = 1,
		.events[0] = { .name = "cpu-clock", .ids = &id, .nr_ids = 1 },
	};
	live = (struct live){ .command = "test", .options = &options, .fd = -1 };
	time_ns = 10;
	return live_open(&live);
}

static void end(void)
{
	live_close(&live);
	rings_free();
}

/* A round that begins at @time. */
static int go_on(uint64_t time)
{
	time_ns = time;
	return live_round(&live);
}

/* Whether process @pid has mapped @name at @time; NULL: nothing. */
static bool has(uint32_t pid, uint64_t time, const char *name)
{
	struct history *history = live.load.history;
	const struct mapping *mapping;
	uint64_t version;

	mapping = process_find(history_process(history, pid, time, &version), CODE);
	if (!mapping || !name)
		return !mapping && !name;
	return !strcmp(history_object(history, mapping->object)->name, name);
}

/* What happened before a round is known then. */
static void in_one_round(void)
{
	EXPECT_EQ(begin(), CLI_OK);
	EXPECT(has(7, 10, "/lib/a"));
	rings_fork(0, 9, 20, 7);
	rings_exec(1, 9, 30, "other");
	rings_map(1, 9, 40, "/lib/b", 0, 0);
	EXPECT_EQ(go_on(45), 0);
	EXPECT(has(9, 25, "/lib/a"));
	EXPECT(has(9, 35, NULL));
	EXPECT(has(9, 45, "/lib/b"));
	EXPECT(!strcmp(history_comm(live.load.history, 9, 9, 45), "other"));
	end();
}

/* The fork comes when the first ring has been read, and what follows before the second one is. */
static void fork_before_exec(void)
{
	EXPECT_EQ(begin(), CLI_OK);
	rings_exec(1, 9, 60, "other");
	rings_map(1, 9, 61, "/lib/b", 0, 0);
	EXPECT_EQ(go_on(45), 0);
	rings_fork(0, 9, 50, 7);
	EXPECT_EQ(go_on(100), 0);
	EXPECT(has(9, 55, "/lib/a"));
	EXPECT(has(9, 60, NULL));
	EXPECT(has(9, 70, "/lib/b"));
	EXPECT(!strcmp(history_comm(live.load.history, 9, 9, 70), "other"));
	end();
}

/* Two threads of a process map files, one after the other, at the same address. */
static void two_mappings(void)
{
	EXPECT_EQ(begin(), CLI_OK);
	rings_map(1, 7, 60, "/lib/c", 0, 0);
	EXPECT_EQ(go_on(45), 0);
	rings_map(0, 7, 50, "/lib/b", 0, 0);
	EXPECT_EQ(go_on(100), 0);
	EXPECT(has(7, 45, "/lib/a"));
	EXPECT(has(7, 55, "/lib/b"));
	EXPECT(has(7, 70, "/lib/c"));
	end();
}

/* A child has what its parent had mapped then, not what it mapped later. */
static void fork_before_mapping(void)
{
	EXPECT_EQ(begin(), CLI_OK);
	rings_map(1, 7, 60, "/lib/b", 0, 0);
	EXPECT_EQ(go_on(45), 0);
	rings_fork(0, 9, 50, 7);
	EXPECT_EQ(go_on(100), 0);
	EXPECT(has(7, 70, "/lib/b"));
	EXPECT(has(9, 70, "/lib/a"));
	end();
}

/* When processes are read again, earlier mappings do not replace those that are found. */
static void read_again(void)
{
	EXPECT_EQ(begin(), CLI_OK);
	history_charge(live.load.history, 1ULL << 40);
	rings_map(1, 7, 60, "/lib/a", 0, 0);
	EXPECT_EQ(go_on(45), 0);
	history_charge(live.load.history, 1ULL << 40);
	rings_map(0, 7, 50, "/lib/b", 0, 0);
	EXPECT_EQ(go_on(100), 0);
	EXPECT(has(7, 100, "/lib/a"));
	rings_map(0, 7, 110, "/lib/b", 0, 0);
	EXPECT_EQ(go_on(120), 0);
	EXPECT(has(7, 120, "/lib/b"));
	end();
}

/* Samples come faster than they are read: a round ends, and the next one goes on. */
static void without_end(void)
{
	EXPECT_EQ(begin(), CLI_OK);
	nr_samples = 1000;
	EXPECT_EQ(go_on(45), 0);
	EXPECT_EQ(nr_samples, 998);
	EXPECT_EQ(go_on(100), 0);
	EXPECT_EQ(nr_samples, 996);
	nr_samples = 0;
	end();
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(in_one_round),
		TAP_TEST(fork_before_exec),
		TAP_TEST(two_mappings),
		TAP_TEST(fork_before_mapping),
		TAP_TEST(read_again),
		TAP_TEST(without_end),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
