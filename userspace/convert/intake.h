/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Intake: parts of a file that may change at any time, copied. No byte is read
 * twice; what is looked at later is the copy.
 */
#ifndef SFRAME_UNWIND_INTAKE_H
#define SFRAME_UNWIND_INTAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "copy.h"
#include "digest.h"

/* Parts of one file, neighbours counted as one. */
#define INTAKE_MAX_PARTS 256

/**
 * struct intake - a copy in the making
 *
 * @from: the file.
 * @is_dense: is as much allocated to it as it is long? Then it has no holes that
 *	are worth a look.
 * @at: its offset, which looking for holes changes, to be put back; or -1.
 * @copy: where they go.
 * @size: of the file, in bytes.
 * @done: bytes copied.
 * @most: bytes to copy at most, and why it is not more: @limit of the caller, or
 *	what is allocated to the file.
 * @is_ended, @data: see struct sfu_snapshot_limits.
 * @digest: of what has been copied.
 * @chunk: bytes on their way.
 * @parts, @nr_parts: what has been asked for, by start, without overlaps.
 */
struct intake {
	int from;
	bool is_dense;
	off_t at;
	struct copy copy;
	uint64_t size;
	uint64_t done;
	uint64_t most;
	uint64_t limit;
	bool (*is_ended)(void *data);
	void *data;
	struct digest_run digest;
	unsigned char *chunk;
	struct {
		uint64_t start;
		uint64_t end;
	} parts[INTAKE_MAX_PARTS];
	unsigned int nr_parts;
};

/*
 * Begin to copy from @from, which @stat is of, at most @limit bytes; @room: see
 * sfu_copy_begin(). Returns 0 with @intake to be ended, or a negative errno with a
 * message.
 */
int sfu_intake_begin(struct intake *intake, int from, const struct stat *stat,
		     uint64_t limit, void *room, size_t room_size);

/*
 * Copy what there is of [@offset, @offset + @size) and has not been copied
 * before; what is beyond the file's end is not there. Returns 0 or a negative
 * errno with a message, as sfu_snapshot_take().
 */
int sfu_intake_add(struct intake *intake, uint64_t offset, uint64_t size);

/* All is there: get the digest of size and contents. */
void sfu_intake_finish(struct intake *intake, struct digest *digest);

/* Free what is left of it, after success as well. */
void sfu_intake_end(struct intake *intake);

#endif /* SFRAME_UNWIND_INTAKE_H */
