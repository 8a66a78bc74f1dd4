// SPDX-License-Identifier: GPL-2.0
/*
 * Request NMI: requests that are made in NMIs.
 *
 * Requests take locks, which an NMI cannot: it may have interrupted their holder. So
 * it only notes the thread, with a new cookie, and queues an irq_work of this CPU,
 * which makes the request when interrupts are possible again. In user mode and in most
 * of the kernel that is at once. But where the kernel switches threads it is after the
 * switch, so the irq_work compares the thread. It does not request the stack of a
 * thread that is not the current one: nothing keeps that from being freed.
 *
 * Each CPU has a few places for threads. The CPU's irq_work empties them, and one NMI
 * at a time fills them: @filling refuses an NMI that has interrupted what in_nmi()
 * takes for another one, such as the handler of a kprobe.
 * The irq_work can be interrupted by an NMI, but not the other way round. So the NMI
 * needs no atomic operation. The irq_work needs one: it reads the thread of a place, and
 * then replaces the cookie by 0, by xchg(), which frees the place. NMIs give the cookie
 * to other requests for the thread only before that; the request is made after it.
 */
#include <linux/errno.h>
#include <linux/irq_work.h>
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "consumer.h"
#include "request.h"
#include "request_nmi.h"

/* Threads that a CPU switches between while interrupts are not possible. */
#define NR_PLACES	4

/**
 * struct place - a thread whose stack is to be requested
 *
 * @cookie: of the stack; 0 if the place is free.
 * @task: the thread; compared, never dereferenced.
 * @mm: its mm; likewise.
 */
struct place {
	u64 cookie;
	const struct task_struct *task;
	const struct mm_struct *mm;
};

/**
 * struct sfu_request_nmi - of one CPU and one consumer
 *
 * @work: makes the requests.
 * @consumer: gets the stacks; constant.
 * @pool: memory for the requests; constant.
 * @spec: what they ask for; constant.
 * @filling: an NMI is filling a place.
 * @place: threads.
 */
struct sfu_request_nmi {
	struct irq_work work;
	struct sfu_consumer *consumer;
	struct sfu_pool *pool;
	struct sfu_request_spec spec;
	bool filling;
	struct place place[NR_PLACES];
};

static bool is_place_current(const struct place *place)
{
	return place->task == current && place->mm == current->mm;
}

/* Request the stack for which @cookie has been given. */
static void request_stack(struct sfu_request_nmi *nmi, u64 cookie)
{
	struct sfu_request_spec spec = nmi->spec;
	u64 unused;

	spec.cookie = cookie;
	if (sfu_request_submit_current(nmi->consumer, nmi->pool, &spec, &unused))
		sfu_consumer_note_lost(nmi->consumer, cookie);
}

static void request_noted(struct irq_work *work)
{
	struct sfu_request_nmi *nmi =
		container_of(work, struct sfu_request_nmi, work);
	struct place *place;
	bool is_current;
	u64 cookie;
	u32 i;

	for (i = 0; i < NR_PLACES; i++) {
		place = &nmi->place[i];
		if (!READ_ONCE(place->cookie))
			continue;
		is_current = is_place_current(place);
		barrier();
		cookie = xchg(&place->cookie, 0);
		if (is_current)
			request_stack(nmi, cookie);
		else
			sfu_consumer_note_lost(nmi->consumer, cookie);
	}
}

/* As sfu_request_nmi_submit(), on the CPU of @nmi. */
static int note_current(struct sfu_request_nmi *nmi, u64 *cookie)
{
	struct place *place, *free = NULL;
	u32 i;

	for (i = 0; i < NR_PLACES; i++) {
		place = &nmi->place[i];
		*cookie = place->cookie;
		if (!*cookie)
			free = place;
		else if (is_place_current(place))
			return 1;
	}
	if (!free)
		return -EAGAIN;
	free->task = current;
	free->mm = current->mm;
	*cookie = sfu_request_new_cookie();
	barrier();
	WRITE_ONCE(free->cookie, *cookie);
	irq_work_queue(&nmi->work);
	return 0;
}

int sfu_request_nmi_submit(struct sfu_request_nmi __percpu *of, u64 *cookie)
{
	struct sfu_request_nmi *nmi = this_cpu_ptr(of);
	int ret;

	if (READ_ONCE(nmi->filling))
		return -EAGAIN;
	WRITE_ONCE(nmi->filling, true);
	barrier();
	ret = note_current(nmi, cookie);
	barrier();
	WRITE_ONCE(nmi->filling, false);
	return ret;
}

u64 sfu_request_nmi_bytes(void)
{
	return num_possible_cpus() * sizeof(struct sfu_request_nmi);
}

struct sfu_request_nmi __percpu *
sfu_request_nmi_create(struct sfu_consumer *consumer, struct sfu_pool *pool,
		       const struct sfu_request_spec *spec)
{
	struct sfu_request_nmi __percpu *nmi =
		alloc_percpu_gfp(struct sfu_request_nmi, GFP_KERNEL_ACCOUNT);
	struct sfu_request_nmi *of;
	u32 cpu;

	if (!nmi)
		return NULL;
	for_each_possible_cpu(cpu) {
		of = per_cpu_ptr(nmi, cpu);
		of->consumer = consumer;
		of->pool = pool;
		of->spec = *spec;
		/* In an interrupt also in PREEMPT_RT, for the current thread. */
		of->work = IRQ_WORK_INIT_HARD(request_noted);
	}
	return nmi;
}

void sfu_request_nmi_free(struct sfu_request_nmi __percpu *nmi)
{
	free_percpu(nmi);
}

void sfu_request_nmi_wait(struct sfu_request_nmi __percpu *nmi)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu_ptr(nmi, cpu)->work);
}
