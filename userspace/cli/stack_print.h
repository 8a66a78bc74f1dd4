/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Print stacks with the names of functions and objects.
 */
#ifndef STACK_PRINT_H
#define STACK_PRINT_H

#include <stdio.h>

#include <sframe_unwind.h>

struct stack_printer;

/* Returns a printer to @out, or NULL if there is no memory. */
struct stack_printer *stack_printer_create(FILE *out);

void stack_printer_free(struct stack_printer *printer);

/*
 * Print @stack, one line for each frame, one with the reason why it ends, and one with
 * what is @missing, escaped, unless that is NULL. Names are
 * looked up in the process @stack->pid as it is now, so it should still be stopped. If
 * the process is gone, only addresses are printed.
 */
void stack_printer_print(struct stack_printer *printer,
			 const struct sframe_unwind_stack *stack,
			 const char *missing);

#endif /* STACK_PRINT_H */
