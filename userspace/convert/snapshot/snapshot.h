/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Snapshot: all parts of an ELF file that its conversion depends on, read once and
 * kept where nobody can change them.
 *
 * The file may be hostile, and may change while it is read. It is read with pread(2)
 * only, no byte twice, and no more bytes than limits allow; it is not mapped. The
 * snapshot is a sealed memfd of the file's size with the bytes at their offsets; the
 * rest is holes, which read as zeroes. Converting the memfd has the same result as
 * converting the file.
 *
 * The digest is over the file's size and over offset, size and bytes of everything
 * read: two snapshots with the same digest are identical.
 *
 * This code and what it calls must not use libelf, because privileged processes use
 * it. Any thread.
 */
#ifndef SFRAME_UNWIND_SNAPSHOT_H
#define SFRAME_UNWIND_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "convert/base/digest.h"
#include "module/file/elf.h"

/* Most bytes read of one file; limits can only reduce it. */
#define SNAPSHOT_MAX_BYTES	(2ULL << 30)

/* Most program headers, as in the module. */
#define SNAPSHOT_MAX_PHDRS	SFU_ELF_MAX_PHDRS

/* Most bytes of section names. */
#define SNAPSHOT_MAX_NAMES	(1ULL << 20)

/**
 * struct sfu_snapshot_limits - limits and options; NULL or all 0 is the default
 *
 * @max_bytes: most bytes to read; 0 means SNAPSHOT_MAX_BYTES, which also is the
 *	maximum.
 * @is_ended: called before each 256 KiB; if it returns true, the snapshot fails with
 *	-ECANCELED. May be NULL.
 * @data: argument of @is_ended.
 * @room, @room_size: memory of the caller. A snapshot that fits stays there until
 *	sfu_snapshot_open() makes a memfd of it. NULL to make a memfd at once.
 */
struct sfu_snapshot_limits {
	uint64_t max_bytes;
	bool (*is_ended)(void *data);
	void *data;
	void *room;
	size_t room_size;
};

struct copy;

/**
 * struct sfu_snapshot - a snapshot
 *
 * @fd: memfd, close-on-exec, sealed against all changes; -1 if there is none.
 * @copy: the bytes, if there is no memfd yet.
 * @size: size of the file and of the memfd in bytes.
 * @stat: status of the file, unchanged while it was read.
 * @nr_bytes: bytes read.
 * @digest: digest over everything that was read.
 * @elf: if @elf_status is 0, the headers as the kernel will see them: executable
 *	segments, build ID, PT_GNU_SFRAME. From the same bytes.
 * @elf_status: 0; or -EINVAL or -EOPNOTSUPP if the kernel would refuse the file, with
 *	@elf.problem and @elf.problem_offset.
 * @has_own: the kernel unwinds with the file's own .sframe of version 3.
 *
 * @elf.problem points to a constant string: a forked process may pass the structure to
 * its parent as bytes, together with @fd.
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
 * Take a snapshot of the file @fd, open for reading; its offset is not used. pread(2)
 * can block for as long as the file system does not answer.
 *
 * Returns 0 with @snapshot, to be freed. This includes files that are no ELF files or
 * are broken: see @elf_status. Their snapshot has at least the headers. Otherwise
 * returns a negative errno with a message (base/message.h), and nothing to be freed:
 *
 * -EOPNOTSUPP	no regular file.
 * -EFBIG	more would have to be read than limits allow, or than is plausible for
 *		the bytes allocated to the file; too many headers, sections or names.
 * -ESTALE	the file was changed or got shorter while it was read: try again.
 * -ECANCELED	@is_ended returned true.
 * -ENOMEM	no memory.
 * other	error of pread(2), memfd_create(2) or writing to the memfd.
 */
int sfu_snapshot_take(int fd, const struct sfu_snapshot_limits *limits,
		      struct sfu_snapshot *snapshot);

/*
 * Only fill in @stat, @size, @elf, @elf_status and @has_own of @snapshot, for a file
 * whose other bytes are known already. There is nothing to be freed. Returns 0, or a
 * negative errno with a message.
 */
int sfu_snapshot_headers(int fd, struct sfu_snapshot *snapshot);

/*
 * Make the memfd, if there is none yet, from the bytes that were read. Returns 0, or a
 * negative errno with a message.
 */
int sfu_snapshot_open(struct sfu_snapshot *snapshot);

/* Free a snapshot. May be called again, and after a failure. */
void sfu_snapshot_free(struct sfu_snapshot *snapshot);

#endif /* SFRAME_UNWIND_SNAPSHOT_H */
