// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/attach/clock.h"
#include "cli/attach/told.h"
#include "cli/profile/copy_code.h"
#include "cli/profile/table.h"
#include "worker/message.h"

/* Sections of one process, and of all; and their bytes. The oldest ones are forgotten. */
#define PROCESS_MAX		256u
#define PROCESS_BYTES_MAX	(16ULL << 20)
#define ALL_MAX			8192u
#define ALL_BYTES_MAX		(64ULL << 20)

/* Messages, and their bytes, that are read at a time: the rings are not read meanwhile. */
#define MESSAGES_MAX		1024u
#define ROUND_BYTES_MAX		(4ULL << 20)

/*
 * How long after a stack its section may come: a look of "attach" takes three seconds at most,
 * and waits a few times as long as the last one took.
 */
#define WAIT_NS			(3 * SECOND)

/*
 * Processes, by a hash of their numbers that nobody else knows; and mappings that are
 * remembered of those with the same hash. Who makes many makes his sections, and those of few
 * others, unknown.
 */
#define BUCKETS_BITS		10
#define BUCKETS			(1u << BUCKETS_BITS)
#define CHANGES			64u

/* Bit of the numbers of sections. Files are fewer. */
#define NUMBER			(1u << 31)

/**
 * struct change - something was mapped
 *
 * @pid: the process.
 * @time: when.
 * @start, @end: where.
 */
struct change {
	uint32_t pid;
	uint64_t time;
	uint64_t start;
	uint64_t end;
};

/**
 * struct code_section - a section
 *
 * @age: in the list of all, the oldest first.
 * @of_bucket: in the list of its bucket, the oldest first.
 * @told: what was told.
 * @is_used: what happened until @told.until is known.
 * @from, @until: with that, when its code was there.
 * @number: see copy_code_find().
 * @bytes: the section.
 * @table: the same.
 */
struct code_section {
	TAILQ_ENTRY(code_section) age;
	TAILQ_ENTRY(code_section) of_bucket;
	struct told_code told;
	bool is_used;
	uint64_t from;
	uint64_t until;
	uint32_t number;
	unsigned char *bytes;
	struct sfu_table table;
};

TAILQ_HEAD(code_sections, code_section);

/**
 * struct bucket - processes whose numbers have the same hash
 *
 * @sections: their sections.
 * @changes: what they have mapped last, in rotation.
 * @nr: how often they have mapped anything.
 * @since: all changes after that are known.
 */
struct bucket {
	struct code_sections sections;
	struct change changes[CHANGES];
	uint64_t nr;
	uint64_t since;
};

/**
 * struct copy_code - all sections
 *
 * @socket: where they are told.
 * @is_distrusted: something else was told: nothing is read any more.
 * @secret: of the hash.
 * @is_followed: what happens to processes is known after @since.
 * @since: see there.
 * @all: the sections.
 * @nr: number of those.
 * @size: bytes of those.
 * @nr_waiting: number of those that are not used yet.
 * @last_number: of the last one.
 * @buckets: processes, or NULL where there are none.
 */
struct copy_code {
	int socket;
	bool is_distrusted;
	uint64_t secret;
	bool is_followed;
	uint64_t since;
	struct code_sections all;
	uint32_t nr;
	uint64_t size;
	uint32_t nr_waiting;
	uint32_t last_number;
	struct bucket *buckets[BUCKETS];
};

struct copy_code *copy_code_create(int socket)
{
	struct copy_code *code = table_allocate(sizeof(*code));

	code->socket = socket;
	/* Without random numbers, they can be guessed. */
	if (getrandom(&code->secret, sizeof(code->secret), GRND_NONBLOCK) < 0)
		code->secret = now_ns();
	code->secret |= 1;
	TAILQ_INIT(&code->all);
	return code;
}

static struct bucket *get_bucket(struct copy_code *code, uint32_t pid)
{
	struct bucket **bucket = &code->buckets[pid * code->secret >> (64 - BUCKETS_BITS)];

	if (!*bucket) {
		*bucket = table_allocate(sizeof(**bucket));
		TAILQ_INIT(&(*bucket)->sections);
	}
	return *bucket;
}

