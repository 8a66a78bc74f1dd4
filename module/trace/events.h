/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events: the definitions of the trace events sframe_unwind:*. Included by events.c
 * only; everything else calls the functions of trace.h. sframe_unwind_events(4)
 * documents the fields, whose names, types and meaning do not change.
 *
 * Readers parse what TP_printk() has from the format files. So there are no quotation
 * marks in its text: the kernel copies them as they are, and then nobody finds the text's
 * end. And no expressions: older readers do not know all operators everywhere.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sframe_unwind

#if !defined(SFU_TRACE_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define SFU_TRACE_EVENTS_H

#include <linux/sframe_unwind.h>
#include <linux/tracepoint.h>

#include "compat.h"
#include "trace.h"

/* For readers of the format files: the numbers of the constants that these name. */
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_COMPLETE);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_DEPTH);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_NO_RULE);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_SECTION_REMOVED);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_SECTION_UNREADABLE);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_STACK_UNREADABLE);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_NO_PROGRESS);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_NO_REGISTER);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_BAD_ADDRESS);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_UNSUPPORTED_TASK);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_EXITED);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_KILLED);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_NO_MEMORY);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_BUDGET);
TRACE_DEFINE_ENUM(SFRAME_UNWIND_STOP_PENDING);

TRACE_DEFINE_ENUM(SFU_LOST_FULL);
TRACE_DEFINE_ENUM(SFU_LOST_CLOSED);
TRACE_DEFINE_ENUM(SFU_LOST_NMI);
TRACE_DEFINE_ENUM(SFU_LOST_SAMPLE_FULL);
TRACE_DEFINE_ENUM(SFU_LOST_SAMPLE_NO_RING);
TRACE_DEFINE_ENUM(SFU_LOST_SAMPLE_RECURSION);
TRACE_DEFINE_ENUM(SFU_LOST_REMOVAL);
TRACE_DEFINE_ENUM(SFU_LOST_UNTRACED);
TRACE_DEFINE_ENUM(SFU_LOST_EXITED);

TRACE_DEFINE_ENUM(SFU_ADDED_REGISTERED);
TRACE_DEFINE_ENUM(SFU_ADDED_FOUND);
TRACE_DEFINE_ENUM(SFU_ADDED_ATTACHED);
TRACE_DEFINE_ENUM(SFU_ADDED_TABLE);
TRACE_DEFINE_ENUM(SFU_ADDED_FORK);

TRACE_DEFINE_ENUM(SFU_REMOVED_CORRUPT);
TRACE_DEFINE_ENUM(SFU_REMOVED_UNREADABLE);
TRACE_DEFINE_ENUM(SFU_REMOVED_STALE);
TRACE_DEFINE_ENUM(SFU_REMOVED_UNREGISTERED);
TRACE_DEFINE_ENUM(SFU_REMOVED_REPLACED);
TRACE_DEFINE_ENUM(SFU_REMOVED_FORGOTTEN);
TRACE_DEFINE_ENUM(SFU_REMOVED_GONE);

/* The names of userspace/lib/stops.h, in small letters. */
#define show_stop(stop)							\
	__print_symbolic(stop,						\
			 { SFRAME_UNWIND_STOP_COMPLETE, "complete" },	\
			 { SFRAME_UNWIND_STOP_DEPTH, "depth" },		\
			 { SFRAME_UNWIND_STOP_NO_RULE, "no_rule" },	\
			 { SFRAME_UNWIND_STOP_SECTION_REMOVED, "section_removed" }, \
			 { SFRAME_UNWIND_STOP_SECTION_UNREADABLE, "section_unreadable" }, \
			 { SFRAME_UNWIND_STOP_STACK_UNREADABLE, "stack_unreadable" }, \
			 { SFRAME_UNWIND_STOP_NO_PROGRESS, "no_progress" }, \
			 { SFRAME_UNWIND_STOP_NO_REGISTER, "no_register" }, \
			 { SFRAME_UNWIND_STOP_BAD_ADDRESS, "bad_address" }, \
			 { SFRAME_UNWIND_STOP_UNSUPPORTED_TASK, "unsupported_task" }, \
			 { SFRAME_UNWIND_STOP_EXITED, "exited" },	\
			 { SFRAME_UNWIND_STOP_KILLED, "killed" },	\
			 { SFRAME_UNWIND_STOP_NO_MEMORY, "no_memory" },	\
			 { SFRAME_UNWIND_STOP_BUDGET, "budget" },	\
			 { SFRAME_UNWIND_STOP_PENDING, "pending" })

