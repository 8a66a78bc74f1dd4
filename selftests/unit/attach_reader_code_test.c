// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", generated code: a reader replies in time, whatever makes its
 * system calls wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "attach_world.h"
#include "arch/arch.h"
#include "decode/sframe_format.h"
#include "decode/step.h"
#include "tap.h"
#include "userspace/cli/attach/code_section.h"
#include "userspace/cli/attach/reader.h"
#include "userspace/cli/attach/reader_announced.h"
#include "userspace/cli/attach/reader_task.h"
#include "userspace/cli/attach/runtimes.h"

#define PLACES 40U

static unsigned char entries[READER_MAX_REPLY];
static struct reader_request request;
static struct reader_reply reply;
static size_t page;
static char *places;

/* Time that each attachment takes, and each line of the mappings, or one of them. */
static uint64_t attach_ns, line_ns, slow_ns, slow_cpu_ns;
static unsigned int nr_lines, slow_line;

/* Error of attaching after @NR_BEFORE_ERROR, or 0. */
#define NR_BEFORE_ERROR 3U

static int attach_error;
static unsigned int nr_attached, nr_extended, nr_detached;

/* When so many are attached, the process is not one of a runtime any more; 0: never. */
static unsigned int ends_after;

/* When the mappings have been read once, this one is not executable any more; or NULL. */
static void *goes;

static void set_files(int protection);

void reader_fail(struct reader_reply *to, enum reader_stage stage, int error,
		 const char *format, ...)
{
	(void)format;
	to->stage = stage;
	to->error = error;
}

/* What is announced; how that is found out is another test's. */
static struct announced_ranges announced;
static bool nothing_is_announced;

void reader_announced(int process, const struct reader_request *asked,
		      struct reader_reply *to, struct announced_ranges *ranges)
{
	(void)process;
	(void)asked;
	to->code.is_quiet = nothing_is_announced;
	*ranges = announced;
}

/*
 * Whether frames are kept, which is another test's, and where they are not; and the last one
 * that was asked for.
 */
static bool no_frame;
static uint64_t no_frame_at;
static unsigned int nr_frames;
static uint64_t frame_at;

bool frame_is_kept(int memory, uint64_t base, const char *function)
{
	nr_frames++;
	frame_at = base;
	return !no_frame && base != no_frame_at && memory >= 0 &&
	       !strcmp(function, "run_it");
}

int complain(const char *format, ...)
{
	(void)format;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long number, ...)
{
	struct sframe_unwind_list_attached *list;
	struct sframe_unwind_attach *attach;
	va_list args;

	(void)fd;
	va_start(args, number);
	attach = va_arg(args, struct sframe_unwind_attach *);
	list = (void *)attach;
	va_end(args);
	if (number == SFRAME_UNWIND_IOC_ATTACH && attach_error &&
	    nr_attached == NR_BEFORE_ERROR) {
		errno = attach_error;
		return -1;
	}
	if (number == SFRAME_UNWIND_IOC_ATTACH) {
		attach->id = ++nr_attached;
		if (nr_attached == ends_after)
			set_files(PROT_READ);
		nr_extended += !!(attach->flags & SFRAME_UNWIND_ATTACH_EXTENDED);
		world.now += attach_ns;
	} else if (number == SFRAME_UNWIND_IOC_DETACH) {
		nr_detached++;
	} else if (number == SFRAME_UNWIND_IOC_LIST_ATTACHED) {
		list->nr = 1;
		((struct sframe_unwind_attached *)(uintptr_t)list->attached)->id =
			list->from;
		((struct sframe_unwind_attached *)(uintptr_t)list->attached)->flags = 0;
	}
	return 0;
}

/* What the C library makes of getline(). */
ssize_t __real___getdelim(char **line, size_t *size, int end, FILE *file);

