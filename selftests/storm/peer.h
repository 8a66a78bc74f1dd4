/* SPDX-License-Identifier: GPL-2.0 */
/* Peer: threads that request stacks of others. */
#ifndef STORM_PEER_H
#define STORM_PEER_H

/* Request stacks of the threads that run chains, until the process stops. */
void *peer_run(void *seed);

/* Create threads that exit at once, and request their stacks. */
void *peer_short_lived(void *seed);

/* Sleep in a system call until the process stops. */
void *peer_parked(void *unused);
void peer_unpark(void);

#endif /* STORM_PEER_H */
