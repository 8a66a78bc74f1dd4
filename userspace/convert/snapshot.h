/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Snapshot: all of an ELF file that its conversion can depend on, read once and
 * kept where nobody can change it.
 *
 * The file is hostile, and may change while it is read. It is read by pread(2)
 * only, no byte of it twice, and no more than limits allow; nothing is mapped.
 * What was read lies in a sealed memfd of the file's size, at the same offsets;
 * the rest of that is holes, which read as zeroes. The converter, reading the
 * memfd, comes to what it would come to for the file.
 *
 * The digest is over the file's size and over offset, size and bytes of all that
 * was read: two snapshots with one digest are the same, bit for bit.
 *
 * No libelf in here or below: fit for a process with privileges. Any thread.
 */
#ifndef SFRAME_UNWIND_SNAPSHOT_H
#define SFRAME_UNWIND_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "digest.h"
#include "module/file/elf.h"

/* The bytes read of one file, where limits do not say less: 2 GiB. */
#define SNAPSHOT_MAX_BYTES	(2ULL << 30)

/*
 * A file may have this many times the bytes that are allocated to it, and these
 * more: file systems compress, but not by that much.
 */
#define SNAPSHOT_COMPRESSION	8
#define SNAPSHOT_SLACK		(1ULL << 20)

/* Program headers; the module has the same limit. */
#define SNAPSHOT_MAX_PHDRS	SFU_ELF_MAX_PHDRS

/* Bytes of the section names. */
#define SNAPSHOT_MAX_NAMES	(1ULL << 20)

/**
 * struct sfu_snapshot_limits - how much to read; NULL or all 0 is the default
 *
 * @max_bytes: of the file, in all; 0 or more than SNAPSHOT_MAX_BYTES: that.
 * @skip_own: if the kernel unwinds with the file's own .sframe, take no snapshot
 *	but tell so by @has_own of the snapshot.
 * @is_ended: called before each 256 KiB; if it returns true, there is no
 *	snapshot, but -ECANCELED. May be NULL.
 * @data: for @is_ended.
 * @room, @room_size: memory of the caller's. A snapshot that it is large enough for
 *	is no memfd before sfu_snapshot_open() makes it one, and lies there until
 *	then; NULL for a memfd at once.
 */
struct sfu_snapshot_limits {
	uint64_t max_bytes;
	bool skip_own;
	bool (*is_ended)(void *data);
	void *data;
	void *room;
	size_t room_size;
};

struct copy;

/**
 * struct sfu_snapshot - what was taken
 *
 * @fd: memfd, close-on-exec, sealed against all changes; -1 if there is none.
 * @copy: what it is to be made of, if there is none yet.
 * @size: of the file and of the memfd, in bytes.
 * @stat: of the file, the same before and behind all reading.
 * @nr_bytes: bytes read.
 * @digest: over all that was read.
 * @elf: what the kernel will see in the headers, if @elf_status is 0: executable
 *	segments, build ID, PT_GNU_SFRAME. Read from the same bytes.
 * @elf_status: 0; -EINVAL or -EOPNOTSUPP if the file is none that the kernel
 *	takes, with @elf.problem and @elf.problem_offset.
 * @has_own: does the kernel unwind with the file's own .sframe of version 3?
 *
 * @elf.problem is constant: a process may hand it to its parent as bytes, with @fd
 * beside it.
 */
struct sfu_snapshot {
	int fd;
	struct copy *copy;
	uint64_t size;
	struct stat stat;
	uint64_t nr_bytes;
	struct digest digest;
	struct sfu_elf elf;
	int elf_status;
	bool has_own;
};

/*
 * Take a snapshot of the file @fd, which is open for reading; its offset does
 * not count. pread(2) takes as long as the file's file system likes.
 *
 * Returns 0 with @snapshot to be freed, also for a file that is no ELF file or a
 * broken one: @elf_status tells; its snapshot has the headers at least. Or a
 * negative errno with a message (message.h) and nothing to be freed:
 *
 * -EOPNOTSUPP	no regular file.
 * -EFBIG	more would have to be read than limits allow; more than is
 *		allocated to the file; too many headers, sections or names.
 * -ESTALE	the file was changed or got shorter while it was read: try again.
 * -ECANCELED	@is_ended said so.
 * -ENOMEM	no memory.
 * another	as pread(2), memfd_create(2) or write(2) to it failed.
 */
int sfu_snapshot_take(int fd, const struct sfu_snapshot_limits *limits,
		      struct sfu_snapshot *snapshot);

/*
 * Have a memfd of it, if there is none yet: of what was read, not of the file.
 * Returns 0, or a negative errno with a message.
 */
int sfu_snapshot_open(struct sfu_snapshot *snapshot);

/* Close what is in it; may be called again, and after a failure. */
void sfu_snapshot_free(struct sfu_snapshot *snapshot);

#endif /* SFRAME_UNWIND_SNAPSHOT_H */
