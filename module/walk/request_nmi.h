/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Request NMI: requests that are made in NMIs.
 */
#ifndef SFU_REQUEST_NMI_H
#define SFU_REQUEST_NMI_H

#include <linux/percpu.h>
#include <linux/types.h>

struct sfu_consumer;
struct sfu_pool;
struct sfu_request_spec;
struct sfu_request_nmi;

/*
 * Returns memory for requests by @consumer as @spec says, with memory from @pool; NULL
 * if out of memory. May sleep.
 */
struct sfu_request_nmi __percpu *
sfu_request_nmi_create(struct sfu_consumer *consumer, struct sfu_pool *pool,
		       const struct sfu_request_spec *spec);

/* Free it; may be NULL. sfu_request_nmi_wait() must have been called. */
void sfu_request_nmi_free(struct sfu_request_nmi __percpu *nmi);

/* Returns the bytes of memory that it uses. */
u64 sfu_request_nmi_bytes(void);

/*
 * Request the current thread's stack as soon as interrupts are possible, as
 * sfu_request_submit_current() does. Only in an NMI, or what in_nmi() takes for one.
 * Returns 0 with a new cookie; 1 with the cookie of an earlier NMI, whose request has
 * yet to be made; -EAGAIN if the stacks of too many threads wait to be requested, or the
 * NMI has interrupted another one's call. The stack counts as lost if it cannot be
 * requested then.
 */
int sfu_request_nmi_submit(struct sfu_request_nmi __percpu *nmi, u64 *cookie);

/*
 * Wait until the stacks that were noted before are requested. May sleep.
 */
void sfu_request_nmi_wait(struct sfu_request_nmi __percpu *nmi);

#endif /* SFU_REQUEST_NMI_H */
