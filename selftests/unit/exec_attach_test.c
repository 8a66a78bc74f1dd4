// SPDX-License-Identifier: GPL-2.0
/*
 * How "sframe-unwind exec" attaches for a program: the command's side here, the program's
 * in a child, without the module: a stack is made up, and the call that attaches is
 * replaced. Conversions, questions and answers are real.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "tap.h"
#include "userspace/cli/exec_answer.h"
#include "userspace/cli/exec_attach.h"
#include "userspace/cli/exec_convert.h"
#include "userspace/cli/exec_stacks.h"
#include "userspace/convert/cache/cache.h"

/* In place of userspace/lib/syscall.h. */
#define SFRAME_UNWIND_SYSCALL_H
static long ioctl_inline(int fd, unsigned long number, void *arg);
#include "userspace/preload/attach.c"

/* --- the program */

/* What a program does with the sections; shared with it. */
static struct seen {
	int result;		/* of the replaced call: a negative errno */
	unsigned int calls;
	uint64_t id;		/* the last one given out */
	struct sframe_unwind_attach arg;
	ino_t inode;		/* of the file */
	unsigned char magic[2];	/* of the section */
	bool is_disturbed;
	unsigned int signals;
} *seen;

static long ioctl_inline(int fd, unsigned long number, void *arg)
{
	struct sframe_unwind_attach *attach_ = arg;
	struct stat stat;

	if (fd != 4711 || number != SFRAME_UNWIND_IOC_ATTACH)
		return -EBADF;
	seen->calls++;
	seen->arg = *attach_;
	if (fstat(attach_->elf_fd, &stat))
		return -EBADF;
	seen->inode = stat.st_ino;
	memset(seen->magic, 0, 2);
	if (attach_->sframe_fd >= 0)
		pread(attach_->sframe_fd, seen->magic, 2,
		      attach_->sframe_offset);
	attach_->id = ++seen->id;
	return seen->result;
}

static void count_signal(int number)
{
	(void)number;
	seen->signals++;
}

/* Returns a sum over the open descriptors. */
static unsigned int sum_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned int sum = 0;

	while ((entry = readdir(dir)))
		sum += 1000 + atoi(entry->d_name);
	closedir(dir);
	return sum;
}

static struct exec_setup setup;
static struct exec_page *page;

struct tested {
	pid_t pid;
	int commands;
	int results;
};

