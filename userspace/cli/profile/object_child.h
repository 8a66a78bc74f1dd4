/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The child of an object reader: it reads one file, and answers questions about addresses.
 * It is not trusted, because the file may have taken it over.
 */
#ifndef CLI_PROFILE_OBJECT_CHILD_H
#define CLI_PROFILE_OBJECT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/attach/clock.h"
#include "cli/profile/object_parts.h"

/* Address space: this, the file's size, and UNPACKED_RATIO for each stored byte. */
#define MEMORY_FREE	(256ULL << 20)
#define UNPACKED_RATIO	8u
#define DEBUG_FILE_MAX	(8ULL << 30)	/* all that a debug file of the system may add */

/*
 * CPU time: at first TIME_FREE and TIME_BYTE for each stored byte. Each question adds the
 * time that an honest file of this size may take to find a function in its DWARF; but
 * never more than at first is saved up.
 */
#define TIME_FREE	(2 * SECOND)
#define TIME_BYTE	50u
#define TIME_ASKED	(2 * MS)
#define TIME_ASKED_MAX	(50 * MS)

/* Its descriptors; 0 to 2 are /dev/null. */
#define READER_SOCKET	3
#define READER_FILE	4

/*
 * Exit status: libdwfl does not take the file; the sandbox could not be entered, so that
 * the file was not read; the file takes too much memory.
 */
#define NO_ELF_FILE	77
#define NO_SANDBOX	78
#define NO_MEMORY	79

#define TEXT_MAX	65536u	/* bytes of an answer */
#define NAME_MAX_TOLD	8192u	/* bytes of a name, but for one alone */

/*
 * FIND		the symbol of an address, and where its function begins
 * INLINED	object_inlined()
 * LINE		object_line()
 * CALL_LINE	object_call_line()
 */
enum question { FIND, INLINED, LINE, CALL_LINE, NR_QUESTIONS };

struct request {
	enum question question;
	uint32_t i;
	uint64_t address;
};

/**
 * struct answer - followed by texts, each with its 0
 *
 * @nr: number of texts.
 * @line: source line.
 * @start, @end: of the symbol; without one, @start is that of the function.
 * @left: CPU time that it may still use, or more if it is as before.
 */
struct answer {
	uint32_t nr;
	int line;
	uint64_t start;
	uint64_t end;
	uint64_t left;
};

/**
 * struct summary - what the child sends first, behind an empty answer
 *
 * @build_id, @build_id_size, @segments, @nr_segments, @has_dwarf: of struct object.
 * @has_symbols: whether nothing is missing.
 * @why: what is missing.
 */
struct summary {
	uint8_t build_id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	uint32_t build_id_size;
	struct segment segments[SEGMENTS_MAX];
	uint32_t nr_segments;
	bool has_dwarf;
	bool has_symbols;
	char why[128];
};

/* An answer with its texts. */
union message {
	struct answer answer;
	char bytes[sizeof(struct answer) + TEXT_MAX];
};

/**
 * struct reader_task - what a child is for
 *
 * @size: the file's size.
 * @stored: bytes of it that are no holes.
 * @left: CPU time.
 * @has_dwarf: questions about DWARF are answered.
 */
struct reader_task {
	uint64_t size;
	uint64_t stored;
	uint64_t left;
	bool has_dwarf;
};

/* For child_start(): @data is a struct reader_task. Answers until the socket is closed. */
int object_child_run(void *data);

/* In a child: the debug file @fd of the system is read, too. */
void object_child_allow(int fd);

#endif /* CLI_PROFILE_OBJECT_CHILD_H */
