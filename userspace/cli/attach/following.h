/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Following: one look at the code that a process announces. Shared by the two parts of
 * reader_announced.h: what is announced, and what is attached.
 */
#ifndef ATTACH_FOLLOWING_H
#define ATTACH_FOLLOWING_H

#include <stdbool.h>
#include <stdint.h>

#include "announced.h"
#include "reader_announced.h"
#include "reader_task.h"
#include "worker.h"

/* Most new objects of one look. */
#define FOLLOWING_MAX_NEW		WORKER_MAX_SNAPSHOTS

/* Files of one process that announce code. */
#define FOLLOWING_MAX_FILES	4

/**
 * struct new_object - an object that has no section yet
 *
 * @key: see key_of().
 * @fd: sealed memory file with a copy.
 * @bytes: the copy.
 * @is_found: it is still announced.
 */
struct new_object {
	struct announced announced;
	uint64_t key;
	int fd;
	const unsigned char *bytes;
	bool is_found;
	struct reader_code_range range;
	uint64_t watch;
};

/**
 * struct following - a look
 *
 * @memory: /proc/PID/mem.
 * @descriptors, @nr_descriptors: addresses of the lists.
 * @is_kept: which of the request's ranges are still announced.
 * @objects, @nr: new objects.
 * @nr_bytes: of these.
 * @has_more: there are more.
 * @ends_at: when all time is over.
 */
struct following {
	const struct reader_request *request;
	struct reader_code_reply *code;
	struct announced_ranges *ranges;
	int process;
	int memory;
	uint64_t descriptors[FOLLOWING_MAX_FILES];
	unsigned int nr_descriptors;
	bool is_kept[CODE_MAX_RANGES];
	struct new_object objects[FOLLOWING_MAX_NEW];
	unsigned int nr;
	uint64_t nr_bytes;
	bool has_more;
	uint64_t ends_at;
};

/*
 * Call @fn for what is announced, with the look as @data. Returns whether all lists have
 * been read to the end.
 */
bool following_list(struct following *following,
		    bool (*fn)(void *data, const struct announced *announced));

/* Convert the new objects, and attach sections to their code. */
void following_attach(struct following *following, struct reader_reply *reply);

#endif /* ATTACH_FOLLOWING_H */
