// SPDX-License-Identifier: GPL-2.0
/*
 * Sample: what is recorded when a perf event occurs.
 *
 * perf calls sfu_sample_take() in interrupts and NMIs, and at tracepoints and
 * probes almost anywhere, with any lock of the kernel held. So nothing here
 * waits for a lock but those of lock.h, and these only where
 * sfu_request_submit_current() may be called, which is not in NMIs: see walk/request_nmi.c.
 *
 * What is done here can cause another event: a tracepoint in task_work_add(), a
 * probe of a function called here. In each context (task, softirq, hard
 * interrupt, NMI) of a CPU, one sample is taken at a time. Another event in the
 * same context is counted as lost; one that interrupts is not.
 */
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/sched/task_stack.h>

#include "arch/arch.h"
#include "arch/kernel_stack.h"
#include "compat.h"
#include "limits.h"
#include "netlink/netlink.h"
#include "sample.h"
#include "walk/request_nmi.h"
#include "sampler.h"
#include "stack_map.h"
#include "task.h"
#include "trace/trace.h"
#include "words.h"
#include "walk/at_once.h"
#include "walk/request.h"

#define NR_CONTEXTS	4	/* values of interrupt_context_level() */

/* perf's value of hw.interrupts of an event that it has throttled. */
#define THROTTLED	(~0ULL)

/**
 * struct scratch - memory for taking one sample
 *
 * @busy: in use.
 * @kernel: the kernel stack.
 * @user: the user stack, and room for one more frame.
 */
struct scratch {
	bool busy;
	u64 kernel[SFU_MAX_KERNEL_DEPTH];
	u64 user[SFU_AT_ONCE_DEPTH + 1];
};

struct scratches {
	struct scratch of[NR_CONTEXTS];
};

static struct scratches __percpu *scratches;
static DEFINE_MUTEX(scratches_mutex);	/* allocation */

/**
 * struct sample - a sample that is being taken
 *
 * @event: the event that occurred.
 * @head: the record, without its optional members.
 * @period, @address: see SFRAME_UNWIND_SAMPLE_*.
 * @user_regs: user registers of the current thread; NULL if it has none, or may
 *	not be observed.
 * @in_user: they are those that the event has interrupted.
 * @is_partial: see may_be_partial().
 * @raw: raw data, or NULL.
 * @cookie: of the user stack, or 0.
 * @kernel: the kernel stack.
 * @user: the user stack, if it was taken at once; else NULL. Its frames need no
 *	SFRAME_UNWIND_SAMPLE_HOW.
 * @mapped: the stacks that are in the stack map, and then not in the record.
 */
struct sample {
	const struct sfu_sample_event *event;
	struct sframe_unwind_sample head;
	u64 period;
	u64 address;
	const struct pt_regs *user_regs;
	bool in_user;
	bool is_partial;
	const void *raw;
	u64 cookie;
	const u64 *kernel;
	const u64 *user;
	struct sfu_stack_ids mapped;
};

/*
 * Returns the user registers of the current thread, or NULL. They are where the kernel
 * has saved them at its entry, also if the event was in user mode. What perf passes
 * may be a copy, see has_interrupted_user().
 */
static const struct pt_regs *find_user_regs(const struct perf_event *perf)
{
	const struct perf_event_context *context = perf->ctx;

	/*
	 * In exec the mm may be that of the new program already. If the event must
	 * not observe that, it ends a little later.
	 */
	if (!sfu_task_is_user() || sfu_task_in_execve())
		return NULL;
	/*
	 * Some tracepoints report an event of another thread: the privilege to
	 * observe that one does not include the current one.
	 */
	if (context && context->task && context->task != current)
		return NULL;
	return task_pt_regs(current);
}

/*
 * Returns whether @user_regs are what the event has interrupted. @regs: the registers
 * that perf has passed.
 *
 * At a precise event, @regs are a copy of the registers that the NMI has interrupted,
 * but with the instruction pointer of the event. The event was a little earlier, maybe
 * in user mode when the NMI was not: then the other registers are the kernel's. An NMI
 * that interrupts user mode uses the stack of the thread; one that interrupts the kernel
 * has a stack of its own.
 */
