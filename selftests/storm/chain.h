/* SPDX-License-Identifier: GPL-2.0 */
/* Chain: a chain of hops that call each other, and stacks taken of it. */
#ifndef STORM_CHAIN_H
#define STORM_CHAIN_H

#include "process.h"

/* In each process at its start: find its own code and how chains start. */
void chain_init(void);

/* Register the program's own section. Returns 0 or an errno. */
int chain_register_own(int fd);

/* Run a chain of the thread's slots and shared objects, and check its stacks. */
ON_THE_WAY void chain_run(struct thread *thread);

/*
 * Check all records of the non-blocking client @fd: stacks requested by the
 * timer, with @peer_depth 0, or for other threads with that depth.
 */
void chain_drain(int fd, unsigned int peer_depth);

#endif /* STORM_CHAIN_H */
