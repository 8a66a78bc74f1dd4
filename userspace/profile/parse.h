/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * From the bytes of one record to what the library's users see.
 */
#ifndef PROFILE_PARSE_H
#define PROFILE_PARSE_H

#include "profile/sources.h"

/* Most frames in one record of the file: it has less than 64 KiB. */
#define RECORD_FRAMES	8192u

/**
 * struct parsed - one record, with what only the reader needs
 *
 * @record: the record.
 * @is_ours: whether @record is one that the library's users see.
 * @cookie: if @is_deferred, of the user part of the call chain, in a record of
 *	its own.
 * @is_deferred: whether the sample's user part is in another record.
 * @is_user_part: whether this is such a record.
 * @frames: what @record.sample.frames points to.
 * @how: what @record.sample.how points to.
 * @name: what the record's name points to.
 */
struct parsed {
	struct sframe_unwind_profile_record record;
	bool is_ours;
	bool is_deferred;
	bool is_user_part;
	uint64_t cookie;
	uint64_t frames[SFRAME_UNWIND_PROFILE_FRAMES];
	uint8_t how[SFRAME_UNWIND_PROFILE_FRAMES];
	char name[UINT16_MAX + 1];
};

/*
 * Parse the record at @bytes, whose header has a size that is not too small.
 * Returns 0, or -EINVAL and the reason in *@why. @parsed->record.offset is left
 * to the caller.
 */
int sfu_parse_record(struct sources *sources, const void *bytes,
		     struct parsed *parsed, const char **why);

#endif /* PROFILE_PARSE_H */