static bool has_interrupted_user(const struct pt_regs *user_regs,
				 struct pt_regs *regs)
{
	const char here = 0;

	return regs == user_regs ||
	       (user_mode(regs) && in_nmi() && object_is_on_stack(&here));
}

/*
 * Returns whether an NMI may have interrupted the kernel while it was saving or restoring
 * the user registers. It does that with interrupts disabled, and with nothing on the
 * stack below the registers. The NMI itself counts as one hard interrupt.
 */
static bool may_be_partial(const struct sample *sample, struct pt_regs *regs)
{
	const unsigned long stack = (unsigned long)task_stack_page(current);

	return in_nmi() && !sample->in_user &&
	       hardirq_count() == HARDIRQ_OFFSET &&
	       kernel_stack_pointer(regs) - stack >
		       (unsigned long)sample->user_regs - stack;
}

/* Take the kernel stack, and find out how the thread has entered the kernel. */
static void take_kernel(struct sample *sample, const struct perf_event *perf,
			struct pt_regs *regs, struct scratch *scratch)
{
	const struct sfu_sample_event *event = sample->event;
	struct sframe_unwind_sample *head = &sample->head;
	u64 outermost = 0;
	bool cut = false;

	if (event->kernel)
		head->nr_kernel =
			sfu_arch_kernel_stack(regs, perf->attr.precise_ip,
					      scratch->kernel,
					      event->sampler->spec.max_kernel_depth,
					      &cut);
	head->kernel_cut = cut;
	sample->kernel = scratch->kernel;
	if (!sample->user_regs)
		return;
	if (user_mode(regs)) {
		head->entry = SFRAME_UNWIND_ENTRY_USER;
		return;
	}
	if (head->nr_kernel && !cut)
		outermost = scratch->kernel[head->nr_kernel - 1];
	head->entry = sfu_arch_entry(sample->user_regs, outermost,
				     &head->entry_nr);
}

/* Take the user stack, if that is possible at once; else it is to follow. */
static void take_user(struct sample *sample, struct scratch *scratch)
{
	struct sfu_sampler *sampler = sample->event->sampler;
	const struct sfu_sampler_spec *spec = &sampler->spec;
	struct sframe_unwind_sample *head = &sample->head;
	struct sfu_at_once user = {
		.ip = scratch->user,
		.room = SFU_AT_ONCE_DEPTH,
	};

	/* A stack that is cut follows with its copy, as long as it gets one. */
	if (spec->max_files || sample->is_partial ||
	    !sfu_walk_at_once(&user, sample->user_regs, sample->in_user,
			      spec->max_depth, spec->fallback) ||
	    (user.is_cut && sfu_sampler_copies(sampler, user.ip[user.nr - 1], 0))) {
		head->fields |= SFRAME_UNWIND_SAMPLE_COOKIE;
		return;
	}
	if (sample->event->also_later)
		head->fields |= SFRAME_UNWIND_SAMPLE_COOKIE;
	sample->user = user.ip;
	head->user = SFRAME_UNWIND_USER_AT_ONCE;
	head->nr_user = user.nr;
	head->stop = user.stop;
}

static void take_raw(struct sample *sample, const struct perf_sample_data *data)
{
	const struct perf_raw_frag *frag;

	if (!(data->sample_flags & PERF_SAMPLE_RAW) || !data->raw)
		return;
	frag = &data->raw->frag;
	/* Events that need a function to copy the data are not tracepoints. */
	if (frag->copy || !frag->data)
		return;
	sample->raw = frag->data;
	sample->head.raw_size = frag->size;
	sample->head.fields |= SFRAME_UNWIND_SAMPLE_RAW;
}

/* Take the optional members that were asked for, as far as the event has them. */
static void take_fields(struct sample *sample,
			const struct perf_sample_data *data)
{
	const u32 wanted = sample->event->fields;
	struct sframe_unwind_sample *head = &sample->head;

	if (wanted & SFRAME_UNWIND_SAMPLE_PERIOD) {
		sample->period = data->period;
		head->fields |= SFRAME_UNWIND_SAMPLE_PERIOD;
	}
	if (wanted & SFRAME_UNWIND_SAMPLE_ADDRESS &&
	    data->sample_flags & PERF_SAMPLE_ADDR) {
		sample->address = data->addr;
		head->fields |= SFRAME_UNWIND_SAMPLE_ADDRESS;
	}
	if (wanted & SFRAME_UNWIND_SAMPLE_REGISTERS && sample->user_regs &&
	    !sample->is_partial)
		head->fields |= SFRAME_UNWIND_SAMPLE_REGISTERS;
	if (wanted & SFRAME_UNWIND_SAMPLE_RAW)
		take_raw(sample, data);
}

