/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the program in the kernel, offcpu.bpf.c, sends to that outside, offcpu.c.
 */
#ifndef EXAMPLES_STACKS_H
#define EXAMPLES_STACKS_H

#define MAX_IPS		224	/* of one event; a deeper stack is several events */

struct waited {
	unsigned long long nanoseconds;
	int pid;
	int tid;
	unsigned int stop;
	unsigned int nr_ips;
	unsigned long long ips[MAX_IPS];
};

#endif /* EXAMPLES_STACKS_H */
