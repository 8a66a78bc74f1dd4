/* SPDX-License-Identifier: GPL-2.0 */
/* Chain: hops called one from the other, and stacks taken of them. */
#ifndef STORM_CHAIN_H
#define STORM_CHAIN_H

#include "process.h"

/* Each process, when it starts: find its own code and how chains start. */
void chain_init(void);

/* Register the program's own section. Returns 0 or an errno. */
int chain_register_own(int fd);

/* Run a chain of the thread's slots and shared objects, and judge it. */
ON_THE_WAY void chain_run(struct thread *thread);

/*
 * Judge what has come to @fd, which does not block: by the timer, whose stacks
 * have @peer_depth 0, or for requests for other threads with that depth.
 */
void chain_drain(int fd, unsigned int peer_depth);

#endif /* STORM_CHAIN_H */
