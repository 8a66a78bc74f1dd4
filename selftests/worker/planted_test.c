// SPDX-License-Identifier: GPL-2.0
/*
 * A worker controlled by its input must not be able to do anything. Runs beside
 * the worker with the bug.
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "common.h"
#include "planted.h"

/* Upper bound of system call numbers; today there are some 470. */
#define MAX_CALLS 600

/* Without this, the tests below could succeed although nothing is executed. */
static void test_runs(void)
{
	begin();
	add(PAYLOAD_CALL, SYS_brk);
	add(PAYLOAD_END, 0);
	run(NULL);
	EXPECT_EQ(end.error, 0);
	EXPECT(result(0) > 4096);
}

/*
 * uretprobe() and uprobe(), which the kernel inserts into probed processes:
 * filters let them pass. Called from elsewhere, one raises SIGILL, and the
 * other returns an error.
 */
static bool is_for_uprobes(unsigned int number)
{
	if (number == 335)
		return end.error == -EPROTO && strstr(end.text, "signal 4 ");
	return number == 336 && !end.error && result(0) < 0;
}

static void test_calls(void)
{
	for (unsigned int number = 0; number < MAX_CALLS; number++) {
		begin();
		add(PAYLOAD_CALL, number);
		add(PAYLOAD_END, 0);
		run(NULL);
		if (is_killed_by_filter() ==
		    (number != SYS_brk && number != SYS_exit_group) ||
		    is_for_uprobes(number))
			continue;
		tap_fail("call %u: error %d: %s", number, end.error, end.text);
		return;
	}
}

static void expect_killed(unsigned int kind, uint64_t number, uint64_t a,
			  uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	const uint64_t arguments[] = { a, b, c, d, e };
	struct payload_step *step;

	begin();
	step = add(kind, number);
	memcpy(step->arguments, arguments, sizeof(arguments));
	add(PAYLOAD_END, 0);
	run(NULL);
	if (!is_killed_by_filter())
		tap_fail("call %lu (%lu, %lu, %lu, %lu): error %d: %s", number,
			 a, b, c, d, end.error, end.text);
}

static void test_arguments(void)
{
	const uint64_t anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	const uint64_t usable = PROT_READ | PROT_WRITE;

	expect_killed(PAYLOAD_CALL, SYS_write, 0, 0, 1, 0, 0);
	expect_killed(PAYLOAD_CALL, SYS_write, 2, 0, 1, 0, 0);
	expect_killed(PAYLOAD_CALL, SYS_write, 1ULL << 32 | 1, 0, 1, 0, 0);
	expect_killed(PAYLOAD_CALL, SYS_mmap, 0, 4096, usable | PROT_EXEC,
		      anonymous, -1);
	expect_killed(PAYLOAD_CALL, SYS_mmap, 0, 4096, PROT_EXEC, anonymous,
		      -1);
	expect_killed(PAYLOAD_CALL, SYS_mmap, 0, 4096, PROT_NONE, anonymous,
		      -1);
	expect_killed(PAYLOAD_CALL, SYS_mmap, 0, 4096, usable,
		      MAP_SHARED | MAP_ANONYMOUS, -1);
	expect_killed(PAYLOAD_CALL, SYS_mmap, 0, 4096, usable, MAP_PRIVATE, 0);
	expect_killed(PAYLOAD_CALL, SYS_mmap, 0, 4096, usable,
		      anonymous | MAP_FIXED, -1);
}

static void test_x32(void)
{
	expect_killed(PAYLOAD_CALL, 0x40000000 | SYS_write, 1, 0, 1, 0, 0);
	expect_killed(PAYLOAD_CALL, 0x40000000 | SYS_exit_group, 0, 0, 0, 0, 0);
}

