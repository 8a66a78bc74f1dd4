/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The format of perf.data, as far as <linux/perf_event.h> does not define it.
 */
#ifndef PROFILE_FORMAT_H
#define PROFILE_FORMAT_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

/* "PERFILE2", little-endian; the same by a machine of the other byte order. */
#define PROFILE_MAGIC		0x32454c4946524550ULL
#define PROFILE_MAGIC_SWAPPED	0x50455246494c4532ULL

/* Records that older headers do not define, and those of user space. */
enum {
	RECORD_CALLCHAIN_DEFERRED	= 22,

	RECORD_USER			= 64,
	RECORD_HEADER_ATTR		= 64,
	RECORD_HEADER_TRACING_DATA	= 66,
	RECORD_HEADER_BUILD_ID		= 67,
	RECORD_FINISHED_ROUND		= 68,
	RECORD_AUXTRACE			= 71,
	RECORD_EVENT_UPDATE		= 78,
	RECORD_HEADER_FEATURE		= 80,
	RECORD_COMPRESSED		= 81,
	RECORD_COMPRESSED2		= 83,
};

/* Values of FEATURE_COMPRESSED: its version, and zstd. */
#define COMPRESSED_VERSION	1
#define COMPRESSED_ZSTD		1

/* Value of PERF_RECORD_EVENT_UPDATE's type. */
#define EVENT_UPDATE_NAME	2

/* Bits of the header's features. */
enum {
	FEATURE_BUILD_ID	= 2,
	FEATURE_HOSTNAME	= 3,
	FEATURE_OSRELEASE	= 4,
	FEATURE_VERSION		= 5,
	FEATURE_ARCH		= 6,
	FEATURE_NRCPUS		= 7,
	FEATURE_CMDLINE		= 11,
	FEATURE_EVENT_DESC	= 12,
	FEATURE_DIR_FORMAT	= 24,
	FEATURE_COMPRESSED	= 27,
	FEATURE_LAST		= 256,
};

/* Marks of the parts of a call chain; all values from CONTEXT_MARKS on are marks. */
#define CONTEXT_USER_DEFERRED	((uint64_t)-640)
#define CONTEXT_MARKS		((uint64_t)-4095)

/* Bits of misc. */
#define MISC_MMAP_DATA		(1U << 13)
#define MISC_COMM_EXEC		(1U << 13)
#define MISC_FORK_EXEC		(1U << 13)
#define MISC_BUILD_ID		(1U << 14)
#define MISC_BUILD_ID_SIZE	(1U << 15)	/* of an entry in FEATURE_BUILD_ID */

struct file_section {
	uint64_t offset;
	uint64_t size;
};

/* The start of a file. In a pipe it has only the first two members. */
struct file_header {
	uint64_t magic;
	uint64_t size;
	uint64_t attr_size;
	struct file_section attrs;
	struct file_section data;
	struct file_section event_types;
	uint64_t features[FEATURE_LAST / 64];
};

#define PIPE_HEADER_SIZE	16

/* Facts about a sample for which perf has no place. They are behind the part of
 * PERF_RECORD_SAMPLE that perf reads, and so ignored by it.
 *
 * magic: FACTS_MAGIC.
 * stop, entry: as in struct sframe_unwind_profile_sample.
 * nr: number of user frames that were not found as usual: the first one in the
 *	registers, the others by SFrame. Each has a struct fact_of_frame behind
 *	this, and all is padded to 8 bytes.
 */
struct facts {
	uint32_t magic;
	uint8_t stop;
	uint8_t entry;
	uint16_t nr;
};

struct fact_of_frame {
	uint16_t frame;
	uint8_t how;
	uint8_t reserved;
};

#define FACTS_MAGIC	0x46555346U	/* "FSUF" */

/*
 * Most samples have the same facts. Bits of the header's misc that perf ignores tell them: the
 * stack is complete, all frames were found as usual, and, in other bits, the entry.
 */
#define MISC_USUAL		(1U << 11)
#define MISC_ENTRY_SHIFT	3
#define MISC_ENTRY_MAX		7U

#define USUAL_STOP		1	/* enum sframe_unwind_stop: complete */

/* How a user frame is usually found: enum sframe_unwind_frame. */
#define USUAL_HOW(frame)	((frame) ? 2 : 1)

static inline uint64_t get_u64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static inline uint32_t get_u32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static inline uint16_t get_u16(const void *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

#endif /* PROFILE_FORMAT_H */
