/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks that programs have requested: print them; or hold them back while sections are
 * converted, and have them requested again.
 */
#ifndef EXEC_STACKS_H
#define EXEC_STACKS_H

#include <stdint.h>

#include "exec_attach.h"
#include "exec_shared.h"
#include "stack_print.h"

struct exec_stacks;

/* Returns NULL if out of memory. */
struct exec_stacks *exec_stacks_create(struct exec_page *page,
				       struct exec_attach *attach,
				       struct stack_printer *printer);
void exec_stacks_free(struct exec_stacks *stacks);

/* Handle a stack that was read from the device. */
void exec_stacks_handle(struct exec_stacks *stacks,
			const struct sframe_unwind_stack *stack);

/* Handle stacks that have waited long enough; with @all, also those that wait. */
void exec_stacks_run(struct exec_stacks *stacks, bool all);

/* Milliseconds until exec_stacks_run() has something to do, or -1. */
int exec_stacks_timeout(const struct exec_stacks *stacks);

/* Print all stacks that are held back. */
void exec_stacks_end(struct exec_stacks *stacks);

/* Wake all threads that wait for their stacks to be printed. */
void exec_stacks_wake_all(struct exec_stacks *stacks);

#endif /* EXEC_STACKS_H */