ssize_t __wrap___getdelim(char **line, size_t *size, int end, FILE *file)
{
	ssize_t got;

	world.now += line_ns;
	if (++nr_lines == slow_line) {
		world.now += slow_ns;
		world.cpu += slow_cpu_ns;
	}
	got = __real___getdelim(line, size, end, file);
	if (got < 0 && goes) {
		mprotect(goes, page, PROT_READ);
		goes = NULL;
	}
	return got;
}

/* Set the protection of the files that make the process one of a runtime. */
static void set_files(int protection)
{
	mprotect(places + page, page, protection);
	mprotect(places + 3 * page, page, protection);
}

static void set_executable(bool is_executable)
{
	for (size_t i = 0; i < PLACES; i++)
		if (mprotect(places + 2 * i * page, page, is_executable ?
			     PROT_READ | PROT_EXEC : PROT_READ))
			exit(1);
}

static void begin(void)
{
	world_begin();
	set_executable(true);
	set_files(PROT_READ | PROT_EXEC);
	ends_after = 0;
	goes = NULL;
	request = (struct reader_request) {
		.what = READER_CODE,
		.mapping.pid = getpid(),
		.code.max = CODE_MAX_RANGES,
	};
	reply = (struct reader_reply) { 0 };
	attach_ns = 0;
	line_ns = 0;
	slow_ns = 0;
	slow_cpu_ns = 0;
	slow_line = 0;
	nr_lines = 0;
	attach_error = 0;
	nr_attached = 0;
	nr_extended = 0;
	nr_detached = 0;
	announced = (struct announced_ranges) { 0 };
}

static void look(void)
{
	const uint64_t before = world.now;
	size_t size = 0;

	reader_code(&request, &reply, entries, &size);
	EXPECT_EQ(size, reply.code.nr * sizeof(struct reader_code_range));
	EXPECT(world.now < before + READER_MAX_NS);
}

static void all_places(void)
{
	look();
	EXPECT(reply.code.is_runtime);
	EXPECT(!reply.code.is_partial && !reply.code.is_full);
	EXPECT_EQ(reply.code.nr, PLACES);
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(nr_detached, 0);
}

static void attaching_takes_long(void)
{
	attach_ns = 300 * MS;
	look();
	EXPECT(reply.code.is_runtime && reply.code.is_partial);
	/* What there was time for stays, so that the next look does the rest. */
	EXPECT(reply.code.nr > 0 && reply.code.nr < 5);
	EXPECT_EQ(nr_attached - nr_detached, reply.code.nr);
}

static void reading_takes_long(void)
{
	line_ns = 500 * MS;
	request.code.nr = 1;
	request.code.ranges[0].id = 7;
	request.code.next = 8;
	look();
	/* Whether it is one of a runtime could not be found out, so it keeps what it has. */
	EXPECT_EQ(reply.error, -ETIME);
	EXPECT(reply.code.is_runtime);
	EXPECT_EQ(reply.code.nr, 1);
	EXPECT_EQ(reply.code.next, 8);
	EXPECT_EQ(nr_attached + nr_detached, 0);
}

/* The time is over when it is known to be one of a runtime: what it has is not lost. */
static void reading_again_takes_long(void)
{
	unsigned int nr;

	look();
	nr = reply.code.nr;
	EXPECT_EQ(nr, PLACES);
	request.code.nr = nr;
	memcpy(request.code.ranges, entries, nr * sizeof(request.code.ranges[0]));
	/* That look has read all lines twice in look_at(), and twice in check_new(). */
	slow_line = nr_lines / 4 + 3;
	slow_ns = 2 * SECOND;
	nr_lines = 0;
	reply = (struct reader_reply) { 0 };
	look();
	EXPECT(reply.code.is_runtime && reply.code.is_partial);
	EXPECT_EQ(reply.code.nr, nr);
	EXPECT(!memcmp(request.code.ranges, entries,
		       nr * sizeof(request.code.ranges[0])));
	EXPECT_EQ(nr_detached, 0);
}

