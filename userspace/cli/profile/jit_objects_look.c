// SPDX-License-Identifier: GPL-2.0
/*
 * Look at the objects that a process announces: see jit_objects.h.
 *
 * The process can free and make code meanwhile, and announce anything. So the list is read
 * first; an object is taken only if it still is announced when it has been read; and one that
 * was read before is another one if its beginning or its end has changed.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/attach/announced.h"
#include "cli/attach/clock.h"
#include "cli/profile/jit_objects.h"
#include "cli/profile/table.h"
#include "lib/memory_file.h"

/* Time for a look. */
#define LOOK_NS		(SECOND / 2)

/* Lists of one process. */
#define LISTS_MAX	16u

/* New objects of a look, and their bytes. */
#define NEW_MAX		4096u
#define NEW_BYTES	(16ULL << 20)

/* Bytes at the beginning and at the end of an object that tell it from others. */
#define ENDS		4096u

/**
 * struct known - an object of the file
 *
 * @record: its record; its bytes follow.
 * @is_gone: it was taken back.
 * @is_there: it was seen in this look.
 */
struct known {
	const struct jit_objects_record *record;
	bool is_gone;
	bool is_there;
};

/**
 * struct looking - a look
 *
 * @look: what was asked for, and what is told.
 * @memory: the memory of the process.
 * @ends_at: when it must end.
 * @bytes: the file so far, or NULL.
 * @size: its size.
 * @known: its objects.
 * @nr_known: number of those.
 * @known_room: room for those.
 * @places: numbers of places of objects, by entry and address.
 * @last: the last object at each of these.
 * @last_room: room for those.
 * @was_full: the file has JIT_OBJECTS_FULL.
 * @lists: addresses of the lists.
 * @nr_lists: number of those.
 * @added: new entries.
 * @nr_added: number of those.
 * @added_bytes: bytes that they take in the file.
 * @fd: what is appended to the file.
 * @written: bytes of that.
 */
struct looking {
	struct jit_objects_look *look;
	int memory;
	uint64_t ends_at;
	const unsigned char *bytes;
	uint64_t size;
	struct known *known;
	uint32_t nr_known;
	uint32_t known_room;
	struct pairs places;
	uint32_t *last;
	uint32_t last_room;
	bool was_full;
	uint64_t lists[LISTS_MAX];
	uint32_t nr_lists;
	struct announced added[NEW_MAX];
	uint32_t nr_added;
	uint64_t added_bytes;
	int fd;
	uint64_t written;
};

/* Bytes of an object that are taken. */
static uint64_t stored_of(uint64_t bytes)
{
	return bytes <= ANNOUNCED_MAX_SIZE ? bytes : 0;
}

/* --- what is known */

static void add_known(struct looking *looking,
		      const struct jit_objects_record *record)
{
	const uint32_t place = pairs_add(&looking->places, record->entry,
					 record->place);

	looking->last = table_grow(looking->last, &looking->last_room, place,
				   sizeof(*looking->last));
	looking->last[place] = looking->nr_known;
	looking->known = table_grow(looking->known, &looking->known_room,
				    looking->nr_known, sizeof(*looking->known));
	looking->known[looking->nr_known++].record = record;
}

/* Read the file so far, which this command has made. */
static void read_known(struct looking *looking, int fd)
{
	uint64_t at = sizeof(uint64_t);
	struct stat status;
	void *bytes;

	if (fd < 0 || fstat(fd, &status) || !status.st_size)
		return;
	bytes = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return;
	looking->bytes = bytes;
	looking->size = status.st_size;
	while (at < looking->size) {
		const struct jit_objects_record *record =
			(const void *)(looking->bytes + at);

		if (record->kind == JIT_OBJECTS_MADE)
			add_known(looking, record);
		else if (record->kind == JIT_OBJECTS_GONE)
			looking->known[record->number].is_gone = true;
		else if (record->kind == JIT_OBJECTS_FULL)
			looking->was_full = true;
		at += sizeof(*record) + jit_objects_padded(record->stored);
	}
}

