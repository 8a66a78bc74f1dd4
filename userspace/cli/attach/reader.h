/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reader: a child for work that may block: examining processes, opening and reading
 * files, attaching.
 *
 * A reader has the daemon's privileges and serves many requests. The daemon never
 * waits for it. A late reader does not count towards READERS_MAX, so that other
 * users can have another one; a reader that is too late is killed.
 */
#ifndef ATTACH_READER_H
#define ATTACH_READER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader_task.h"
#include "user.h"

/*
 * Most readers that are not late, and most readers including late ones. With files that do not
 * answer, each user can keep two of them busy until they are late, and again when they are killed.
 */
#define READERS_MAX	8U
#define READERS_MAX_ALL	32U

/*
 * Time after which a reader is late; after which it is killed if it sleeps; and
 * after which it is killed if it is runnable.
 */
#define READER_LATE_NS	(500 * MS)
#define READER_MAX_NS	(5 * SECOND)
#define READER_RUN_NS	(60 * SECOND)

struct readers;

/**
 * typedef reader_told_fn - called with a reader's reply
 * @data: as passed to readers_create().
 * @job: as passed to readers_ask().
 * @user: as passed to readers_ask().
 * @reply: the reply; NULL if the reader did not reply in time or has died.
 * @rest, @size: the bytes that follow the reply.
 * @fds: descriptors that came with the reply, to be closed; -1 where there is none.
 *
 * Called once for each request. Later replies to the same request are handled
 * internally.
 */
typedef void (*reader_told_fn)(void *data, void *job, struct user *user,
			       const struct reader_reply *reply,
			       const unsigned char *rest, size_t size,
			       const int fds[2]);

/* @device: the client of the module that all attachments belong to. */
struct readers *readers_create(int device, int code_fd, reader_told_fn told, void *data);

/* Kill all readers, without waiting for them. */
void readers_free(struct readers *readers);

/*
 * Returns whether a reader is available for @user. A user gets at most two readers,
 * and not the last available one as the second.
 */
bool readers_has_room(const struct readers *readers, const struct user *user);

/*
 * Send a request on behalf of @user to a reader, with duplicates of @fds, -1 where
 * there is none. Returns 0 or a negative errno; on failure reader_told_fn is not
 * called.
 */
int readers_ask(struct readers *readers, struct user *user, void *job,
		const struct reader_request *request, const int fds[2]);

/* Fill in the files to poll, READERS_MAX_ALL at most. Returns their number. */
size_t readers_files(struct readers *readers, struct pollfd *files);

/* Handle replies, after poll(2) of the same files. */
void readers_handle(struct readers *readers, const struct pollfd *files);

/* Kill readers that are too late. */
void readers_check(struct readers *readers, uint64_t now);

/* Time of the next readers_check(); UINT64_MAX if no reader is busy. */
uint64_t readers_next(const struct readers *readers);

/*
 * Time of the oldest request without a reply, UINT64_MAX if there is none: all
 * earlier requests have been replied to or have failed.
 */
uint64_t readers_asked_since(const struct readers *readers);

#endif /* ATTACH_READER_H */