/*
 * Request the user stack, if it is to follow. The sample's room in the ring is
 * reserved already, so that there is no stack without a sample. Returns whether it
 * is going to follow.
 *
 * Not at a trace event of the module: the delivery of the stack is such an event, too, and
 * a sample there would request the next stack. It would join the request that is being
 * served, again and again, until that one takes no more.
 */
static bool request_user(struct sample *sample)
{
	struct sfu_sampler *sampler = sample->event->sampler;
	const struct sfu_request_spec spec = {
		.max_depth = sampler->spec.max_depth,
		.fallback = sampler->spec.fallback,
		.share = true,
	};
	int ret;

	if (sfu_trace_is_busy())
		ret = -EAGAIN;
	else if (in_nmi())
		ret = sfu_request_nmi_submit(sampler->nmi, &sample->cookie);
	else
		ret = sfu_request_submit_current(&sampler->consumer, sampler->pool,
						 &spec, &sample->cookie);
	if (ret < 0)
		sample->cookie = 0;
	return sample->cookie;
}

/* Request the user stack, if it is to follow, and count where it is. */
static void finish_user(struct sample *sample)
{
	struct sfu_sampler *sampler = sample->event->sampler;
	bool follows = false;

	if (sample->head.fields & SFRAME_UNWIND_SAMPLE_COOKIE)
		follows = request_user(sample);
	if (sample->user) {
		sfu_sampler_count(sampler, SFU_SAMPLE_AT_ONCE);
	} else if (follows) {
		sample->head.user = SFRAME_UNWIND_USER_LATER;
		sfu_sampler_count(sampler, SFU_SAMPLE_LATER);
	} else if (sample->head.fields & SFRAME_UNWIND_SAMPLE_COOKIE) {
		sample->head.user = SFRAME_UNWIND_USER_REFUSED;
		sfu_sampler_count(sampler, SFU_SAMPLE_REFUSED);
	}
}

static u32 record_size(const struct sample *sample)
{
	const struct sframe_unwind_sample *head = &sample->head;
	const u32 words = hweight32(head->fields & (SFRAME_UNWIND_SAMPLE_PERIOD |
						    SFRAME_UNWIND_SAMPLE_ADDRESS |
						    SFRAME_UNWIND_SAMPLE_COOKIE |
						    SFRAME_UNWIND_SAMPLE_MAPPED)) +
			  (head->fields & SFRAME_UNWIND_SAMPLE_REGISTERS ? 3 : 0);

	return sizeof(*head) +
	       (words + head->nr_kernel + head->nr_user) * sizeof(u64) +
	       round_up(head->raw_size, 8);
}

static void fill_record(void *to, const struct sample *sample)
{
	const struct sframe_unwind_sample *head = &sample->head;
	const struct pt_regs *regs = sample->user_regs;
	u64 *word = to + sizeof(*head);

	memcpy(to, head, sizeof(*head));
	if (head->fields & SFRAME_UNWIND_SAMPLE_PERIOD)
		*word++ = sample->period;
	if (head->fields & SFRAME_UNWIND_SAMPLE_ADDRESS)
		*word++ = sample->address;
	if (head->fields & SFRAME_UNWIND_SAMPLE_REGISTERS) {
		*word++ = sfu_arch_ip(regs);
		*word++ = sfu_arch_register(regs, SFU_REG_SP);
		*word++ = sfu_arch_register(regs, SFU_REG_FP);
	}
	if (head->fields & SFRAME_UNWIND_SAMPLE_COOKIE)
		*word++ = sample->cookie;
	if (head->fields & SFRAME_UNWIND_SAMPLE_MAPPED)
		*word++ = (u64)sample->mapped.kernel << 32 | sample->mapped.user;
	word = sfu_copy_words(word, sample->kernel, head->nr_kernel);
	word = sfu_copy_words(word, sample->user, head->nr_user);
	if (head->raw_size) {
		/* Zero the padding. */
		word[(head->raw_size - 1) / sizeof(*word)] = 0;
		memcpy(word, sample->raw, head->raw_size);
	}
}

