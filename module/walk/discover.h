/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Discover: find a section for code without a registered one: in the file that
 * the code is mapped from, or attached to that file.
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
 * Discover a section, or that there is none, for the code at @pc of the current
 * mm, which no section of @space covered, and add the result to @space
 * (SFU_NOTHING if there is none). If the code is mapped from the same file as
 * @bad, the section of the file itself is not considered; an empty @bad is of
 * no file. If it is considered and malformed, *@defect is set. @above: 0, or the
 * id of a registered section that covers @pc, but has no rule for it. Decreases
 * *@budget by the number of mappings visited. May sleep, takes the mmap lock;
 * does not wait for the file.
 *
 * Returns 0 with the added section in *@section; or -EEXIST, if another thread
 * has meanwhile added a section for @pc or next to it, with a *@section that
 * only the caller may use. In both cases *@section has a reference for the
 * caller and is held, see sfu_section_hold(), its mappings have been checked,
 * and the caller may use it even if it is detached meanwhile.
 *
 * Other errors: -ENOENT if @pc is not in code of a file, the file cannot be
 * read, or the result could not be added for lack of memory; -EINPROGRESS if
 * the file is being read; -ETIME if the budget is exhausted; -EINTR. With
 * these, [*start, *end) is the executable memory around @pc that the error
 * applies to, or empty.
 */
int sfu_discover(struct sfu_space *space, u64 pc, const struct sfu_range *bad,
		 u64 above, u32 *budget, u64 *start, u64 *end,
		 struct sfu_section **section, struct sfu_defect *defect);

/*
 * Returns whether discovery would give the same result as @found again, that
 * is, whether no attachment has changed it. @found must be a section of @space
 * whose file is still mapped. May sleep.
 */
bool sfu_discover_is_current(struct sfu_space *space, struct sfu_found *found);

#endif /* SFU_DISCOVER_H */
