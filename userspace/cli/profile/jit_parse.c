// SPDX-License-Identifier: GPL-2.0
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/profile/jit_parse.h"
#include "cli/profile/table.h"

#define DUMP_MAGIC	0x4A695444u	/* "JiTD" */
#define DUMP_SWAPPED	0x4454694Au
#define DUMP_VERSION	1u
#define DUMP_HEADER_MAX	4096u
#define DUMP_TSC	1u		/* the only flag: times are those of the CPU's counter */

/* What is read at once of a jitdump: the code, which is not read, is between the names. */
#define WINDOW		16384u

/* Kinds of records. */
enum { LOAD, MOVE, DEBUG_INFO, CLOSE, UNWINDING_INFO };

/**
 * struct dump_header - what a jitdump begins with
 *
 * @magic: DUMP_MAGIC.
 * @version: DUMP_VERSION.
 * @size: bytes of the header, with later additions.
 * @machine: as in ELF.
 * @padding: unused.
 * @pid: the process, as that knows itself.
 * @time: when it was made.
 * @flags: DUMP_TSC.
 */
struct dump_header {
	uint32_t magic;
	uint32_t version;
	uint32_t size;
	uint32_t machine;
	uint32_t padding;
	uint32_t pid;
	uint64_t time;
	uint64_t flags;
};

/**
 * struct dump_record - what a record begins with
 *
 * @id: its kind.
 * @size: bytes of it, with this.
 * @time: when it was written.
 */
struct dump_record {
	uint32_t id;
	uint32_t size;
	uint64_t time;
};

/* LOAD: followed by the name with its 0, and by the code. */
struct dump_load {
	uint32_t pid;
	uint32_t tid;
	uint64_t place;
	uint64_t address;
	uint64_t size;
	uint64_t index;
};

/* MOVE */
struct dump_move {
	uint32_t pid;
	uint32_t tid;
	uint64_t place;
	uint64_t from;
	uint64_t to;
	uint64_t size;
	uint64_t index;
};

static const char *const fault_texts[NR_JIT_FAULTS] = {
	[JIT_SOUND] = "is sound",
	[JIT_UNREADABLE] = "cannot be read",
	[JIT_TOO_MANY] = "has more functions than the 1048576 that are used",
	[JIT_NO_SIZE] = "has a function without a size",
	[JIT_WRAPS] = "has a function that goes on behind the last address",
	[JIT_IN_KERNEL] = "has a function that is not in user space",
	[JIT_NO_NAME] = "has a function without a name",
	[JIT_LONG_LINE] = "has a line of more than 65536 bytes",
	[JIT_NO_START] = "has a line that does not begin with an address",
	[JIT_LARGE_START] = "has an address of more than 64 bits",
	[JIT_NO_LENGTH] = "has a line without the size of the function",
	[JIT_LARGE_LENGTH] = "has a size of more than 64 bits",
	[JIT_NUL_IN_LINE] = "has a line with a byte 0",
	[JIT_NO_HEADER] = "is too short for the header of a jitdump",
	[JIT_MAGIC] = "does not begin as a jitdump does",
	[JIT_BYTE_ORDER] = "is a jitdump of the other byte order",
	[JIT_VERSION] = "is a jitdump of a version that is not known",
	[JIT_HEADER_SIZE] = "has a header of an impossible size",
	[JIT_HEADER_BEYOND] = "ends within its header",
	[JIT_MACHINE] = "is a jitdump of another machine",
	[JIT_TSC] = "has times of the CPU's counter, which samples do not have",
	[JIT_FLAGS] = "has flags that are not known",
	[JIT_OTHER_PROCESS] = "is the jitdump of another process",
	[JIT_RECORD_SIZE] = "has a record that is shorter than its header",
	[JIT_CUT] = "ends within a record",
	[JIT_SHORT_LOAD] = "has a record of a function that is too short",
	[JIT_UNTERMINATED] = "has a name that does not end within its record",
	[JIT_SHORT_MOVE] = "has a record of a moved function that is too short",
	[JIT_MOVES_NOTHING] = "moves a function that is not there",
	[JIT_UNKNOWN_RECORD] = "has a record of a kind that is not known",
	[JIT_OBJECTS_HEADER] = "does not begin as a file of objects does",
	[JIT_OBJECTS_NUMBER] = "takes back an object that is not there",
	[JIT_OBJECTS_LEFT] = "does not have all objects: they take too much memory",
	[JIT_OBJECT_LARGE] = "has an object of more than 8 MiB",
	[JIT_OBJECT_NO_ELF] = "has an object that is no ELF file",
	[JIT_OBJECT_MACHINE] = "has an object of another machine",
	[JIT_OBJECT_TYPE] = "has an object that is neither relocatable nor linked",
	[JIT_OBJECT_SECTIONS] = "has an object without sections",
	[JIT_OBJECT_NO_SYMBOLS] = "has an object without symbols",
	[JIT_OBJECT_SYMBOL_SIZE] = "has an object with symbols of another size",
	[JIT_OBJECT_SYMBOLS] = "has an object with symbols that are not in it",
	[JIT_OBJECT_STRING] = "has a function whose name is not in the object",
	[JIT_OBJECT_SECTION] = "has a function in a section that is not there",
	[JIT_OBJECT_PLACE] = "has a function in a section without an address",
	[JIT_OBJECT_BEYOND] = "has a function that is not within its section",
};

