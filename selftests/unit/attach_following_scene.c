// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>
#include <sframe_unwind.h>

#include "attach_following_scene.h"
#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/child.h"
#include "userspace/cli/attach/runtimes.h"
#include "userspace/worker/message.h"

/* Found by its name: the linker exports it. */
struct descriptor __jit_debug_descriptor;

#define CODE_SIZE 16
#define SECTION_SIZE 256

struct entry entries[MOST];
struct object objects[MOST];
enum kind kind_of[MOST];
struct worker_same same_of[MOST];
bool is_attached[MOST];
unsigned int nr_attached, nr_watched;
unsigned char large_code[2 * LARGE_SIZE];
static unsigned char code[MOST * CODE_SIZE];	/* of the other objects */
static bool has_copies;		/* each section was attached with a copy of its code */
static bool is_ended[MOST];	/* a walk has found other code, or the process has executed */

/* Code of an object that LEAVES: a page that is unmapped then; and its place. */
static void *leaving;
#define LEAVING_PLACE (MOST - 2)

#define CODE address_of(code)
#define LARGE_CODE address_of(large_code)

struct reader_request request;
struct reader_reply reply;
uint64_t line_ns;
static int process, own_process, sharing_process = -1;
static pid_t sharing;

static unsigned char section[SECTION_SIZE];
static size_t section_size;

/* --- what is around it */

bool runtimes_announce(const char *path)
{
	return strstr(path, program_invocation_short_name);
}

bool children_have_files(void)
{
	return true;
}

/* Ids are those of the places, and of empty sections larger. */
#define WATCH_ID (MOST + 1)

void reader_code_detach(uint64_t id)
{
	if (id >= WATCH_ID) {
		nr_watched--;
		return;
	}
	EXPECT(is_attached[id - 1]);
	is_attached[id - 1] = false;
	nr_attached--;
}

/* What is at the place of the object with code there: that of the first one. */
static int error_at(unsigned int place)
{
	for (unsigned int i = 0; i < MOST; i++) {
		if (objects[i].place != place)
			continue;
		if (kind_of[i] == BUSY)
			return EACCES;
		if (kind_of[i] == UNMAPPED)
			return EFAULT;
	}
	return is_attached[place] ? EEXIST : 0;
}

struct told_code last_told;
unsigned int nr_told;

int message_send(int socket, const void *bytes, size_t size, const void *rest,
		 size_t rest_size, const int fds[2])
{
	unsigned char told_section[SECTION_SIZE];

	(void)rest;
	if (socket != READER_TOLD || size != sizeof(last_told) || rest_size ||
	    fds[1] != -1)
		abort();
	memcpy(&last_told, bytes, size);
	if (last_told.size != section_size ||
	    pread(fds[0], told_section, sizeof(told_section), 0) !=
		    (ssize_t)section_size ||
	    memcmp(told_section, section, section_size))
		abort();
	nr_told++;
	/* Nobody reads it. */
	return -EAGAIN;
}

bool reader_code_is_alive(uint64_t id)
{
	return !is_ended[id - 1];
}

void make_code(unsigned int place, unsigned char byte)
{
	memset(code + CODE_SIZE * place, byte, CODE_SIZE);
	is_ended[place] = true;
}

static unsigned int place_at(uint64_t start)
{
	if (start - LARGE_CODE < sizeof(large_code))
		return (start - LARGE_CODE) / LARGE_SIZE;
	if (leaving && start == address_of(leaving))
		return LEAVING_PLACE;
	return start < CODE ? MOST - 1 : (start - CODE) / CODE_SIZE;
}

/* It is killed. */
static int wait_for_signal(void *data)
{
	(void)data;
	pause();
	return 0;
}