/* Returns whether @size bytes at @address are those at @bytes. */
static bool has_bytes(const struct looking *looking, uint64_t address,
		      const unsigned char *bytes, size_t size)
{
	unsigned char now[ENDS];

	return announced_read(looking->memory, address, now, size) &&
	       !memcmp(now, bytes, size);
}

static bool is_same(const struct looking *looking, const struct known *known,
		    const struct announced *announced)
{
	const struct jit_objects_record *record = known->record;
	const unsigned char *bytes = (const void *)(record + 1);
	const uint64_t size = record->stored;
	const uint64_t part = size < ENDS ? size : ENDS;

	return !known->is_gone && record->bytes == announced->size &&
	       has_bytes(looking, announced->object, bytes, part) &&
	       has_bytes(looking, announced->object + size - part,
			 bytes + size - part, part);
}

/* --- the lists */

/* Note an entry of a list. Always goes on: the rest tells what is still there. */
static bool take_entry(void *data, const struct announced *announced)
{
	struct looking *looking = data;
	const uint32_t place = pairs_find(&looking->places, announced->entry,
					  announced->object);
	const uint64_t bytes = sizeof(struct jit_objects_record) +
			       jit_objects_padded(stored_of(announced->size));

	if (place != TABLE_NONE) {
		struct known *known = &looking->known[looking->last[place]];

		if (is_same(looking, known, announced)) {
			known->is_there = true;
			looking->look->kept += bytes;
			return true;
		}
	}
	if (looking->added_bytes + bytes > looking->look->room) {
		looking->look->is_full = true;
	} else if (looking->nr_added == NEW_MAX ||
		   looking->added_bytes + bytes > NEW_BYTES) {
		looking->look->has_more = true;
	} else {
		looking->added[looking->nr_added++] = *announced;
		looking->added_bytes += bytes;
	}
	return true;
}

/* If the line is the beginning of a file's mapping, find its list. */
static void take_line(struct looking *looking, const char *line)
{
	uint64_t start, offset, inode, list;

	if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*x:%*x %" SCNu64,
		   &start, &offset, &inode) != 3 || offset || !inode)
		return;
	list = announced_find(looking->memory, start);
	for (uint32_t i = 0; i < looking->nr_lists && list; i++)
		if (looking->lists[i] == list)
			list = 0;
	if (list && looking->nr_lists < LISTS_MAX)
		looking->lists[looking->nr_lists++] = list;
}

/* Returns whether all mappings could be read. */
static bool find_lists(struct looking *looking, pid_t pid)
{
	char path[64], *line = NULL;
	bool is_whole = false;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	while (now_ns() < looking->ends_at) {
		if (getline(&line, &room, maps) <= 0) {
			is_whole = !ferror(maps);
			break;
		}
		take_line(looking, line);
	}
	free(line);
	fclose(maps);
	return is_whole;
}

/* A process that has ended, and nobody has asked for that yet, has no mappings; others do. */
static bool is_there(pid_t pid)
{
	char path[64];
	FILE *maps;
	bool is_there;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	is_there = fgetc(maps) != EOF;
	fclose(maps);
	return is_there;
}

static void read_lists(struct looking *looking)
{
	for (uint32_t i = 0; i < looking->nr_lists; i++) {
		const int err = announced_list(looking->memory,
					       looking->lists[i],
					       looking->ends_at, take_entry,
					       looking);

		/* Nobody uses one of another version. */
		if (err != -EINVAL)
			looking->look->has_list = true;
		looking->look->is_read &= !err || err == -EINVAL;
	}
}

/* --- what is new */

/* Returns whether @size bytes were added. */
static bool append(struct looking *looking, const void *bytes, size_t size)
{
	if (pwrite(looking->fd, bytes, size, looking->written) != (ssize_t)size)
		return false;
	looking->written += size;
	return true;
}

/* Returns whether the entry still announces the object. */
static bool is_announced(const struct looking *looking,
			 const struct announced *announced)
{
	/* Next, before, object, size. */
	uint64_t entry[4];

	return announced_read(looking->memory, announced->entry, entry,
			      sizeof(entry)) &&
	       entry[2] == announced->object && entry[3] == announced->size;
}