const char *jit_fault_text(enum jit_fault fault)
{
	return (unsigned int)fault < NR_JIT_FAULTS ? fault_texts[fault] :
						     "is not well-formed";
}

/**
 * struct parsing - a file that is being parsed
 *
 * @fd: the file.
 * @size: bytes of it.
 * @ops, @data: what to call.
 * @result: how it ends.
 * @nr: number of functions.
 * @starts: numbers of addresses at which functions began.
 * @last: number of the last function that began there, by these.
 * @last_room: room for those.
 * @window: bytes that were read.
 * @window_at: where they are in the file.
 * @window_size: number of those.
 */
struct parsing {
	int fd;
	uint64_t size;
	const struct jit_ops *ops;
	void *data;
	struct jit_result *result;
	uint32_t nr;
	struct pairs starts;
	uint32_t *last;
	uint32_t last_room;
	unsigned char window[WINDOW];
	uint64_t window_at;
	size_t window_size;
};

/*
 * Note a fault. Returns whether to go on: the next line or record may be sound, unless very
 * many were not.
 */
static bool note(struct parsing *parsing, enum jit_fault fault, uint64_t offset)
{
	struct jit_result *result = parsing->result;

	if (!result->nr_faults++) {
		result->fault = fault;
		result->offset = offset;
	}
	return result->nr_faults < JIT_FAULTS_MAX;
}

/* The same where nothing follows. */
static bool give_up(struct parsing *parsing, enum jit_fault fault,
		    uint64_t offset)
{
	note(parsing, fault, offset);
	return false;
}

