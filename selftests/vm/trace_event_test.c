// SPDX-License-Identifier: GPL-2.0
/*
 * The trace events of the module, as tracefs prints them: their fields are those that the
 * records of the device have, and there is one for each thing that happens.
 *
 * Racing: run with KCSAN.
 */
#include <ctype.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "elf_map.h"
#include "function_table.h"
#include "process.h"
#include "sampled.h"
#include "trace_events.h"
#include "../../userspace/lib/stops.h"

FIXTURE(trace)
{
	int fd;
	struct traced t;
	struct fake fake;
	struct stack stack;
	__u64 ips[MAX_FRAMES];
	struct trace_line line;
	bool offline;
};

/* With one CPU: QEMU can execute code that another one has just modified. */
FIXTURE_SETUP(trace)
{
	self->offline = set_online(1, 0);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_fake(&self->fake));
	put_request_code(&self->fake);
	ASSERT_TRUE(start_traced(&self->t, TRACED_EVENTS, 4096));
}

FIXTURE_TEARDOWN(trace)
{
	end_traced(&self->t);
	free_fake(&self->fake);
	close(self->fd);
	if (self->offline)
		set_online(1, 1);
}

/* The name of @stop, in small letters. */
static const char *small_name(unsigned int stop)
{
	const char *name = stop_name(stop);
	static char small[32];
	unsigned int i;

	for (i = 0; name && name[i] && i < sizeof(small) - 1; i++)
		small[i] = tolower(name[i]);
	small[i] = '\0';
	return small;
}

static bool is_stop(const struct trace_line *line, unsigned int stop)
{
	return stop_name(stop) && field_is(line, "stop", small_name(stop));
}

/* Readers of the format can name each reason. */
TEST(names_of_stops)
{
	char *format = read_whole("/sys/kernel/tracing/events/sframe_unwind/stack/format");
	char want[64];

	ASSERT_NE(NULL, format);
	for (unsigned int stop = 1; stop < NR_STOPS; stop++) {
		snprintf(want, sizeof(want), "{ %u, \"%s\" }", stop,
			 small_name(stop));
		EXPECT_NE(NULL, strstr(format, want))
		{
			TH_LOG("%s", want);
		}
	}
	free(format);
}

/*
 * Readers of the formats get along without the kernel's constants, quotation marks inside
 * of the text, and expressions.
 */
TEST(formats)
{
	static const char * const names[] = {
		"request", "stack", "lost", "section_add", "section_remove",
		"section_corrupt",
	};
	const char *print, *end;
	char path[80];
	char *format;

	for (unsigned int i = 0; i < 6; i++) {
		snprintf(path, sizeof(path),
			 "/sys/kernel/tracing/events/sframe_unwind/%s/format",
			 names[i]);
		format = read_whole(path);
		ASSERT_NE(NULL, format);
		print = strstr(format, "print fmt: \"");
		ASSERT_NE(NULL, print);
		print += strlen("print fmt: \"");
		end = strchr(print, '"');
		ASSERT_NE(NULL, end);
		EXPECT_EQ(0, strncmp(end, "\", ", 3));
		EXPECT_EQ(NULL, strstr(print, "SFU_"));
		EXPECT_EQ(NULL, strstr(print, "SFRAME_"));
		EXPECT_EQ(NULL, strpbrk(end, "/*+"));
		free(format);
	}
}

/* Check the event or events of self->stack. */
#define EXPECT_TRACED_STACK()						\
	do {								\
		const struct sframe_unwind_stack *head_ =		\
			&self->stack.head;				\
		ASSERT_EQ(head_->nr_frames,				\
			  traced_stack(&self->t, head_->cookie, false,	\
				       self->ips, &self->line));	\
		EXPECT_EQ(0, memcmp(head_->ips, self->ips,		\
				    head_->nr_frames * sizeof(__u64)));	\
		EXPECT_EQ(head_->pid, field_number(&self->line, "pid"));	\
		EXPECT_EQ(head_->tid, field_number(&self->line, "tid"));	\
		EXPECT_TRUE(is_stop(&self->line, head_->stop));		\
	} while (0)