/* Returns false if it cannot be written; an object that is not there any more is left out. */
static bool append_object(struct looking *looking,
			  const struct announced *announced)
{
	const struct jit_objects_record record = {
		.kind = JIT_OBJECTS_MADE,
		.entry = announced->entry,
		.place = announced->object,
		.bytes = announced->size,
		.stored = stored_of(announced->size),
	};
	const uint64_t size = jit_objects_padded(record.stored);
	char *bytes = table_allocate(size + 1);
	bool is_written = true;

	memset(bytes + record.stored, 0, size - record.stored);
	if (!announced_read(looking->memory, record.place, bytes,
			    record.stored) ||
	    !is_announced(looking, announced))
		looking->look->has_more = true;
	else
		is_written = append(looking, &record, sizeof(record)) &&
			     append(looking, bytes, size);
	free(bytes);
	return is_written;
}

static bool append_gone(struct looking *looking)
{
	for (uint32_t i = 0; i < looking->nr_known; i++) {
		const struct jit_objects_record record = {
			.kind = JIT_OBJECTS_GONE,
			.number = i,
		};

		if (!looking->known[i].is_gone && !looking->known[i].is_there &&
		    !append(looking, &record, sizeof(record)))
			return false;
	}
	return true;
}

/*
 * Whether something may have been made, or be gone, that is not known; what nothing is known
 * of at all cannot be confused.
 */
static bool is_partial(const struct looking *looking)
{
	const struct jit_objects_look *look = looking->look;

	return looking->nr_known && (look->was_partial || look->has_more ||
				     look->is_full || !look->is_read);
}

/* Returns whether all that is new was written. */
static bool append_look(struct looking *looking)
{
	struct jit_objects_record record = { .kind = JIT_OBJECTS_LOOK };
	bool is_written = append(looking, &record, sizeof(record));

	if (looking->look->is_read)
		is_written = is_written && append_gone(looking);
	for (uint32_t i = 0; i < looking->nr_added && is_written; i++)
		is_written = append_object(looking, &looking->added[i]);
	if (looking->look->is_full && !looking->was_full) {
		record.kind = JIT_OBJECTS_FULL;
		is_written = is_written && append(looking, &record, sizeof(record));
	}
	record = (struct jit_objects_record){
		.kind = JIT_OBJECTS_LOOK,
		.number = is_partial(looking) ? JIT_OBJECTS_PARTIAL : 0,
		.before = looking->look->before,
		.time = now_ns(),
	};
	return is_written &&
	       pwrite(looking->fd, &record, sizeof(record), 0) == sizeof(record);
}

/* Returns a file with what is new, or -1 if nothing is. */
static int write_new(struct looking *looking)
{
	looking->fd = memory_file_create("sframe_unwind_objects");
	if (looking->fd < 0 || !append_look(looking)) {
		/* What is not written comes again. */
		looking->look->is_read = false;
		looking->written = 0;
	}
	if (looking->written > sizeof(struct jit_objects_record))
		return looking->fd;
	if (looking->fd >= 0)
		close(looking->fd);
	return -1;
}

int jit_objects_look(pid_t pid, int known, struct jit_objects_look *look)
{
	static struct looking looking;
	char path[64];
	int fd;

	looking = (struct looking){
		.look = look,
		.ends_at = now_ns() + LOOK_NS,
	};
	look->began = now_ns();
	look->is_there = false;
	look->kept = 0;
	look->has_list = false;
	look->is_read = false;
	look->is_full = false;
	look->has_more = false;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	looking.memory = open(path, O_RDONLY | O_CLOEXEC);
	if (looking.memory < 0)
		return -1;
	look->is_read = find_lists(&looking, pid);
	read_known(&looking, known);
	read_lists(&looking);
	/* Then it did not take back what was not found. */
	look->is_there = is_there(pid);
	look->is_read &= look->is_there;
	fd = write_new(&looking);
	close(looking.memory);
	if (looking.bytes)
		munmap((void *)(uintptr_t)looking.bytes, looking.size);
	pairs_free(&looking.places);
	free(looking.last);
	free(looking.known);
	return fd;
}
