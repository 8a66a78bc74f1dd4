/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Discover: find a section for code without a registered one: in the file that
 * the code is mapped from, attached to that file, or attached to the addresses of
 * the process.
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
 * Other errors: -ENOENT if @pc is neither in code of a file nor in memory that a
 * section is attached to, the file cannot be read, or the result could not be
 * added for lack of memory; -EINPROGRESS if the file is being read; -ETIME if the
 * budget is exhausted; -EINTR. With these, [*start, *end) is the executable
 * memory around @pc that the error applies to, or empty.
 */
int sfu_discover(struct sfu_space *space, u64 pc, const struct sfu_range *bad,
		 u64 above, u32 *budget, u64 *start, u64 *end,
		 struct sfu_section **section, struct sfu_defect *defect);

/*
 * Find a section attached to addresses of the process for @pc, for which @above,
 * the section of @space that covers it, has no rule, nor has one below it. Decreases
 * *@budget by the number of mappings visited. May sleep, takes the mmap lock. Returns
 * -EEXIST with a *@section that only the caller may use, as sfu_discover(); -ENOENT
 * if nothing is attached there; -ENOMEM; or another error of sfu_discover().
 */
int sfu_discover_range(struct sfu_space *space, u64 pc,
		       const struct sfu_section *above, u32 *budget,
		       struct sfu_section **section);

#endif /* SFU_DISCOVER_H */