TEST_F(trace, request_and_stack)
{
	struct sframe_unwind_request req = request_self();

	ASSERT_EQ(0, register_own(self->fd));
	req.max_depth = 17;
	req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	ASSERT_EQ(0, request(self->fd, &req));
	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_TRUE(stop_traced(&self->t));

	ASSERT_EQ(1, find_line(&self->t, "request", "cookie", req.cookie,
			       &self->line));
	EXPECT_EQ(getpid(), field_number(&self->line, "pid"));
	EXPECT_EQ(gettid(), field_number(&self->line, "tid"));
	EXPECT_EQ(17, field_number(&self->line, "max_depth"));
	EXPECT_EQ(1, field_number(&self->line, "fallback"));
	EXPECT_EQ(0, field_number(&self->line, "interrupt"));
	EXPECT_LE(2, self->stack.head.nr_frames);
	EXPECT_TRACED_STACK();
}

static __attribute__((noinline)) long deep(unsigned int levels, int fd,
					   struct sframe_unwind_request *req)
{
	long ret = levels ? deep(levels - 1, fd, req) : request(fd, req);

	asm volatile("" : "+r"(ret) :: "memory");
	return ret;
}

/* A stack that is longer than an event: it is several events, which have all of it. */
TEST_F(trace, deep_stack)
{
	static const unsigned int depths[] = { 223, 224, 225, 448, 512, 1024 };
	struct sframe_unwind_request req;
	struct trace_line line = {};
	unsigned int i, n = 0, events = 0;

	ASSERT_EQ(0, register_own(self->fd));
	for (i = 0; i < 6; i++) {
		free(self->t.text);
		self->t.text = NULL;
		ASSERT_TRUE(write_traced(&self->t, "trace", "0"));
		ASSERT_TRUE(write_traced(&self->t, TRACED_EVENTS, "1"));
		req = request_self();
		req.max_depth = depths[i];
		ASSERT_EQ(0, deep(1100, self->fd, &req));
		ASSERT_STACK(self->fd, &self->stack);
		ASSERT_EQ(depths[i], self->stack.head.nr_frames);
		ASSERT_TRUE(stop_traced(&self->t));
		EXPECT_TRACED_STACK();
		events = (depths[i] + 223) / 224;
		memset(&line, 0, sizeof(line));
		for (n = 0; next_line(&self->t, "stack", &line);)
			n += field_number(&line, "cookie") == req.cookie;
		EXPECT_EQ(events, n);
	}
}

/* Of a thread that is about to exit: there is no stack any more. */
TEST_F(trace, stack_without_frames)
{
	struct sframe_unwind_request req = { .size = sizeof(req) };
	const pid_t child = fork();
	int status;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXIT));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, child, 0, 0));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));
	req.tid = child;
	ASSERT_EQ(0, request(self->fd, &req));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, child, 0, 0));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_EQ(SFRAME_UNWIND_STOP_EXITED, self->stack.head.stop);
	ASSERT_EQ(0, self->stack.head.nr_frames);
	ASSERT_TRUE(stop_traced(&self->t));
	EXPECT_TRACED_STACK();
	EXPECT_EQ(child, field_number(&self->line, "tid"));
	ASSERT_EQ(1, find_line(&self->t, "request", "cookie", req.cookie,
			       &self->line));
	EXPECT_EQ(child, field_number(&self->line, "pid"));
	EXPECT_EQ(child, field_number(&self->line, "tid"));
}

/* Requests that share a walk: an event for each. */
TEST_F(trace, shared_walk)
{
	const pid_t child = fork_sleeper(0);
	struct sframe_unwind_request req = {
		.size = sizeof(req),
		.tid = child,
	};
	unsigned int i;

	while (!is_asleep(child))
		sched_yield();
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, request(self->fd, &req));
	req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	ASSERT_EQ(0, request(self->fd, &req));
	for (i = 0; i < 4; i++)
		ASSERT_STACK(self->fd, &self->stack);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ASSERT_TRUE(stop_traced(&self->t));
	EXPECT_EQ(4, find_line(&self->t, "request", "cookie", req.cookie,
			       &self->line));
	EXPECT_EQ(1, field_number(&self->line, "interrupt"));
	EXPECT_EQ(4, find_line(&self->t, "stack", "cookie", req.cookie,
			       &self->line));
}

