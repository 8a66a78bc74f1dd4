// SPDX-License-Identifier: GPL-2.0
/*
 * The rounds of "record": what all else of it does is the test's.
 */
#include <fcntl.h>

#include "sframe_unwind.h"
#include "tap.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/preload.h"
#include "userspace/cli/profile/attaching.h"
#include "userspace/cli/profile/command.h"
#include "userspace/cli/profile/copies.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/record_output.h"
#include "userspace/cli/profile/record_sampler.h"
#include "userspace/cli/profile/record_sums.h"

/* --- the clock, and samples: whenever one is read, it is later */

static uint64_t time_ns, round_begin;
static unsigned int nr_samples, nr_in_round, most_in_round;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ time_ns / SECOND, time_ns % SECOND };
	return 0;
}

/* --- in place of all else */

void attaching_end(pid_t pid)
{
	(void)pid;
}

pid_t attaching_start_telling(const char *command, int *code, bool is_quiet,
			      const volatile sig_atomic_t *is_interrupted)
{
	(void)command;
	(void)code;
	(void)is_quiet;
	(void)is_interrupted;
	return 0;
}

struct copy_code *copy_code_create(int socket)
{
	(void)socket;
	return NULL;
}

void command_end(struct command *command)
{
	(void)command;
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

int command_start(struct command *command, const char *name, char **argv,
		  bool has_files, const char *preload,
		  const volatile sig_atomic_t *is_interrupted)
{
	(void)command;
	(void)name;
	(void)argv;
	(void)has_files;
	(void)preload;
	(void)is_interrupted;
	return 0;
}

bool copies_are_left(const struct copies *copies)
{
	(void)copies;
	return false;
}

int copies_file(const struct copies *copies)
{
	(void)copies;
	return -1;
}

void copies_begin_round(struct copies *copies, uint64_t until)
{
	(void)copies;
	(void)until;
}

struct copies *copies_create(const char *command, struct copy_code *code)
{
	(void)code;
	(void)command;
	return NULL;
}

void copies_free(struct copies *copies)
{
	(void)copies;
}

void inspect_begin(const volatile sig_atomic_t *is_interrupted, unsigned int ms)
{
	(void)is_interrupted;
	(void)ms;
}

void inspect_complain(void)
{
}

int preload_find(enum preload_object object, char *path, size_t size)
{
	(void)object;
	(void)path;
	(void)size;
	return 0;
}

int record_add_targets(struct record_targets *targets, const char *command,
		       const char *list, bool are_threads)
{
	(void)targets;
	(void)command;
	(void)list;
	(void)are_threads;
	return 0;
}

void record_changes_close(struct record_changes *changes)
{
	(void)changes;
}

void record_changes_keep(struct record_changes *changes,
			 struct record_files *files, struct record_jit *jit,
			 struct copies *copies)
{
	(void)changes;
	(void)files;
	(void)jit;
	(void)copies;
}

uint64_t record_changes_lost(const struct record_changes *changes)
{
	(void)changes;
	return 0;
}

int record_changes_open(struct record_changes **changes, const char *command,
			const struct record_targets *targets,
			struct record_waiting *switches, bool is_waited_for)
{
	(void)is_waited_for;
	(void)changes;
	(void)command;
	(void)targets;
	(void)switches;
	return 0;
}

uint64_t record_changes_until(const struct record_changes *changes)
{
	(void)changes;
	return round_begin;
}

bool record_changes_wait(struct record_changes *changes, struct pollfd *others, uint32_t nr,
			 int ms)
{
	(void)changes;
	(void)others;
	(void)nr;
	(void)ms;
	return false;
}

int record_changes_write(struct record_changes *changes,
			 struct sframe_unwind_profile_writer *writer,
			 uint64_t *latest)
{
	(void)changes;
	(void)writer;
	(void)latest;
	round_begin = time_ns++;
	nr_in_round = 0;
	return 0;
}

const struct record_counts *record_counts(const struct record_waiting *waiting)
{
	static const struct record_counts counts;

	(void)waiting;
	return &counts;
}

int record_files_create(struct record_files **files,
			const volatile sig_atomic_t *is_interrupted)
{
	(void)files;
	(void)is_interrupted;
	return 0;
}

void record_files_free(struct record_files *files)
{
	(void)files;
}

int record_files_keep(struct record_files *files, bool is_quiet)
{
	(void)files;
	(void)is_quiet;
	return 0;
}

void record_files_open(struct record_files *files)
{
	(void)files;
}

int record_files_use(struct record_files *files, const char *path)
{
	(void)files;
	(void)path;
	return 0;
}

bool record_targets_are_processes(const struct record_targets *targets)
{
	(void)targets;
	return true;
}

void copies_without_code(struct copies *copies)
{
	(void)copies;
}

void record_free_targets(struct record_targets *targets)
{
	(void)targets;
}

bool record_has_off_cpu(const struct record_options *options)
{
	(void)options;
	return false;
}

struct record_jit *record_jit_create(const volatile sig_atomic_t *is_interrupted)
{
	(void)is_interrupted;
	return NULL;
}

void record_jit_free(struct record_jit *jit)
{
	(void)jit;
}

void record_jit_look(struct record_jit *jit)
{
	(void)jit;
}

void record_output_close(struct record_output *output)
{
	(void)output;
}

int record_output_end_round(struct record_output *output, uint64_t oldest)
{
	(void)output;
	(void)oldest;
	return 0;
}

int record_output_finish(struct record_output *output)
{
	(void)output;
	return 0;
}

bool record_output_is_due(const struct record_output *output)
{
	(void)output;
	return false;
}

int record_output_open(struct record_output *output,
		       const struct record_options *options,
		       struct record_files *files, struct record_jit *jit,
		       struct copies *copies, const volatile sig_atomic_t *is_interrupted)
{
	(void)output;
	(void)options;
	(void)files;
	(void)jit;
	(void)copies;
	(void)is_interrupted;
	return 0;
}

int record_output_switch(struct record_output *output)
{
	(void)output;
	return 0;
}

uint64_t record_output_time(void)
{
	return 0;
}

uint64_t record_output_written(const struct record_output *output)
{
	(void)output;
	return 0;
}

int record_parse_options(struct record_options *options, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	*options = (struct record_options){
		.no_attach = true, .no_jit_names = true, .quiet = true, .duration = 1,
	};
	return CLI_OK;
}

void record_sampler_close(struct record_sampler *sampler,
			  struct record_options *options)
{
	(void)sampler;
	(void)options;
}

void record_sampler_end_round(struct record_sampler *sampler)
{
	(void)sampler;
}

uint32_t record_sampler_event(const struct record_sampler *sampler, uint32_t id)
{
	(void)sampler;
	(void)id;
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
	return 0;
}

int record_sampler_read(struct record_sampler *sampler,
			struct sframe_unwind_sample_record *record,
			struct record_copy *copy)
{
	(void)sampler;
	if (!nr_samples)
		return 0;
	nr_samples--;
	nr_in_round++;
	if (most_in_round < nr_in_round)
		most_in_round = nr_in_round;
	*record = (struct sframe_unwind_sample_record){
		.type = SFRAME_UNWIND_RECORD_SAMPLE, .time = time_ns++,
	};
	*copy = (struct record_copy){ 0 };
	return 1;
}

void record_sums_complain(const struct sframe_unwind_sample_stats *stats,
			  uint64_t changes)
{
	(void)stats;
	(void)changes;
}

void record_sums_completed(const struct record_counts *counts,
			   const struct sframe_unwind_sample_copy_stats *stats)
{
	(void)counts;
	(void)stats;
}

void record_sums_cut(const struct record_counts *counts)
{
	(void)counts;
}

uint64_t record_sums_lost(const struct sframe_unwind_sample_stats *stats)
{
	(void)stats;
	return 0;
}

void record_sums_map(uint64_t mapped, uint32_t cleared)
{
	(void)mapped;
	(void)cleared;
}

void record_sums_progress(const struct record_counts *counts,
			  const struct sframe_unwind_sample_stats *stats,
			  double seconds, uint64_t bytes)
{
	(void)counts;
	(void)stats;
	(void)seconds;
	(void)bytes;
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

int record_waiting_complete(struct record_waiting *waiting, bool is_urgent,
			    struct sframe_unwind_profile_writer *writer)
{
	(void)waiting;
	(void)is_urgent;
	(void)writer;
	return 0;
}

struct record_waiting *record_waiting_create(void)
{
	return NULL;
}

int record_waiting_end(struct record_waiting *waiting, uint64_t time,
		       struct sframe_unwind_profile_writer *writer)
{
	(void)waiting;
	(void)time;
	(void)writer;
	return 0;
}

void record_waiting_free(struct record_waiting *waiting)
{
	(void)waiting;
}

uint64_t record_waiting_oldest(const struct record_waiting *waiting)
{
	(void)waiting;
	return 0;
}

void record_waiting_use(struct record_waiting *waiting, struct copies *copies)
{
	(void)waiting;
	(void)copies;
}

int sframe_unwind_profile_flush(struct sframe_unwind_profile_writer *writer)
{
	(void)writer;
	return 0;
}

int sframe_unwind_profile_write(struct sframe_unwind_profile_writer *writer,
				const struct sframe_unwind_profile_record *record)
{
	(void)writer;
	(void)record;
	return 0;
}

int sframe_unwind_sampler_control(struct sframe_unwind_samples *samples,
				  unsigned int flags, uint32_t id)
{
	(void)samples;
	(void)flags;
	(void)id;
	return 0;
}

int sframe_unwind_sampler_copy_stats(struct sframe_unwind_samples *samples,
				     struct sframe_unwind_sample_copy_stats *stats)
{
	(void)samples;
	(void)stats;
	return 0;
}

/* Another round: nobody has to wait, as for a sampler that has samples. */
int sframe_unwind_sampler_fd(const struct sframe_unwind_samples *samples)
{
	static int fd = -1;

	(void)samples;
	if (fd < 0)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	time_ns += SECOND / 10;
	return fd;
}

int sframe_unwind_sampler_stats(struct sframe_unwind_samples *samples,
				struct sframe_unwind_sample_stats *stats)
{
	(void)samples;
	(void)stats;
	return 0;
}

/* --- the tests */

/*
 * Samples come faster than they are read: a round ends, and so does the recording. Those that were
 * taken before the last round are written.
 */
static void without_end(void)
{
	time_ns = 1000 * SECOND;
	nr_samples = 1000000;
	EXPECT_EQ(record_main(0, NULL), CLI_OK);
	EXPECT_EQ(most_in_round, 1);
	EXPECT(nr_samples > 999900 && nr_samples < 1000000 - 10);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(without_end),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
