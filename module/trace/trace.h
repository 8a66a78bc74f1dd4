/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace: recording the trace events sframe_unwind:*, see sframe_unwind_events(4). An
 * event that is not enabled costs a jump label.
 *
 * All functions may be called in any context, with any lock held, also in NMIs, unless
 * it is said otherwise. What is attached to a trace event can cause another one: a
 * sampler at sframe_unwind:stack takes stacks, a BPF program requests them. Such an
 * event is not traced, but counted: see SFU_LOST_UNTRACED. What comes after the event is
 * not known to be caused by it, so a sampler requests no stack there that would follow:
 * see sfu_trace_is_busy().
 *
 * PIDs are those of the initial PID namespace, as everywhere in tracefs.
 */
#ifndef SFU_TRACE_H
#define SFU_TRACE_H

#include <linux/sched.h>
#include <linux/sframe_unwind.h>
#include <linux/tracepoint-defs.h>
#include <linux/types.h>

/*
 * Addresses of one event. With these, an event fits into a page of the trace buffer, and
 * its text into a page of tracefs: 17 characters each. A longer stack is several events.
 */
#define SFU_TRACE_MAX_IPS	224

/* What was lost. Numbers do not change. */
enum sfu_lost {
	SFU_LOST_FULL			= 1,	/* a stack: no room in the ring */
	SFU_LOST_CLOSED			= 2,	/* a stack: the client or work is gone */
	SFU_LOST_NMI			= 3,	/* a stack promised in an NMI */
	SFU_LOST_SAMPLE_FULL		= 4,	/* a sample: no room in the ring */
	SFU_LOST_SAMPLE_NO_RING		= 5,	/* a sample: the CPU has no ring */
	SFU_LOST_SAMPLE_RECURSION	= 6,	/* a sample: caused by taking a sample */
	SFU_LOST_REMOVAL		= 7,	/* a record of a removed section */
	SFU_LOST_UNTRACED		= 8,	/* trace events caused by a trace event */
	SFU_LOST_EXITED			= 9,	/* a stack for a work: the thread was exiting */
	SFU_NR_LOST
};

/* Where added sections come from: as enum sfu_source, and more. */
enum sfu_added {
	SFU_ADDED_REGISTERED		= 1,
	SFU_ADDED_FOUND			= 2,
	SFU_ADDED_ATTACHED		= 3,
	SFU_ADDED_TABLE			= 4,	/* a registered function table */
	SFU_ADDED_FORK			= 5,	/* all sections of the parent */
};

/* Why sections were removed: as enum sframe_unwind_cause, and more. */
enum sfu_removed {
	SFU_REMOVED_CORRUPT		= SFRAME_UNWIND_CAUSE_CORRUPT,
	SFU_REMOVED_UNREADABLE		= SFRAME_UNWIND_CAUSE_UNREADABLE,
	SFU_REMOVED_STALE		= SFRAME_UNWIND_CAUSE_STALE,
	SFU_REMOVED_UNREGISTERED	= 4,
	SFU_REMOVED_REPLACED		= 5,	/* by a registered one */
	SFU_REMOVED_FORGOTTEN		= 6,	/* not registered; walks find it again */
	SFU_REMOVED_GONE		= 7,	/* exec, exit, or the marker was unmapped */
};

/**
 * struct sfu_trace_section - a section, for its events
 *
 * @space: id of the space.
 * @id: of the section; 0 for several sections, and then the rest is 0, too.
 * @text_start, @text_size, @sframe_start, @sframe_size: see struct sframe_unwind_section.
 */
struct sfu_trace_section {
	u64 space;
	u64 id;
	u64 text_start;
	u64 text_size;
	u64 sframe_start;
	u64 sframe_size;
};

DECLARE_TRACEPOINT(request);
DECLARE_TRACEPOINT(stack);
DECLARE_TRACEPOINT(lost);
DECLARE_TRACEPOINT(section_add);
DECLARE_TRACEPOINT(section_remove);
DECLARE_TRACEPOINT(section_corrupt);

/**
 * struct sfu_trace_user - who needs to know whether the event stack is traced
 *
 * @begin: somebody begins to trace it. Returns 0 or an errno, with which that fails.
 * @end: nobody traces it any more. Only after @begin has returned 0.
 *
 * Process context, may sleep; one at a time. The kernel's lock of tracepoints is held.
 */
