/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parse what programs tell of the functions that they make at run time: perf maps,
 * jitdumps, and objects that they announce to debuggers. Files are not trusted: nothing is
 * believed that is not checked here, and what is sound in front of a fault, or between two
 * lines of a map, is used.
 *
 * A perf map has a line for each function: start and size, hexadecimal, and the name. A
 * jitdump has a header and records with times: a function was made, or moved, or the
 * program makes no more. Files with objects are those of jit_objects.h.
 */
#ifndef CLI_PROFILE_JIT_PARSE_H
#define CLI_PROFILE_JIT_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Functions of a file, bytes of a name with its 0 (longer ones are cut), bytes of a line. */
#define JIT_FUNCTIONS_MAX	(1u << 20)

/* Faults behind which a file is not read. */
#define JIT_FAULTS_MAX		65536u
#define JIT_NAME_SIZE		4096u
#define JIT_LINE_MAX		65536u

/* Addresses of user space are lower. */
#define JIT_ADDRESS_MAX		(1ULL << 56)

/* What a file is. */
enum jit_kind {
	JIT_MAP,
	JIT_DUMP,
	JIT_OBJECTS,
};

/* What is wrong with a file. jit_fault_text() tells it in words. */
enum jit_fault {
	JIT_SOUND,
	/* of both */
	JIT_UNREADABLE,
	JIT_TOO_MANY,
	JIT_NO_SIZE,
	JIT_WRAPS,
	JIT_IN_KERNEL,
	JIT_NO_NAME,
	/* of a map */
	JIT_LONG_LINE,
	JIT_NO_START,
	JIT_LARGE_START,
	JIT_NO_LENGTH,
	JIT_LARGE_LENGTH,
	JIT_NUL_IN_LINE,
	/* of a jitdump */
	JIT_NO_HEADER,
	JIT_MAGIC,
	JIT_BYTE_ORDER,
	JIT_VERSION,
	JIT_HEADER_SIZE,
	JIT_HEADER_BEYOND,
	JIT_MACHINE,
	JIT_TSC,
	JIT_FLAGS,
	JIT_OTHER_PROCESS,
	JIT_RECORD_SIZE,
	JIT_CUT,
	JIT_SHORT_LOAD,
	JIT_UNTERMINATED,
	JIT_SHORT_MOVE,
	JIT_MOVES_NOTHING,
	JIT_UNKNOWN_RECORD,
	/* of objects */
	JIT_OBJECTS_HEADER,
	JIT_OBJECTS_NUMBER,
	JIT_OBJECTS_LEFT,
	JIT_OBJECT_LARGE,
	JIT_OBJECT_NO_ELF,
	JIT_OBJECT_MACHINE,
	JIT_OBJECT_TYPE,
	JIT_OBJECT_SECTIONS,
	JIT_OBJECT_NO_SYMBOLS,
	JIT_OBJECT_SYMBOL_SIZE,
	JIT_OBJECT_SYMBOLS,
	JIT_OBJECT_STRING,
	JIT_OBJECT_SECTION,
	JIT_OBJECT_PLACE,
	JIT_OBJECT_BEYOND,
	NR_JIT_FAULTS,
};

/* Returns words for a fault, which follow the name of the file and the offset. */
const char *jit_fault_text(enum jit_fault fault);

/**
 * struct jit_made - a function that was made
 *
 * @start: first address.
 * @size: bytes of code, at least 1; the end is below JIT_ADDRESS_MAX.
 * @time: when; 0 in a map, and if it was there at the first look at objects.
 * @name: its name, not empty; or NULL if it is that of function @of.
 * @of: number of a function that was made before; the first one is 0.
 */
struct jit_made {
	uint64_t start;
	uint64_t size;
	uint64_t time;
	const char *name;
	uint32_t of;
};

/**
 * struct jit_ops - called with what a file tells, in its order
 *
 * @make: a function was made. Returns false to end the parsing.
 * @end: function @number is no more, from @time on.
 * @end_all: none is any more, from @time on.
 */
struct jit_ops {
	bool (*make)(void *data, const struct jit_made *made);
	bool (*end)(void *data, uint32_t number, uint64_t time);
	bool (*end_all)(void *data, uint64_t time);
};

/**
 * struct jit_result - how it ended
 *
 * @fault: the first fault, or JIT_SOUND.
 * @offset: where that is.
 * @nr_faults: number of faults.
 */
struct jit_result {
	enum jit_fault fault;
	uint64_t offset;
	uint32_t nr_faults;
};

/* Whether a function can be where these say. Returns JIT_SOUND or what is wrong. */
enum jit_fault jit_check_range(uint64_t start, uint64_t size);

/*
 * Parse the first @size bytes of @fd as a map. The last line is ignored if it does not end:
 * it is being written. Lines that are not well-formed are skipped.
 */
void jit_parse_map(int fd, uint64_t size, const struct jit_ops *ops, void *data,
		   struct jit_result *result);

/*
 * The same as a jitdump of process @pid, as that knows itself. Records that are not
 * well-formed are skipped, except if they do not tell where the next one is.
 */
void jit_parse_dump(int fd, uint64_t size, uint32_t pid,
		    const struct jit_ops *ops, void *data,
		    struct jit_result *result);

/*
 * The same as objects that a process has announced. The symbols of one that are not sound are
 * skipped, and objects without sound symbols; nothing is used behind a record that is not.
 */
void jit_parse_objects(int fd, uint64_t size, const struct jit_ops *ops,
		       void *data, struct jit_result *result);

#endif /* CLI_PROFILE_JIT_PARSE_H */