static void map_kernel_stack(struct sample *sample)
{
	struct sfu_sampler *sampler = sample->event->sampler;
	struct sframe_unwind_sample *head = &sample->head;
	const struct sfu_mapped_stack stack = {
		.type = SFRAME_UNWIND_MAP_KERNEL_STACK,
		.stop = head->kernel_cut,
		.nr = head->nr_kernel,
		.hash = sfu_stack_map_hash(&sampler->map_key, sample->kernel,
					   NULL, head->nr_kernel),
		.words = sample->kernel,
	};

	if (sfu_sampler_map_stack(sampler, &sample->mapped, &stack))
		head->nr_kernel = 0;
}

static void map_user_stack(struct sample *sample)
{
	struct sfu_sampler *sampler = sample->event->sampler;
	struct sframe_unwind_sample *head = &sample->head;
	const struct sfu_mapped_stack stack = {
		.type = SFRAME_UNWIND_MAP_USER_STACK,
		.stop = head->stop,
		.nr = head->nr_user,
		.hash = sfu_stack_map_hash(&sampler->map_key, sample->user,
					   NULL, head->nr_user),
		.words = sample->user,
	};

	if (sfu_sampler_map_stack(sampler, &sample->mapped, &stack))
		head->nr_user = 0;
}

/* Put the stacks into the stack map instead of the record. */
static void map_stacks(struct sample *sample)
{
	struct sframe_unwind_sample *head = &sample->head;

	sfu_sampler_map_begin(sample->event->sampler, &sample->mapped);
	if (head->nr_kernel)
		map_kernel_stack(sample);
	if (head->nr_user)
		map_user_stack(sample);
	if (sample->mapped.kernel || sample->mapped.user)
		head->fields |= SFRAME_UNWIND_SAMPLE_MAPPED;
}

/* Returns whether a struct sframe_unwind_short_sample can tell all of @sample. */
static bool is_short(const struct sample *sample)
{
	const struct sframe_unwind_sample *head = &sample->head;

	return sample->event->sampler->map &&
	       !(head->fields & ~(SFRAME_UNWIND_SAMPLE_COOKIE |
				  SFRAME_UNWIND_SAMPLE_MAPPED)) &&
	       !head->nr_kernel && !head->nr_user && head->event <= U16_MAX &&
	       head->entry_nr >= 0 && head->entry_nr <= U16_MAX;
}

static u32 short_size(const struct sample *sample)
{
	return sizeof(struct sframe_unwind_short_sample) +
	       (sample->head.fields & SFRAME_UNWIND_SAMPLE_COOKIE ?
			sizeof(u64) : 0);
}

static void fill_short(void *to, const struct sample *sample)
{
	const struct sframe_unwind_sample *head = &sample->head;
	const struct sframe_unwind_short_sample from = {
		.record.size = head->record.size,
		.record.type = SFRAME_UNWIND_RECORD_SHORT_SAMPLE,
		.time = head->time,
		.pid = head->pid,
		.tid = head->tid,
		.user_id = sample->mapped.user,
		.kernel_id = sample->mapped.kernel,
		.event = head->event,
		.entry_nr = head->entry_nr,
		.entry = head->entry,
		.user = head->user,
		.stop = head->stop,
		.kernel_cut = head->kernel_cut,
	};

	memcpy(to, &from, sizeof(from));
	if (head->fields & SFRAME_UNWIND_SAMPLE_COOKIE)
		*(u64 *)(to + sizeof(from)) = sample->cookie;
}

/* Count a sample that is lost. */
static void note_lost(struct sfu_sampler *sampler, enum sfu_sample_count count,
		      enum sfu_lost reason)
{
	sfu_sampler_count(sampler, count);
	sfu_trace_lost(reason, 0);
	sfu_netlink_lost(reason);
}

