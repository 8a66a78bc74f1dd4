/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events: those of the module, recorded in an instance of tracefs of the test's own,
 * and read as tracefs prints them.
 */
#ifndef SELFTESTS_TRACE_EVENTS_H
#define SELFTESTS_TRACE_EVENTS_H

#include <sys/stat.h>

#include "common.h"

#define TRACED_EVENTS	"events/sframe_unwind/enable"

struct traced {
	char dir[64];
	char *text;	/* of all events, read by stop_traced() */
};

/* One event: its line, from the name on. */
struct trace_line {
	const char *name;
	const char *end;
};

static inline bool write_traced(const struct traced *t, const char *name,
				const char *value)
{
	char path[128];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	close(fd);
	return done;
}

/* Read a file of tracefs, whose size is not known. Returns its text, or NULL. */
static inline char *read_whole(const char *path)
{
	size_t room = 1 << 16, size = 0;
	char *text = malloc(room);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	while ((got = read(fd, text + size, room - size - 1)) > 0) {
		size += got;
		if (room - size < 1 << 15)
			text = realloc(text, room *= 2);
	}
	close(fd);
	text[size] = '\0';
	if (!got)
		return text;
	free(text);
	return NULL;
}

/*
 * Make an instance, and record the events of @events, "events/.../enable". Its buffer of
 * each CPU has @kbytes. Returns whether that was possible.
 */
static inline bool start_traced(struct traced *t, const char *events,
				unsigned int kbytes)
{
	static unsigned int nr;
	char size[16];

	t->text = NULL;
	snprintf(t->dir, sizeof(t->dir),
		 "/sys/kernel/tracing/instances/test-%d-%u", getpid(), nr++);
	snprintf(size, sizeof(size), "%u", kbytes);
	return !mkdir(t->dir, 0700) && write_traced(t, "buffer_size_kb", size) &&
	       write_traced(t, events, "1");
}

static inline void end_traced(struct traced *t)
{
	write_traced(t, "events/enable", "0");
	rmdir(t->dir);
	free(t->text);
}

/* Add up lines "@name: number" of the statistics of all CPUs' buffers. */
static inline unsigned long traced_statistic(const struct traced *t,
					     const char *name)
{
	const size_t length = strlen(name);
	unsigned long sum = 0;
	unsigned int cpu;
	char path[128];
	char *text, *line, *rest;

	for (cpu = 0; cpu < (unsigned int)sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/stats", t->dir, cpu);
		rest = text = read_whole(path);
		while ((line = strsep(&rest, "\n"))) {
			if (!strncmp(line, name, length) && line[length] == ':')
				sum += strtoul(line + length + 1, NULL, 10);
		}
		free(text);
	}
	return sum;
}

/* Events that the buffers have dropped. */
static inline unsigned long traced_lost(const struct traced *t)
{
	return traced_statistic(t, "overrun") +
	       traced_statistic(t, "commit overrun") +
	       traced_statistic(t, "dropped events");
}

/* Events that there were, also those that the buffers have no more. */
static inline unsigned long traced_events(const struct traced *t)
{
	return traced_statistic(t, "entries") + traced_lost(t);
}

/* Record no more, and read what was recorded. Returns whether that is all. */
static inline bool stop_traced(struct traced *t)
{
	char path[128];

	if (!write_traced(t, "events/enable", "0"))
		return false;
	snprintf(path, sizeof(path), "%s/trace", t->dir);
	free(t->text);
	t->text = read_whole(path);
	return t->text && !strstr(t->text, "[LINE TOO BIG]") && !traced_lost(t);
}

/* Get the next event @name, "request" or so; @line is all 0 for the first one. */
static inline bool next_line(const struct traced *t, const char *name,
			     struct trace_line *line)
{
	const char *at = line->end ? line->end : t->text;
	char before[32];

