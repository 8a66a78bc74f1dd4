/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mapping: executable memory of a process, as reported by perf or /proc.
 */
#ifndef ATTACH_MAPPING_H
#define ATTACH_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of a name that are kept, with the terminating 0. */
#define MAPPING_NAME_SIZE 256

/**
 * struct file_key - device and inode as in perf events and /proc/PID/maps
 *
 * @device: of the file system, as makedev(3); on btrfs and overlayfs it differs
 *	from that of stat(2).
 * @inode: inode number.
 *
 * The key is not unique: files of different subvolumes may have the same. It is
 * never used to choose what to attach.
 */
struct file_key {
	uint64_t device;
	uint64_t inode;
};

static inline bool is_same_key(const struct file_key *a,
			       const struct file_key *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/**
 * struct mapping - executable memory of a process
 *
 * @pid: the process.
 * @start, @end: its addresses.
 * @key: of its file.
 * @generation: generation number of the inode, which distinguishes it from an
 *	earlier inode with the same number; 0 if not known.
 * @name: path of the file, as the process sees it. A path that is too long is cut
 *	at its start and then begins with "...".
 */
struct mapping {
	pid_t pid;
	uint32_t generation;
	uint64_t start;
	uint64_t end;
	struct file_key key;
	char name[MAPPING_NAME_SIZE];
};

/* Where a mapping is. */
struct mapping_place {
	pid_t pid;
	uint64_t start;
	uint64_t end;
};

static inline struct mapping_place mapping_place(const struct mapping *mapping)
{
	return (struct mapping_place) {
		.pid = mapping->pid,
		.start = mapping->start,
		.end = mapping->end,
	};
}

/* Returns whether both may be mappings of the same file. */
static inline bool is_same_file(const struct mapping *a,
				const struct mapping *b)
{
	return is_same_key(&a->key, &b->key) &&
	       (!a->generation || !b->generation ||
		a->generation == b->generation);
}

/* Copy @name to @mapping, cut at its start if it is too long. */
void mapping_set_name(struct mapping *mapping, const char *name);

#endif /* ATTACH_MAPPING_H */