static void remove_section(struct copy_code *code, struct code_section *section)
{
	TAILQ_REMOVE(&code->all, section, age);
	TAILQ_REMOVE(&get_bucket(code, section->told.pid)->sections, section, of_bucket);
	code->nr--;
	code->nr_waiting -= !section->is_used;
	code->size -= section->told.size;
	free(section->bytes);
	free(section);
}

static void remove_all(struct copy_code *code)
{
	struct code_section *section;

	while ((section = TAILQ_FIRST(&code->all)))
		remove_section(code, section);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		free(code->buckets[i]);
		code->buckets[i] = NULL;
	}
}

void copy_code_free(struct copy_code *code)
{
	if (!code)
		return;
	remove_all(code);
	close(code->socket);
	free(code);
}

void copy_code_forget(struct copy_code *code, uint64_t time)
{
	if (!code)
		return;
	remove_all(code);
	code->since = time;
}

/* --- what processes map */

/*
 * Take into account when the code of @section, if it is used, was there. Returns false if it is
 * not known whether @change was before or behind what was told.
 */
static bool apply(struct code_section *section, const struct change *change)
{
	const struct told_code *told = &section->told;

	if (change->pid != told->pid || change->start >= told->end ||
	    change->end <= told->start)
		return true;
	if (change->time > told->until) {
		if (change->time < section->until)
			section->until = change->time;
		return true;
	}
	if (change->time > told->from)
		return false;
	if (change->time > section->from)
		section->from = change->time;
	return true;
}

static void add_change(struct copy_code *code, const struct change *change)
{
	struct bucket *bucket = get_bucket(code, change->pid);
	struct change *place = &bucket->changes[bucket->nr++ % CHANGES];
	struct code_section *section, *next;

	if (bucket->nr > CHANGES && place->time > bucket->since)
		bucket->since = place->time;
	*place = *change;
	for (section = TAILQ_FIRST(&bucket->sections); section; section = next) {
		next = TAILQ_NEXT(section, of_bucket);
		if (section->is_used && !apply(section, change))
			remove_section(code, section);
	}
}

void copy_code_follow(struct copy_code *code,
		      const struct sframe_unwind_profile_record *record)
{
	struct change change = {
		.pid = record->pid,
		.time = record->time,
		.end = UINT64_MAX,
	};

	if (!code)
		return;
	if (record->kind == SFRAME_UNWIND_PROFILE_MAP) {
		change.start = record->map.start;
		change.end = record->map.start + record->map.size;
		add_change(code, &change);
	} else if (record->kind == SFRAME_UNWIND_PROFILE_COMM ?
			   record->comm.is_exec :
			   record->kind == SFRAME_UNWIND_PROFILE_FORK &&
				   record->task.ppid != record->pid) {
		/* Another program, or another process with the number of one that has ended. */
		add_change(code, &change);
	}
}

/* Use @section from now on, or forget it. */
static void use(struct copy_code *code, struct code_section *section)
{
	const struct bucket *bucket = get_bucket(code, section->told.pid);
	const uint64_t nr = bucket->nr < CHANGES ? bucket->nr : CHANGES;

	section->is_used = true;
	code->nr_waiting--;
	section->from = code->since > bucket->since ? code->since : bucket->since;
	section->until = UINT64_MAX;
	if (section->from > section->told.from) {
		remove_section(code, section);
		return;
	}
	for (uint64_t i = 0; i < nr; i++) {
		if (!apply(section, &bucket->changes[i])) {
			remove_section(code, section);
			return;
		}
	}
}

/* --- what is told */

/*
 * Returns whether the file is what "attach" sends: in memory, and nobody can change it. Any
 * other file may block who reads or closes it.
 */
static bool is_sealed(int fd, uint64_t size)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;

	return seals >= 0 && (seals & TOLD_SEALS) == TOLD_SEALS && !fstat(fd, &status) &&
	       (uint64_t)status.st_size == size;
}

/* Read the section, and look at its header: all else is checked when it is used. */
static bool read_section(struct code_section *section, int fd)
{
	const uint64_t size = section->told.size;
	struct sfu_bytes bytes = { .size = size };
	struct sfu_defect defect;
	uint64_t done = 0;

	section->bytes = malloc(size);
	while (section->bytes && done < size) {
		const ssize_t got = pread(fd, section->bytes + done, size - done, done);

		if (got <= 0)
			return false;
		done += got;
	}
	bytes.copy = section->bytes;
	bytes.address = section->told.start;
	return section->bytes && !sfu_table_open_extended(&section->table, &bytes, &defect);
}