bool share_memory(void)
{
	static unsigned char stack[65536] __attribute__((aligned(16)));
	char path[64];

	sharing = clone(wait_for_signal, stack + sizeof(stack), CLONE_VM | SIGCHLD,
			NULL);
	if (sharing < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d", (int)sharing);
	sharing_process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	process = sharing_process;
	return process >= 0;
}

static void end_sharing(void)
{
	if (sharing <= 0)
		return;
	kill(sharing, SIGKILL);
	waitpid(sharing, NULL, 0);
	sharing = 0;
}

int __wrap_ioctl(int fd, unsigned long number, ...)
{
	struct sframe_unwind_attach *attach;
	unsigned int place;
	va_list args;

	(void)fd;
	va_start(args, number);
	attach = va_arg(args, struct sframe_unwind_attach *);
	va_end(args);
	place = place_at(attach->text_start);
	errno = error_at(place);
	if (errno)
		return -1;
	if (!attach->code) {
		nr_watched++;
		attach->id = WATCH_ID + place;
		return 0;
	}
	has_copies &= attach->flags == (SFRAME_UNWIND_ATTACH_PROCESS |
					SFRAME_UNWIND_ATTACH_UNCHANGED) &&
		      !memcmp((void *)(uintptr_t)attach->code,
			      (void *)(uintptr_t)attach->text_start,
			      attach->text_size);
	is_attached[place] = true;
	is_ended[place] = false;
	nr_attached++;
	attach->id = 1 + place;
	if (kind_of[place] == OUTLIVED)
		end_sharing();
	if (leaving && place == LEAVING_PLACE) {
		munmap(leaving, CODE_SIZE);
		leaving = NULL;
	}
	return 0;
}

/* --- the worker */

struct worker {
	uint64_t deadline;
	int fd;
	struct object objects[WORKER_MAX_SNAPSHOTS];
	unsigned int nr;
};

static struct worker the_worker;
unsigned int nr_workers, nr_results, most_at_once;
int last_nice;
static unsigned int nr_converted;

static enum kind worker_kind(unsigned int index)
{
	return kind_of[the_worker.objects[index].number];
}

static bool has(enum kind kind)
{
	for (unsigned int i = 0; i < the_worker.nr; i++)
		if (worker_kind(i) == kind)
			return true;
	return false;
}

int worker_start_many(struct worker **worker, const int *snapshots,
		      unsigned int nr, const struct worker_limits *limits)
{
	nr_workers++;
	last_nice = limits->nice;
	the_worker.nr = nr;
	if (nr > most_at_once)
		most_at_once = nr;
	for (unsigned int i = 0; i < nr; i++)
		if (pread(snapshots[i], &the_worker.objects[i],
			  sizeof(the_worker.objects[i]), 0) !=
		    sizeof(the_worker.objects[i]))
			return -EIO;
	if (has(NO_WORKER))
		return -EBUSY;
	the_worker.deadline = world.now + limits->wall_ms * MS;
	the_worker.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	*worker = &the_worker;
	return 0;
}

int worker_fd(const struct worker *worker)
{
	return worker->fd;
}

uint64_t worker_deadline(const struct worker *worker)
{
	return worker->deadline;
}

/* An object takes 1 ms. */
int worker_finish(struct worker *worker, struct worker_end *end)
{
	*end = (struct worker_end) { .result_fd = -1 };
	if (has(STUCK) || (has(SLOW) && world.now + SECOND > worker->deadline)) {
		world.now = worker->deadline;
		end->error = -ETIMEDOUT;
	} else if (has(SLOW)) {
		world.now += SECOND;
		end->error = -ETIMEDOUT;
	} else if (has(BREAKS)) {
		end->error = -EPROTO;
	} else if (has(KILLED)) {
		end->error = -EINTR;
	} else {
		world.now += worker->nr * MS;
		end->result_fd = worker->fd;
		nr_results++;
	}
	if (end->error)
		close(worker->fd);
	return 0;
}

static int answer(uint32_t index)
{
	for (uint32_t i = 0; i <= index; i++) {
		if (worker_kind(i) == NONSENSE)
			return -EPROTO;
		if (worker_kind(i) == GREEDY)
			return -EFBIG;
		if (worker_kind(i) == NO_SANDBOX)
			return -ENOEXEC;
	}
	if (worker_kind(index) == NO_MEMORY)
		return -ENOMEM;
	return worker_kind(index) == UNUSABLE ? -EINVAL : 0;
}

int worker_result_read_part(int result_fd, const struct worker_part *part,
			    const struct worker_limits *limits,
			    struct sframe_unwind_converted **converted,
			    char *text, size_t size)
{
	const int err = answer(part->index);

	(void)result_fd;
	(void)limits;
	(void)text;
	(void)size;
	*converted = NULL;
	if (err)
		return err;
	*converted = calloc(1, sizeof(**converted));
	if (!*converted)
		return -ENOMEM;
	(*converted)->bytes = section;
	(*converted)->size = section_size;
	nr_converted++;
	return 0;
}

void worker_result_code(int result_fd, const struct worker_part *part,
			uint64_t *start, uint64_t *size)
{
	const uint64_t place = the_worker.objects[part->index].place;
	const enum kind kind = worker_kind(part->index);

	(void)result_fd;
	*start = CODE + CODE_SIZE * place;
	*size = CODE_SIZE;
	if (kind == MUCH) {
		*start = LARGE_CODE + LARGE_SIZE * place;
		*size = LARGE_SIZE;
	} else if (kind == TOO_MUCH) {
		*size = (16 << 20) + 1;
	} else if (kind == NOWHERE) {
		*start = 8;
	} else if (kind == LEAVES) {
		if (!leaving)
			leaving = mmap(NULL, CODE_SIZE, PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*start = address_of(leaving);
	}
}

int worker_result_same(int result_fd, const struct worker_part *part,
		       struct worker_same **same, uint32_t *nr)
{
	(void)result_fd;
	*nr = 1;
	*same = malloc(sizeof(**same));
	if (!*same)
		return -ENOMEM;
	**same = same_of[the_worker.objects[part->index].number];
	return 0;
}

void sframe_unwind_converted_free(struct sframe_unwind_converted *converted)
{
	nr_converted -= !!converted;
	free(converted);
}

/* --- the process */

/* What the C library makes of getline(). */
ssize_t __real___getdelim(char **line, size_t *size, int end, FILE *file);

ssize_t __wrap___getdelim(char **line, size_t *size, int end, FILE *file)
{
	world.now += line_ns;
	return __real___getdelim(line, size, end, file);
}

void announce(unsigned int first, unsigned int nr)
{
	for (unsigned int i = first; i < first + nr; i++)
		entries[i] = (struct entry) {
			.next = i + 1 < first + nr ? address_of(&entries[i + 1]) : 0,
			.before = i > first ? address_of(&entries[i - 1]) : 0,
			.object = address_of(&objects[i]),
			.size = sizeof(objects[i]),
		};
	__jit_debug_descriptor = (struct descriptor) {
		.version = 1,
		.first = nr ? address_of(&entries[first]) : 0,
	};
}

void scene_begin(void)
{
	world_begin();
	end_sharing();
	if (sharing_process >= 0)
		close(sharing_process);
	sharing_process = -1;
	process = own_process;
	for (unsigned int i = 0; i < MOST; i++)
		objects[i] = (struct object) { .number = i, .place = i };
	for (unsigned int i = 0; i < MOST; i++)
		same_of[i] = (struct worker_same) {
			.object = offsetof(struct object, code),
			.size = CODE_SIZE,
		};
	memset(kind_of, 0, sizeof(kind_of));
	memset(is_attached, 0, sizeof(is_attached));
	memset(is_ended, 0, sizeof(is_ended));
	nr_attached = 0;
	nr_told = 0;
	has_copies = true;
	for (unsigned int i = 0; i < MOST; i++)
		memset(code + CODE_SIZE * i, i % 251, CODE_SIZE);
	nr_watched = 0;
	nr_workers = 0;
	nr_results = 0;
	most_at_once = 0;
	line_ns = 0;
	request = (struct reader_request) {
		.what = READER_CODE,
		.mapping.pid = getpid(),
		.code.max = CODE_MAX_RANGES,
		.code.follows = true,
		.code.may_convert = true,
		.code.nice = 7,
	};
}

/* The byte that the object's code should have everywhere. */
static unsigned char byte_of(unsigned int number)
{
	const uint64_t place = objects[number].place;

	if (kind_of[number] == MUCH)
		return large_code[LARGE_SIZE * place];
	return kind_of[number] == LEAVES ? 0 : place % 251;
}

bool look(void)
{
	static struct announced_ranges ranges;

	for (unsigned int i = 0; i < MOST; i++)
		memset(objects[i].code, byte_of(i), CODE_SIZE);
	reply = (struct reader_reply) { 0 };
	reader_announced(process, &request, &reply, &ranges);
	request.code.nr = ranges.nr;
	memcpy(request.code.ranges, ranges.ranges, sizeof(ranges.ranges));
	request.code.objects = reply.code.objects;
	request.code.next = reply.code.next;
	return reply.code.has_changed;
}

unsigned int look_all(unsigned int most)
{
	unsigned int nr = 0;

	while (nr < most) {
		nr++;
		if (!look())
			break;
	}
	return nr;
}

unsigned int nr_refused(void)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < request.code.objects.nr; i++)
		nr += request.code.objects.all[i].why == CODE_REFUSED;
	return nr;
}

