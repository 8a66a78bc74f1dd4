// SPDX-License-Identifier: GPL-2.0
/*
 * Workers that convert: results, each limit, and how workers end. Runs beside
 * the worker.
 */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common.h"
#include "selftests/include/announced_object.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/worker/protocol.h"

static const char *library;
static struct worker_end end;
static struct sframe_unwind_converted *converted;
static char text[256];

/* Convert the library, or @path, and read the result. */
static int convert(const char *path, const struct worker_limits *limits)
{
	int err;

	sframe_unwind_converted_free(converted);
	converted = NULL;
	text[0] = '\0';
	err = run_worker(make_snapshot(path), limits, &end);
	if (err || end.error)
		return err ? err : end.error;
	err = worker_result_read(end.result_fd, limits, &converted, text,
				 sizeof(text));
	close(end.result_fd);
	return err;
}

static void test_same_as_converter(void)
{
	struct sframe_unwind_converted *direct;
	const int fd = open(library, O_RDONLY | O_CLOEXEC);

	EXPECT_EQ(sframe_unwind_convert_fd(fd, "x", NULL, &direct), 0);
	close(fd);
	EXPECT_EQ(convert(library, NULL), 0);
	EXPECT_EQ(converted->size, direct->size);
	EXPECT(!memcmp(converted->bytes, direct->bytes, direct->size));
	EXPECT_EQ(converted->nr_functions, direct->nr_functions);
	EXPECT_EQ(converted->nr_rows, direct->nr_rows);
	EXPECT_EQ(converted->covered, direct->covered);
	EXPECT_EQ(converted->nr_left_out, direct->nr_left_out);
	EXPECT_EQ(converted->build_id_size, direct->build_id_size);
	EXPECT(end.cpu_ns > 0 && end.cpu_ns < 10000000000);
	EXPECT(!text[0]);
	sframe_unwind_converted_free(direct);
}

static void test_options(void)
{
	const struct worker_limits rows = { .max_rows = 4 };
	size_t size;

	EXPECT_EQ(convert(library, NULL), 0);
	size = converted->size;
	EXPECT_EQ(convert(library, &rows), 0);
	EXPECT(converted->size > size);
}

/*
 * Errors in the file are reported in the converter's words, without a file
 * name.
 */
static void test_refused(void)
{
	EXPECT_EQ(convert("/etc/passwd", NULL), -EOPNOTSUPP);
	EXPECT(!strcmp(text, "not an ELF file"));
}

static void test_memory(void)
{
	const struct worker_limits limits = { .memory = 1 << 20 };

	EXPECT_EQ(convert(library, &limits), -ENOMEM);
	EXPECT(!strcmp(text, "takes more than 1 MiB of memory to convert"));
}

static void test_result_size(void)
{
	const struct worker_limits limits = { .result_size = 5000 };

	EXPECT_EQ(convert(library, &limits), -EFBIG);
	EXPECT(strstr(text, "the limit is 5000"));
}

#define CODE		0x7f1234567000
#define NR_OBJECTS	3U

/* Read the answer about an object. Returns the error. */
static int read_object(unsigned int index, struct worker_same **same,
		       uint32_t *nr)
{
	const struct worker_part part = { .index = index, .nr = NR_OBJECTS };
	const int err = worker_result_read_part(end.result_fd, &part, NULL,
						&converted, text, sizeof(text));

	*same = NULL;
	return err ? err : worker_result_same(end.result_fd, &part, same, nr);
}

