/* SPDX-License-Identifier: GPL-2.0 */
/* Change: random changes of a thread's mappings and registrations. */
#ifndef STORM_CHANGE_H
#define STORM_CHANGE_H

#include "process.h"

/* Make one or two random changes. */
void change_something(struct thread *thread);

/* Flip bits of the tables set aside for it, until the process stops. */
void *change_flip(void *seed);

#endif /* STORM_CHANGE_H */
