/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Closer: children that close files of strangers. A file that has been removed
 * meanwhile, or the file system that it was in, goes with its last descriptor, and
 * that takes as long as there is to free, or as its server likes. So this process
 * hands it to a closer, and closes its own when that has it.
 *
 * A closer has one file at a time, and no user has two closers. One that is late is
 * left behind, on the account of the user whose file it closes.
 */
#ifndef ATTACH_CLOSER_H
#define ATTACH_CLOSER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Closers at once. */
#define CLOSERS_MAX 4U

/* Files that wait for one: of a user, and of all, before no more are opened. */
#define CLOSERS_MAX_WAITING		16U
#define CLOSERS_MAX_WAITING_OF_ALL	256U

/* When one is late: if it waits for somebody, and if it does not. */
#define CLOSER_WAIT_NS	SECOND
#define CLOSER_RUN_NS	(5 * SECOND)

/* Have @fd closed, a file that was opened for @user; -1 is allowed. Returns at once. */
void closer_close(int fd, uid_t user);

/* Charge what closing takes, in nanoseconds of CPU time, by @fn. */
void closers_set_charge(void (*fn)(void *data, uid_t user, uint64_t ns),
			void *data);

/* May another file be opened for that user? */
bool closers_have_room(uid_t user);

/* Fill in CLOSERS_MAX files to poll. Returns their number. */
size_t closers_files(struct pollfd *files);

/*
 * After poll(2) of the same files: go on with what waits, and leave those behind
 * that are late.
 */
void closers_handle(const struct pollfd *files);

/* When that is to be done next at the latest. */
uint64_t closers_next(void);

/*
 * End all of them, and have what still waits closed by a process that ends after
 * this one. Waits for nothing. Nothing may be closed afterwards.
 */
void closers_end(void);

#endif /* ATTACH_CLOSER_H */
