/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects: ELF objects that a process announces to debuggers, by the interface of GDB, for
 * the code that it makes at run time; see cli/attach/announced.h. Their symbols name its
 * functions. Nothing tells when an object was announced or taken back, so the list is read
 * again and again.
 *
 * What was seen is put into a file of this form, which "record" keeps: JIT_OBJECTS_MAGIC, and
 * records, with their sizes a multiple of 8:
 *
 *	LOOK	begins what one look has found: between @before and @time the objects that
 *		follow were made, and those taken back that are not there any more
 *	GONE	object @number of the file, the first is 0, was taken back
 *	MADE	an object, followed by its bytes
 *	FULL	from now on there may be more objects, for which there is no room
 *	END	from @time on nothing is known of all that came before: no look was made; if there
 *		is one later, what it finds takes the place of this record
 *
 * All GONE of a look come before its first MADE. A look, or the one before, may not have read
 * the list to its end, or have left objects for the next one: it has JIT_OBJECTS_PARTIAL. Then
 * what it has found may have been there for longer, in the place of what is not known to be
 * gone; and where others are gone, some that are not known may have been made.
 */
#ifndef CLI_PROFILE_JIT_OBJECTS_H
#define CLI_PROFILE_JIT_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define JIT_OBJECTS_MAGIC	0x31736a626f756673ULL	/* "sfuobjs1" */

enum jit_objects_kind {
	JIT_OBJECTS_LOOK = 1,
	JIT_OBJECTS_GONE,
	JIT_OBJECTS_MADE,
	JIT_OBJECTS_FULL,
	JIT_OBJECTS_END,
};

/* Bit of @number of LOOK. */
#define JIT_OBJECTS_PARTIAL	1u

/**
 * struct jit_objects_record - what a record begins with
 *
 * @kind: enum jit_objects_kind.
 * @number: of GONE, that of the object; of LOOK, JIT_OBJECTS_PARTIAL or 0.
 * @before: of LOOK: begin of the last look that has read all; 0 if there is none.
 * @time: of LOOK: its end; of END.
 * @entry: of MADE: address of its entry in the list of the process.
 * @place: of MADE: its address there.
 * @bytes: of MADE: its bytes there.
 * @stored: of MADE: bytes that follow, before those up to a multiple of 8; 0 if the object is
 *	empty or has more than ANNOUNCED_MAX_SIZE, otherwise all.
 *
 * What a kind does not have is 0. Times are of CLOCK_MONOTONIC, in nanoseconds.
 */
struct jit_objects_record {
	uint32_t kind;
	uint32_t number;
	uint64_t before;
	uint64_t time;
	uint64_t entry;
	uint64_t place;
	uint64_t bytes;
	uint64_t stored;
};

/* Bytes of an object with those up to a multiple of 8; not more than ANNOUNCED_MAX_SIZE. */
static inline uint64_t jit_objects_padded(uint64_t stored)
{
	return (stored + 7) / 8 * 8;
}

/**
 * struct jit_objects_look - a look at what a process announces
 *
 * @before: begin of the last look that has read all, or 0.
 * @room: bytes that objects may add to the file.
 * @was_partial: the last look has not read or taken all.
 * @began: when the look began.
 * @is_there: the process has memory: it has not ended.
 * @kept: bytes that known objects which are still there take in the file.
 * @has_list: the process has a list, which may be empty.
 * @is_read: the lists were read to their ends.
 * @is_full: there was no room for all new objects.
 * @has_more: some were left for the next look.
 */
struct jit_objects_look {
	uint64_t before;
	uint64_t room;
	bool was_partial;
	uint64_t began;
	bool is_there;
	uint64_t kept;
	bool has_list;
	bool is_read;
	bool is_full;
	bool has_more;
};

/*
 * Look at what process @pid announces. Reading its memory can take for ever, so this is for
 * the child of inspect.h. @known: the file so far, or -1. Returns a file with what is to be
 * appended to it, to be closed; or -1 if there is nothing.
 */
int jit_objects_look(pid_t pid, int known, struct jit_objects_look *look);

/**
 * struct jit_objects - what a process has announced; all 0 at the beginning
 *
 * @is_open: there is a file, @fd.
 * @fd: a file in memory.
 * @size: its size, without END.
 * @read_at: begin of the last look that has read all, or 0.
 * @kept, @has_list, @is_full, @has_more: of the last look.
 * @is_partial: the last look has not read or taken all.
 * @is_there: the last look has found the process, and what is new was added.
 * @is_ended: the file has END.
 */
struct jit_objects {
	bool is_open;
	int fd;
	uint64_t size;
	uint64_t read_at;
	uint64_t kept;
	bool has_list;
	bool is_full;
	bool has_more;
	bool is_partial;
	bool is_there;
	bool is_ended;
};

/*
 * Look at process @pid again, by inspect.h, and add what is new: at most @room bytes.
 * @started: as processes_started() tells. Returns whether there was an answer.
 */
bool jit_objects_update(struct jit_objects *objects, pid_t pid,
			uint64_t started, uint64_t room);

/*
 * Tell that nothing is known from @time on, when a look was due that was not made: the process
 * may have put other code in the place of what it had announced. The next update takes that back.
 */
void jit_objects_end(struct jit_objects *objects, uint64_t time);

void jit_objects_free(struct jit_objects *objects);

#endif /* CLI_PROFILE_JIT_OBJECTS_H */