#define show_lost(reason)						\
	__print_symbolic(reason,					\
			 { SFU_LOST_FULL, "full" },			\
			 { SFU_LOST_CLOSED, "closed" },			\
			 { SFU_LOST_NMI, "nmi" },			\
			 { SFU_LOST_SAMPLE_FULL, "sample_full" },	\
			 { SFU_LOST_SAMPLE_NO_RING, "sample_no_ring" },	\
			 { SFU_LOST_SAMPLE_RECURSION, "sample_recursion" }, \
			 { SFU_LOST_REMOVAL, "removal" },		\
			 { SFU_LOST_UNTRACED, "untraced" },		\
			 { SFU_LOST_EXITED, "exited" })

#define show_source(source)						\
	__print_symbolic(source,					\
			 { SFU_ADDED_REGISTERED, "registered" },	\
			 { SFU_ADDED_FOUND, "found" },			\
			 { SFU_ADDED_ATTACHED, "attached" },		\
			 { SFU_ADDED_TABLE, "table" },			\
			 { SFU_ADDED_FORK, "fork" })

#define show_removed(reason)						\
	__print_symbolic(reason,					\
			 { SFU_REMOVED_CORRUPT, "corrupt" },		\
			 { SFU_REMOVED_UNREADABLE, "unreadable" },	\
			 { SFU_REMOVED_STALE, "stale" },		\
			 { SFU_REMOVED_UNREGISTERED, "unregistered" },	\
			 { SFU_REMOVED_REPLACED, "replaced" },		\
			 { SFU_REMOVED_FORGOTTEN, "forgotten" },	\
			 { SFU_REMOVED_GONE, "gone" })

TRACE_EVENT(request,

	TP_PROTO(u64 cookie, pid_t pid, pid_t tid, u32 max_depth, bool fallback,
		 bool interrupt),

	TP_ARGS(cookie, pid, tid, max_depth, fallback, interrupt),

	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(pid_t, pid)
		__field(pid_t, tid)
		__field(u32, max_depth)
		__field(u8, fallback)
		__field(u8, interrupt)
	),

	TP_fast_assign(
		__entry->cookie = cookie;
		__entry->pid = pid;
		__entry->tid = tid;
		__entry->max_depth = max_depth;
		__entry->fallback = fallback;
		__entry->interrupt = interrupt;
	),

	TP_printk("cookie=%llu pid=%d tid=%d max_depth=%u fallback=%u interrupt=%u",
		  __entry->cookie, __entry->pid, __entry->tid,
		  __entry->max_depth, __entry->fallback, __entry->interrupt)
);

TRACE_EVENT_FN(stack,

	TP_PROTO(u64 cookie, pid_t pid, pid_t tid, u32 stop, bool at_once, u32 nr,
		 u32 first, const u64 *ips, u32 nr_ips),

	TP_ARGS(cookie, pid, tid, stop, at_once, nr, first, ips, nr_ips),

	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(pid_t, pid)
		__field(pid_t, tid)
		__field(u32, nr)
		__field(u32, first)
		__field(u32, nr_ips)
		__field(u8, stop)
		__field(u8, at_once)
		__dynamic_array(u64, ips, nr_ips)
	),

	TP_fast_assign(
		__entry->cookie = cookie;
		__entry->pid = pid;
		__entry->tid = tid;
		__entry->nr = nr;
		__entry->first = first;
		__entry->nr_ips = nr_ips;
		__entry->stop = stop;
		__entry->at_once = at_once;
		memcpy(__get_dynamic_array(ips), ips, nr_ips * sizeof(u64));
	),

	TP_printk("cookie=%llu pid=%d tid=%d stop=%s at_once=%u nr=%u first=%u ips=%s",
		  __entry->cookie, __entry->pid, __entry->tid,
		  show_stop(__entry->stop), __entry->at_once, __entry->nr,
		  __entry->first,
		  __print_array(__get_dynamic_array(ips), __entry->nr_ips, 8)),

	sfu_trace_begin_stacks, sfu_trace_end_stacks
);