__attribute__((noreturn))
static void run_program(int commands, int results)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, count_signal);
	attach_prepare();
	while (read(commands, &byte, 1) == 1) {
		const unsigned int before = sum_files();

		errno = 815;
		attach_offered(&setup, 4711, page->offers);
		seen->is_disturbed = sum_files() != before ||
				     waitpid(-1, NULL, WNOHANG) != -1 ||
				     errno != ECHILD;
		if (write(results, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static struct tested start_program(void)
{
	struct tested program;
	int commands[2], results[2];

	if (pipe2(commands, O_CLOEXEC) || pipe2(results, O_CLOEXEC))
		abort();
	program.pid = fork();
	if (!program.pid)
		run_program(commands[0], results[1]);
	close(commands[0]);
	close(results[1]);
	program.commands = commands[1];
	program.results = results[0];
	return program;
}

static void end_program(struct tested *program)
{
	close(program->commands);
	close(program->results);
	kill(program->pid, SIGKILL);
	waitpid(program->pid, NULL, 0);
}

/* --- the command */

static struct exec_attach *attach_;
static struct exec_stacks *stacks;
static int listening;

/* What was printed last, in place of the command's printer. */
static unsigned int nr_printed;
static char missing_text[8192];

void stack_printer_print(struct stack_printer *printer,
			 const struct sframe_unwind_stack *stack,
			 const char *missing)
{
	(void)printer;
	(void)stack;
	nr_printed++;
	snprintf(missing_text, sizeof(missing_text), "%s",
		 missing ? missing : "");
}

/* There is no cache, so that each conversion needs a worker. */
int __wrap_sfu_cache_open(const char *path, struct sfu_cache **cache);

int __wrap_sfu_cache_open(const char *path, struct sfu_cache **cache)
{
	(void)path;
	(void)cache;
	return -ENOENT;
}

/* What the module says. */
static uint64_t features;

int sframe_unwind_query(struct sframe_unwind *handle,
			struct sframe_unwind_query *query)
{
	(void)handle;
	*query = (struct sframe_unwind_query) { .features = features };
	return 0;
}

static unsigned int nr_detached;

int sframe_unwind_detach(struct sframe_unwind *handle, uint64_t id)
{
	(void)handle;
	nr_detached += id == 1;
	return 0;
}

static void begin_with(bool is_on, uint64_t the_features)
{
	features = the_features;
	exec_stacks_free(stacks);
	exec_attach_free(attach_);
	if (listening)
		close(listening);
	memset(page, 0, sizeof(*page));
	memset(seen, 0, sizeof(*seen));
	listening = exec_answer_open(&setup);
	attach_ = exec_attach_create(NULL, page, is_on);
	stacks = exec_stacks_create(page, attach_, NULL);
	nr_printed = 0;
	nr_detached = 0;
	*missing_text = '\0';
}

static void begin(bool is_on)
{
	begin_with(is_on, SFRAME_UNWIND_FEATURE_ATTACH_EXTENDED);
}

/* One round of the command's main loop. Returns whether the program has answered. */
static bool serve_once(const struct tested *program)
{
	static const int files[EXEC_NR_FILES];
	struct pollfd polled[EXEC_MAX_CONVERSIONS + 2];
	pid_t asker;
	char byte;

	exec_attach_poll(attach_, polled);
	polled[EXEC_MAX_CONVERSIONS] =
		(struct pollfd) { listening, POLLIN, 0 };
	polled[EXEC_MAX_CONVERSIONS + 1] =
		(struct pollfd) { program->results, POLLIN, 0 };
	poll(polled, EXEC_MAX_CONVERSIONS + 2, 10);
	exec_stacks_run(stacks, exec_attach_run(attach_, polled));
	while (exec_answer(listening, &setup, files, attach_, &asker))
		;
	return polled[EXEC_MAX_CONVERSIONS + 1].revents &&
	       read(program->results, &byte, 1) == 1;
}

/* Let the program attach what is offered. */
static void let_attach(const struct tested *program)
{
	if (write(program->commands, "a", 1) != 1)
		abort();
	while (!serve_once(program))
		;
}

static uint64_t now_in_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* A stack of one frame at @address, for the thread that waits with @ticket. */
static void handle_stack(const struct tested *program, const void *address,
			 unsigned int stop, uint32_t ticket, uint64_t time)
{
	struct {
		struct sframe_unwind_stack stack;
		uint64_t ip;
		uint8_t how[8];
	} record = {
		.stack = {
			.record = {
				.type = SFRAME_UNWIND_RECORD_STACK,
				.size = sizeof(record),
			},
			.user_data = ticket,
			.time = time,
			.pid = program->pid,
			.tid = program->pid,
			.nr_frames = 1,
			.stop = stop,
		},
		.ip = (uintptr_t)address,
		.how = { SFRAME_UNWIND_FRAME_REGS },
	};

	if (ticket)
		*exec_slot(page, ticket) = ticket;
	exec_stacks_handle(stacks, &record.stack);
}

/*
 * Handle a stack that ends in libc until the thread is told to attach; it may take longer
 * than a stack is held back. Returns whether it was told.
 */
static bool is_told(const struct tested *program)
{
	for (int i = 0; i < 100; i++) {
		const uint32_t *slot = exec_slot(page, 7);

		handle_stack(program, (void *)strtoul,
			     SFRAME_UNWIND_STOP_NO_RULE, 7, now_in_ns());
		while (*slot == 7)
			serve_once(program);
		if (*slot == EXEC_AGAIN)
			return true;
		if (!strstr(missing_text, ": being converted, ask again"))
			return false;
	}
	return false;
}

/* Handle the stack that the thread requests then: it ends there, too. */
static void handle_next(const struct tested *program)
{
	nr_printed = 0;
	*missing_text = '\0';
	handle_stack(program, (void *)strtoul, SFRAME_UNWIND_STOP_NO_RULE, 7,
		     now_in_ns());
}

static void converts_and_attaches(void)
{
	struct tested program, other;
	uint64_t before;

	begin(true);
	program = start_program();
	before = now_in_ns();
	EXPECT(is_told(&program));
	EXPECT_EQ(page->offers, 1);
	let_attach(&program);
	EXPECT_EQ(seen->calls, 1);
	EXPECT_EQ(seen->arg.flags, SFRAME_UNWIND_ATTACH_INODE |
		  SFRAME_UNWIND_ATTACH_EXTENDED);
	EXPECT(seen->arg.sframe_size > 100000);
	EXPECT_EQ(seen->magic[0], 0xe2);
	EXPECT_EQ(seen->magic[1], 0xde);
	EXPECT(!seen->is_disturbed);
	EXPECT_EQ(seen->signals, 0);
	/* Nothing new is offered. */
	let_attach(&program);
	EXPECT_EQ(seen->calls, 1);

	/* The stack was requested before that: again, but not a second time. */
	nr_printed = 0;
	handle_stack(&program, (void *)strtoul, SFRAME_UNWIND_STOP_NO_RULE, 7,
		     before);
	EXPECT_EQ(*exec_slot(page, 7), EXEC_AGAIN);
	EXPECT_EQ(nr_printed, 0);
	handle_next(&program);
	EXPECT_EQ(nr_printed, 1);
	EXPECT_EQ(*exec_slot(page, 7), 0);
	EXPECT(strstr(missing_text, ": its call frame information has no rule for this code"));

	/* Another program shares the section. */
	other = start_program();
	EXPECT(is_told(&other));
	let_attach(&other);
	EXPECT_EQ(seen->calls, 2);
	EXPECT_EQ(seen->arg.flags, SFRAME_UNWIND_ATTACH_INODE |
		  SFRAME_UNWIND_ATTACH_SHARE);
	EXPECT_EQ(seen->arg.share_id, 1);
	EXPECT_EQ(seen->arg.sframe_fd, -1);
	EXPECT_EQ(seen->arg.sframe_size, 0);

	/* The section of a program that has ended is detached when it is noticed. */
	end_program(&program);
	EXPECT_EQ(nr_detached, 0);
	handle_next(&other);
	EXPECT_EQ(nr_detached, 1);
	end_program(&other);
}

/* When the same process executes another program, everything is attached again. */
static void attaches_after_exec(void)
{
	struct tested program;

	begin(true);
	program = start_program();
	EXPECT(is_told(&program));
	let_attach(&program);
	EXPECT_EQ(seen->calls, 1);
	exec_attach_begin(attach_, program.pid, false);
	EXPECT_EQ(nr_detached, 1);
	EXPECT(is_told(&program));
	let_attach(&program);
	EXPECT_EQ(seen->calls, 2);
	EXPECT_EQ(seen->arg.flags, SFRAME_UNWIND_ATTACH_INODE |
		  SFRAME_UNWIND_ATTACH_EXTENDED);
	end_program(&program);
}

/* Not every module knows what the project's sections have beyond SFrame V3. */
static void attaches_to_other_modules(void)
{
	struct tested program;

	begin_with(true, 0);
	program = start_program();
	EXPECT(is_told(&program));
	let_attach(&program);
	EXPECT_EQ(seen->arg.flags, SFRAME_UNWIND_ATTACH_INODE);
	end_program(&program);
}

/* Without a rule, the frame pointer may lead to an address that is none. */
static void attaches_where_a_guess_was_wrong(void)
{
	struct tested program;

	begin(true);
	program = start_program();
	handle_stack(&program, (void *)strtoul, SFRAME_UNWIND_STOP_BAD_ADDRESS,
		     0, 1);
	EXPECT(strstr(missing_text, ": being converted, ask again"));
	EXPECT(is_told(&program));
	let_attach(&program);
	EXPECT_EQ(seen->calls, 1);
	handle_stack(&program, (void *)strtoul, SFRAME_UNWIND_STOP_BAD_ADDRESS,
		     7, now_in_ns());
	EXPECT(strstr(missing_text, ": its call frame information has a wrong rule, or none, for this code"));
	end_program(&program);
}

static void says_why_it_cannot_attach(void)
{
	struct tested program;

	begin(true);
	program = start_program();
	seen->result = -ENOMEM;
	EXPECT(is_told(&program));
	let_attach(&program);
	handle_next(&program);
	EXPECT_EQ(nr_printed, 1);
	EXPECT(strstr(missing_text, "RLIMIT_MEMLOCK"));
	end_program(&program);
}

static void says_what_is_missing(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tested program;

	begin(true);
	program = start_program();
	handle_stack(&program, memory, SFRAME_UNWIND_STOP_NO_RULE, 7, 1);
	EXPECT_EQ(nr_printed, 1);
	EXPECT(!strncmp(missing_text, "code that no file has, at 0x", 28));
	/* Nobody waits: the conversion begins, the stack is printed. */
	handle_stack(&program, (void *)strtoul, SFRAME_UNWIND_STOP_NO_RULE, 0,
		     1);
	EXPECT_EQ(nr_printed, 2);
	EXPECT(strstr(missing_text, ": being converted, ask again"));
	handle_stack(&program, memory, SFRAME_UNWIND_STOP_COMPLETE, 7, 1);
	EXPECT_EQ(nr_printed, 3);
	EXPECT(!*missing_text);

	begin(false);
	handle_stack(&program, (void *)strtoul, SFRAME_UNWIND_STOP_NO_RULE, 7,
		     1);
	EXPECT_EQ(nr_printed, 1);
	EXPECT(strstr(missing_text, ": no SFrame data, and --no-attach is given"));
	end_program(&program);
	munmap(memory, 4096);
}

/* The stack is printed, because the conversion fails with @reason. */
static void fails_with(const char *reason)
{
	struct tested program;

	begin(true);
	program = start_program();
	EXPECT(!is_told(&program));
	end_program(&program);
	EXPECT(nr_printed);
	if (!strstr(missing_text, reason))
		tap_fail("%s", missing_text);
}

/* Only a worker converts: whatever becomes of it is told, and there is no other way. */
static void depends_on_the_worker(void)
{
	exec_convert_set_worker("/bin/false");
	fails_with(": its conversion ");
	exec_convert_set_worker("/nonexistent/worker");
	fails_with(": its conversion cannot be started: No such file");
	exec_convert_set_worker(WORKER);
}

/* A thread that does not request its stack again loses nothing. */
static void prints_what_it_holds(void)
{
	struct tested program;

	begin(true);
	program = start_program();
	EXPECT(is_told(&program));
	EXPECT_EQ(*exec_slot(page, 7), EXEC_AGAIN);
	nr_printed = 0;
	exec_stacks_end(stacks);
	EXPECT_EQ(nr_printed, 1);
	exec_stacks_end(stacks);
	EXPECT_EQ(nr_printed, 1);
	/* Nor does one that waits for something else than a conversion. */
	handle_stack(&program, (void *)strtoul, SFRAME_UNWIND_STOP_PENDING, 8,
		     1);
	EXPECT_EQ(*exec_slot(page, 8), 8);
	while (*exec_slot(page, 8) == 8)
		serve_once(&program);
	EXPECT_EQ(*exec_slot(page, 8), EXEC_AGAIN);
	while (nr_printed < 2)
		serve_once(&program);
	end_program(&program);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(converts_and_attaches),
		TAP_TEST(attaches_after_exec),
		TAP_TEST(attaches_to_other_modules),
		TAP_TEST(attaches_where_a_guess_was_wrong),
		TAP_TEST(says_why_it_cannot_attach),
		TAP_TEST(says_what_is_missing),
		TAP_TEST(prints_what_it_holds),
		TAP_TEST(depends_on_the_worker),
	};
	const int rights = PROT_READ | PROT_WRITE;

	page = mmap(NULL, sizeof(*page), rights, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	seen = mmap(NULL, sizeof(*seen), rights, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	if (page == MAP_FAILED || seen == MAP_FAILED)
		return 1;
	exec_convert_set_worker(WORKER);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
