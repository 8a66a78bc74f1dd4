/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Payer: a user that is charged for kernel memory.
 *
 * Memory that the module keeps because of a user counts against RLIMIT_MEMLOCK,
 * together with what perf, io_uring, BPF and others charge to the same user.
 * Caches that a shrinker frees are not charged.
 */
#ifndef SFU_PAYER_H
#define SFU_PAYER_H

#include <linux/types.h>

struct sfu_payer;

/*
 * Bits of a payer's number: allows two million payers. An unprivileged user can
 * control 65,536 user IDs by a user namespace; a client of each uses more than
 * 1 KiB.
 */
#define SFU_PAYER_BITS	21
#define SFU_MAX_PAYERS	((1U << SFU_PAYER_BITS) - 1)

/*
 * Get or create the payer of the current task's user, with a reference. May
 * sleep. Returns NULL if out of memory, or if there are SFU_MAX_PAYERS already.
 */
struct sfu_payer *sfu_payer_get_current(void);

/* Take another reference. Process context. */
void sfu_payer_get(struct sfu_payer *payer);

/*
 * Drop a reference. A payer exists as long as anything is charged. Process
 * context.
 */
void sfu_payer_put(struct sfu_payer *payer);

/*
 * Returns the number of @payer, for objects that have no room for a pointer;
 * never 0. It is valid as long as anything is charged to the payer, or a
 * reference is held.
 */
u32 sfu_payer_number(const struct sfu_payer *payer);

/*
 * Charge @bytes to @payer; to nobody if that is NULL. With @force, even beyond the
 * limit, to copy or move what has been charged before. Process context, does not sleep.
 * Returns 0; or -ENOMEM if that would exceed the caller's RLIMIT_MEMLOCK and the caller
 * has no CAP_IPC_LOCK.
 */
int sfu_payer_charge(struct sfu_payer *payer, u64 bytes, bool force);

/* Undo a charge of @bytes. @payer as above. Process context, does not sleep. */
void sfu_payer_uncharge(struct sfu_payer *payer, u64 bytes);

/*
 * As sfu_payer_charge() and sfu_payer_uncharge(), for the payer with @number;
 * do nothing if that is 0. Something must be charged to the payer already, or a
 * reference be held.
 */
int sfu_payer_charge_number(u32 number, u64 bytes, bool force);
void sfu_payer_uncharge_number(u32 number, u64 bytes);

void sfu_payer_exit(void);

#endif /* SFU_PAYER_H */