struct sfu_trace_user {
	int (*begin)(void);
	void (*end)(void);
};

/*
 * Set who needs to know that, or NULL, for nobody any more. Calls @begin or @end if it is
 * traced now. May sleep. Returns 0, or the errno of @begin, and then there is no user.
 */
int sfu_trace_set_user(const struct sfu_trace_user *user);

/* For the event: it begins and ends to be traced. */
int sfu_trace_begin_stacks(void);
void sfu_trace_end_stacks(void);

void sfu_trace_request_now(const struct task_struct *task, u64 cookie, u32 max_depth,
			   bool fallback, bool interrupt);
void sfu_trace_stack_now(u64 cookie, const u64 *ips, u32 nr,
			 enum sframe_unwind_stop stop, bool at_once);
void sfu_trace_lost_now(enum sfu_lost reason, u64 cookie);
void sfu_trace_add_now(const struct sfu_trace_section *section, enum sfu_added source,
		       u32 nr);
void sfu_trace_remove_now(const struct sfu_trace_section *section,
			  enum sfu_removed reason, u32 nr);
void sfu_trace_corrupt_now(const struct sfu_trace_section *section,
			   const struct sframe_unwind_removed *removed);

/* As sfu_trace_is_busy(), also if no event is enabled. */
bool sfu_trace_is_busy_now(void);

/*
 * Returns whether an event is being traced on this CPU, in the current context (task,
 * softirq, hard interrupt, NMI). Then the caller was called by what is attached to the
 * event. Preemption must be disabled. May return false if the last event has just been
 * disabled: what the caller causes is not traced any more.
 */
static inline bool sfu_trace_is_busy(void)
{
	return (tracepoint_enabled(request) || tracepoint_enabled(stack) ||
		tracepoint_enabled(lost) || tracepoint_enabled(section_add) ||
		tracepoint_enabled(section_remove) ||
		tracepoint_enabled(section_corrupt)) &&
	       sfu_trace_is_busy_now();
}

/*
 * A request for a stack of @task was accepted. @task must be the current thread, or the
 * caller be in an RCU read-side critical section.
 */
static inline void sfu_trace_request(const struct task_struct *task, u64 cookie,
				     u32 max_depth, bool fallback, bool interrupt)
{
	if (tracepoint_enabled(request))
		sfu_trace_request_now(task, cookie, max_depth, fallback,
				      interrupt);
}

/*
 * A stack of the current thread, of @nr addresses @ips, was delivered. @ips may be NULL
 * if @nr is 0. @at_once: with the sample, and not for a request. @cookie: of the request;
 * or with @at_once, that of the sample, or 0.
 */
static inline void sfu_trace_stack(u64 cookie, const u64 *ips, u32 nr,
				   enum sframe_unwind_stop stop, bool at_once)
{
	if (tracepoint_enabled(stack))
		sfu_trace_stack_now(cookie, ips, nr, stop, at_once);
}

/* One thing was lost. @cookie: of the stack, or 0. */
static inline void sfu_trace_lost(enum sfu_lost reason, u64 cookie)
{
	if (tracepoint_enabled(lost))
		sfu_trace_lost_now(reason, cookie);
}

static inline bool sfu_trace_adds(void)
{
	return tracepoint_enabled(section_add);
}

static inline bool sfu_trace_removes(void)
{
	return tracepoint_enabled(section_remove);
}

/* @nr sections were added to space number @space, whose id they do not have yet. */
static inline void sfu_trace_add_many(u64 space, enum sfu_added source, u32 nr)
{
	const struct sfu_trace_section sections = { .space = space };

	if (sfu_trace_adds() && nr)
		sfu_trace_add_now(&sections, source, nr);
}

/* All @nr sections of space number @space were removed. */
static inline void sfu_trace_remove_many(u64 space, enum sfu_removed reason, u32 nr)
{
	const struct sfu_trace_section sections = { .space = space };

	if (sfu_trace_removes() && nr)
		sfu_trace_remove_now(&sections, reason, nr);
}

/*
 * @section was found corrupt, or can never be read again; @removed says why. Process
 * context.
 */
static inline void sfu_trace_corrupt(const struct sfu_trace_section *section,
				     const struct sframe_unwind_removed *removed)
{
	if (tracepoint_enabled(section_corrupt))
		sfu_trace_corrupt_now(section, removed);
}

#endif /* SFU_TRACE_H */