/* Objects that a program has announced, the second of which does not have its code. */
static void test_objects(void)
{
	static const struct worker_limits limits = {
		.max_rows = 256,
		.is_object = true,
	};
	static const unsigned char code[OBJECT_MAX_TEXT] = { 1, 2, 3 };
	const struct worker_part last = { .index = 2, .nr = NR_OBJECTS };
	struct announced_object objects[NR_OBJECTS];
	struct worker_same *same;
	struct worker *worker;
	uint64_t start, size;
	int fds[NR_OBJECTS];
	uint32_t nr;

	for (unsigned int i = 0; i < NR_OBJECTS; i++)
		make_announced_object(&objects[i], CODE, code, sizeof(code), 8);
	objects[1].sections[OBJECT_TEXT].sh_type = SHT_NOBITS;
	objects[2].sections[OBJECT_TEXT].sh_offset = 0;
	for (unsigned int i = 0; i < NR_OBJECTS; i++)
		fds[i] = make_sealed(&objects[i], sizeof(objects[i]));
	EXPECT_EQ(worker_start_many(&worker, fds, NR_OBJECTS, &limits), 0);
	for (unsigned int i = 0; i < NR_OBJECTS; i++)
		close(fds[i]);
	wait_for_worker(worker, &end);
	EXPECT_EQ(end.error, 0);
	EXPECT_EQ(read_object(0, &same, &nr), 0);
	EXPECT_EQ(nr, 1);
	EXPECT_EQ(same[0].object, offsetof(struct announced_object, text));
	EXPECT_EQ(same[0].code, 0);
	EXPECT_EQ(same[0].size, sizeof(code));
	EXPECT_EQ(converted->nr_functions, 1);
	free(same);
	sframe_unwind_converted_free(converted);
	EXPECT_EQ(read_object(1, &same, &nr), -EINVAL);
	EXPECT(!strcmp(text, "its code is not in the object"));
	EXPECT_EQ(read_object(2, &same, &nr), 0);
	EXPECT_EQ(nr, 1);
	EXPECT_EQ(same[0].object, 0);
	free(same);
	worker_result_code(end.result_fd, &last, &start, &size);
	EXPECT_EQ(start, CODE);
	EXPECT_EQ(size, sizeof(code));
	close(end.result_fd);
}

/* A hole of a terabyte takes no memory, neither here nor in the snapshot. */
static void test_hole(void)
{
	const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t size;
	unsigned char *bytes = read_file(library, &size);
	const int kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct stat before, after;

	EXPECT_EQ(pwrite(fd, bytes, size, 0), size);
	free(bytes);
	EXPECT_EQ(ftruncate(fd, 1LL << 40), 0);
	EXPECT_EQ(fcntl(fd, F_ADD_SEALS, SEALS), 0);
	EXPECT_EQ(fstat(fd, &before), 0);
	EXPECT_EQ(run_worker(fd, NULL, &end), 0);
	EXPECT_EQ(end.error, 0);
	sframe_unwind_converted_free(converted);
	EXPECT_EQ(worker_result_read(end.result_fd, NULL, &converted, text,
				     sizeof(text)), 0);
	close(end.result_fd);
	EXPECT_EQ(fstat(kept, &after), 0);
	EXPECT_EQ(after.st_blocks, before.st_blocks);
	close(kept);
}

static void test_not_sealed(void)
{
	struct worker *worker;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	EXPECT_EQ(ftruncate(fd, 4096), 0);
	EXPECT_EQ(fcntl(fd, F_ADD_SEALS, SEALS & ~F_SEAL_WRITE), 0);
	EXPECT_EQ(worker_start(&worker, fd, NULL), -EINVAL);
	EXPECT(!worker);
	close(fd);
	fd = open(library, O_RDONLY | O_CLOEXEC);
	EXPECT_EQ(worker_start(&worker, fd, NULL), -EINVAL);
	close(fd);
	EXPECT_EQ(worker_start(&worker, -1, NULL), -EBADF);
}

static void test_empty(void)
{
	const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	EXPECT_EQ(fcntl(fd, F_ADD_SEALS, SEALS), 0);
	EXPECT_EQ(run_worker(fd, NULL, &end), 0);
	EXPECT_EQ(end.error, 0);
	sframe_unwind_converted_free(converted);
	EXPECT_EQ(worker_result_read(end.result_fd, NULL, &converted, text,
				     sizeof(text)), -ENOEXEC);
	close(end.result_fd);
}

/* Start a conversion of all @paths together. Returns worker_start_many()'s error. */
static int run_many(const char *const *paths, unsigned int nr,
		    const struct worker_limits *limits)
{
	int snapshots[WORKER_MAX_SNAPSHOTS + 1] = { -1 };
	struct worker *worker;
	int err;

	memset(&end, 0, sizeof(end));
	end.result_fd = -1;
	for (unsigned int i = 0; i < nr; i++)
		snapshots[i] = make_snapshot(paths[i]);
	err = worker_start_many(&worker, snapshots, nr, limits);
	for (unsigned int i = 0; i < nr; i++)
		close(snapshots[i]);
	if (!err)
		wait_for_worker(worker, &end);
	return err;
}

