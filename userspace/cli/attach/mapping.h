/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mapping: executable memory of a process, as perf or /proc tell of it.
 */
#ifndef ATTACH_MAPPING_H
#define ATTACH_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of a name, with its end, that are kept. */
#define MAPPING_NAME_SIZE 256

/**
 * struct file_key - what perf and /proc/PID/maps call a file
 *
 * @device: of its file system, as makedev(3); on btrfs and overlayfs not what
 *	stat(2) says.
 * @inode: its number.
 *
 * Tells most files apart, but not all: two of different subvolumes may have the
 * same. What is attached never goes by it.
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
 * @generation: of the inode, which tells it from one that had the same number
 *	before; 0 if it is not known.
 * @name: path of the file, as the process sees it. A longer one is cut in front,
 *	and then begins with "...".
 */
struct mapping {
	pid_t pid;
	uint32_t generation;
	uint64_t start;
	uint64_t end;
	struct file_key key;
	char name[MAPPING_NAME_SIZE];
};

/* May both be of the same file? */
static inline bool is_same_file(const struct mapping *a,
				const struct mapping *b)
{
	return is_same_key(&a->key, &b->key) &&
	       (!a->generation || !b->generation ||
		a->generation == b->generation);
}

/* Copy @name, cut as above, to @mapping. */
void mapping_set_name(struct mapping *mapping, const char *name);

#endif /* ATTACH_MAPPING_H */
