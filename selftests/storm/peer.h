/* SPDX-License-Identifier: GPL-2.0 */
/* Peer: a thread that requests the stacks of others. */
#ifndef STORM_PEER_H
#define STORM_PEER_H

/* Requests for the threads that run chains, until the process stops. */
void *peer_run(void *seed);

/* Makes threads that end at once, and requests for them. */
void *peer_short_lived(void *seed);

/* Sleep in a system call until the process stops. */
void *peer_parked(void *unused);
void peer_unpark(void);

#endif /* STORM_PEER_H */