/* Some kernels and hypervisors lack them: then such a call raises SIGSEGV. */
static bool has_32_bit_calls(void)
{
	const pid_t child = fork();
	int status;
	long pid;

	if (!child) {
		/* getpid() */
		__asm__ volatile("int $0x80"
				 : "=a"(pid)
				 : "a"(20)
				 : "r8", "r9", "r10", "r11", "memory");
		_exit(pid != getpid());
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static void test_i386(void)
{
	/* exit, open, brk, exit_group */
	expect_killed(PAYLOAD_CALL_32, 1, 0, 0, 0, 0, 0);
	expect_killed(PAYLOAD_CALL_32, 5, 0, 0, 0, 0, 0);
	expect_killed(PAYLOAD_CALL_32, 45, 0, 0, 0, 0, 0);
	expect_killed(PAYLOAD_CALL_32, 252, 0, 0, 0, 0, 0);
}

/* These calls are refused for other reasons in the unfiltered worker. */
static void test_open(void)
{
	const uint64_t path = sizeof(payload) - 64;

	begin();
	strcpy((char *)&payload + path, "/etc/passwd");
	*add(PAYLOAD_CALL, SYS_open) = (struct payload_step){
		.kind = PAYLOAD_CALL,
		.relative = 1,
		.number = SYS_open,
		.arguments = { path },
	};
	add(PAYLOAD_END, 0);
	run(NULL);
	EXPECT(is_killed_by_filter());
}

static void test_memory(void)
{
	begin();
	add(PAYLOAD_GRAB, 0);
	add(PAYLOAD_CALL, SYS_brk);
	add(PAYLOAD_END, 0);
	run(&(struct worker_limits){ .memory = 20 << 20 });
	EXPECT_EQ(end.error, 0);
	EXPECT(result(0) >= 15 && result(0) <= 20);
	run(&(struct worker_limits){ .memory = 200 << 20 });
	EXPECT_EQ(end.error, 0);
	EXPECT(result(0) >= 195 && result(0) <= 200);
}

/* Reading a hole does not allocate it. */
static void test_hole(void)
{
	const uint64_t size = 64 << 20;
	struct payload_step *step;
	struct stat before, after;
	int fd, kept;

	begin();
	step = add(PAYLOAD_TOUCH, 0);
	step->relative = 1;
	step->arguments[0] = PAYLOAD_PAGE * 2;
	step->arguments[1] = size - PAYLOAD_PAGE * 2;
	add(PAYLOAD_END, 0);
	fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	EXPECT_EQ(write(fd, &payload, sizeof(payload)), sizeof(payload));
	EXPECT_EQ(ftruncate(fd, size), 0);
	EXPECT_EQ(fcntl(fd, F_ADD_SEALS, SEALS), 0);
	EXPECT_EQ(fstat(fd, &before), 0);
	kept = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(end.result_fd);
	EXPECT_EQ(run_worker(fd, NULL, &end), 0);
	EXPECT_EQ(end.error, 0);
	EXPECT_EQ(result(0), 0);
	EXPECT_EQ(fstat(kept, &after), 0);
	close(kept);
	EXPECT_EQ(after.st_blocks, before.st_blocks);
}

static void test_stack_not_executable(void)
{
	begin();
	add(PAYLOAD_JUMP, 0);
	run(NULL);
	EXPECT_EQ(end.error, -EPROTO);
	EXPECT(strstr(end.text, "signal 11 "));
}

static void test_cpu_time(void)
{
	struct timespec before, after;
	uint64_t wall_ns;

	begin();
	add(PAYLOAD_SPIN, 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	run(&(struct worker_limits){ .cpu_seconds = 1 });
	clock_gettime(CLOCK_MONOTONIC, &after);
	wall_ns = (after.tv_sec - before.tv_sec) * 1000000000ULL + after.tv_nsec - before.tv_nsec;
	EXPECT_EQ(end.error, -ETIMEDOUT);
	EXPECT(!strcmp(end.text, "takes more than 1 s of CPU time to convert"));
	/* The limit is measured in ticks, which a busy host delays; our result in time. */
	EXPECT(end.cpu_ns > 200000000 && end.cpu_ns < wall_ns);
}

static void test_wall_time(void)
{
	begin();
	add(PAYLOAD_SPIN, 0);
	run(&(struct worker_limits){ .wall_ms = 300 });
	EXPECT_EQ(end.error, -ETIMEDOUT);
	EXPECT(!strcmp(end.text, "takes more than 300 ms to convert"));
}

static void test_flood(void)
{
	begin();
	add(PAYLOAD_FLOOD, 0);
	add(PAYLOAD_END, 0);
	run(&(struct worker_limits){ .result_size = 1 << 20 });
	EXPECT_EQ(end.error, -EPROTO);
	EXPECT(strstr(end.text, "signal 25 "));
}

/* Whether the process runs the worker beside this test. */
static bool is_worker(pid_t pid)
{
	char own[256] = "", path[64], program[256];
	ssize_t size;

	if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
		abort();
	strrchr(own, '/')[1] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	size = readlink(path, program, sizeof(program) - 1);
	program[size > 0 ? size : 0] = '\0';
	return strstr(program, "convert-worker") &&
	       !strncmp(program, own, strlen(own));
}

/* Count such processes. The last one is stored in *@last, if not NULL. */
static unsigned int count_workers(pid_t *last)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	unsigned int count = 0;

	while ((entry = readdir(dir))) {
		const pid_t pid = atoi(entry->d_name);

		if (!is_worker(pid))
			continue;
		count++;
		if (last)
			*last = pid;
	}
	closedir(dir);
	return count;
}

/* The line of /proc/PID/status that starts with @name. */
static const char *status_line(pid_t pid, const char *name)
{
	static char line[256];
	bool is_found = false;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && !is_found && fgets(line, sizeof(line), file))
		is_found = !strncmp(line, name, strlen(name));
	if (file)
		fclose(file);
	return is_found ? line + strlen(name) : "";
}

static bool wait_for_workers(unsigned int count)
{
	for (int tries = 0; count_workers(NULL) != count && tries < 1000; tries++)
		poll(NULL, 0, 10);
	return count_workers(NULL) == count;
}

/* As seen by other processes. */
static void test_credentials(void)
{
	static const char *const sets[] = {
		"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:",
	};
	pid_t parent, pid = 0;
	uid_t user;

	begin();
	add(PAYLOAD_SPIN, 0);
	workers_end_idle();
	EXPECT(wait_for_workers(0));
	parent = fork();
	if (!parent) {
		run(NULL);
		_exit(0);
	}
	EXPECT(wait_for_workers(3));
	for (int tries = 0; tries < 1000; tries++) {
		count_workers(&pid);
		if (atoi(status_line(pid, "Seccomp:")) == 2)
			break;
		poll(NULL, 0, 10);
	}
	EXPECT_EQ(atoi(status_line(pid, "Seccomp:")), 2);
	EXPECT_EQ(atoi(status_line(pid, "NoNewPrivs:")), 1);
	user = strtoul(status_line(pid, "Uid:"), NULL, 10);
	EXPECT(user >= 0xf0000000U);
	EXPECT_EQ(strtoul(status_line(pid, "Gid:"), NULL, 10), user);
	EXPECT_EQ(strspn(status_line(pid, "Groups:"), "\t \n"),
		  strlen(status_line(pid, "Groups:")));
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		EXPECT_EQ(strtoull(status_line(pid, sets[i]), NULL, 16), 0);
	EXPECT_EQ(kill(parent, SIGKILL), 0);
	EXPECT_EQ(waitpid(parent, NULL, 0), parent);
	EXPECT(wait_for_workers(0));
}

/* The worker and its children die with the process that started it. */
static void test_death_of_parent(void)
{
	pid_t parent;

	begin();
	add(PAYLOAD_SPIN, 0);
	workers_end_idle();
	EXPECT(wait_for_workers(0));
	parent = fork();
	if (!parent) {
		run(NULL);
		_exit(0);
	}
	EXPECT(wait_for_workers(3));
	EXPECT_EQ(kill(parent, SIGKILL), 0);
	EXPECT_EQ(waitpid(parent, NULL, 0), parent);
	EXPECT(wait_for_workers(0));
}

/* A well-formed result with wrong contents. */
static void test_forged(void)
{
	struct sframe_unwind_converted *converted;
	char text[256];

	begin();
	memcpy((char *)&payload + PAYLOAD_PAGE * 3 / 2, "SFUWORK1", 8);
	add(PAYLOAD_WRITE, 0)->arguments[0] = PAYLOAD_PAGE * 3 / 2;
	payload.steps[0].arguments[1] = 32;
	payload.steps[0].relative = 1;
	add(PAYLOAD_END, 0);
	run(NULL);
	EXPECT_EQ(end.error, 0);
	EXPECT_EQ(worker_result_read(end.result_fd, NULL, &converted, text,
				     sizeof(text)), -EPROTO);
	EXPECT(!converted && text[0]);
}

/* The result cannot be changed after it has been checked. */
static void test_sealed(void)
{
	begin();
	add(PAYLOAD_END, 0);
	run(NULL);
	EXPECT_EQ(end.error, 0);
	EXPECT(write(end.result_fd, "x", 1) < 0 && errno == EPERM);
	EXPECT(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, end.result_fd, 0) ==
	       MAP_FAILED);
}