TEST_F(trace, lost)
{
	struct sframe_unwind_request req = request_self();
	const pid_t child = fork_sleeper(0);
	struct sframe_unwind_stats s;
	/* Unlike the other one, not open in the child. */
	int fd = open_client(0);
	unsigned int i;

	while (!is_asleep(child))
		sched_yield();
	ASSERT_EQ(0, register_own(fd));
	do {
		ASSERT_EQ(0, request(fd, &req));
		ASSERT_EQ(0, stats(fd, &s));
	} while (s.lost_full < 5);
	ASSERT_EQ(0, s.pending);

	/* Of another thread, when the client is closed. */
	req.tid = child;
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, request(fd, &req));
	close(fd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ASSERT_TRUE(stop_traced(&self->t));
	EXPECT_EQ(s.lost_full, sum_of(&self->t, "lost", "count", "reason", "full"));
	EXPECT_EQ(s.accepted + 3, sum_of(&self->t, "request", NULL, NULL, NULL));
	EXPECT_EQ(s.delivered, sum_of(&self->t, "stack", NULL, NULL, NULL));
	EXPECT_EQ(3, sum_of(&self->t, "lost", "count", "reason", "closed"));
	EXPECT_EQ(3, find_line(&self->t, "lost", "cookie", req.cookie, &self->line));
	EXPECT_EQ(child, field_number(&self->line, "tid"));
}

/* --- sections */

static unsigned int list_sections(int fd, struct sframe_unwind_section *entries,
				  unsigned int nr)
{
	struct sframe_unwind_list list = {
		.size = sizeof(list),
		.sections = (uintptr_t)entries,
		.nr = nr,
	};

	return ioctl(fd, SFRAME_UNWIND_IOC_LIST, &list) ? ~0U : list.nr;
}

/* Sections are as LIST says, whatever their source. */
TEST_F(trace, sections_added)
{
	static const char * const sources[] = {
		"", "registered", "found", "attached", "table"
	};
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_section entries[16];
	struct function_table table;
	unsigned int nr, i, seen[5] = {};
	__u64 space = 0;

	ASSERT_TRUE(make_table(&table, MAP_PRIVATE));
	ASSERT_EQ(0, register_table(self->fd, &table.reg));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	/* The walk finds the program's own section. */
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	ASSERT_STACK(self->fd, &self->stack);
	nr = list_sections(self->fd, entries, 16);
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_LE(3, nr);
	ASSERT_GE(16, nr);
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(1, find_line(&self->t, "section_add", "id",
				       entries[i].id, &self->line));
		EXPECT_EQ(1, field_number(&self->line, "nr"));
		EXPECT_EQ(getpid(), field_number(&self->line, "pid"));
		EXPECT_EQ(entries[i].text_start,
			  field_number(&self->line, "text_start"));
		EXPECT_EQ(entries[i].text_size,
			  field_number(&self->line, "text_size"));
		EXPECT_EQ(entries[i].sframe_start,
			  field_number(&self->line, "sframe_start"));
		EXPECT_EQ(entries[i].sframe_size,
			  field_number(&self->line, "sframe_size"));
		EXPECT_TRUE(field_is(&self->line, "source",
				     sources[entries[i].source]));
		seen[entries[i].source]++;
		if (!i)
			space = field_number(&self->line, "space");
		EXPECT_EQ(space, field_number(&self->line, "space"));
	}
	EXPECT_EQ(1, seen[SFRAME_UNWIND_SECTION_REGISTERED]);
	EXPECT_EQ(1, seen[SFRAME_UNWIND_SECTION_TABLE]);
	EXPECT_LE(1, seen[SFRAME_UNWIND_SECTION_FOUND]);
	/* Code without a section is remembered, but no section. */
	EXPECT_EQ(nr, sum_of(&self->t, "section_add", "nr", NULL, NULL));
	free_table(&table);
}

