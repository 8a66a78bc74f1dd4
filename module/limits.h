/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits that a caller can reach. Those that one file alone knows are defined
 * there: of ELF headers in elf.h, of the rule cache in rules.c, of a look at
 * neighbouring mappings in mapping.c.
 */
#ifndef SFU_LIMITS_H
#define SFU_LIMITS_H

#include <linux/sizes.h>

/* Frames of one stack: the most that can be asked for, and what 0 means. */
#define SFU_MAX_DEPTH		1024
#define SFU_DEFAULT_DEPTH	128

/*
 * Rows of sections that one walk may look at: some milliseconds. Compilers make
 * functions of a few rows, of 200 at most.
 */
#define SFU_MAX_WALK_ROWS	262144

/*
 * Mappings that one walk may look at, and that are looked at in one go with the
 * mmap lock held: 100,000 instructions. More than that no section may lie in.
 */
#define SFU_MAX_WALK_MAPPINGS	4096
#define SFU_MAX_HELD_MAPPINGS	256

/* Registered ranges of one address space. */
#define SFU_MAX_SECTIONS	1048576

/* Bytes of one section, which stays in user memory. */
#define SFU_MAX_SFRAME_SIZE	SZ_1G

/*
 * What may be remembered of code that nobody registered, in one address space: of
 * so many mappings. With one more all of it is forgotten, and found again.
 */
#define SFU_MAX_FOUND		4096

/* Requests that one client may have outstanding. */
#define SFU_MAX_PENDING		1024

/*
 * Requests for one thread until it is back in user space, of all clients: of
 * closed ones, too, which no other limit counts.
 */
#define SFU_MAX_JOINED		4096

/* Requests whose memory a client keeps for those to come. */
#define SFU_MAX_SPARE		16

/* Requests that may join a walk while it is being delivered. */
#define SFU_MAX_LATE		16

/* Clients that get the events of one address space. */
#define SFU_MAX_LISTENERS	64

/* Bytes of records waiting in one client; a power of two. */
#define SFU_RING_SIZE		SZ_256K

/* Sections that one client may have attached, and the memory they may take. */
#define SFU_MAX_ATTACHED	16384
#define SFU_MAX_ATTACHED_MEMORY	SZ_1G

/* Without privilege. */
#define SFU_MAX_OWN_ATTACHED_MEMORY SZ_64M

/* Bytes of a section that is read from its file as nothing maps it. */
#define SFU_MAX_READ_SIZE	SZ_16M

/*
 * Files that are being read for walks, of all, of one file system and for one
 * user; pages that are read at once; and for how long, in jiffies, a file that
 * could not be read is left alone.
 */
#define SFU_MAX_READINGS	64
#define SFU_MAX_READINGS_OF_ONE	4
#define SFU_MAX_READINGS_OF_USER	2
#define SFU_MAX_READING_PAGES	256
#define SFU_READING_PAUSE	HZ
/* After so long without a walk what was found for an observed process goes. */
#define SFU_OBSERVED_SECONDS	10

/*
 * For memory that a stack can do without, more or less: who is observed is to
 * notice nothing of it, and above all not to be killed for it.
 */
#define SFU_GFP_OPTIONAL	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/* Bytes of a message about a failed ioctl, with its NUL. */
#define SFU_MESSAGE_SIZE	192

#endif /* SFU_LIMITS_H */