/* Read one of the results of several files. */
static int read_part(unsigned int index, unsigned int nr)
{
	const struct worker_part part = { .index = index, .nr = nr };

	sframe_unwind_converted_free(converted);
	return worker_result_read_part(end.result_fd, &part, NULL, &converted,
				       text, sizeof(text));
}

/* Several files: each has its own result, also if others have none. */
static void test_many(void)
{
	const char *const paths[] = {
		library, "/etc/passwd", "/proc/self/exe", library,
	};
	const unsigned int nr = sizeof(paths) / sizeof(paths[0]);
	struct sframe_unwind_converted *alone[2];

	EXPECT_EQ(convert(library, NULL), 0);
	alone[0] = converted;
	converted = NULL;
	EXPECT_EQ(convert("/proc/self/exe", NULL), 0);
	alone[1] = converted;
	converted = NULL;
	EXPECT(alone[0]->size != alone[1]->size);
	EXPECT_EQ(run_many(paths, nr, NULL), 0);
	EXPECT_EQ(end.error, 0);
	for (unsigned int i = 0; i < nr; i++) {
		const struct sframe_unwind_converted *same = alone[i == 2];

		if (i == 1) {
			EXPECT_EQ(read_part(i, nr), -EOPNOTSUPP);
			EXPECT(text[0]);
			continue;
		}
		EXPECT_EQ(read_part(i, nr), 0);
		EXPECT_EQ(converted->size, same->size);
		EXPECT(!memcmp(converted->bytes, same->bytes, same->size));
	}
	/* There is no fifth, and the fourth was not the last but one. */
	EXPECT_EQ(read_part(nr, nr + 1), -EPROTO);
	EXPECT_EQ(read_part(nr - 2, nr - 1), -EPROTO);
	close(end.result_fd);
	sframe_unwind_converted_free(alone[0]);
	sframe_unwind_converted_free(alone[1]);
}

static void test_how_many(void)
{
	const char *paths[WORKER_MAX_SNAPSHOTS + 1];

	for (unsigned int i = 0; i <= WORKER_MAX_SNAPSHOTS; i++)
		paths[i] = library;
	EXPECT_EQ(run_many(paths, 0, NULL), -EINVAL);
	EXPECT_EQ(run_many(paths, WORKER_MAX_SNAPSHOTS + 1, NULL), -EINVAL);
	EXPECT_EQ(run_many(paths, WORKER_MAX_SNAPSHOTS, NULL), 0);
	EXPECT_EQ(end.error, 0);
	EXPECT_EQ(read_part(WORKER_MAX_SNAPSHOTS - 1, WORKER_MAX_SNAPSHOTS), 0);
	close(end.result_fd);
}

/* The limits are for all files together. */
static void test_many_limits(void)
{
	const char *const paths[] = { library, library };
	struct worker_limits limits = { .nice = 0 };
	struct stat stat;

	EXPECT_EQ(run_many(paths, 2, NULL), 0);
	EXPECT_EQ(fstat(end.result_fd, &stat), 0);
	close(end.result_fd);
	limits.result_size = stat.st_size - 1;
	EXPECT_EQ(run_many(paths, 2, &limits), 0);
	EXPECT_EQ(end.error, 0);
	EXPECT_EQ(read_part(0, 2), 0);
	EXPECT_EQ(read_part(1, 2), -EFBIG);
	close(end.result_fd);
	/* One that has no memory does not take it from the next one. */
	limits = (struct worker_limits){ .memory = 1 << 20 };
	EXPECT_EQ(run_many(paths, 2, &limits), 0);
	EXPECT_EQ(end.error, 0);
	EXPECT_EQ(read_part(0, 2), -ENOMEM);
	EXPECT_EQ(read_part(1, 2), -ENOMEM);
	close(end.result_fd);
}

static void test_nice(void)
{
	const struct worker_limits limits = { .nice = 19 };

	EXPECT_EQ(convert(library, &limits), 0);
}

static void test_kill(void)
{
	struct worker *worker;

	for (int i = 0; i < 20; i++) {
		const int fd = make_snapshot(library);

		EXPECT_EQ(worker_start(&worker, fd, NULL), 0);
		close(fd);
		/* At any point of its life. */
		usleep(i * 200);
		worker_kill(worker);
	}
	worker_kill(NULL);
	EXPECT(wait_for_children());
}

/* End idle workers. Returns whether no process is left. */
static bool end_idle(void)
{
	workers_end_idle();
	return wait_for_children();
}

