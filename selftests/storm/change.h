/* SPDX-License-Identifier: GPL-2.0 */
/* Change: mappings and registrations of a thread, at random. */
#ifndef STORM_CHANGE_H
#define STORM_CHANGE_H

#include "process.h"

/* Make one or two changes. */
void change_something(struct thread *thread);

/* Flip bits of the tables that are for it, until the process stops. */
void *change_flip(void *seed);

#endif /* STORM_CHANGE_H */