bool nothing_is_left(void)
{
	return !nr_watched && !nr_converted && has_copies;
}

unsigned int look_on(unsigned int most)
{
	unsigned int nr = 0;

	while (nr < most) {
		nr++;
		look();
		if (!reply.code.has_changed && !reply.code.is_partial)
			break;
		world.now += reply.code.has_changed ? CODE_MIN_NS :
						      CODE_RECHECK_NS;
	}
	return nr;
}

static bool make_section(void)
{
	static const struct sframe_unwind_row row = SFRAME_UNWIND_ROW_KEEPS_FP;
	const struct sframe_unwind_function function = {
		.start = SECTION_SIZE,
		.size = CODE_SIZE,
		.rows = &row,
		.nr_rows = 1,
	};
	struct sframe_unwind_writer *writer;
	ssize_t size = -1;

	if (sframe_unwind_writer_create(&writer))
		return false;
	if (!sframe_unwind_writer_add(writer, &function))
		size = sframe_unwind_writer_write(writer, section, SECTION_SIZE,
						  SECTION_SIZE);
	sframe_unwind_writer_free(writer);
	section_size = size;
	return size > 0;
}

int scene_run(const struct scene_case *cases, size_t nr)
{
	own_process = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own_process < 0 || !make_section()) {
		tap_skip("announced objects", "no /proc, or no memory");
		return tap_done();
	}
	for (size_t i = 0; i < nr; i++) {
		scene_begin();
		cases[i].run();
		tap_case("%s", cases[i].name);
	}
	return tap_done();
}