static void test_stopped(void)
{
	const struct worker_limits limits = { .wall_ms = 300 };
	const int fd = make_snapshot(library);
	struct worker *worker;

	EXPECT(end_idle());
	EXPECT_EQ(worker_start(&worker, fd, &limits), 0);
	close(fd);
	EXPECT_EQ(kill(only_child(), SIGSTOP), 0);
	EXPECT_EQ(worker_finish(worker, &end), -EAGAIN);
	wait_for_worker(worker, &end);
	EXPECT_EQ(end.error, -ETIMEDOUT);
	EXPECT_EQ(end.result_fd, -1);
	EXPECT(wait_for_children());
}

static void test_killed(void)
{
	const int fd = make_snapshot(library);
	struct worker *worker;

	EXPECT_EQ(worker_start(&worker, fd, NULL), 0);
	close(fd);
	EXPECT_EQ(kill(only_child(), SIGKILL), 0);
	wait_for_worker(worker, &end);
	EXPECT_EQ(end.error, -EINTR);
	EXPECT(strstr(end.text, "killed"));
	EXPECT_EQ(end.result_fd, -1);
}

/*
 * A worker that ended successfully is used again, and does not count as left
 * behind.
 */
static void test_again(void)
{
	pid_t server;

	EXPECT(end_idle());
	EXPECT_EQ(convert(library, NULL), 0);
	server = only_child();
	EXPECT(server > 0);
	EXPECT_EQ(convert("/etc/passwd", NULL), -EOPNOTSUPP);
	EXPECT_EQ(convert(library, NULL), 0);
	EXPECT_EQ(only_child(), server);
	workers_keep_spare(60000);
	EXPECT_EQ(only_child(), server);
	EXPECT(end_idle());
}

static unsigned int nr_children(void)
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	unsigned int nr = 0;

	if (!file)
		abort();
	while (fscanf(file, "%*d") != EOF)
		nr++;
	fclose(file);
	return nr;
}

/* One idle server is kept, whatever its age, and started if there is none. */
static void test_spare(void)
{
	const int fd = make_snapshot(library);
	struct worker *first, *second;
	uint64_t started_at;
	pid_t server;

	EXPECT(end_idle());
	EXPECT_EQ(worker_start(&first, fd, NULL), 0);
	EXPECT_EQ(worker_start(&second, fd, NULL), 0);
	close(fd);
	wait_for_worker(first, &end);
	EXPECT_EQ(end.error, 0);
	close(end.result_fd);
	wait_for_worker(second, &end);
	EXPECT_EQ(end.error, 0);
	close(end.result_fd);
	workers_keep_spare(60000);
	EXPECT_EQ(nr_children(), 2);
	workers_keep_spare(0);
	for (int i = 0; i < 500 && nr_children() > 1; i++) {
		children_collect_left();
		usleep(10000);
	}
	EXPECT_EQ(nr_children(), 1);
	server = only_child();
	workers_keep_spare(0);
	EXPECT_EQ(only_child(), server);
	EXPECT(end_idle());
	/* Not more often than once a second. */
	usleep(1100000);
	started_at = now_ns();
	workers_keep_spare(0);
	EXPECT_EQ(nr_children(), 1);
	server = only_child();
	EXPECT_EQ(convert(library, NULL), 0);
	EXPECT_EQ(only_child(), server);
	EXPECT(end_idle());
	workers_keep_spare(0);
	/* The conversion may have taken that long. */
	EXPECT(nr_children() == 0 || now_ns() - started_at >= SECOND);
	EXPECT(end_idle());
}

/* Without a spare one, what is not used ends, and is collected. */
static void test_unused(void)
{
	pid_t server;

	EXPECT(end_idle());
	EXPECT(!workers_end_unused(0));
	EXPECT_EQ(convert(library, NULL), 0);
	server = only_child();
	EXPECT(workers_end_unused(60000));
	EXPECT_EQ(only_child(), server);
	for (int i = 0; i < 500 && workers_end_unused(0); i++)
		usleep(10000);
	EXPECT(!workers_end_unused(0));
	EXPECT_EQ(nr_children(), 0);
}