/* Read at most @size bytes at @offset. Returns how many there are. */
static size_t read_at(struct parsing *parsing, void *bytes, size_t size,
		      uint64_t offset)
{
	const uint64_t most = parsing->size - offset;
	size_t done = 0;

	if (size > most)
		size = most;
	while (done < size) {
		const ssize_t got = pread(parsing->fd, (char *)bytes + done,
					  size - done, offset + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			note(parsing, JIT_UNREADABLE, offset + done);
		if (got <= 0)
			break;
		done += got;
	}
	return done;
}

/* The same for a few bytes. */
static size_t read_few(struct parsing *parsing, void *bytes, size_t size,
		       uint64_t offset)
{
	const uint64_t at = parsing->window_at;

	if (size > parsing->size - offset)
		size = parsing->size - offset;
	if (offset < at || offset - at > parsing->window_size ||
	    size > parsing->window_size - (offset - at)) {
		parsing->window_at = offset;
		parsing->window_size = read_at(parsing, parsing->window, WINDOW,
					       offset);
	}
	if (size > parsing->window_size - (offset - parsing->window_at))
		size = parsing->window_size - (offset - parsing->window_at);
	memcpy(bytes, parsing->window + (offset - parsing->window_at), size);
	return size;
}

enum jit_fault jit_check_range(uint64_t start, uint64_t size)
{
	if (!size)
		return JIT_NO_SIZE;
	if (start + size < start)
		return JIT_WRAPS;
	return start + size > JIT_ADDRESS_MAX ? JIT_IN_KERNEL : JIT_SOUND;
}

/* Returns whether to go on. */
static bool make(struct parsing *parsing, const struct jit_made *made,
		 uint64_t offset)
{
	const enum jit_fault fault = jit_check_range(made->start, made->size);

	if (fault)
		return note(parsing, fault, offset);
	if (parsing->nr == JIT_FUNCTIONS_MAX)
		return give_up(parsing, JIT_TOO_MANY, offset);
	parsing->nr++;
	return parsing->ops->make(parsing->data, made);
}

/* --- perf maps */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *skip_blanks(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

/* Returns what is behind a number, or @text if there is none, or NULL if it is too large. */
static const char *get_number(const char *text, uint64_t *number)
{
	*number = 0;
	if (text[0] == '0' && (text[1] | 0x20) == 'x' && digit_of(text[2]) >= 0)
		text += 2;
	for (; digit_of(*text) >= 0; text++) {
		if (*number >> 60)
			return NULL;
		*number = *number << 4 | digit_of(*text);
	}
	return text;
}

/* Returns whether to go on. @line ends with 0 at @length; its room is JIT_LINE_MAX. */
static bool parse_line(struct parsing *parsing, char *line, size_t length,
		       uint64_t offset)
{
	struct jit_made made = { 0 };
	const char *at, *next;

	if (strlen(line) != length)
		return note(parsing, JIT_NUL_IN_LINE, offset);
	at = skip_blanks(line);
	next = get_number(at, &made.start);
	if (!next)
		return note(parsing, JIT_LARGE_START, offset);
	if (next == at || (*next && next == skip_blanks(next)))
		return note(parsing, JIT_NO_START, offset);
	at = skip_blanks(next);
	next = get_number(at, &made.size);
	if (!next)
		return note(parsing, JIT_LARGE_LENGTH, offset);
	if (next == at || (*next && next == skip_blanks(next)))
		return note(parsing, JIT_NO_LENGTH, offset);
	made.name = skip_blanks(next);
	if (!*made.name)
		return note(parsing, JIT_NO_NAME, offset);
	if (length - (made.name - line) >= JIT_NAME_SIZE)
		line[made.name - line + JIT_NAME_SIZE - 1] = '\0';
	return make(parsing, &made, offset);
}

/* Find the next line behind one that is too long. Returns false if there is none. */
static bool skip_line(struct parsing *parsing, char *line, uint64_t *at)
{
	for (;;) {
		const size_t got = read_at(parsing, line, JIT_LINE_MAX, *at);
		const char *end = memchr(line, '\n', got);

		*at += end ? (size_t)(end + 1 - line) : got;
		if (end || !got)
			return end;
	}
}

void jit_parse_map(int fd, uint64_t size, const struct jit_ops *ops, void *data,
		   struct jit_result *result)
{
	struct parsing parsing = {
		.fd = fd,
		.size = size,
		.ops = ops,
		.data = data,
		.result = result,
	};
	char *bytes = table_allocate(JIT_LINE_MAX);
	bool go_on = true;
	uint64_t at = 0;

	*result = (struct jit_result){ .fault = JIT_SOUND };
	while (go_on && at < size) {
		const size_t got = read_at(&parsing, bytes, JIT_LINE_MAX, at);
		char *line = bytes, *end;

		while (go_on && (end = memchr(line, '\n', bytes + got - line))) {
			*end = '\0';
			go_on = parse_line(&parsing, line, end - line,
					   at + (line - bytes));
			line = end + 1;
		}
		/* What is left has no end here: read it again with what follows. */
		if (line != bytes) {
			at += line - bytes;
		} else if (got < JIT_LINE_MAX) {
			break;
		} else {
			note(&parsing, JIT_LONG_LINE, at);
			go_on = skip_line(&parsing, bytes, &at);
		}
	}
	free(bytes);
}

/* --- jitdumps */

/* Remember the function that was just made, for MOVE. */
static void remember(struct parsing *parsing, uint64_t start)
{
	const uint32_t number = pairs_add(&parsing->starts, start, 0);

	parsing->last = table_grow(parsing->last, &parsing->last_room, number,
				   sizeof(*parsing->last));
	/* Plus 1: 0 if it was moved. */
	parsing->last[number] = parsing->nr;
}

static bool make_in_dump(struct parsing *parsing, const struct jit_made *made,
			 uint64_t offset)
{
	const uint32_t before = parsing->nr;
	const bool go_on = make(parsing, made, offset);

	if (parsing->nr != before)
		remember(parsing, made->start);
	return go_on;
}

static bool load(struct parsing *parsing, const struct dump_record *record,
		 uint64_t offset)
{
	const size_t before = sizeof(*record) + sizeof(struct dump_load);
	char name[JIT_NAME_SIZE] = "";
	struct jit_made made = { .time = record->time, .name = name };
	struct dump_load load;
	size_t size, got;

	if (record->size <= before)
		return note(parsing, JIT_SHORT_LOAD, offset);
	size = record->size - before;
	if (size > sizeof(name))
		size = sizeof(name);
	if (read_few(parsing, &load, sizeof(load), offset + sizeof(*record)) !=
	    sizeof(load))
		return give_up(parsing, JIT_CUT, offset);
	got = read_few(parsing, name, size, offset + before);
	if (got != size)
		return give_up(parsing, JIT_CUT, offset);
	if (!memchr(name, 0, size) && size < sizeof(name))
		return note(parsing, JIT_UNTERMINATED, offset);
	name[sizeof(name) - 1] = '\0';
	if (!*name)
		return note(parsing, JIT_NO_NAME, offset);
	made.start = load.address;
	made.size = load.size;
	return make_in_dump(parsing, &made, offset);
}

static bool move(struct parsing *parsing, const struct dump_record *record,
		 uint64_t offset)
{
	struct jit_made made = { .time = record->time };
	enum jit_fault fault;
	struct dump_move move;
	uint32_t number;

	if (record->size < sizeof(*record) + sizeof(move))
		return note(parsing, JIT_SHORT_MOVE, offset);
	if (read_few(parsing, &move, sizeof(move), offset + sizeof(*record)) !=
	    sizeof(move))
		return give_up(parsing, JIT_CUT, offset);
	fault = jit_check_range(move.to, move.size);
	if (fault)
		return note(parsing, fault, offset);
	number = pairs_find(&parsing->starts, move.from, 0);
	if (number == TABLE_NONE || !parsing->last[number])
		return note(parsing, JIT_MOVES_NOTHING, offset);
	made.start = move.to;
	made.size = move.size;
	made.of = parsing->last[number] - 1;
	parsing->last[number] = 0;
	return parsing->ops->end(parsing->data, made.of, record->time) &&
	       make_in_dump(parsing, &made, offset);
}

/* Returns whether to go on. */
static bool parse_record(struct parsing *parsing,
			 const struct dump_record *record, uint64_t offset)
{
	switch (record->id) {
	case LOAD:
		return load(parsing, record, offset);
	case MOVE:
		return move(parsing, record, offset);
	case CLOSE:
		return parsing->ops->end_all(parsing->data, record->time);
	case DEBUG_INFO:
	case UNWINDING_INFO:
		return true;
	default:
		return note(parsing, JIT_UNKNOWN_RECORD, offset);
	}
}

static enum jit_fault check_header(const struct dump_header *header,
				   uint64_t size, uint32_t pid)
{
	if (header->magic == DUMP_SWAPPED)
		return JIT_BYTE_ORDER;
	if (header->magic != DUMP_MAGIC)
		return JIT_MAGIC;
	if (header->version != DUMP_VERSION)
		return JIT_VERSION;
	if (header->size < sizeof(*header) || header->size > DUMP_HEADER_MAX)
		return JIT_HEADER_SIZE;
	if (header->size > size)
		return JIT_HEADER_BEYOND;
	if (header->machine != EM_X86_64)
		return JIT_MACHINE;
	if (header->flags & DUMP_TSC)
		return JIT_TSC;
	if (header->flags)
		return JIT_FLAGS;
	/* Some do not tell. */
	return !header->pid || header->pid == pid ? JIT_SOUND :
						    JIT_OTHER_PROCESS;
}

static void parse_records(struct parsing *parsing, uint64_t at)
{
	struct dump_record record;
	bool go_on = true;

	while (go_on && at < parsing->size) {
		const size_t got = read_few(parsing, &record, sizeof(record), at);

		if (got != sizeof(record)) {
			give_up(parsing, JIT_CUT, at);
			break;
		}
		if (record.size < sizeof(record)) {
			give_up(parsing, JIT_RECORD_SIZE, at);
			break;
		}
		if (record.size > parsing->size - at) {
			give_up(parsing, JIT_CUT, at);
			break;
		}
		go_on = parse_record(parsing, &record, at);
		at += record.size;
	}
}

void jit_parse_dump(int fd, uint64_t size, uint32_t pid,
		    const struct jit_ops *ops, void *data,
		    struct jit_result *result)
{
	struct parsing parsing = {
		.fd = fd,
		.size = size,
		.ops = ops,
		.data = data,
		.result = result,
	};
	struct dump_header header;
	enum jit_fault fault;

	*result = (struct jit_result){ .fault = JIT_SOUND };
	if (read_few(&parsing, &header, sizeof(header), 0) != sizeof(header)) {
		note(&parsing, JIT_NO_HEADER, 0);
		return;
	}
	fault = check_header(&header, size, pid);
	if (fault)
		note(&parsing, fault, 0);
	else
		parse_records(&parsing, header.size);
	pairs_free(&parsing.starts);
	free(parsing.last);
}
