/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pin: a number for an inode that no other inode ever gets.
 *
 * Device and inode numbers do not identify a file for good: they are reused
 * after the file system is unmounted, and the file system's server may choose
 * inode numbers. The address of a struct inode is reused, too. The number of a
 * pin is never reused, and is found by the inode's address only while that
 * inode exists.
 */
#ifndef SFU_PIN_H
#define SFU_PIN_H

#include <linux/types.h>

struct inode;
struct sfu_payer;
struct sfu_pin;

/*
 * Bytes to charge for a pin. Includes the inode (600 to 1200 bytes), which the
 * pin keeps in memory.
 */
#define SFU_PIN_MEMORY	2048

/*
 * Get or create the pin of @inode. The caller must hold an open file of it. May
 * sleep. The pin keeps the inode in memory, but prevents neither deletion of
 * the file nor unmounting of the file system. Returns it with a reference, or
 * NULL if out of memory.
 */
struct sfu_pin *sfu_pin_get(struct inode *inode);

/*
 * Drop a reference. Process context, does not sleep. @pin may be NULL. If it
 * was the last reference, the pin is charged to @payer, unless that is NULL,
 * until its memory is freed.
 */
void sfu_pin_put(struct sfu_pin *pin, struct sfu_payer *payer);

/* Returns the pin's number: unique in the system, never 0. */
u64 sfu_pin_number(const struct sfu_pin *pin);

/*
 * Returns the number of @inode's pin; or 0 if it has none, the file was deleted
 * or the file system unmounted. @inode is not dereferenced, and may be NULL or
 * freed. Any context.
 */
u64 sfu_pin_find(const struct inode *inode);

int sfu_pin_init(void);
void sfu_pin_exit(void);

#endif /* SFU_PIN_H */
