/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Intake: copy parts of a file that may change at any time. No byte of the file is
 * read twice; all later accesses use the copy.
 */
#ifndef SFRAME_UNWIND_INTAKE_H
#define SFRAME_UNWIND_INTAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "convert/base/digest.h"
#include "copy.h"

/*
 * Most bytes read, relative to the bytes allocated to the file: more than file systems
 * that compress can achieve.
 */
#define INTAKE_COMPRESSION 8
#define INTAKE_SLACK (1ULL << 20)

/* Most parts of one file; adjacent parts count as one. */
#define INTAKE_MAX_PARTS 256

/**
 * struct intake - a copy being made
 *
 * @from: the file.
 * @is_dense: at least its full size is allocated on disk, so do not look for holes.
 * @at: its file offset, which lseek(2) for holes changes, to be restored; or -1.
 * @copy: the copy.
 * @size: size of the file in bytes.
 * @done: bytes copied.
 * @most: most bytes to copy: the smaller of @limit and a number that is plausible for
 *	the bytes allocated to the file.
 * @limit: the caller's limit.
 * @is_ended, @data: see struct sfu_snapshot_limits.
 * @digest: digest of the bytes copied.
 * @chunk: buffer for what does not fit into the room of the copy; NULL if not needed yet.
 * @parts, @nr_parts: ranges that have been copied, by start, without overlaps.
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
 * Begin to copy at most @limit bytes, and at most 2^60, from the file @from with status
 * @stat. For @room see sfu_copy_begin(). Returns 0 with @intake, to be ended, or a negative errno with
 * a message.
 */
int sfu_intake_begin(struct intake *intake, int from, const struct stat *stat,
		     uint64_t limit, void *room, size_t room_size);

/*
 * Copy the bytes of [@offset, @offset + @size) that have not been copied before, up to
 * the file's end. Returns 0 or a negative errno with a message, as
 * sfu_snapshot_take().
 */
int sfu_intake_add(struct intake *intake, uint64_t offset, uint64_t size);

/* Get the digest of size and contents. Nothing may be added afterwards. */
void sfu_intake_finish(struct intake *intake, struct digest *digest);

/* Free the intake, also after success. */
void sfu_intake_end(struct intake *intake);

#endif /* SFRAME_UNWIND_INTAKE_H */
