// SPDX-License-Identifier: GPL-2.0
/*
 * Costs of hostile files in counted steps and bytes, at two sizes of each
 * construction: work may grow in proportion to the bytes on disk and no faster,
 * and memory must be within the limit for those.
 *
 * usage: hostile_test [-v] [NAME]
 *   -v    print the numbers
 *   NAME  one construction only
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "cli/cli.h"
#include "count.h"
#include "hostile.h"
#include "selftests/unit/tap.h"

#define MIB(n) ((uint64_t)(n) << 20)

/* The limits of convert/base/budget.h and cli/file.h: base and factor. */
#define CONVERT_MEMORY(allocated)	(MIB(16) + 16 * (allocated))
#define CHECK_MEMORY(allocated)		(MIB(64) + 8 * (allocated))

/* The limits are about tables; rows and the section come on top. */
#define TIMES_LIMIT 2

/* Cost of the larger file, relative to its share, in percent. */
#define TOLERANCE 130

/* Steps and bytes needed for any file. */
#define FEW_STEPS 5000
#define FEW_BYTES MIB(2)

/* Steps for each byte that is on disk or may be used as memory. */
#define MAX_STEPS_A_BYTE 40

/**
 * struct cost - of one file
 *
 * @allocated: bytes allocated on disk.
 * @result: error or exit status.
 */
struct cost {
	uint64_t allocated;
	struct count count;
	int result;
};

static bool is_verbose;

/* As convert(1) does, or as attach(1) and exec(1) do. */
static int convert(int fd, bool is_extended)
{
	const struct sframe_unwind_convert_options options = {
		.flags = is_extended ? SFRAME_UNWIND_CONVERT_EXTENDED : 0,
	};
	struct sframe_unwind_converted *converted;
	int err;

	err = sframe_unwind_convert_fd(fd, "hostile", &options, &converted);
	if (err && is_verbose)
		printf("# %s\n", sframe_unwind_convert_error());
	sframe_unwind_converted_free(converted);
	return err;
}

/* Call the command's own main function; its output is discarded. */
static int run_command(const char *command, int fd)
{
	int saved[2], null, result;
	char path[40];
	char *argv[] = { (char *)command, path, NULL };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fflush(stdout);
	saved[0] = dup(STDOUT_FILENO);
	saved[1] = dup(STDERR_FILENO);
	null = open("/dev/null", O_WRONLY);
	dup2(null, STDOUT_FILENO);
	if (!is_verbose)
		dup2(null, STDERR_FILENO);
	optind = 0;
	result = !strcmp(command, "check") ? check_main(2, argv) :
					     verify_main(2, argv);
	fflush(stdout);
	dup2(saved[0], STDOUT_FILENO);
	dup2(saved[1], STDERR_FILENO);
	close(saved[0]);
	close(saved[1]);
	close(null);
	return result;
}

static struct cost measure(const struct hostile *hostile, uint64_t size,
			   bool is_extended)
{
	const int fd = memfd_create(hostile->name, MFD_CLOEXEC);
	struct cost cost = { 0 };
	struct stat stat;

	if (fd < 0)
		err(2, "memfd_create");
	hostile->make(fd, size);
	if (fstat(fd, &stat))
		err(2, "fstat");
	cost.allocated = stat.st_blocks * 512;
	count_begin();
	cost.result = !strcmp(hostile->command, "convert") ?
			      convert(fd, is_extended) :
			      run_command(hostile->command, fd);
	cost.count = count_end();
	close(fd);
	if (is_verbose)
		printf("# %s%s of %" PRIu64 ": %" PRIu64 " KiB on the disk, %" PRIu64 " steps, %" PRIu64 " KiB, result %d\n",
		       hostile->name, is_extended ? ", extended," : "", size, cost.allocated >> 10,
		       cost.count.steps, cost.count.peak >> 10, cost.result);
	return cost;
}

static uint64_t limit(const struct hostile *hostile, uint64_t allocated)
{
	return strcmp(hostile->command, "check") ? CONVERT_MEMORY(allocated) :
						   CHECK_MEMORY(allocated);
}

static void check_cost(const struct hostile *hostile, const struct cost *cost)
{
	const uint64_t memory = limit(hostile, cost->allocated);

	if (cost->result != hostile->error)
		tap_fail("result is %d, not %d", cost->result, hostile->error);
	if (cost->count.peak > TIMES_LIMIT * memory)
		tap_fail("%" PRIu64 " MiB of memory for a file of %" PRIu64 " KiB, limit %" PRIu64 " MiB",
			 cost->count.peak >> 20, cost->allocated >> 10,
			 memory >> 20);
	if (cost->count.steps > MAX_STEPS_A_BYTE * memory)
		tap_fail("%" PRIu64 " steps for a file of %" PRIu64 " KiB",
			 cost->count.steps, cost->allocated >> 10);
}

/* Holes must cost nothing, however large they are. */
static void test_hostile(const struct hostile *hostile, bool is_extended)
{
	const struct cost small = measure(hostile, hostile->small, is_extended);
	const struct cost large = measure(hostile, hostile->large, is_extended);
	const uint64_t growth = hostile->grows ?
				hostile->large / hostile->small : 1;

	check_cost(hostile, &small);
	check_cost(hostile, &large);
	if (large.count.steps > (small.count.steps + FEW_STEPS) * growth *
				TOLERANCE / 100)
		tap_fail("%" PRIu64 " KiB take %" PRIu64 " steps, %" PRIu64 " KiB %" PRIu64,
			 small.allocated >> 10, small.count.steps,
			 large.allocated >> 10, large.count.steps);
	if (large.count.peak > (small.count.peak + FEW_BYTES) * growth *
			       TOLERANCE / 100)
		tap_fail("%" PRIu64 " KiB take %" PRIu64 " KiB of memory, %" PRIu64 " KiB %" PRIu64,
			 small.allocated >> 10, small.count.peak >> 10,
			 large.allocated >> 10, large.count.peak >> 10);
	tap_case("hostile: %s: %s%s", hostile->command, hostile->name,
		 is_extended ? ", extended" : "");
}

int main(int argc, char **argv)
{
	/*
	 * If a limit does not work, this ends the test before the machine is
	 * out of memory.
	 */
	const struct rlimit memory = { 4096ULL << 20, 4096ULL << 20 };
	const char *name = NULL;

	setrlimit(RLIMIT_AS, &memory);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v"))
			is_verbose = true;
		else
			name = argv[i];
	}
	for (unsigned int i = 0; i < nr_hostiles; i++) {
		if (name && strcmp(name, hostiles[i].name))
			continue;
		test_hostile(&hostiles[i], false);
		if (!strcmp(hostiles[i].command, "convert"))
			test_hostile(&hostiles[i], true);
	}
	return tap_done();
}
