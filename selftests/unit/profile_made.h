/* SPDX-License-Identifier: GPL-2.0 */
/* Profiles that tests make. */
#ifndef PROFILE_MADE_H
#define PROFILE_MADE_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>

#include "userspace/include/sframe_unwind_profile.h"

/* Returns a new file in memory. */
int profile_new(void);

/*
 * Returns a file with @nr records, by the library's writer, which gets @flags beside
 * others; 42 are of all kinds. Returns -1 if the writer fails.
 */
int profile_make(unsigned int nr, uint32_t flags);

/* Record @i of those. Its pointers are valid until the next call. */
void profile_made_record(unsigned int i, struct sframe_unwind_profile_record *record);

/* Whether the two records are equal but for their offset. */
int profile_is_equal(const struct sframe_unwind_profile_record *a,
		     const struct sframe_unwind_profile_record *b);

/* Bytes of a file that is composed by hand. */
struct made {
	unsigned char bytes[1 << 20];
	size_t size;
};

void made_u16(struct made *made, uint16_t value);
void made_u32(struct made *made, uint32_t value);
void made_u64(struct made *made, uint64_t value);
void made_bytes(struct made *made, const void *from, size_t size);

/* Header of a record with @size bytes behind it. */
void made_record(struct made *made, uint32_t type, uint16_t misc, size_t size);

/* Begin a profile with one source, of this sample_type, without an id. */
void made_begin(struct made *made, uint64_t sample_type, int is_pipe);

/* The sample_type for the functions that follow. */
#define MADE_TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
			 PERF_SAMPLE_CALLCHAIN)

/* A sample with a kernel frame, and these frames. */
void made_sample(struct made *to, uint32_t tid, uint64_t time,
		 const uint64_t *frames, unsigned int nr);

/* A sample whose user stack follows, in a part with this @cookie. */
void made_deferred(struct made *to, uint32_t tid, uint64_t time,
		   uint64_t cookie);

/* Such a part: two frames, at @address and behind it. */
void made_user_part(struct made *to, uint32_t tid, uint64_t cookie,
		    uint64_t address);

/*
 * The records in @plain, compressed, in records of this @type,
 * RECORD_COMPRESSED or RECORD_COMPRESSED2, with at most @step bytes each.
 */
void made_compressed(struct made *to, const struct made *plain, size_t step,
		     uint32_t type);

/*
 * A whole profile as perf writes it to a pipe: with the source, a fact, a build
 * ID and a mapping among the records, and a sample.
 */
void made_piped(struct made *made);

/* Set the size of the records; the file ends with them. Returns the file. */
int made_end(struct made *made);

#endif /* PROFILE_MADE_H */