/* What the start of a server takes is told by the conversion that has started it. */
static void test_start_is_told(void)
{
	const int fd = make_snapshot(library);
	struct worker *worker;
	uint64_t first;

	EXPECT(end_idle());
	EXPECT_EQ(convert("/etc/passwd", NULL), -EOPNOTSUPP);
	first = end.cpu_ns;
	EXPECT_EQ(convert("/etc/passwd", NULL), -EOPNOTSUPP);
	printf("# %llu us, then %llu us\n", (unsigned long long)first / 1000,
	       (unsigned long long)end.cpu_ns / 1000);
	EXPECT(first > 2 * end.cpu_ns);
	/* And what has been told is not told again when the server dies. */
	EXPECT_EQ(convert(library, NULL), 0);
	first = end.cpu_ns;
	EXPECT_EQ(kill(only_child(), SIGSTOP), 0);
	EXPECT_EQ(worker_start(&worker, fd, NULL), 0);
	close(fd);
	EXPECT_EQ(kill(only_child(), SIGKILL), 0);
	wait_for_worker(worker, &end);
	EXPECT_EQ(end.error, -EINTR);
	printf("# %llu us, then %llu us\n", (unsigned long long)first / 1000,
	       (unsigned long long)end.cpu_ns / 1000);
	EXPECT(end.cpu_ns < first);
	EXPECT(wait_for_children());
}

/* It is replaced by another one. */
static void test_killed_while_idle(void)
{
	pid_t server;

	EXPECT_EQ(convert(library, NULL), 0);
	server = only_child();
	EXPECT_EQ(kill(server, SIGKILL), 0);
	EXPECT_EQ(waitid(P_PID, server, NULL, WEXITED | WNOWAIT), 0);
	/* Its own child dies with it, but not at once. */
	for (int tries = 0; tries < 100; tries++) {
		if (!convert(library, NULL))
			break;
		EXPECT_EQ(end.error, -EINTR);
	}
	EXPECT(converted);
	EXPECT(only_child() != server);
}

/* It is collected. Another one is started when it is needed, not before. */
static void test_killed_spare(void)
{
	pid_t server;

	EXPECT(end_idle());
	EXPECT_EQ(convert(library, NULL), 0);
	server = only_child();
	EXPECT_EQ(kill(server, SIGKILL), 0);
	EXPECT_EQ(waitid(P_PID, server, NULL, WEXITED | WNOWAIT), 0);
	workers_keep_spare(60000);
	EXPECT_EQ(nr_children(), 0);
	usleep(1100000);
	workers_keep_spare(60000);
	EXPECT_EQ(nr_children(), 0);
	EXPECT_EQ(convert(library, NULL), 0);
	EXPECT_EQ(nr_children(), 1);
}

static void test_cut_snapshot(void)
{
	size_t size;
	unsigned char *bytes = read_file(library, &size);

	for (size_t part = 64; part < size; part += size / 7 + 1) {
		if (run_worker(make_sealed(bytes, part), NULL, &end) ||
		    end.error ||
		    worker_result_read(end.result_fd, NULL, &converted, text,
				       sizeof(text)) == -EPROTO)
			tap_fail("%zu bytes: error %d: %s", part, end.error,
				 end.text);
		sframe_unwind_converted_free(converted);
		converted = NULL;
		if (end.result_fd >= 0)
			close(end.result_fd);
	}
	free(bytes);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_same_as_converter),
		TAP_TEST(test_options),
		TAP_TEST(test_refused),
		TAP_TEST(test_memory),
		TAP_TEST(test_result_size),
		TAP_TEST(test_objects),
		TAP_TEST(test_hole),
		TAP_TEST(test_not_sealed),
		TAP_TEST(test_empty),
		TAP_TEST(test_many),
		TAP_TEST(test_how_many),
		TAP_TEST(test_many_limits),
		TAP_TEST(test_nice),
		TAP_TEST(test_kill),
		TAP_TEST(test_stopped),
		TAP_TEST(test_killed),
		TAP_TEST(test_again),
		TAP_TEST(test_spare),
		TAP_TEST(test_unused),
		TAP_TEST(test_start_is_told),
		TAP_TEST(test_killed_while_idle),
		TAP_TEST(test_killed_spare),
		TAP_TEST(test_cut_snapshot),
	};
	const unsigned int descriptors = count_descriptors();

	library = argc > 1 ? argv[1] : "/proc/self/exe";
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	sframe_unwind_converted_free(converted);
	test_nothing_left(descriptors);
	return tap_done();
}
