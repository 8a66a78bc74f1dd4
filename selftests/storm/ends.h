/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ends: the two ends of a chain of hops, in assembler, so that each address is
 * known. A hop takes an array, calls what the first entry names and gives it
 * the rest of the array.
 */
#ifndef STORM_ENDS_H
#define STORM_ENDS_H

typedef void (*hop_t)(void **array);

/* Calls the first hop. */
void run_chain(void **array);
extern const char run_chain_ret[], run_chain_end[];

/* Makes system call array[0] with three arguments; its result to array[4]. */
void end_syscall(void **array);
extern const char end_syscall_ip[], end_syscall_end[];

/* Counts array[0] down to 0. */
void end_spin(void **array);
extern const char end_spin_end[];

/*
 * Stores to array[0] where it returns to, and to array[1] the word in which
 * run_chain() has its return address if it is the caller.
 */
void end_probe(void **array);

#endif /* STORM_ENDS_H */