TEST_F(trace, unregistered)
{
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_EQ(1, find_line(&self->t, "section_remove", "id",
			       self->fake.reg.id, &self->line));
	EXPECT_TRUE(field_is(&self->line, "reason", "unregistered"));
	EXPECT_EQ(1, field_number(&self->line, "nr"));
	EXPECT_EQ(self->fake.reg.text_start,
		  field_number(&self->line, "text_start"));
	EXPECT_EQ(self->fake.reg.text_size, field_number(&self->line, "text_size"));
	EXPECT_EQ(getpid(), field_number(&self->line, "pid"));
}

/* As the record of EVENTS says. */
TEST_F(trace, corrupt)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_removed removed;

	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->fake.section[FAKE_INFO] = 0x40;
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	ASSERT_EQ(sizeof(removed), read(self->fd, &removed, sizeof(removed)));
	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_EQ(SFRAME_UNWIND_RECORD_REMOVED, removed.record.type);
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_EQ(1, find_line(&self->t, "section_corrupt", "id", removed.id,
			       &self->line));
	EXPECT_TRUE(field_is(&self->line, "cause", "corrupt"));
	EXPECT_EQ(removed.pid, field_number(&self->line, "pid"));
	EXPECT_EQ(removed.text_start, field_number(&self->line, "text_start"));
	EXPECT_EQ(removed.text_size, field_number(&self->line, "text_size"));
	EXPECT_EQ(removed.sframe_start,
		  field_number(&self->line, "sframe_start"));
	EXPECT_EQ(removed.ip, field_number(&self->line, "ip"));
	EXPECT_EQ(removed.defect_offset, field_number(&self->line, "offset"));
	EXPECT_TRUE(field_is(&self->line, "defect", removed.defect));
	EXPECT_TRUE(field_is(&self->line, "file", ""));
	ASSERT_EQ(1, find_line(&self->t, "section_remove", "id", removed.id,
			       &self->line));
	EXPECT_TRUE(field_is(&self->line, "reason", "corrupt"));
	EXPECT_EQ(SFRAME_UNWIND_STOP_SECTION_REMOVED, self->stack.head.stop);
	EXPECT_TRACED_STACK();
}

/* A file's own section that becomes malformed while it is in use. */
TEST_F(trace, corrupt_in_a_file)
{
	struct elf_base elf;
	unsigned char *at;
	__u64 id;
	int file;

	elf_base_init(&elf);
	file = make_file(&elf, sizeof(elf));
	at = map_elf(file);
	ASSERT_NE(NULL, at);
	ASSERT_EQ(CALLER, walk_large(self->fd, at));
	memset(&elf.sframe.small, 0xff, sizeof(elf.sframe.small));
	ASSERT_EQ(sizeof(elf.sframe), (size_t)pwrite(file, &elf.sframe,
						     sizeof(elf.sframe),
						     ELF_AT(sframe)));
	ASSERT_EQ(REMOVED, walk_small(self->fd, at));
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_TRUE(next_line(&self->t, "section_corrupt", &self->line));
	id = field_number(&self->line, "id");
	EXPECT_TRUE(field_is(&self->line, "cause", "corrupt"));
	EXPECT_EQ((uintptr_t)at + ELF_SMALL_VADDR + REQUEST_CODE_IP,
		  field_number(&self->line, "ip"));
	EXPECT_LE(offsetof(struct elf_sframe, small),
		  field_number(&self->line, "offset"));
	EXPECT_TRUE(field_is(&self->line, "file", "/memfd:elf\\x20(deleted)"));
	EXPECT_FALSE(next_line(&self->t, "section_corrupt", &self->line));
	ASSERT_EQ(1, find_line(&self->t, "section_add", "id", id, &self->line));
	EXPECT_TRUE(field_is(&self->line, "source", "found"));
	ASSERT_EQ(1, find_line(&self->t, "section_remove", "id", id, &self->line));
	EXPECT_TRUE(field_is(&self->line, "reason", "corrupt"));
	unmap_elf(at);
	close(file);
}

