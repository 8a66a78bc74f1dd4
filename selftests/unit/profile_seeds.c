// SPDX-License-Identifier: GPL-2.0
/*
 * profile_seeds DIRECTORY: write small profiles of all forms, as seeds for the
 * fuzzer, and for tests of the commands that read profiles.
 *
 *	written		records of all kinds, by the library's writer
 *	members		a sample with all members but those of hardware
 *	deferred	user parts of call chains in records of their own
 *	compressed	records inside of compressed ones (perf record -z)
 *	compressed2	the same in the newer form
 *	packed		records of all kinds, compressed by the library's writer
 *	between		a compressed stream with other records between its parts
 *	pipe		what perf writes to a pipe
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile_made.h"
#include "userspace/profile/format.h"

#define MEMBERS	(PERF_SAMPLE_IDENTIFIER | MADE_TYPE | PERF_SAMPLE_ADDR |	\
		 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |	\
		 PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_RAW |	\
		 PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |		\
		 PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |			\
		 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |		\
		 PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR)

static struct made made, plain;

static int make_written(void)
{
	return profile_make(42, 0);
}

static int make_members(void)
{
	static const uint64_t words[] = {
		9, 0x401000, (uint64_t)7 << 32 | 7, 100, 0x7000, 9, 1, 2, 50,
		6,				/* value read */
		2, PERF_CONTEXT_USER, 0x401000,	/* call chain */
		(uint64_t)0x1234 << 32 | 4,	/* raw data and its size */
		1, 0x401000, 0x402000, 0,	/* a branch */
		PERF_SAMPLE_REGS_ABI_NONE,
		8, 0x5555, 8,			/* stack, and size in use */
		3, 4, 5,			/* weight, source, transaction */
		PERF_SAMPLE_REGS_ABI_NONE,
		0x8000,				/* physical address */
	};

	made_begin(&made, MEMBERS, 0);
	made_record(&made, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
		    sizeof(words));
	made_bytes(&made, words, sizeof(words));
	return made_end(&made);
}

static int make_deferred(void)
{
	made_begin(&made, MADE_TYPE, 0);
	made_deferred(&made, 5, 7, 77);
	made_user_part(&made, 5, 77, 0x400000);
	made_deferred(&made, 5, 8, 77);
	made_deferred(&made, 5, 9, 78);
	return made_end(&made);
}

static int make_compressed_as(uint32_t type)
{
	plain.size = 0;
	for (unsigned int i = 0; i < 60; i++)
		made_sample(&plain, 5, i, (uint64_t[]){ i * i }, 1);
	made_begin(&made, MADE_TYPE, 0);
	made_compressed(&made, &plain, 200, type);
	return made_end(&made);
}

static int make_compressed(void)
{
	return make_compressed_as(RECORD_COMPRESSED);
}

static int make_compressed2(void)
{
	return make_compressed_as(RECORD_COMPRESSED2);
}

static int make_packed(void)
{
	return profile_make(42, SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED);
}

static int make_between(void)
{
	static struct made packed;

	plain.size = 0;
	for (unsigned int i = 0; i < 60; i++)
		made_sample(&plain, 5, i, (uint64_t[]){ i * i }, 1);
	made_compressed(&packed, &plain, 100, RECORD_COMPRESSED);
	made_begin(&made, MADE_TYPE, 0);
	for (size_t at = 0; at < packed.size; at += get_u16(packed.bytes + at + 6)) {
		made_bytes(&made, packed.bytes + at, get_u16(packed.bytes + at + 6));
		for (unsigned int i = 0; i < 20; i++)
			made_record(&made, PERF_RECORD_MAX, 0, 0);
	}
	return made_end(&made);
}

static int make_pipe(void)
{
	made_piped(&made);
	return made_end(&made);
}

/* Copy file @from to @name. Returns 0 or a positive errno. */
static int copy(int from, const char *name)
{
	const int to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	struct stat status;
	off_t at = 0;
	int err = 0;

	if (to < 0 || fstat(from, &status))
		return errno;
	while (!err && at < status.st_size)
		if (sendfile(to, from, &at, status.st_size - at) <= 0)
			err = errno ?: EIO;
	return close(to) && !err ? errno : err;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*make)(void);
	} seeds[] = {
		{ "written", make_written },
		{ "members", make_members },
		{ "deferred", make_deferred },
		{ "compressed", make_compressed },
		{ "compressed2", make_compressed2 },
		{ "packed", make_packed },
		{ "between", make_between },
		{ "pipe", make_pipe },
	};

	if (argc != 2) {
		fprintf(stderr, "usage: profile_seeds DIRECTORY\n");
		return 2;
	}
	if (chdir(argv[1])) {
		perror(argv[1]);
		return 1;
	}
	for (unsigned int i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		const int fd = seeds[i].make();
		const int err = fd < 0 ? EIO : copy(fd, seeds[i].name);

		if (err) {
			fprintf(stderr, "%s: %s\n", seeds[i].name,
				strerror(err));
			return 1;
		}
		close(fd);
	}
	return 0;
}
