/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Remove: remove sections that must not be used any more, count that, and report
 * it to listeners and to dynamic debug.
 *
 * All functions are for the space of the current mm. @pc is the address that was
 * looked up, and covered by @section. They may sleep, and take the mmap lock. The
 * caller keeps its reference to the section.
 */
#ifndef SFU_REMOVE_H
#define SFU_REMOVE_H

#include <linux/types.h>

struct sfu_defect;
struct sfu_section;
struct sfu_space;

/*
 * Remove @section, of any source, which is corrupt or, if defect->kind is 0, can
 * never be read again. Not counted or reported if it was removed already, or
 * cannot be removed for lack of memory; nor in the two functions that follow.
 */
void sfu_remove_bad(struct sfu_space *space, struct sfu_section *section,
		    u64 pc, const struct sfu_defect *defect);

/*
 * Remove @section, of any source, whose mappings have changed. Only for a
 * registered section, this is counted and reported.
 */
void sfu_remove_stale(struct sfu_space *space, struct sfu_section *section,
		      u64 pc);

/*
 * Remove @section, a registered one, if the mappings at @pc or of its bytes are
 * not as they were when it was registered. Returns whether it removed it.
 */
bool sfu_remove_if_stale(struct sfu_space *space, struct sfu_section *section,
			 u64 pc);

/*
 * Remove the function table in slot number @slot of @space if its counter of removals
 * can never be read again. Visits as many mappings as @budget, which it reduces. Returns
 * whether the table is gone.
 */
bool sfu_remove_unreadable_table(struct sfu_space *space, u32 slot, u32 *budget);

/*
 * Remove the function tables of @space whose mappings, or those of the start of their
 * code, are not as they were when they were registered; and those whose counter of
 * removals can never be read again.
 */
void sfu_remove_useless_tables(struct sfu_space *space);

/*
 * Count and report that the section of the file itself is malformed, in place of
 * which @section was found.
 */
void sfu_remove_tell_malformed(struct sfu_space *space,
			       struct sfu_section *section, u64 pc,
			       const struct sfu_defect *defect);

#endif /* SFU_REMOVE_H */
