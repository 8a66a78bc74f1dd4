/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reader: a child that does what may block: looking at processes, opening files
 * and reading them, attaching.
 *
 * A reader lives on and is asked again and again. It has our privileges; nobody
 * ever waits for it. One that is late does not count among those that others
 * have, and one that is too late is killed.
 */
#ifndef ATTACH_READER_H
#define ATTACH_READER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader_task.h"
#include "user.h"

/* Readers that are not late, and all of them. */
#define READERS_MAX	4U
#define READERS_MAX_ALL	16U

/*
 * When one is late, and when it is killed: if it waits for somebody, or if it is
 * still at it although it has not had to wait.
 */
#define READER_LATE_NS	(500 * MS)
#define READER_MAX_NS	(5 * SECOND)
#define READER_RUN_NS	(60 * SECOND)

struct readers;

/**
 * typedef reader_told_fn - what a reader has to say
 * @data: of the table.
 * @job: what the reader was asked for.
 * @user: for whom.
 * @reply: the reply. NULL: it did not answer in time, or is dead.
 * @rest, @size: what follows the reply.
 * @fds: descriptors that came with it, to be closed; -1 where there is none.
 *
 * Called once for each request: later replies of the same are none of the job's.
 */
typedef void (*reader_told_fn)(void *data, void *job, struct user *user,
			       const struct reader_reply *reply,
			       const unsigned char *rest, size_t size,
			       const int fds[2]);

/* @device: a client of the module, that what is attached belongs to. */
struct readers *readers_create(int device, reader_told_fn told, void *data);

/* Kill them all, and wait for none. */
void readers_free(struct readers *readers);

/*
 * Is there one for @user? The second one that he has at a time is not the last
 * that there is.
 */
bool readers_has_room(const struct readers *readers, const struct user *user);

/*
 * Ask one, for @user, with @fds, -1 where there is none: duplicates of them go to
 * the reader. Returns 0 or a negative errno, and readers_told_fn is not called
 * then.
 */
int readers_ask(struct readers *readers, struct user *user, void *job,
		const struct reader_request *request, const int fds[2]);

/* Fill in the files to poll, READERS_MAX_ALL at most. Returns their number. */
size_t readers_files(struct readers *readers, struct pollfd *files);

/* After poll(2) of the same files. */
void readers_handle(struct readers *readers, const struct pollfd *files);

/* Kill those that are too late. */
void readers_check(struct readers *readers, uint64_t now);

/* When that is to be done next; UINT64_MAX if nobody is asked anything. */
uint64_t readers_next(const struct readers *readers);

/*
 * All that was asked before that time has been told, or never will be; UINT64_MAX
 * if all has.
 */
uint64_t readers_asked_since(const struct readers *readers);

#endif /* ATTACH_READER_H */
