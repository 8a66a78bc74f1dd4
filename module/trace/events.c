// SPDX-License-Identifier: GPL-2.0
/*
 * Events: recording the trace events sframe_unwind:*.
 */
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/string_helpers.h>

#include "counters.h"

#define CREATE_TRACE_POINTS
#include "trace/events.h"

#define NR_CONTEXTS	4	/* values of interrupt_context_level() */

/**
 * struct tracing - the event that is being traced in one context of a CPU
 *
 * @busy: there is one.
 * @untraced: events that it has caused, and that have not been told of yet.
 */
struct tracing {
	bool busy;
	u32 untraced;
};

struct tracings {
	struct tracing of[NR_CONTEXTS];
};

static DEFINE_PER_CPU(struct tracings, tracings);

static DEFINE_MUTEX(stacks_mutex);
static bool stacks_are_traced;			/* under stacks_mutex */
static const struct sfu_trace_user *stacks_user;	/* likewise; it has begun, if they are */

/*
 * The kernel may begin to trace an event before this module is initialized, and end that
 * after its exit function has been called: then there is no user.
 */
int sfu_trace_begin_stacks(void)
{
	int err = 0;

	mutex_lock(&stacks_mutex);
	/* Older kernels do not say that it has ended if they are out of memory after this. */
	if (stacks_user && !stacks_are_traced)
		err = stacks_user->begin();
	stacks_are_traced = !err;
	mutex_unlock(&stacks_mutex);
	return err;
}

void sfu_trace_end_stacks(void)
{
	mutex_lock(&stacks_mutex);
	if (stacks_user)
		stacks_user->end();
	stacks_are_traced = false;
	mutex_unlock(&stacks_mutex);
}

int sfu_trace_set_user(const struct sfu_trace_user *user)
{
	int err = 0;

	mutex_lock(&stacks_mutex);
	if (stacks_are_traced && stacks_user)
		stacks_user->end();
	if (stacks_are_traced && user)
		err = user->begin();
	stacks_user = err ? NULL : user;
	mutex_unlock(&stacks_mutex);
	return err;
}

/*
 * Begin an event. Disables preemption, so that no other thread uses the same structure.
 * Returns NULL if the event is caused by another one: then it is counted, and not traced.
 */
static struct tracing *begin_event(void)
{
	struct tracing *tracing;

	preempt_disable_notrace();
	tracing = &this_cpu_ptr(&tracings)->of[interrupt_context_level()];
	if (READ_ONCE(tracing->busy)) {
		tracing->untraced++;
		sfu_count(SFU_TOTAL_UNTRACED);
		preempt_enable_notrace();
		return NULL;
	}
	WRITE_ONCE(tracing->busy, true);
	barrier();
	return tracing;
}

/*
 * End an event, and tell of those that it has caused. What the telling causes is only
 * counted: else it would not end.
 */
static void end_event(struct tracing *tracing)
{
	const u32 untraced = READ_ONCE(tracing->untraced);

	if (untraced)
		trace_lost(SFU_LOST_UNTRACED, untraced, 0,
			   task_tgid_nr(current), task_pid_nr(current));
	WRITE_ONCE(tracing->untraced, 0);
	barrier();
	WRITE_ONCE(tracing->busy, false);
	preempt_enable_notrace();
}

bool sfu_trace_is_busy_now(void)
{
	return READ_ONCE(this_cpu_ptr(&tracings)->of[interrupt_context_level()].busy);
}

void sfu_trace_request_now(const struct task_struct *task, u64 cookie, u32 max_depth,
			   bool fallback, bool interrupt)
{
	struct tracing *tracing = begin_event();

	if (!tracing)
		return;
	trace_request(cookie, task->tgid, task->pid, max_depth, fallback,
		      interrupt);
	end_event(tracing);
}

void sfu_trace_stack_now(u64 cookie, const u64 *ips, u32 nr,
			 enum sframe_unwind_stop stop, bool at_once)
{
	struct tracing *tracing = begin_event();
	u32 first = 0, nr_ips;

	if (!tracing)
		return;
	/* Also a stack without frames is an event. */
	do {
		nr_ips = min_t(u32, nr - first, SFU_TRACE_MAX_IPS);
		trace_stack(cookie, task_tgid_nr(current), task_pid_nr(current),
			    stop, at_once, nr, first, ips + first, nr_ips);
		first += nr_ips;
	} while (first < nr);
	end_event(tracing);
}

void sfu_trace_lost_now(enum sfu_lost reason, u64 cookie)
{
	struct tracing *tracing = begin_event();

	if (!tracing)
		return;
	trace_lost(reason, 1, cookie, task_tgid_nr(current),
		   task_pid_nr(current));
	end_event(tracing);
}

void sfu_trace_add_now(const struct sfu_trace_section *section, enum sfu_added source,
		       u32 nr)
{
	struct tracing *tracing = begin_event();

	if (!tracing)
		return;
	trace_section_add(section, source, nr, task_tgid_nr(current));
	end_event(tracing);
}

void sfu_trace_remove_now(const struct sfu_trace_section *section,
			  enum sfu_removed reason, u32 nr)
{
	struct tracing *tracing = begin_event();

	if (!tracing)
		return;
	trace_section_remove(section, reason, nr, task_tgid_nr(current));
	end_event(tracing);
}

void sfu_trace_corrupt_now(const struct sfu_trace_section *section,
			   const struct sframe_unwind_removed *removed)
{
	/* Each byte can become "\xNN". */
	char file[4 * sizeof(removed->name)];
	struct tracing *tracing;
	int length;

	/*
	 * A user chooses the name, and an administrator reads it on a terminal. Without
	 * blanks it cannot pretend to be another field.
	 */
	length = string_escape_mem(removed->name, strlen(removed->name), file,
				   sizeof(file) - 1,
				   ESCAPE_HEX | ESCAPE_NAP | ESCAPE_APPEND, "\\\" ");
	file[length] = 0;
	tracing = begin_event();
	if (!tracing)
		return;
	trace_section_corrupt(section, removed->ip, removed->defect_offset,
			      removed->cause, removed->defect, file,
			      task_tgid_nr(current));
	end_event(tracing);
}
