/* SPDX-License-Identifier: GPL-2.0 */
/* Profiles that tests make. */
#ifndef PROFILE_MADE_H
#define PROFILE_MADE_H

#include <stdint.h>
#include <stdio.h>

#include "userspace/include/sframe_unwind_profile.h"

/* Number of records that profile_make() writes. */
#define MADE_RECORDS	400u

/* Returns a new file in memory. */
int profile_new(void);

/* Returns a file with records of all kinds, by the library's writer. */
int profile_make(void);

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

/* Set the size of the records; the file ends with them. Returns the file. */
int made_end(struct made *made);

#endif /* PROFILE_MADE_H */