TRACE_EVENT(lost,

	TP_PROTO(u32 reason, u32 count, u64 cookie, pid_t pid, pid_t tid),

	TP_ARGS(reason, count, cookie, pid, tid),

	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u32, count)
		__field(pid_t, pid)
		__field(pid_t, tid)
		__field(u8, reason)
	),

	TP_fast_assign(
		__entry->cookie = cookie;
		__entry->count = count;
		__entry->pid = pid;
		__entry->tid = tid;
		__entry->reason = reason;
	),

	TP_printk("reason=%s count=%u cookie=%llu pid=%d tid=%d",
		  show_lost(__entry->reason), __entry->count, __entry->cookie,
		  __entry->pid, __entry->tid)
);

TRACE_EVENT(section_add,

	TP_PROTO(const struct sfu_trace_section *section, u32 source, u32 nr,
		 pid_t pid),

	TP_ARGS(section, source, nr, pid),

	TP_STRUCT__entry(
		__field(u64, space)
		__field(u64, id)
		__field(u64, text_start)
		__field(u64, text_size)
		__field(u64, sframe_start)
		__field(u64, sframe_size)
		__field(u32, nr)
		__field(pid_t, pid)
		__field(u8, source)
	),

	TP_fast_assign(
		__entry->space = section->space;
		__entry->id = section->id;
		__entry->text_start = section->text_start;
		__entry->text_size = section->text_size;
		__entry->sframe_start = section->sframe_start;
		__entry->sframe_size = section->sframe_size;
		__entry->nr = nr;
		__entry->pid = pid;
		__entry->source = source;
	),

	TP_printk("space=%llu id=%llu source=%s nr=%u pid=%d text_start=0x%llx text_size=0x%llx sframe_start=0x%llx sframe_size=0x%llx",
		  __entry->space, __entry->id, show_source(__entry->source),
		  __entry->nr, __entry->pid, __entry->text_start,
		  __entry->text_size, __entry->sframe_start,
		  __entry->sframe_size)
);

TRACE_EVENT(section_remove,

	TP_PROTO(const struct sfu_trace_section *section, u32 reason, u32 nr,
		 pid_t pid),

	TP_ARGS(section, reason, nr, pid),

	TP_STRUCT__entry(
		__field(u64, space)
		__field(u64, id)
		__field(u64, text_start)
		__field(u64, text_size)
		__field(u32, nr)
		__field(pid_t, pid)
		__field(u8, reason)
	),

	TP_fast_assign(
		__entry->space = section->space;
		__entry->id = section->id;
		__entry->text_start = section->text_start;
		__entry->text_size = section->text_size;
		__entry->nr = nr;
		__entry->pid = pid;
		__entry->reason = reason;
	),

	TP_printk("space=%llu id=%llu reason=%s nr=%u pid=%d text_start=0x%llx text_size=0x%llx",
		  __entry->space, __entry->id, show_removed(__entry->reason),
		  __entry->nr, __entry->pid, __entry->text_start,
		  __entry->text_size)
);

TRACE_EVENT(section_corrupt,

	TP_PROTO(const struct sfu_trace_section *section, u64 ip, u64 offset,
		 u32 cause, const char *defect, const char *file, pid_t pid),

	TP_ARGS(section, ip, offset, cause, defect, file, pid),

	TP_STRUCT__entry(
		__field(u64, space)
		__field(u64, id)
		__field(u64, text_start)
		__field(u64, text_size)
		__field(u64, sframe_start)
		__field(u64, ip)
		__field(u64, offset)
		__field(pid_t, pid)
		__field(u8, cause)
		__string(defect, defect)
		__string(file, file)
	),

	TP_fast_assign(
		__entry->space = section->space;
		__entry->id = section->id;
		__entry->text_start = section->text_start;
		__entry->text_size = section->text_size;
		__entry->sframe_start = section->sframe_start;
		__entry->ip = ip;
		__entry->offset = offset;
		__entry->pid = pid;
		__entry->cause = cause;
		sfu_assign_str(defect, defect);
		sfu_assign_str(file, file);
	),

	TP_printk("space=%llu id=%llu cause=%s pid=%d text_start=0x%llx text_size=0x%llx sframe_start=0x%llx ip=0x%llx offset=0x%llx defect=%s file=%s",
		  __entry->space, __entry->id, show_removed(__entry->cause),
		  __entry->pid, __entry->text_start, __entry->text_size,
		  __entry->sframe_start, __entry->ip, __entry->offset,
		  __get_str(defect), __get_str(file))
);

#endif /* SFU_TRACE_EVENTS_H */

/* Found by the -I options: relative to module/. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH trace
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE events
#include <trace/define_trace.h>