static void errors(void)
{
	static const struct {
		int error;
		bool is_refused;
		bool has_changed;
		bool is_partial;
	} cases[] = {
		{ ENOSPC, .is_refused = true, .is_partial = true },
		{ ENOMEM, .is_partial = true },
		{ EEXIST, .is_partial = true },
		{ EINVAL, .is_partial = true },
		{ EFAULT, .has_changed = true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		attach_error = cases[i].error;
		look();
		EXPECT(reply.code.is_runtime && !reply.error);
		EXPECT(!reply.code.is_full);
		EXPECT_EQ(reply.code.is_refused, cases[i].is_refused);
		EXPECT_EQ(reply.code.has_changed, cases[i].has_changed);
		EXPECT_EQ(reply.code.is_partial, cases[i].is_partial);
		EXPECT_EQ(reply.code.nr, NR_BEFORE_ERROR);
	}
}

/* What is attached: one row says that all of the code keeps frame pointers. */
static void sections(void)
{
	unsigned char section[CODE_SECTION_SIZE];
	const uint64_t at = 0x7f0000000000, size = 1 << 30;
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_rule rule;
	struct sfu_fde fde;
	u32 budget = 1;

	for (unsigned int switches = 0; switches < 2; switches++) {
		const ssize_t length = code_section_make(size, switches, section);
		const struct sfu_bytes bytes = {
			.address = at, .size = length, .copy = section,
		};

		EXPECT(length > 0);
		EXPECT_EQ(sfu_table_open(&table, &bytes, &defect), switches ? -EINVAL : 0);
		EXPECT_EQ(sfu_table_open_extended(&table, &bytes, &defect), 0);
		EXPECT_EQ(sfu_table_check_layouts(&table, &defect), 0);
		EXPECT_EQ(sfu_table_find(&table, at + size - 1, &fde, &defect), 0);
		EXPECT_EQ(fde.start, at);
		EXPECT_EQ(fde.num_rows, 1);
		EXPECT_EQ(sfu_fde_find_rule(&table, &fde, at, &budget, &rule, &defect), 0);
		EXPECT(sfu_step_is_fp_rule(&rule));
		EXPECT_EQ(rule.cfa, switches ? SFRAME_EXT_REG_FP_SWITCH : SFU_REG_FP);
		budget = 1;
	}
}

static char directory[] = "/tmp/sframe_unwind.XXXXXX";

/*
 * Map a page of an executable file of this name at @at, and if @data is not NULL, as data
 * there. Returns whether that is possible.
 */
static bool map_file_twice(const char *name, void *at, void *data)
{
	void *memory = MAP_FAILED;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	if (fd >= 0 && !ftruncate(fd, page))
		memory = mmap(at, page, PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_FIXED, fd, 0);
	if (memory != MAP_FAILED && data)
		memory = mmap(data, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	if (fd >= 0)
		close(fd);
	unlink(path);
	return memory != MAP_FAILED;
}

static bool map_file(const char *name, void *at)
{
	return map_file_twice(name, at, NULL);
}

/*
 * Make files named "switching" those of a runtime that calls functions on another stack,
 * files named "says" those of one that announces code, and those whose names begin with
 * "frame" those of one whose code runs in the frame of a function, in shared memory. Code of
 * files named "written" keeps frame pointers, too, beside that in shared memory.
 */
static bool configure(void)
{
	static const char lines[] = "switching switch\nsays announces\n"
				    "frame* shared frame run_it\nwritten text shared\n";
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/runtimes.conf", directory);
	file = fopen(path, "we");
	if (!file)
		return false;
	fputs(lines, file);
	fclose(file);
	runtimes_read(path, false);
	unlink(path);
	return runtimes_find("switching");
}

/* Look again at what the last look has left. */
static void look_again(void)
{
	request.code.nr = reply.code.nr;
	memcpy(request.code.ranges, entries,
	       reply.code.nr * sizeof(request.code.ranges[0]));
	reply = (struct reader_reply) { 0 };
	nr_attached = 0;
	nr_extended = 0;
	nr_detached = 0;
	look();
}

/*
 * Another runtime is mapped later, whose code calls functions on another stack. It is
 * attached as such, if the module knows that.
 */
static void switching_later(void)
{
	char *const last = places + (2 * PLACES - 1) * page;
	unsigned int lines, i;

	look();
	EXPECT(map_file("switching", last));
	look_again();
	EXPECT_EQ(reply.code.nr, PLACES);
	EXPECT_EQ(nr_attached + nr_detached, 0);
	request.code.can_switch = true;
	look_again();
	EXPECT_EQ(reply.code.nr, PLACES);
	EXPECT_EQ(nr_detached, PLACES);
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(nr_extended, PLACES);
	/* Wherever a time to read the mappings is over, that does not change. */
	nr_lines = 0;
	look_again();
	lines = nr_lines;
	for (i = 2; i <= 2 * lines + 1; i++) {
		slow_line = i / 2;
		slow_ns = i % 2 * 2 * SECOND;
		slow_cpu_ns = SECOND - slow_ns / 2;
		nr_lines = 0;
		look_again();
		EXPECT_EQ(reply.code.nr, PLACES);
		EXPECT_EQ(nr_attached + nr_detached, 0);
	}
	slow_line = 0;
	munmap(last, page);
	look_again();
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(nr_extended, 0);
}

/* Say that @size bytes at @offset of place @number are announced code. */
static void announce(unsigned int number, size_t offset, size_t size)
{
	const uint64_t start = (uintptr_t)places + 2 * number * page + offset;

	announced.ranges[announced.nr++] = (struct reader_code_range) {
		.start = start,
		.end = start + size,
		.id = 1000 + announced.nr,
		.object = 1,
		.weight = 5,
	};
	announced.weight += 5;
}

/* Where code is announced, its rules count; frame pointers do around it. */
static void beside_announced_code(void)
{
	struct reader_code_range range;

	request.code.follows = true;
	announce(2, 64, 64);
	announce(3, 0, 64);
	announce(4, page - 64, 64);
	announce(5, 0, page);
	look();
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(reply.code.nr, PLACES + announced.nr);
	for (unsigned int i = 0; i < PLACES; i++) {
		memcpy(&range, entries + i * sizeof(range), sizeof(range));
		EXPECT(!range.object && range.weight == 1);
		for (unsigned int j = 0; j < announced.nr; j++)
			EXPECT(range.end <= announced.ranges[j].start ||
			       range.start >= announced.ranges[j].end);
	}
	memcpy(&range, entries + PLACES * sizeof(range), sizeof(range));
	EXPECT_EQ(range.object, 1);
	EXPECT_EQ(range.id, 1001);
}

/* Both together have no more than the process may have. */
static void announced_code_counts(void)
{
	request.code.follows = true;
	announce(2, 0, page);
	request.code.max = 10;
	look();
	EXPECT_EQ(nr_attached, 5);
	EXPECT_EQ(reply.code.nr, 6);
	EXPECT(reply.code.is_full);
}

/* Wherever the time to read the mappings is over, announced code keeps its section. */
static void announced_code_stays(void)
{
	unsigned int lines, nr;

	request.code.follows = true;
	announce(2, 0, page);
	look();
	nr = reply.code.nr;
	nr_lines = 0;
	look_again();
	lines = nr_lines;
	for (unsigned int i = 2; i <= 2 * lines + 1; i++) {
		slow_line = i / 2;
		slow_ns = i % 2 * 2 * SECOND;
		slow_cpu_ns = SECOND - slow_ns / 2;
		nr_lines = 0;
		look_again();
		EXPECT_EQ(reply.code.nr, nr);
		EXPECT(reply.code.announces);
		EXPECT_EQ(nr_attached + nr_detached, 0);
	}
}

static void announced_code_is_not_followed(void)
{
	announce(2, 0, page);
	look();
	EXPECT_EQ(nr_attached, PLACES);
	EXPECT_EQ(reply.code.nr, PLACES);
}

/* The process ends during the look: nothing that was attached to stays. */
static void announced_code_of_one_that_ends(void)
{
	request.code.follows = true;
	announce(2, 0, page);
	announce(3, 0, page);
	ends_after = 1;
	look();
	EXPECT(!reply.code.is_runtime);
	EXPECT_EQ(reply.code.nr, 0);
	EXPECT_EQ(nr_detached, nr_attached + announced.nr);
}

/*
 * The same, if code that keeps frame pointers is attached to because the file that
 * announces code, which excludes that, is executable for a moment only.
 */
static void announced_code_for_a_moment(void)
{
	void *const at = places + 5 * page;

	EXPECT(map_file("libLLVM.so.19.1", at));
	mprotect(places + 3 * page, page, PROT_READ);
	request.code.follows = true;
	announce(2, 0, page);
	announce(3, 0, page);
	goes = at;
	ends_after = 1;
	look();
	mprotect(at, page, PROT_NONE);
	EXPECT(nr_attached > 0);
	EXPECT(!reply.code.is_runtime);
	EXPECT_EQ(nr_detached, nr_attached + announced.nr);
}

/* One that announces nothing is quiet, but not if it is of a runtime, too. */
static void nothing_announced(void)
{
	request.code.follows = true;
	nothing_is_announced = true;
	look();
	EXPECT(reply.code.is_runtime && reply.code.announces);
	EXPECT(!reply.code.is_quiet);
	mprotect(places + page, page, PROT_READ);
	reply = (struct reader_reply) { 0 };
	look();
	EXPECT(reply.code.is_runtime && reply.code.announces);
	EXPECT(reply.code.is_quiet);
	/* One with more mappings than there is time to read may be of one. */
	slow_line = 1;
	slow_ns = 2 * SECOND;
	nr_lines = 0;
	reply = (struct reader_reply) { 0 };
	look();
	EXPECT(!reply.code.is_quiet);
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	nothing_is_announced = false;
}

/* The process is only of a runtime whose code is shared, if the function keeps its frame. */
static void in_a_frame(void)
{
	char *const at = places + 5 * page, *const shared = places + 7 * page;
	struct reader_code_range range;

	mprotect(places + page, page, PROT_READ);
	EXPECT(map_file("frame", at));
	look();
	EXPECT(reply.code.is_runtime);
	EXPECT_EQ(frame_at, (uintptr_t)at);
	/* It has no code in shared memory, and that of others is not its. */
	EXPECT_EQ(nr_attached, 0);
	EXPECT(reply.code.is_quiet);
	EXPECT(mmap(shared, page, PROT_READ | PROT_EXEC,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == shared);
	look_again();
	EXPECT_EQ(nr_attached, 1);
	EXPECT_EQ(reply.code.nr, 1);
	memcpy(&range, entries, sizeof(range));
	EXPECT_EQ(range.start, (uintptr_t)shared);
	EXPECT_EQ(range.end, (uintptr_t)shared + page);
	EXPECT(!reply.code.is_quiet);
	look_again();
	EXPECT_EQ(nr_attached + nr_detached, 0);
	/* Wherever a time to read the mappings is over, it keeps that. */
	for (unsigned int line = 1, lines = nr_lines; line <= lines; line++) {
		slow_line = line;
		slow_ns = 2 * SECOND;
		nr_lines = 0;
		look_again();
		EXPECT(reply.code.is_runtime);
		EXPECT_EQ(reply.code.nr, 1);
		EXPECT_EQ(nr_attached + nr_detached, 0);
	}
	slow_line = 0;
	no_frame = true;
	look_again();
	EXPECT(!reply.code.is_runtime);
	EXPECT_EQ(reply.code.nr, 0);
	no_frame = false;
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	munmap(at, page);
	mprotect(shared, page, PROT_NONE);
}

/* Memory files are no shared memory of a runtime: libraries make them, to write their code. */
static void in_a_frame_and_memory_files(void)
{
	char *const at = places + 5 * page, *const file = places + 7 * page;
	const int fd = memfd_create("code", MFD_CLOEXEC);

	mprotect(places + page, page, PROT_READ);
	EXPECT(map_file("frame", at));
	EXPECT(fd >= 0 && !ftruncate(fd, page));
	EXPECT(mmap(file, page, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) == file);
	look();
	EXPECT(reply.code.is_runtime && reply.code.is_quiet);
	EXPECT_EQ(nr_attached, 0);
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	munmap(at, page);
	mprotect(file, page, PROT_NONE);
	close(fd);
}

/* What reads the runtime's file, such as for names, may map it: no function is there. */
static void in_a_frame_and_data(void)
{
	char *const at = places + 9 * page;

	mprotect(places + page, page, PROT_READ);
	for (int i = -1; i <= 1; i += 2) {
		char *const data = at + 2 * i * page;

		EXPECT(map_file_twice("frame", at, data));
		no_frame_at = (uintptr_t)data;
		look();
		EXPECT(reply.code.is_runtime);
		EXPECT_EQ(frame_at, (uintptr_t)at);
		reply = (struct reader_reply) { 0 };
		EXPECT(mmap(data, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			    -1, 0) == data);
	}
	no_frame_at = 0;
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	munmap(at, page);
}

/* It is not quiet while the section of the runtime's file is to come, which is attached to. */
static void shared_with_text(void)
{
	char *const at = places + 5 * page;

	mprotect(places + page, page, PROT_READ);
	EXPECT(map_file("written", at));
	look();
	EXPECT(reply.code.is_runtime && reply.code.text.is_set);
	EXPECT_EQ(nr_attached, 0);
	EXPECT(!reply.code.is_quiet);
	request.code.text = reply.code.text;
	request.code.text.is_done = true;
	look_again();
	EXPECT_EQ(nr_attached, 1);
	EXPECT_EQ(reply.code.nr, 1);
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	munmap(at, page);
}

/*
 * Together with another runtime, whose code is in any memory, that is left out: it can be of
 * others, as in each process of the first one.
 */
static void in_a_frame_and_others(void)
{
	char *const at = places + 5 * page, *const more = places + 9 * page;

	EXPECT(map_file("frame", at));
	look();
	EXPECT(reply.code.is_runtime);
	EXPECT_EQ(nr_attached, 0);
	/* Code of the other one's file is to come. */
	EXPECT(reply.code.text.is_set);
	EXPECT(!reply.code.is_quiet);
	/* Of two files both must keep theirs; these are one runtime. */
	EXPECT(map_file("frame2", more));
	nr_frames = 0;
	look_again();
	EXPECT(reply.code.is_runtime);
	EXPECT_EQ(nr_frames, 2);
	no_frame = true;
	look_again();
	EXPECT(!reply.code.is_runtime);
	no_frame = false;
	munmap(at, page);
	munmap(more, page);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(all_places),
		TAP_TEST(attaching_takes_long),
		TAP_TEST(reading_takes_long),
		TAP_TEST(reading_again_takes_long),
		TAP_TEST(errors),
		TAP_TEST(sections),
		TAP_TEST(switching_later),
		TAP_TEST(beside_announced_code),
		TAP_TEST(announced_code_counts),
		TAP_TEST(announced_code_stays),
		TAP_TEST(announced_code_is_not_followed),
		TAP_TEST(announced_code_of_one_that_ends),
		TAP_TEST(announced_code_for_a_moment),
		TAP_TEST(nothing_announced),
		TAP_TEST(in_a_frame),
		TAP_TEST(in_a_frame_and_memory_files),
		TAP_TEST(in_a_frame_and_data),
		TAP_TEST(shared_with_text),
		TAP_TEST(in_a_frame_and_others),
	};

	page = sysconf(_SC_PAGESIZE);
	places = mmap(NULL, 2 * PLACES * page, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (places == MAP_FAILED || !mkdtemp(directory) || !configure() ||
	    !map_file("node", places + page) ||
	    !map_file("says", places + 3 * page)) {
		rmdir(directory);
		printf("1..0 # SKIP no file in /tmp can be mapped executable\n");
		return 0;
	}
	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	rmdir(directory);
	return tap_done();
}
