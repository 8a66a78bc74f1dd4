/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pin: a number for a file, which no other file ever gets.
 *
 * The numbers of a file system's device and of its inodes are given to others
 * once it is unmounted, and who provides the file system chooses those of the
 * inodes. So does the memory of an inode go to the next one. A pin's number is drawn
 * once, and is found by its inode only for as long as that is the same one.
 */
#ifndef SFU_PIN_H
#define SFU_PIN_H

#include <linux/types.h>

struct inode;
struct sfu_payer;
struct sfu_pin;

/*
 * Bytes of kernel memory to charge for a pin: with the inode, which stays in
 * memory, and is 600 to 1200 of them.
 */
#define SFU_PIN_MEMORY	2048

/*
 * The pin of @inode, which the caller has a file of, with a reference. May sleep.
 * The inode stays in memory, but keeps nobody from deleting the file or from
 * unmounting the file system. Returns NULL without memory.
 */
struct sfu_pin *sfu_pin_get(struct inode *inode);

/*
 * Process context, does not sleep. @pin may be NULL. If it was the last reference,
 * @payer, or nobody if that is NULL, is charged until the memory is free.
 */
void sfu_pin_put(struct sfu_pin *pin, struct sfu_payer *payer);

/* Unique in the system, never 0. */
u64 sfu_pin_number(const struct sfu_pin *pin);

/*
 * The number of @inode's pin, or 0 if it has none, has been deleted, or is gone
 * with its file system. @inode is only compared, and may be NULL. Any context.
 */
u64 sfu_pin_find(const struct inode *inode);

int sfu_pin_init(void);
void sfu_pin_exit(void);

#endif /* SFU_PIN_H */
