// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Names of the enum values in records and lists.
 */
#include "handle.h"
#include "stops.h"

static const char *name_at(const char * const names[], size_t count,
			   unsigned int number)
{
	return number < count && names[number] ? names[number] : "unknown";
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *sframe_unwind_stop_name(unsigned int stop)
{
	return stop_text(stop) ?: "unknown";
}

const char *sframe_unwind_frame_name(unsigned int how)
{
	static const char * const names[] = {
		[SFRAME_UNWIND_FRAME_REGS] = "registers",
		[SFRAME_UNWIND_FRAME_SFRAME] = "sframe",
		[SFRAME_UNWIND_FRAME_FP] = "frame pointer",
		[SFRAME_UNWIND_FRAME_SIGNAL] = "signal frame",
	};
	static const char * const unsure_names[] = {
		[SFRAME_UNWIND_FRAME_SFRAME] = "sframe, behind a guess",
		[SFRAME_UNWIND_FRAME_FP] = "frame pointer, behind a guess",
		[SFRAME_UNWIND_FRAME_SIGNAL] = "signal frame, behind a guess",
	};

	if (how & SFRAME_UNWIND_FRAME_UNSURE)
		return name_at(unsure_names, COUNT(unsure_names),
			       how & ~SFRAME_UNWIND_FRAME_UNSURE);
	return name_at(names, COUNT(names), how);
}

const char *sframe_unwind_cause_name(unsigned int cause)
{
	static const char * const names[] = {
		[SFRAME_UNWIND_CAUSE_CORRUPT] = "malformed",
		[SFRAME_UNWIND_CAUSE_UNREADABLE] = "unreadable for good",
		[SFRAME_UNWIND_CAUSE_STALE] = "not mapped as it was",
	};

	return name_at(names, COUNT(names), cause);
}

const char *sframe_unwind_state_name(unsigned int state)
{
	static const char * const names[] = {
		[SFRAME_UNWIND_SECTION_ACTIVE] = "active",
		[SFRAME_UNWIND_SECTION_STALE] = "stale",
	};

	return name_at(names, COUNT(names), state);
}

const char *sframe_unwind_source_name(unsigned int source)
{
	static const char * const names[] = {
		[SFRAME_UNWIND_SECTION_REGISTERED] = "registered",
		[SFRAME_UNWIND_SECTION_FOUND] = "found in the file",
		[SFRAME_UNWIND_SECTION_ATTACHED] = "attached",
		[SFRAME_UNWIND_SECTION_TABLE] = "function table",
	};

	return name_at(names, COUNT(names), source);
}
