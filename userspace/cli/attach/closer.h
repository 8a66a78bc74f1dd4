/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Closer: a child that closes files of strangers. A file that has been removed
 * meanwhile, or the file system that it was in, goes with its last descriptor: that
 * takes as long as there is to free.
 */
#ifndef ATTACH_CLOSER_H
#define ATTACH_CLOSER_H

/* Have @fd closed; -1 is allowed. Returns at once. */
void closer_close(int fd);

/* Wait for nothing more. */
void closer_end(void);

#endif /* ATTACH_CLOSER_H */
