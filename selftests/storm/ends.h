/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ends: the outermost and innermost functions of a chain of hops, in assembly,
 * so that each address is known. A hop takes an array, calls the function in
 * its first entry and passes it the rest of the array.
 */
#ifndef STORM_ENDS_H
#define STORM_ENDS_H

typedef void (*hop_t)(void **array);

/* Call the first hop. */
void run_chain(void **array);
extern const char run_chain_ret[], run_chain_end[];

/* Make system call array[0] with three arguments; store the result in array[4]. */
void end_syscall(void **array);
extern const char end_syscall_ip[], end_syscall_end[];

/* Count array[0] down to 0. */
void end_spin(void **array);
extern const char end_spin_end[];

/*
 * Store the function's return address in array[0], and in array[1] the word
 * where run_chain() has its return address if it is the caller.
 */
void end_probe(void **array);

#endif /* STORM_ENDS_H */
