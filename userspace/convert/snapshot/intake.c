// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/base/message.h"
#include "intake.h"
#include "lib/buffer.h"

#define CHUNK (256U << 10)

/* Most bytes, up to @limit, that an honest file with these allocated blocks can have. */
static uint64_t plausible_bytes(const struct stat *stat, uint64_t limit)
{
	/* Some file systems do not count blocks. */
	const uint64_t allocated = stat->st_blocks ? stat->st_blocks * 512ULL :
				   (uint64_t)stat->st_size;

	return allocated > limit ? limit :
	       allocated * INTAKE_COMPRESSION + INTAKE_SLACK;
}

int sfu_intake_begin(struct intake *intake, int from, const struct stat *stat,
		     uint64_t limit, void *room, size_t room_size)
{
	const uint64_t plausible = plausible_bytes(stat, limit);
	static const char about[] = "sframe_unwind snapshot 1";
	int err;

	memset(intake, 0, sizeof(*intake));
	intake->from = from;
	intake->size = stat->st_size;
	intake->is_dense = stat->st_blocks * 512LL >= stat->st_size;
	intake->limit = limit;
	intake->most = plausible < limit ? plausible : limit;
	if (sfu_digest_begin(&intake->digest))
		return sfu_message_fail(ENOMEM, "no memory");
	err = sfu_copy_begin(&intake->copy, intake->size, room, room_size);
	if (err) {
		sfu_digest_end(&intake->digest, NULL);
		return err;
	}
	sfu_digest_add(&intake->digest, about, sizeof(about));
	intake->at = intake->is_dense ? -1 : lseek(from, 0, SEEK_CUR);
	return 0;
}

static void add_numbers(struct intake *intake, uint64_t a, uint64_t b)
{
	unsigned char bytes[16];

	put_le(bytes, a, 8);
	put_le(bytes + 8, b, 8);
	sfu_digest_add(&intake->digest, bytes, sizeof(bytes));
}

static int read_chunk(const struct intake *intake, uint64_t at, size_t size,
		      unsigned char *to)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t got = pread(intake->from, to + done, size - done,
					  at + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return sfu_message_fail(errno, "cannot be read at offset 0x%" PRIx64 ": %s",
						at + done, strerror(errno));
		if (!got)
			return sfu_message_fail(ESTALE, "got shorter while it was read");
		done += got;
	}
	return 0;
}

static int fail_too_large(const struct intake *intake, uint64_t size)
{
	if (intake->most == intake->limit)
		return sfu_message_fail(EFBIG, "0x%" PRIx64 " bytes would have to be read; the limit is 0x%" PRIx64,
					intake->done + size, intake->limit);
	return sfu_message_fail(EFBIG, "0x%" PRIx64 " bytes would have to be read, too many for the blocks allocated to the file",
				intake->done + size);
}

/*
 * Copy bytes without a hole. The digest is over their offset and size, followed by the
 * bytes.
 */
static int copy_bytes(struct intake *intake, uint64_t start, uint64_t size)
{
	int err = 0;

	if (size > intake->most - intake->done)
		return fail_too_large(intake, size);
	add_numbers(intake, start, size);
	for (uint64_t at = start; !err && at < start + size; ) {
		const uint64_t left = start + size - at;
		const size_t chunk = left < CHUNK ? left : CHUNK;
		unsigned char *to = sfu_copy_room(&intake->copy, chunk);

		if (!to && !intake->chunk)
			intake->chunk = malloc(CHUNK);
		if (!to)
			to = intake->chunk;
		if (!to)
			return sfu_message_fail(ENOMEM, "no memory");
		if (intake->is_ended && intake->is_ended(intake->data))
			return sfu_message_fail(ECANCELED, "ended while it was read");
		err = read_chunk(intake, at, chunk, to);
		if (!err)
			sfu_digest_add(&intake->digest, to, chunk);
		if (!err)
			err = sfu_copy_add(&intake->copy, at, to, chunk);
		at += chunk;
		intake->done += chunk;
	}
	return err;
}

/*
 * Find the next bytes of [*start, end) that are no hole. The file system's answers are
 * not trusted. Returns whether there are any.
 */
static bool find_bytes(const struct intake *intake, uint64_t *start,
		       uint64_t *size, uint64_t end)
{
	off_t from, to;

	/* The file has no holes that are worth a system call. */
	if (intake->is_dense) {
		*size = end - *start;
		return *start < end;
	}
	from = lseek(intake->from, *start, SEEK_DATA);
	if (from < 0 && errno == ENXIO)
		return false;
	/* The file system does not support SEEK_DATA, or its answer makes no sense. */
	if (from < 0 || (uint64_t)from < *start)
		from = *start;
	if ((uint64_t)from >= end)
		return false;
	to = lseek(intake->from, from, SEEK_HOLE);
	if (to <= from || (uint64_t)to > end)
		to = end;
	*start = from;
	*size = to - from;
	return true;
}

static int copy_gap(struct intake *intake, uint64_t start, uint64_t end)
{
	uint64_t size;
	int err = 0;

	for (; !err && start < end && find_bytes(intake, &start, &size, end);
	     start += size)
		err = copy_bytes(intake, start, size);
	return err;
}

/* Note that [start, end) has been copied. */
static int add_part(struct intake *intake, uint64_t start, uint64_t end)
{
	unsigned int first = 0, behind;

	while (first < intake->nr_parts && intake->parts[first].end < start)
		first++;
	for (behind = first; behind < intake->nr_parts &&
	     intake->parts[behind].start <= end; behind++) {
		if (intake->parts[behind].start < start)
			start = intake->parts[behind].start;
		if (intake->parts[behind].end > end)
			end = intake->parts[behind].end;
	}
	if (first == behind && intake->nr_parts == INTAKE_MAX_PARTS)
		return sfu_message_fail(EFBIG, "has more than %u parts to read",
					INTAKE_MAX_PARTS);
	memmove(&intake->parts[first + 1], &intake->parts[behind],
		(intake->nr_parts - behind) * sizeof(intake->parts[0]));
	intake->nr_parts += 1 + first - behind;
	intake->parts[first].start = start;
	intake->parts[first].end = end;
	return 0;
}

int sfu_intake_add(struct intake *intake, uint64_t offset, uint64_t size)
{
	uint64_t at = offset, end;
	int err = 0;

	if (!size || offset >= intake->size)
		return 0;
	if (size > intake->size - offset)
		size = intake->size - offset;
	end = offset + size;
	for (unsigned int i = 0; !err && i < intake->nr_parts; i++) {
		if (intake->parts[i].end <= at)
			continue;
		if (intake->parts[i].start >= end)
			break;
		if (intake->parts[i].start > at)
			err = copy_gap(intake, at, intake->parts[i].start);
		at = intake->parts[i].end;
	}
	if (!err && at < end)
		err = copy_gap(intake, at, end);
	return err ? err : add_part(intake, offset, end);
}

void sfu_intake_finish(struct intake *intake, struct digest *digest)
{
	add_numbers(intake, intake->size, intake->done);
	sfu_digest_end(&intake->digest, digest);
}

void sfu_intake_end(struct intake *intake)
{
	if (intake->at >= 0)
		lseek(intake->from, intake->at, SEEK_SET);
	sfu_copy_end(&intake->copy);
	if (intake->digest.handle)
		sfu_digest_end(&intake->digest, NULL);
	free(intake->chunk);
}
