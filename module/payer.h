/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Payer: a user, charged for the kernel memory that the module keeps for him.
 *
 * What a user makes the module keep counts against RLIMIT_MEMLOCK, together with
 * what the same user has locked by perf, io_uring, BPF and others. Memory that
 * is only remembered, and that a shrinker gives back, is not charged.
 */
#ifndef SFU_PAYER_H
#define SFU_PAYER_H

#include <linux/types.h>

struct sfu_payer;

/*
 * Bits of the number that a payer has: two million of them. Somebody can have 65,536
 * user IDs, with or without a namespace, and a client of each takes more than 1 KiB.
 */
#define SFU_PAYER_BITS	21
#define SFU_MAX_PAYERS	((1U << SFU_PAYER_BITS) - 1)

/*
 * The payer for the current task's user, with a reference. May sleep. Returns
 * NULL without memory, or if there are SFU_MAX_PAYERS of them.
 */
struct sfu_payer *sfu_payer_get_current(void);

/* Take another reference. Process context. */
void sfu_payer_get(struct sfu_payer *payer);

/* Put a reference. What is charged keeps the payer. Process context. */
void sfu_payer_put(struct sfu_payer *payer);

/*
 * The number that objects too small for a pointer know @payer by, never 0.
 * Valid for as long as something is charged, or a reference is held.
 */
u32 sfu_payer_number(const struct sfu_payer *payer);

/*
 * Charge @bytes to @payer. With @force also beyond the limit, which is for copies
 * of what has been charged before. Process context, does not sleep. Returns 0,
 * or -ENOMEM if that would exceed the caller's RLIMIT_MEMLOCK and the caller has
 * no CAP_IPC_LOCK.
 */
int sfu_payer_charge(struct sfu_payer *payer, u64 bytes, bool force);

/* Take @bytes off what was charged. Process context, does not sleep. */
void sfu_payer_uncharge(struct sfu_payer *payer, u64 bytes);

/*
 * The same by sfu_payer_number(); 0 is nobody, and not charged. Something is
 * charged to the number already, or a reference to the payer is held.
 */
int sfu_payer_charge_number(u32 number, u64 bytes, bool force);
void sfu_payer_uncharge_number(u32 number, u64 bytes);

void sfu_payer_exit(void);

#endif /* SFU_PAYER_H */
