// SPDX-License-Identifier: GPL-2.0
/*
 * Names in the stacks that "exec" prints: of programs of its user, and of others, whose
 * files must not make it wait.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_stub.h"
#include "tap.h"
#include "userspace/cli/exec_maps.h"
#include "userspace/cli/stack_print.h"

#define STRANGER	65534

static const char *named, *linked;
static char work[] = "/tmp/stack_print.XXXXXX";
static char printed[4096];

/**
 * struct program - a process that has a file mapped
 *
 * @pid: the process.
 * @start: where.
 * @offset: offset of the function "leaf" in the file.
 */
struct program {
	pid_t pid;
	uint64_t start;
	uint64_t offset;
};

/* Put a copy of @from, of the stranger, to @path. Returns whether that worked. */
static bool copy_file(char *path, size_t size, const char *from)
{
	const int in = open(from, O_RDONLY | O_CLOEXEC);
	struct stat status;
	bool is_good = false;
	int out;

	snprintf(path, size, "%s/%s", work, strrchr(from, '/') + 1);
	unlink(path);
	out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	if (in >= 0 && out >= 0 && !fstat(in, &status))
		is_good = sendfile(out, in, NULL, status.st_size) ==
			  status.st_size && !fchown(out, STRANGER, STRANGER);
	close(in);
	close(out);
	return is_good;
}

__attribute__((noreturn))
static void live(const char *path, bool is_stranger, bool is_dumpable, int out)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (is_stranger && (setresgid(STRANGER, STRANGER, STRANGER) ||
			    setresuid(STRANGER, STRANGER, STRANGER)))
		_exit(1);
	/* By which the kernel gives the files in /proc to root, or to the user. */
	prctl(PR_SET_DUMPABLE, is_dumpable);
	if (write(out, &code, sizeof(code)) == sizeof(code))
		pause();
	_exit(1);
}

static bool start(struct program *program, const char *path, bool is_stranger,
		  bool is_dumpable)
{
	bool is_good;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		return false;
	program->pid = fork();
	if (!program->pid)
		live(path, is_stranger, is_dumpable, pipes[1]);
	close(pipes[1]);
	is_good = read(pipes[0], &program->start, sizeof(program->start)) ==
		  sizeof(program->start);
	close(pipes[0]);
	return is_good;
}

static void end(const struct program *program)
{
	kill(program->pid, SIGKILL);
	waitpid(program->pid, NULL, 0);
}

/* Print a stack with one frame, the third byte of the page at 0x1000. */
static void print(const struct program *program)
{
	struct {
		struct sframe_unwind_stack head;
		uint64_t ips[1];
		uint8_t how[8];
	} stack = {
		.head = { .pid = program->pid, .tid = program->pid, .nr_frames = 1 },
		.ips = { program->start + 0x1002 },
		.how = { SFRAME_UNWIND_FRAME_REGS },
	};
	FILE *out = fmemopen(printed, sizeof(printed), "w");
	struct stack_printer *printer = stack_printer_create(out);

	/* Instead of waiting for ever. */
	alarm(30);
	stack_printer_print(printer, &stack.head, NULL);
	alarm(0);
	stack_printer_free(printer);
	fclose(out);
}

static void test_own(void)
{
	struct program program;

	EXPECT(start(&program, named, false, true));
	EXPECT(exec_maps_are_ours(program.pid));
	print(&program);
	end(&program);
	EXPECT(strstr(printed, "leaf+0x2 ("));
	EXPECT(strstr(printed, "named.so)"));
}

static void test_stranger(void)
{
	struct program program;
	char path[256];

	EXPECT(copy_file(path, sizeof(path), named));
	EXPECT(start(&program, path, true, true));
	EXPECT(!exec_maps_are_ours(program.pid));
	print(&program);
	end(&program);
	EXPECT(strstr(printed, "leaf+0x2 ("));
	EXPECT(strstr(printed, "named.so)"));
}

/* The name of the debug file leads to a FIFO. */
static void test_linked(void)
{
	struct program program;
	char path[256], link[512];

	EXPECT(copy_file(path, sizeof(path), linked));
	snprintf(link, sizeof(link), "%s/named.so.debug", work);
	EXPECT(!mkfifo(link, 0666));
	EXPECT(start(&program, path, true, true));
	print(&program);
	end(&program);
	EXPECT(strstr(printed, " ? ("));
	EXPECT(strstr(printed, "linked.so)"));
}

/* Most files in /proc of a process that may not be inspected belong to root. */
static void test_undumpable(void)
{
	struct program program;
	char path[256];

	EXPECT(copy_file(path, sizeof(path), linked));
	EXPECT(start(&program, path, true, false));
	EXPECT(!exec_maps_are_ours(program.pid));
	print(&program);
	end(&program);
	EXPECT(strstr(printed, " ? ("));
}

static void test_ended(void)
{
	struct program program;

	EXPECT(start(&program, named, false, true));
	end(&program);
	EXPECT(!exec_maps_are_ours(program.pid));
	print(&program);
	EXPECT(strstr(printed, " ? (?)"));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_own),
		TAP_TEST(test_ended),
	}, tests_of_root[] = {
		TAP_TEST(test_stranger),
		TAP_TEST(test_linked),
		TAP_TEST(test_undumpable),
	};

	if (argc != 3 || !mkdtemp(work) || chmod(work, 0755))
		return 2;
	named = argv[1];
	linked = argv[2];
	tap_run(tests, 2);
	if (!geteuid())
		tap_run(tests_of_root, 3);
	else
		tap_skip("strangers", "needs root");
	remove_tree(work);
	return tap_done();
}