/* Run the steps that were added twice, by snapshots that are converted together. */
static void run_twice(void)
{
	struct worker *worker;
	int snapshots[2];

	if (end.result_fd > 0)
		close(end.result_fd);
	for (int i = 0; i < 2; i++)
		snapshots[i] = make_sealed(&payload, sizeof(payload));
	if (worker_start_many(&worker, snapshots, 2, NULL))
		abort();
	wait_for_worker(worker, &end);
	for (int i = 0; i < 2; i++)
		close(snapshots[i]);
}

/*
 * A file that takes over a process that converts several leaves the others without a
 * result, but not the process without its sandbox.
 */
static void test_together(void)
{
	struct sframe_unwind_converted *converted;
	char text[256];

	begin();
	add(PAYLOAD_END, 0);
	run_twice();
	EXPECT_EQ(end.error, 0);
	for (unsigned int i = 0; i < 2; i++) {
		const struct worker_part part = { .index = i, .nr = 2 };

		EXPECT_EQ(worker_result_read_part(end.result_fd, &part, NULL,
						  &converted, text,
						  sizeof(text)), -EPROTO);
		EXPECT(!converted && text[0]);
	}
	begin();
	add(PAYLOAD_CALL, SYS_openat);
	add(PAYLOAD_END, 0);
	run_twice();
	EXPECT(is_killed_by_filter());
	EXPECT_EQ(end.result_fd, -1);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_runs),
		TAP_TEST(test_calls),
		TAP_TEST(test_arguments),
		TAP_TEST(test_x32),
		TAP_TEST(test_open),
		TAP_TEST(test_memory),
		TAP_TEST(test_hole),
		TAP_TEST(test_stack_not_executable),
		TAP_TEST(test_cpu_time),
		TAP_TEST(test_wall_time),
		TAP_TEST(test_flood),
		TAP_TEST(test_credentials),
		TAP_TEST(test_death_of_parent),
		TAP_TEST(test_forged),
		TAP_TEST(test_sealed),
		TAP_TEST(test_together),
	};
	const unsigned int descriptors = count_descriptors();

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	if (has_32_bit_calls())
		tap_run(&(struct tap_test)TAP_TEST(test_i386), 1);
	else
		tap_skip("test_i386", "no 32-bit system calls on this machine");
	close(end.result_fd);
	test_nothing_left(descriptors);
	return tap_done();
}
