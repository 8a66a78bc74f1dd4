/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of an owner may cost that children read: see object_reader.h. Such a child
 * reads one file, in the sandbox of object_sandbox.h.
 */
#ifndef CLI_PROFILE_OBJECT_OWNER_H
#define CLI_PROFILE_OBJECT_OWNER_H

#include "cli/profile/table.h"

struct child;
struct object_file;
struct object_reader;

/* Children at the same time. */
#define READERS_MAX	512u

/**
 * struct reader_owner - what the files of an owner have cost
 *
 * @failures: how many of them took too much.
 * @bytes: what they have.
 * @used_ns: CPU time of their children, and time in which these did nothing for an answer.
 * @since: when the first of them was seen.
 */
struct reader_owner {
	uint32_t failures;
	uint64_t bytes;
	uint64_t used_ns;
	uint64_t since;
};

/**
 * struct readers - all readers of a command; all 0 at the beginning
 *
 * @live: those that have a child.
 * @nr: number of those.
 * @turn: grows with each question.
 * @keys: numbers of the owners of files. Root of one container is not that of another:
 *	an owner counts for each device.
 * @owners: the owners, by number.
 * @room: room for those.
 * @failures: the sum of theirs.
 */
struct readers {
	struct object_reader *live[READERS_MAX];
	uint32_t nr;
	uint64_t turn;
	struct pairs keys;
	struct reader_owner *owners;
	uint32_t room;
	uint32_t failures;
};

void readers_free(struct readers *readers);

/* Returns the number of @file's owner. */
uint32_t readers_owner(struct readers *readers, const struct object_file *file);

/* What the files of @file's owner have, which the caller counts. */
uint64_t *readers_bytes(struct readers *readers, const struct object_file *file);

/*
 * Returns CPU time for a file of an owner with @stored bytes, or 0 if none of its files is
 * read any more.
 */
uint64_t readers_time(const struct readers *readers, uint32_t owner,
		      uint64_t stored);

/* Count a file that took too much. */
void readers_fail(struct readers *readers, uint32_t owner);

/*
 * Start a child that calls @run with @data, and has the file @fd as READER_FILE and a socket
 * as READER_SOCKET. If many have just been ended, waits until they are gone. Returns whether
 * it was started; *@socket is the other end.
 */
bool readers_start(struct child **child, int (*run)(void *data), void *data,
		   int fd, int *socket);

/*
 * Wait until a child has sent something, or has ended. It ends by its own limits, unless it
 * has removed them. *@used_ns: its CPU time that has been counted. Returns false if it took
 * too much.
 */
bool readers_wait(struct readers *readers, uint32_t owner,
		  const struct child *child, int socket, uint64_t *used_ns);

/*
 * Returns the exit status of a child that has closed its socket; 0 if it was killed, or has
 * not ended.
 */
int readers_status(const struct child *child);

#endif /* CLI_PROFILE_OBJECT_OWNER_H */
