/* SPDX-License-Identifier: GPL-2.0 */
/* Sampled: a thread that samples those that run chains, at perf events. */
#ifndef STORM_SAMPLED_H
#define STORM_SAMPLED_H

/* Take samples and check their stacks, until the process stops. */
void *sampled_run(void *seed);

#endif /* STORM_SAMPLED_H */
