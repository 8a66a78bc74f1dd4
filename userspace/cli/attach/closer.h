/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Closer: children that close other users' files. If the file, or its file system,
 * has been removed meanwhile, closing the last descriptor frees it. That can take
 * as long as there are blocks to free, or as the file's server does not answer. So
 * this process passes the file to a closer, and closes its own descriptor when the
 * closer has the file.
 *
 * A closer has one file at a time, and no user has two closers. A closer that is
 * late is left behind and counted for the user whose file it closes.
 */
#ifndef ATTACH_CLOSER_H
#define ATTACH_CLOSER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Closers at the same time. */
#define CLOSERS_MAX 4U

/* Most files waiting for a closer, of a user and of all; then no more are opened. */
#define CLOSERS_MAX_WAITING		16U
#define CLOSERS_MAX_WAITING_OF_ALL	256U

/* A closer is late after this time if it sleeps, and if it is runnable. */
#define CLOSER_WAIT_NS	SECOND
#define CLOSER_RUN_NS	(5 * SECOND)

/* Let a closer close @fd, opened for @user; @fd may be -1. Returns at once. */
void closer_close(int fd, uid_t user);

/* Set the function that charges CPU time of closing, in nanoseconds, to a user. */
void closers_set_charge(void (*fn)(void *data, uid_t user, uint64_t ns),
			void *data);

/* Returns whether another file may be opened for that user. */
bool closers_have_room(uid_t user);

/* Fill in CLOSERS_MAX files to poll. Returns their number. */
size_t closers_files(struct pollfd *files);

/*
 * Call after poll(2) of the same files: assigns waiting files to closers, and leaves
 * late closers behind.
 */
void closers_handle(const struct pollfd *files);

/* Time by which closers_handle() must be called next. */
uint64_t closers_next(void);

/*
 * End all closers. Files that still wait are closed by a process that ends after this
 * one. Does not block. closer_close() must not be called afterwards.
 */
void closers_end(void);

#endif /* ATTACH_CLOSER_H */