/* A name that a user has chosen for root to read on a terminal. */
TEST_F(trace, hostile_file_name)
{
	struct sframe_unwind_request req = request_self();
	char path[] = "/tmp/a\033[31m\n\\\" pid=1\303\244b";
	int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	unsigned char *text;

	ASSERT_LE(0, file);
	ASSERT_EQ(PAGE, (size_t)write(file, self->fake.text, PAGE));
	text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	unlink(path);
	if (text == MAP_FAILED)
		SKIP(return, "/tmp: %s", strerror(errno));
	write_fake_section(self->fake.section, text);
	self->fake.reg.text_start = (uintptr_t)text;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->fake.section[FAKE_INFO] = 0x40;
	ASSERT_EQ(0, call_request_code(text, self->fd, &req));
	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_EQ(1, find_line(&self->t, "section_corrupt", "id",
			       self->fake.reg.id, &self->line));
	EXPECT_TRUE(field_is(&self->line, "file",
			      "/tmp/a\\x1b[31m\\x0a\\x5c\\x22\\x20pid=1\\xc3\\xa4b\\x20(deleted)"))
	{
		TH_LOG("%.200s", field_text(&self->line, "file"));
	}
	munmap(text, PAGE);
	close(file);
}

TEST_F(trace, stale_and_replaced)
{
	struct sframe_unwind_request req = request_self();
	struct fake other;

	ASSERT_TRUE(make_fake(&other));
	put_request_code(&other);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, register_section(self->fd, &other.reg));
	ASSERT_EQ(0, munmap(self->fake.section, PAGE));
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	ASSERT_STACK(self->fd, &self->stack);
	/* What the walk has found makes way for a registration. */
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_EQ(1, find_line(&self->t, "section_remove", "id",
			       self->fake.reg.id, &self->line));
	EXPECT_TRUE(field_is(&self->line, "reason", "stale"));
	EXPECT_EQ(0, find_line(&self->t, "section_corrupt", "id",
			       self->fake.reg.id, &self->line));
	EXPECT_EQ(0, find_line(&self->t, "section_remove", "id", other.reg.id,
			       &self->line));
	free_fake(&other);
}

/* A child has its parent's sections, until it ends; sums tell what there is. */
TEST_F(trace, fork_and_exit)
{
	const __u64 own = module_counter("spaces");
	struct fake other;
	__u64 space;
	pid_t child;

	ASSERT_TRUE(make_fake(&other));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, register_section(self->fd, &other.reg));
	child = fork();
	if (!child)
		_exit(unregister_id(self->fd, other.reg.id));
	ASSERT_EQ(0, outcome_of(child));
	/* Its memory may be freed a little later. */
	while (module_counter("spaces") > (long)own + 1)
		sched_yield();
	ASSERT_TRUE(stop_traced(&self->t));
	ASSERT_EQ(1, find_line(&self->t, "section_add", "id", 0, &self->line));
	EXPECT_TRUE(field_is(&self->line, "source", "fork"));
	EXPECT_EQ(2, field_number(&self->line, "nr"));
	space = field_number(&self->line, "space");
	ASSERT_EQ(1, find_line(&self->t, "section_remove", "id", other.reg.id,
			       &self->line));
	EXPECT_EQ(space, field_number(&self->line, "space"));
	EXPECT_EQ(child, field_number(&self->line, "pid"));
	ASSERT_EQ(1, find_line(&self->t, "section_remove", "id", 0, &self->line));
	EXPECT_TRUE(field_is(&self->line, "reason", "gone"));
	EXPECT_EQ(space, field_number(&self->line, "space"));
	EXPECT_EQ(1, field_number(&self->line, "nr"));
	EXPECT_EQ(4, sum_of(&self->t, "section_add", "nr", NULL, NULL));
	EXPECT_EQ(2, sum_of(&self->t, "section_remove", "nr", NULL, NULL));
	free_fake(&other);
}

TEST_HARNESS_MAIN
