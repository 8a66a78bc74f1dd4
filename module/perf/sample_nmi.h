/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sample NMI: the user stacks of samples that were taken in NMIs.
 */
#ifndef SFU_SAMPLE_NMI_H
#define SFU_SAMPLE_NMI_H

#include <linux/percpu.h>
#include <linux/types.h>

struct sfu_consumer;
struct sfu_pool;
struct sfu_request_spec;
struct sfu_sample_nmi;

/*
 * Returns memory for requests by @consumer as @spec says, with memory from @pool; NULL
 * if out of memory. May sleep.
 */
struct sfu_sample_nmi __percpu *
sfu_sample_nmi_create(struct sfu_consumer *consumer, struct sfu_pool *pool,
		      const struct sfu_request_spec *spec);

/* Free it; may be NULL. sfu_sample_nmi_wait() must have been called. */
void sfu_sample_nmi_free(struct sfu_sample_nmi __percpu *nmi);

/* Returns the bytes of memory that it uses. */
u64 sfu_sample_nmi_bytes(void);

/*
 * Request the current thread's stack as soon as interrupts are possible: as
 * sfu_request_submit_current(), with spec.share. Only in an NMI, or what in_nmi() takes
 * for one. Returns the cookie, or 0 if too many stacks wait to be
 * requested. The stack counts as lost if it cannot be requested then.
 */
u64 sfu_sample_nmi_request(struct sfu_sample_nmi __percpu *nmi);

/*
 * Wait until the stacks of samples that were taken before are requested. May sleep.
 */
void sfu_sample_nmi_wait(struct sfu_sample_nmi __percpu *nmi);

#endif /* SFU_SAMPLE_NMI_H */
