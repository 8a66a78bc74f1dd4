// SPDX-License-Identifier: GPL-2.0
/*
 * What a reader sees of a ring while a sample is being written, also when another one has
 * been written meanwhile, as in an NMI: the head must not have moved.
 *
 * The user stack of a sample is requested when it has its room in the ring, but is not filled.
 * That calls task_work_add(), where there are
 *
 * - breakpoints, at which the module takes another sample, and then
 * - a kprobe, which reads the head at the reader's address, for tracefs.
 */
#include <fcntl.h>
#include <linux/hw_breakpoint.h>

#include "process.h"
#include "sampled.h"

#define NR_FAULTS	20
#define MAX_HEADS	4096
#define MAX_RECORDS	4096
#define TRACEFS		"/sys/kernel/tracing/"

/* A record of the module. */
struct place {
	__u64 position, cookie;
	unsigned int event;		/* of a sample; or else 0 */
};

FIXTURE(publish)
{
	struct sampled s;
	struct taken t;
	bool offline;
	unsigned int faults;		/* the event's id */
	__u64 head[MAX_HEADS];		/* that the kprobe has read */
	struct place place[MAX_RECORDS];
	unsigned int nr_heads, nr_places;
};

/* Write to a file of tracefs. Returns 0 or -1. */
static int write_trace(const char *name, int flags, const char *text)
{
	const ssize_t size = strlen(text);
	char path[128];
	ssize_t done;
	int fd;

	snprintf(path, sizeof(path), TRACEFS "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	if (fd < 0)
		return -1;
	done = write(fd, text, size);
	close(fd);
	return done == size ? 0 : -1;
}

/* Returns the address of a function of the kernel, or 0. */
static __u64 find_function(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address, found = 0;
	char line[512], symbol[256], type;

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %c %255s", &address, &type, symbol) == 3 &&
		    !strcmp(symbol, name))
			found = address;
	}
	if (file)
		fclose(file);
	return found;
}

/* With one CPU: QEMU can execute code that another one has just modified. */
FIXTURE_SETUP(publish)
{
	struct perf_event_attr faults = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr breakpoint = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_len = sizeof(long),
		.sample_period = 1,
	};
	const __u64 function = find_function("task_work_add");
	char text[128];
	int perf_fd, id;

	if (access(TRACEFS "kprobe_events", W_OK) || !function)
		SKIP(return, "no kprobes, or no addresses of functions");
	self->offline = set_online(1, 0);
	ASSERT_SAMPLED(&self->s, 64);
	snprintf(text, sizeof(text),
		 "p:sfu_publish/add task_work_add head=+u0(\\%lu):u64\n",
		 (unsigned long)&self->s.control[0]->head);
	ASSERT_EQ(0, write_trace("kprobe_events", O_APPEND, text))
	{
		TH_LOG("%s: %s", text, strerror(errno));
	}
	snprintf(text, sizeof(text), "common_pid == %d\n", getpid());
	ASSERT_EQ(0, write_trace("events/sfu_publish/add/filter", 0, text));
	perf_fd = perf_open(&faults, 0, -1);
	id = sample_fd(&self->s, perf_fd, 0, SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER);
	ASSERT_LT(0, id);
	close(perf_fd);
	self->faults = id;
	/* Behind endbr64 if there is one: the kprobe's address, which the module calls. */
	for (breakpoint.bp_addr = function; breakpoint.bp_addr <= function + 4;
	     breakpoint.bp_addr += 4) {
		ASSERT_LT(0, sample_at(&self->s, &breakpoint, 0, -1, 0))
		{
			TH_LOG("%s", self->s.message);
		}
	}
}

FIXTURE_TEARDOWN(publish)
{
	end_sampled(&self->s);
	EXPECT_EQ(0, write_trace("kprobe_events", O_APPEND, "-:sfu_publish/add\n"));
	if (self->offline)
		set_online(1, 1);
}

/* Read the heads that the kprobe has found. */
static void read_heads(FIXTURE_DATA(publish) *self)
{
	FILE *file = fopen(TRACEFS "trace", "re");
	const char *found;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		found = strstr(line, " head=");
		if (line[0] != '#' && found && self->nr_heads < MAX_HEADS)
			self->head[self->nr_heads++] = strtoull(found + 6, NULL, 0);
	}
	if (file)
		fclose(file);
}

/* Read where the records are. Returns false if one is invalid. */
static bool read_places(FIXTURE_DATA(publish) *self)
{
	struct taken *t = &self->t;
	__u64 position = 0;
	int ret = 0;

	while (self->nr_places < MAX_RECORDS &&
	       (ret = take_from(&self->s, 0, t)) == 1) {
		self->place[self->nr_places++] = (struct place) {
			.position = position,
			.cookie = t->cookie,
			.event = t->type == SFRAME_UNWIND_RECORD_SAMPLE ?
				 t->head.event : 0,
		};
		position += t->head.record.size;
	}
	return !ret;
}

static bool was_head(FIXTURE_DATA(publish) *self, __u64 position)
{
	for (unsigned int i = 0; i < self->nr_heads; i++) {
		if (self->head[i] == position)
			return true;
	}
	return false;
}

/* Whether record @i is a sample of a page fault that has requested its user stack. */
static bool has_requested(FIXTURE_DATA(publish) *self, unsigned int i)
{
	const struct place *place = &self->place[i];

	if (place->event != self->faults || !place->cookie)
		return false;
	while (i--) {
		if (self->place[i].cookie == place->cookie)
			return false;
	}
	return true;
}

TEST_F(publish, nothing_unfinished)
{
	unsigned int requested = 0, interrupted = 0;

	ASSERT_EQ(0, write_trace("trace", O_TRUNC, ""));
	ASSERT_EQ(0, write_trace("events/sfu_publish/add/enable", 0, "1"));
	ASSERT_EQ(0, start(&self->s));
	for (unsigned int i = 0; i < NR_FAULTS; i++) {
		fault(1);
		/* A user stack is not requested too soon after the last one. */
		usleep(2000);
	}
	ASSERT_EQ(0, stop(&self->s));
	ASSERT_EQ(0, write_trace("events/sfu_publish/add/enable", 0, "0"));
	read_heads(self);
	ASSERT_TRUE(read_places(self));
	for (unsigned int i = 0; i < self->nr_places; i++) {
		const struct place *place = &self->place[i];

		if (!has_requested(self, i))
			continue;
		requested++;
		EXPECT_TRUE(was_head(self, place->position))
		{
			TH_LOG("record at %llu", place->position);
		}
		interrupted += i + 1 < self->nr_places && place[1].event &&
			       place[1].event != self->faults;
	}
	EXPECT_LT(0, requested);
	EXPECT_LT(0, interrupted);
	EXPECT_ADDS_UP(&self->s);
}

TEST_HARNESS_MAIN