/* Make room for one more section of process @pid, of @size bytes. */
static void make_room(struct copy_code *code, uint32_t pid, uint64_t size)
{
	const uint64_t wanted = size;
	struct code_section *section, *next;
	uint32_t nr = 1;

	TAILQ_FOREACH_REVERSE(section, &get_bucket(code, pid)->sections, code_sections,
			      of_bucket) {
		if (section->told.pid != pid)
			continue;
		size += section->told.size;
		if (++nr > PROCESS_MAX || size > PROCESS_BYTES_MAX)
			break;
	}
	/* There is no room for this one, nor for older ones. */
	while (section) {
		next = TAILQ_PREV(section, code_sections, of_bucket);
		if (section->told.pid == pid)
			remove_section(code, section);
		section = next;
	}
	while (code->nr >= ALL_MAX || code->size + wanted > ALL_BYTES_MAX)
		remove_section(code, TAILQ_FIRST(&code->all));
}

static void add_section(struct copy_code *code, const struct told_code *told, int fd)
{
	struct code_section *section;

	if (told->start >= told->end || told->from > told->until)
		return;
	section = table_allocate(sizeof(*section));
	section->told = *told;
	if (!read_section(section, fd)) {
		free(section->bytes);
		free(section);
		return;
	}
	make_room(code, told->pid, told->size);
	section->number = NUMBER | ++code->last_number;
	TAILQ_INSERT_TAIL(&code->all, section, age);
	TAILQ_INSERT_TAIL(&get_bucket(code, told->pid)->sections, section, of_bucket);
	code->nr++;
	code->nr_waiting++;
	code->size += told->size;
}

static void read_messages(struct copy_code *code)
{
	uint64_t size = 0;
	struct told_code told;
	int fds[2];

	for (unsigned int i = 0; i < MESSAGES_MAX && size < ROUND_BYTES_MAX; i++) {
		const ssize_t got = message_receive(code->socket, &told, sizeof(told), fds, true);

		if (got == -EMSGSIZE)
			continue;
		if (got <= 0)
			return;
		/* Such files stay open: also closing them may block. */
		if (got != sizeof(told) || !told.size || told.size > TOLD_BYTES_MAX ||
		    fds[0] < 0 || fds[1] >= 0 || !is_sealed(fds[0], told.size)) {
			code->is_distrusted = true;
			return;
		}
		add_section(code, &told, fds[0]);
		close(fds[0]);
		size += told.size;
	}
}

int copy_code_file(const struct copy_code *code)
{
	return code && !code->is_distrusted ? code->socket : -1;
}

void copy_code_take(struct copy_code *code, uint64_t until)
{
	struct code_section *section, *next;
	uint32_t left;

	if (!code)
		return;
	if (!code->is_followed) {
		code->is_followed = true;
		code->since = until;
	}
	if (!code->is_distrusted)
		read_messages(code);
	/* Those that are not used yet are among the last ones. */
	left = code->nr_waiting;
	for (section = TAILQ_LAST(&code->all, code_sections); section && left; section = next) {
		next = TAILQ_PREV(section, code_sections, age);
		left -= !section->is_used;
		if (!section->is_used && section->told.until <= until)
			use(code, section);
	}
}

enum copy_section copy_code_find(struct copy_code *code, uint32_t pid, uint64_t time,
				 uint64_t pc, struct sfu_table *table, uint32_t *number)
{
	const struct code_section *section;
	const struct bucket *bucket;

	if (!code)
		return COPY_SECTION_NONE;
	bucket = get_bucket(code, pid);
	TAILQ_FOREACH_REVERSE(section, &bucket->sections, code_sections, of_bucket) {
		if (section->told.pid != pid || !section->is_used ||
		    pc < section->told.start || pc >= section->told.end ||
		    time < section->from || time >= section->until)
			continue;
		*table = section->table;
		*number = section->number;
		return COPY_SECTION_HERE;
	}
	return now_ns() > time + WAIT_NS ? COPY_SECTION_NONE : COPY_SECTION_LATER;
}
