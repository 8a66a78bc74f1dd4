/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits that a caller can reach. Limits that are used in a single file are
 * defined there: those of ELF headers in elf.h, of the rule cache in rules.c,
 * of neighbouring mappings in mapping.c.
 */
#ifndef SFU_LIMITS_H
#define SFU_LIMITS_H

#include <linux/sizes.h>

/* Frames of one stack: the maximum, and the default for max_depth 0. */
#define SFU_MAX_DEPTH		1024
#define SFU_DEFAULT_DEPTH	128

/*
 * Rows of sections that one walk may read, which takes some milliseconds.
 * Compilers emit a few rows for a function, 200 at most.
 */
#define SFU_MAX_WALK_ROWS	262144

/*
 * Discoveries of one walk below sections, one for each address that they have no
 * rule for. Each may copy and validate the section of a file.
 */
#define SFU_MAX_WALK_BELOW	16

/* User frames of a stack that is unwound at once. */
#define SFU_AT_ONCE_DEPTH	256

/*
 * Work for such a stack: less than 20,000 instructions, with interrupts off. The unit is
 * a frame with a simple rule in the cache, at most 37 instructions. A row that is read
 * of a section counts one unit. The lookup of a rule that is not in the cache, without
 * its rows, counts SFU_AT_ONCE_LOOKUP; a step by a rule that was looked up or is not
 * simple counts SFU_AT_ONCE_STEP.
 */
#define SFU_AT_ONCE_WORK	512
#define SFU_AT_ONCE_LOOKUP	40
#define SFU_AT_ONCE_STEP	21

/*
 * Steps of one walk to a stack at lower addresses, by rules that say explicitly
 * where the caller's stack is.
 */
#define SFU_MAX_SWITCHES	64

/*
 * Mappings that one walk may visit; and mappings that may be visited while the
 * mmap lock is held once, which takes 100,000 instructions. The latter is also
 * the limit of mappings that a section may be in.
 */
#define SFU_MAX_WALK_MAPPINGS	4096
#define SFU_MAX_HELD_MAPPINGS	256

/*
 * Bytes of a function that one lookup compares with what they were: all of them, or two
 * pieces of half of that each. All functions of a stack, if none is in the rule cache,
 * take some milliseconds.
 */
#define SFU_MAX_NOTED		SZ_4K

/* Registered ranges of one address space. */
#define SFU_MAX_SECTIONS	1048576

/* Function tables of one address space: as many words are read by each walk. */
#define SFU_MAX_TABLES		16

/* Bytes of one section, or function table, which stays in user memory. */
#define SFU_MAX_SFRAME_SIZE	SZ_1G

/*
 * Results of discovery, sections and negative entries, that are cached in one
 * address space. Beyond the limit, all of them are dropped, and found again by
 * walks.
 */
#define SFU_MAX_FOUND		4096

/* Requests that one client may have outstanding. */
#define SFU_MAX_PENDING		1024

/* Those of one work whose threads are of one user. */
#define SFU_MAX_PENDING_OF_USER	(SFU_MAX_PENDING / 4)

/*
 * Requests for one thread until it returns to user space, of all clients.
 * Includes requests of closed clients, which no other limit counts.
 */
#define SFU_MAX_JOINED		4096

/* Unused requests that a client keeps for later. */
#define SFU_MAX_SPARE		16

/* Requests that may join a walk while it is being delivered. */
#define SFU_MAX_LATE		16

/* Listeners to the events of one address space. */
#define SFU_MAX_LISTENERS	64

/* Bytes of records waiting in one client; a power of two. */
#define SFU_RING_SIZE		SZ_256K

/*
 * Samples: pages of records in the ring of one CPU; pages of each half of a stack
 * map; files of one client, by build ID; kernel frames of one sample; events of one client.
 */
#define SFU_MAX_RING_PAGES	16384
#define SFU_MAX_MAP_PAGES	16384
#define SFU_MAX_FILES		65536
#define SFU_MAX_KERNEL_DEPTH	127
#define SFU_MAX_SAMPLE_EVENTS	4096

/* Bytes of the stack that are copied behind a cut one. */
#define SFU_MAX_COPY		SZ_64K

/* Seconds for which stacks of a process that are cut in the same code are copied. */
#define SFU_COPY_SECONDS	120

/*
 * Sections that one client may have attached, and the memory that they may use.
 */
#define SFU_MAX_ATTACHED	16384
#define SFU_MAX_ATTACHED_MEMORY	SZ_1G

/*
 * The same memory, if they are attached for one address space, without
 * privilege.
 */
#define SFU_MAX_OWN_ATTACHED_MEMORY SZ_64M

/* Bytes of a section that is read from its file, because it is not mapped. */
#define SFU_MAX_READ_SIZE	SZ_16M

/*
 * Files that are being read for walks at a time: in all, on one file system,
 * and for one user; pages of a file that are read by one work item; and the
 * time, in jiffies, after which a file may be read again if reading has failed.
 */
#define SFU_MAX_READINGS	64
#define SFU_MAX_READINGS_OF_ONE	4
#define SFU_MAX_READINGS_OF_USER	2
#define SFU_MAX_READING_PAGES	256
#define SFU_READING_PAUSE	HZ
/* Seconds without a walk after which an observed space is freed. */
#define SFU_OBSERVED_SECONDS	10

/*
 * For allocations that may fail without harm. They are made in threads of
 * observed processes, which must not notice them, and in particular must not be
 * killed by the OOM killer.
 */
#define SFU_GFP_OPTIONAL	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/*
 * Netlink messages: events of sections, and of clients, that wait to be sent; jiffies from
 * the first loss to the message that tells of it and all that follow; and jiffies for which
 * no messages are made after one that all sockets of its group were left out of.
 */
#define SFU_MAX_QUEUED_SECTIONS	1024
#define SFU_MAX_QUEUED_CLIENTS	128
#define SFU_LOSSES_PAUSE	(HZ / 10)
#define SFU_DEAF_PAUSE		(HZ / 10)

/* Bytes of a message about a failed ioctl, with its NUL. */
#define SFU_MESSAGE_SIZE	192

#endif /* SFU_LIMITS_H */
