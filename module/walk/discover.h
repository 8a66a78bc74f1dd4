/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Discover: sections for code that nobody has registered any for, from the file
 * that the code is mapped from, or attached to that file.
 */
#ifndef SFU_DISCOVER_H
#define SFU_DISCOVER_H

#include <linux/types.h>

struct sfu_defect;
struct sfu_found;
struct sfu_range;
struct sfu_section;
struct sfu_space;

/*
 * Find out what there is for the code at @pc of the current mm, which no section
 * of @space covered, and add that to @space, or that there is nothing. If the code is
 * from the file that @bad was mapped from, the file's own section is not considered;
 * an empty @bad is from none. If the section is considered and malformed, *@defect
 * says how. Takes mappings that are looked at off *@budget.
 *
 * May sleep, takes the mmap lock, does not wait for the file. Returns 0 with what
 * was added in *@section, or -EEXIST with what is for the caller alone, as another
 * thread has just added something for @pc or beside it: with a reference, held, see
 * sfu_section_hold(), mapped as it says, and right even if it has been detached
 * since. -ENOENT if it is not in a file's code, or the file cannot be read, or there
 * is no way of remembering; -EINPROGRESS if the file is being read; -ETIME if the
 * budget does not suffice; or -EINTR. With one of these, [*start, *end) is the
 * executable memory around @pc that it is for, or empty.
 */
int sfu_discover(struct sfu_space *space, u64 pc, const struct sfu_range *bad,
		 u32 *budget, u64 *start, u64 *end,
		 struct sfu_section **section, struct sfu_defect *defect);

/*
 * Is what was found for @space, and is still mapped, what would be found now?
 * May sleep.
 */
bool sfu_discover_is_current(struct sfu_space *space, struct sfu_found *found);

#endif /* SFU_DISCOVER_H */