	snprintf(before, sizeof(before), ": %s: ", name);
	line->name = strstr(at, before);
	if (!line->name)
		return false;
	line->name += 2;
	line->end = strchr(line->name, '\n');
	return line->end;
}

/* Returns the text behind "@field=" in @line, or NULL. */
static inline const char *field_text(const struct trace_line *line,
				     const char *field)
{
	char before[32];
	const char *at;

	snprintf(before, sizeof(before), " %s=", field);
	at = strstr(line->name, before);
	return at && at < line->end ? at + strlen(before) : NULL;
}

/* Returns the number @field, or one that no field has. */
static inline __u64 field_number(const struct trace_line *line, const char *field)
{
	const char *text = field_text(line, field);

	return text ? strtoull(text, NULL, 0) : 0xbadbadbadbadbadbULL;
}

/* Whether @field is @word. */
static inline bool field_is(const struct trace_line *line, const char *field,
			    const char *word)
{
	const char *text = field_text(line, field);
	const size_t length = strlen(word);

	return text && !strncmp(text, word, length) &&
	       (text[length] == ' ' || text[length] == '\n');
}

/* Find the event @name whose @field is @number. Returns how many there are. */
static inline unsigned int find_line(const struct traced *t, const char *name,
				     const char *field, __u64 number,
				     struct trace_line *found)
{
	struct trace_line line = {};
	unsigned int nr = 0;

	while (next_line(t, name, &line)) {
		if (field_number(&line, field) != number)
			continue;
		*found = line;
		nr++;
	}
	return nr;
}

/* Read the addresses of an event "stack" to @ips. Returns their number. */
static inline unsigned int field_ips(const struct trace_line *line, __u64 *ips,
				     unsigned int room)
{
	const char *at = field_text(line, "ips");
	unsigned int nr = 0;
	char *end;

	if (!at || *at != '{')
		return ~0U;
	for (at++; *at != '}' && nr < room; at = end + (*end == ',')) {
		ips[nr++] = strtoull(at, &end, 0);
		if (end == at)
			return ~0U;
	}
	return nr;
}

/*
 * Join the events "stack" with @cookie and @at_once. Returns the number of addresses; or
 * ~0 if there are none, or they do not fit together.
 */
static inline unsigned int traced_stack(const struct traced *t, __u64 cookie,
					bool at_once, __u64 *ips,
					struct trace_line *found)
{
	struct trace_line line = {};
	unsigned int nr = 0, is_any = 0, got;

	while (next_line(t, "stack", &line)) {
		if (field_number(&line, "cookie") != cookie ||
		    field_number(&line, "at_once") != at_once)
			continue;
		if (field_number(&line, "first") != nr || (is_any && !nr))
			return ~0U;
		got = field_ips(&line, ips + nr, MAX_FRAMES - nr);
		if (got == ~0U)
			return ~0U;
		nr += got;
		is_any = 1;
		*found = line;
	}
	return is_any && field_number(found, "nr") == nr ? nr : ~0U;
}

/* Add up @field of all events @name, of those whose @other is @word if that is not NULL. */
static inline __u64 sum_of(const struct traced *t, const char *name,
			   const char *field, const char *other, const char *word)
{
	struct trace_line line = {};
	__u64 sum = 0;

	while (next_line(t, name, &line)) {
		if (!word || field_is(&line, other, word))
			sum += field ? field_number(&line, field) : 1;
	}
	return sum;
}

/* A counter of the module. */
static inline long module_counter(const char *name)
{
	char *text = read_whole("/sys/kernel/debug/sframe_unwind/counters");
	char before[40];
	const char *at;
	long value = -1;

	snprintf(before, sizeof(before), "%s ", name);
	for (at = text; at && *at; at = strchr(at, '\n') + 1) {
		if (!strncmp(at, before, strlen(before)))
			value = atol(at + strlen(before));
	}
	free(text);
	return value;
}

#endif /* SELFTESTS_TRACE_EVENTS_H */
