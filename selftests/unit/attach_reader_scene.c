// SPDX-License-Identifier: GPL-2.0
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

#include "attach_reader_scene.h"
#include "userspace/cli/attach/reader_task.h"
#include "userspace/cli/attach/runtimes.h"

unsigned char entries[READER_MAX_REPLY];
struct reader_request request;
struct reader_reply reply;
size_t page;
char *places;

uint64_t attach_ns, line_ns, slow_ns, slow_cpu_ns;
unsigned int nr_lines, slow_line;

int attach_error;
unsigned int nr_attached, nr_extended, nr_detached;

unsigned int ends_after;
void *goes;

static void set_files(int protection);

void reader_fail(struct reader_reply *to, enum reader_stage stage, int error,
		 const char *format, ...)
{
	(void)format;
	to->stage = stage;
	to->error = error;
}

struct announced_ranges announced;
bool nothing_is_announced;

void reader_announced(int process, const struct reader_request *asked,
		      struct reader_reply *to, struct announced_ranges *ranges)
{
	(void)process;
	(void)asked;
	to->code.is_quiet = nothing_is_announced;
	*ranges = announced;
}

bool no_frame;
uint64_t no_frame_at;
unsigned int nr_frames;
uint64_t frame_at;

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

void scene_begin(void)
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

void look(void)
{
	const uint64_t before = world.now;
	size_t size = 0;

	reader_code(&request, &reply, entries, &size);
	EXPECT_EQ(size, reply.code.nr * sizeof(struct reader_code_range));
	EXPECT(world.now < before + READER_MAX_NS);
}

static char directory[] = "/tmp/sframe_unwind.XXXXXX";

bool map_file_twice(const char *name, void *at, void *data)
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

bool map_file(const char *name, void *at)
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

void look_again(void)
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

int scene_run(const struct tap_test *tests, size_t nr)
{
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
	for (unsigned int i = 0; i < nr; i++) {
		scene_begin();
		tap_run(&tests[i], 1);
	}
	rmdir(directory);
	return tap_done();
}
