// SPDX-License-Identifier: GPL-2.0
/*
 * Remove: remove sections that must not be used any more, count that, and report
 * it to listeners and to dynamic debug.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/limits.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "counters.h"
#include "decode/functions.h"
#include "decode/sframe.h"
#include "limits.h"
#include "mm/listener.h"
#include "mm/section.h"
#include "mm/space.h"
#include "netlink/netlink.h"
#include "remove.h"
#include "trace/trace.h"

/* Copy @name; if it is too long, only its end. */
static void copy_end(char *to, size_t size, const char *name)
{
	const size_t length = strlen(name);

	strscpy(to, name + (length < size ? 0 : length - size + 1), size);
}

/* Report the removal of @section to listeners, to tracers and to dynamic debug. */
static void tell_of_removal(struct sfu_space *space,
			    struct sfu_section *section, u64 pc,
			    enum sframe_unwind_cause cause,
			    const struct sfu_defect *defect)
{
	struct sframe_unwind_removed removed = {
		.record.size = sizeof(removed),
		.record.type = SFRAME_UNWIND_RECORD_REMOVED,
		.time = ktime_get_ns(),
		.id = section->id,
		.sframe_start = sfu_section_address(section),
		.text_start = section->text.start,
		.text_size = section->text.end - section->text.start,
		.ip = pc,
		.defect_offset = defect->offset,
		.cause = cause,
	};
	char *path = kmalloc(PATH_MAX, SFU_GFP_OPTIONAL);
	struct sfu_trace_section traced;
	const char *text = "its bytes cannot be read any more";

	if (cause == SFRAME_UNWIND_CAUSE_CORRUPT)
		text = sfu_defect_text(defect->kind);
	else if (cause == SFRAME_UNWIND_CAUSE_STALE)
		text = "its code or bytes are not mapped as they were";
	strscpy(removed.defect, text, sizeof(removed.defect));
	if (path)
		copy_end(removed.name, sizeof(removed.name),
			 sfu_section_file_name(section, path));
	kfree(path);

	pr_debug_ratelimited("%s[%d]: section %llu at 0x%llx of %s removed: %s (offset 0x%llx)\n",
			     current->comm, task_pid_nr(current), removed.id,
			     removed.sframe_start,
			     removed.name[0] ? removed.name : "anonymous memory",
			     removed.defect, removed.defect_offset);
	traced = sfu_space_traced(space, section);
	if (cause != SFRAME_UNWIND_CAUSE_STALE) {
		sfu_trace_corrupt(&traced, &removed);
		sfu_netlink_corrupt(&traced, &removed);
	}
	sfu_listeners_tell(space, &removed);
}

/* Count a section of @space that was found corrupt or unreadable. */
static void count_bad(struct sfu_space *space)
{
	atomic64_inc(&space->corrupt);
	sfu_count(SFU_TOTAL_CORRUPT);
}

/*
 * Remove @section, count and report that. Returns false, and does neither, if
 * it was removed already or could not be removed for lack of memory.
 */
static bool remove_and_tell(struct sfu_space *space,
			    struct sfu_section *section, u64 pc,
			    enum sframe_unwind_cause cause,
			    const struct sfu_defect *defect)
{
	if (!sfu_space_drop(space, section, (enum sfu_removed)cause))
		return false;
	if (cause == SFRAME_UNWIND_CAUSE_STALE) {
		atomic64_inc(&space->stale);
		sfu_count(SFU_TOTAL_STALE);
	} else {
		count_bad(space);
	}
	tell_of_removal(space, section, pc, cause, defect);
	return true;
}

void sfu_remove_bad(struct sfu_space *space, struct sfu_section *section,
		    u64 pc, const struct sfu_defect *defect)
{
	remove_and_tell(space, section, pc,
			defect->kind ? SFRAME_UNWIND_CAUSE_CORRUPT :
				       SFRAME_UNWIND_CAUSE_UNREADABLE, defect);
}

static const struct sfu_defect no_defect;

void sfu_remove_stale(struct sfu_space *space, struct sfu_section *section,
		      u64 pc)
{
	if (section->source == SFU_REGISTERED)
		remove_and_tell(space, section, pc, SFRAME_UNWIND_CAUSE_STALE,
				&no_defect);
	else
		sfu_space_drop(space, section, SFU_REMOVED_STALE);
}

/* As sfu_remove_if_stale(), with a budget of mappings to visit. */
static bool remove_if_stale(struct sfu_space *space, struct sfu_section *section,
			    u64 pc, u32 *budget)
{
	u64 start, end;

	return sfu_section_check(section, pc, budget, &start,
				 &end) == -ESTALE &&
	       remove_and_tell(space, section, pc, SFRAME_UNWIND_CAUSE_STALE,
			       &no_defect);
}

bool sfu_remove_if_stale(struct sfu_space *space, struct sfu_section *section,
			 u64 pc)
{
	u32 budget = SFU_SECTION_CHECK_BUDGET;

	return remove_if_stale(space, section, pc, &budget);
}

/* Remove @section, a function table, if its counter can never be read again. */
static bool remove_if_unreadable(struct sfu_space *space,
				 struct sfu_section *section, u32 *budget)
{
	const u64 pc = section->text.start;
	const u64 counter = section->address + SFU_FUNCTIONS_REMOVED;

	if (sfu_mapping_why_unreadable(counter, counter + sizeof(counter),
				       budget) != -EINVAL)
		return false;
	/* If it was unmapped, say so. */
	return remove_if_stale(space, section, pc, budget) ||
	       remove_and_tell(space, section, pc, SFRAME_UNWIND_CAUSE_UNREADABLE,
			       &no_defect);
}

bool sfu_remove_unreadable_table(struct sfu_space *space, u32 slot, u32 *budget)
{
	struct sfu_section *section = sfu_space_find_table(space, slot);
	bool removed;

	/* Another walk may have removed it: then the counters are others now. */
	if (!section)
		return *budget && (*budget)--;
	removed = remove_if_unreadable(space, section, budget);
	sfu_section_put(section);
	return removed;
}

/* Remove the function table @section if it can never be used again. */
static void remove_if_useless(struct sfu_space *space, struct sfu_section *section)
{
	u32 budget = SFU_SECTION_CHECK_BUDGET;

	if (!sfu_remove_if_stale(space, section, section->text.start))
		remove_if_unreadable(space, section, &budget);
}

void sfu_remove_useless_tables(struct sfu_space *space)
{
	struct sfu_section *section;
	u32 i;

	for (i = 0; i < SFU_MAX_TABLES && !fatal_signal_pending(current); i++) {
		section = sfu_space_find_table(space, i);
		if (!section)
			continue;
		remove_if_useless(space, section);
		sfu_section_put(section);
		cond_resched();
	}
}

void sfu_remove_tell_malformed(struct sfu_space *space,
			       struct sfu_section *section, u64 pc,
			       const struct sfu_defect *defect)
{
	count_bad(space);
	tell_of_removal(space, section, pc, SFRAME_UNWIND_CAUSE_CORRUPT,
			defect);
}