/* Returns whether the sample was written. */
static bool write_sample(struct sample *sample)
{
	struct sfu_sampler *sampler = sample->event->sampler;
	struct sfu_sample_ring *ring = sfu_sampler_ring(sampler);
	bool use_short;
	void *to;

	if (!ring) {
		note_lost(sampler, SFU_SAMPLE_LOST_NO_RING,
			  SFU_LOST_SAMPLE_NO_RING);
		return false;
	}
	if (sampler->map)
		map_stacks(sample);
	use_short = is_short(sample);
	sample->head.record.size = use_short ? short_size(sample) :
					       record_size(sample);
	to = sfu_sampler_reserve(sampler, ring, sample->head.record.size);
	if (!to) {
		note_lost(sampler, SFU_SAMPLE_LOST_FULL, SFU_LOST_SAMPLE_FULL);
		return false;
	}
	finish_user(sample);
	if (use_short)
		fill_short(to, sample);
	else
		fill_record(to, sample);
	sfu_sampler_count(sampler, SFU_SAMPLE_TAKEN);
	if (sampler->map)
		sfu_sampler_map_count(sampler, &sample->mapped,
				      sample->head.pid, sample->head.event);
	if (sfu_sample_ring_commit(ring))
		irq_work_queue(&sampler->wake);
	return true;
}

static void take_sample(const struct sfu_sample_event *event,
			const struct perf_event *perf,
			const struct perf_sample_data *data,
			struct pt_regs *regs, struct scratch *scratch)
{
	struct sfu_sampler *sampler = event->sampler;
	struct sample sample = {
		.event = event,
		.head.record.type = SFRAME_UNWIND_RECORD_SAMPLE,
		.head.time = sampler->time(),
		.head.event = event->id,
		.user_regs = find_user_regs(perf),
	};
	u32 nr_user;

	sample.in_user = sample.user_regs &&
			 has_interrupted_user(sample.user_regs, regs);
	sample.is_partial = sample.user_regs && may_be_partial(&sample, regs);
	sfu_task_ids(sampler->pid_ns, &sample.head.pid, &sample.head.tid);
	take_kernel(&sample, perf, regs, scratch);
	take_fields(&sample, data);
	if (sample.user_regs && event->user)
		take_user(&sample, scratch);
	nr_user = sample.head.nr_user;
	/* A stack in the stack map is not in the record, but still here. */
	if (write_sample(&sample) && sample.user)
		sfu_trace_stack(sample.cookie, sample.user, nr_user,
				sample.head.stop, true);
}

void sfu_sample_take(struct perf_event *perf, struct perf_sample_data *data,
		     struct pt_regs *regs)
{
	const struct sfu_sample_event *event = perf->overflow_handler_context;
	struct sfu_sampler *sampler = event->sampler;
	struct scratch *scratch;

	/* perf has disabled preemption already. For synchronize_rcu() in sample_event.c. */
	preempt_disable_notrace();
	/* Pairs with the release in insert_event(): the id is there. */
	if (!READ_ONCE(sampler->started) || !smp_load_acquire(&event->started))
		goto out;
	sfu_sampler_count(sampler, SFU_SAMPLE_SEEN);
	if (perf->hw.interrupts == THROTTLED)
		sfu_sampler_count(sampler, SFU_SAMPLE_THROTTLED);

	scratch = &this_cpu_ptr(scratches)->of[interrupt_context_level()];
	if (READ_ONCE(scratch->busy)) {
		note_lost(sampler, SFU_SAMPLE_LOST_RECURSION,
			  SFU_LOST_SAMPLE_RECURSION);
		goto out;
	}
	WRITE_ONCE(scratch->busy, true);
	barrier();
	take_sample(event, perf, data, regs, scratch);
	barrier();
	WRITE_ONCE(scratch->busy, false);
out:
	preempt_enable_notrace();
}

int sfu_sample_prepare(void)
{
	int err = 0;

	mutex_lock(&scratches_mutex);
	if (!scratches)
		scratches = alloc_percpu(struct scratches);
	if (!scratches)
		err = -ENOMEM;
	mutex_unlock(&scratches_mutex);
	return err;
}

void sfu_sample_exit(void)
{
	free_percpu(scratches);
}
