// SPDX-License-Identifier: GPL-2.0
/* Chain: a chain of hops that call each other, and stacks taken of it. */
#include <string.h>
#include <sys/syscall.h>

#include "../include/own_section.h"
#include "../include/random.h"
#include "../include/wrappers.h"
#include "chain.h"
#include "ends.h"
#include "judge.h"

#define DEFAULT_DEPTH	128

struct process process;
static struct sframe_unwind_register own;

/*
 * Depths to request; 0 is the default, and no stack here is deeper than the
 * last.
 */
static const unsigned int depths[] = { 0, 1, 2, 3, 5, 8, 13, 1024 };

int chain_register_own(int fd)
{
	if (!register_section(fd, &own)) {
		count_one(COUNT_REGISTERED);
		return 0;
	}
	return errno;
}

static void add_level(struct window *window, const void *start,
		      const void *end, uint64_t ret)
{
	if (window->nr == MAX_LEVELS)
		fail("a chain has more than %d levels", MAX_LEVELS);
	window->level[window->nr++] = (struct level) {
		.start = (uintptr_t)start,
		.end = (uintptr_t)end,
		.ret = ret,
		.valid = true,
	};
}

static void add_own(struct window *window, uint64_t ret)
{
	add_level(window, (const void *)(uintptr_t)process.text,
		  (const void *)(uintptr_t)process.text_end, ret);
}

static void add_slot(struct window *window, const struct slot *slot,
		     unsigned int hop)
{
	const unsigned char *start = slot->at + hop * HOP_SIZE;

	add_level(window, start, start + HOP_SIZE,
		  (uintptr_t)slot->at + image_return(slot->code, hop));
	window->level[window->nr - 1].valid = slot_is_valid(slot);
	window->level[window->nr - 1].flipped = slot->flipped;
}

static void add_library(struct window *window, const struct library *library)
{
	add_level(window, (const void *)(uintptr_t)library->start,
		  (const void *)(uintptr_t)library->end, library->ret);
	/*
	 * Always: without a registration the module finds the section in the
	 * file.
	 */
	window->level[window->nr - 1].valid = true;
}

/* Choose one more hop. Returns false if there is none. */
static bool add_hop(struct thread *thread, struct window *window,
		    unsigned int at)
{
	const unsigned int what = random_below(&thread->random,
					       NR_SLOTS + NR_LIBRARIES);
	const unsigned int hop = random_below(&thread->random, HOPS);
	struct slot *slot = &thread->slot[what];
	struct library *library = &thread->lib[what - NR_SLOTS];

	if (what < NR_SLOTS && slot->code >= 0) {
		thread->array[at] = slot->at + hop * HOP_SIZE;
		add_slot(window, slot, hop);
		return true;
	}
	if (what >= NR_SLOTS && library->handle) {
		thread->array[at] = (void *)library->hop;
		add_library(window, library);
		return true;
	}
	return false;
}

/* From the order of calls to that of returns. */
static void reverse(struct level *level, unsigned int nr)
{
	struct level swap;
	unsigned int i;

	for (i = 0; i < nr / 2; i++) {
		swap = level[i];
		level[i] = level[nr - 1 - i];
		level[nr - 1 - i] = swap;
	}
}

/* The innermost function of a chain. */
enum end { END_REQUEST, END_SPIN, END_SLEEP, END_PROBE };

/**
 * struct plan - the contents of a window
 *
 * @request: for END_REQUEST.
 * @sleep: for END_SLEEP.
 * @spins: for END_SPIN.
 */
struct plan {
	enum end end;
	struct sframe_unwind_request request;
	struct timespec sleep;
	unsigned long spins;
	struct window *window;
};

/*
 * Fill in the array's tail for the end of the plan, and the window's level for
 * it.
 */
static void add_end(struct thread *thread, const struct plan *plan,
		    unsigned int at)
{
	void **array = thread->array + at;

	if (plan->end == END_SPIN) {
		array[0] = (void *)end_spin;
		array[1] = (void *)plan->spins;
		add_level(plan->window, (void *)end_spin, end_spin_end, 0);
		return;
	}
	array[0] = (void *)end_syscall;
	if (plan->end == END_REQUEST) {
		array[1] = (void *)(long)SYS_ioctl;
		array[2] = (void *)(long)thread->client;
		array[3] = (void *)SFRAME_UNWIND_IOC_REQUEST;
		array[4] = (void *)&plan->request;
	} else {
		array[1] = (void *)(long)SYS_nanosleep;
		array[2] = (void *)&plan->sleep;
		array[3] = NULL;
	}
	add_level(plan->window, (void *)end_syscall, end_syscall_end, 0);
}

/* Fill in array and window, except for the time. */
static __attribute__((noinline)) void prepare(struct thread *thread,
					      const struct plan *plan)
{
	const unsigned int wanted = random_below(&thread->random, MAX_HOPS);
	struct window *window = plan->window;
	unsigned int i, nr = 0;

	if (plan->end == END_PROBE) {
		thread->array[0] = (void *)end_probe;
		return;
	}
	atomic_fetch_add(&window->sequence, 1);
	window->nr = 0;
	window->lossy = process.lossy;
	atomic_store(&window->from, 0);
	atomic_store(&window->to, 0);
	for (i = 0; i < 2 * MAX_HOPS && nr < wanted; i++)
		nr += add_hop(thread, window, nr);
	add_end(thread, plan, nr);
	reverse(window->level, window->nr);
	add_level(window, (void *)run_chain, run_chain_end,
		  (uintptr_t)run_chain_ret);
	add_own(window, process.window_ret);
	for (i = thread->depth; i--;)
		add_own(window, thread->shadow[i]);
	/* The outermost function returns to libc, which has no rules. */
	window->level[window->nr - 1].valid = false;
	window->level[window->nr - 1].start = 0;
	window->level[window->nr - 1].end = 0;
	atomic_fetch_add(&window->sequence, 1);
}

/*
 * The only caller of run_chain(), without branches, so that there is one return
 * address.
 */
static ON_THE_WAY void run_window(struct thread *thread,
				  const struct plan *plan)
{
	ENTER(thread);
	prepare(thread, plan);
	atomic_store(&plan->window->from, now());
	run_chain(thread->array);
	atomic_store(&plan->window->to, now());
	LEAVE(thread);
}

void chain_init(void)
{
	struct thread *thread = &process.thread[0];
	const struct plan plan = {
		.end = END_PROBE,
		.window = &thread->window[0],
	};

	own = own_section();
	if (!own.sframe_start)
		fail("the program has no PT_GNU_SFRAME");
	process.text = own.text_start;
	process.text_end = own.text_start + own.text_size;
	run_window(thread, &plan);
	atomic_store(&plan.window->from, 0);
	if (thread->array[1] != run_chain_ret)
		fail("end_probe() is not what it should be");
	process.window_ret = (uintptr_t)thread->array[2];
}

/* Add some frames of compiled code. */
static ON_THE_WAY void descend(struct thread *thread, unsigned int nr,
			       const struct plan *plan)
{
	volatile char frame[256];

	ENTER(thread);
	frame[nr] = 0;
	if (nr)
		descend(thread, nr - 1, plan);
	else
		run_window(thread, plan);
	(void)frame[nr];
	LEAVE(thread);
}

/* Whether any function of the chain is in the page of code at @start. */
static bool is_in_chain(const struct window *window, uint64_t start)
{
	unsigned int i;

	for (i = 0; i < window->nr; i++) {
		if (window->level[i].start - start < PAGE)
			return true;
	}
	return false;
}

/*
 * Unregister stale registrations that the chain has met: a walk may or may not
 * have removed them, depending on where it interrupted the chain.
 */
static void settle(struct thread *thread, const struct window *window)
{
	unsigned int i;
	int error;

	for (i = 0; i < NR_SLOTS; i++) {
		struct slot *slot = &thread->slot[i];

		if (slot->registered_code < 0 || slot_is_valid(slot) ||
		    slot->flipped ||
		    !is_in_chain(window, (uintptr_t)slot->at))
			continue;
		error = slot_unregister(slot, thread->client, false);
		if (error && error != ENOENT)
			fail("unregister: %s", strerror(error));
	}
	for (i = 0; i < NR_LIBRARIES; i++) {
		struct library *library = &thread->lib[i];

		if (!library->id || library_is_valid(library) ||
		    !is_in_chain(window, library->registered))
			continue;
		error = library_unregister(library, thread->client, false);
		if (error && error != ENOENT)
			fail("unregister: %s", strerror(error));
	}
}

/*
 * The slot without a valid rule that the walk has met, by its last address:
 * after a rule with flipped bits, or a guess, that need not be the slot at this
 * level of the window.
 */
static struct slot *find_met(struct thread *thread,
			     const struct window *window,
			     const struct sframe_unwind_stack *stack)
{
	const unsigned int last = stack->nr_frames - 1;
	unsigned int i;

	if (stack->stop != SFRAME_UNWIND_STOP_NO_RULE || window->lossy ||
	    stack_how(stack, last) == SFRAME_UNWIND_FRAME_FP)
		return NULL;
	for (i = 0; i < NR_SLOTS; i++) {
		struct slot *slot = &thread->slot[i];

		if (!slot->flipped && slot->code >= 0 &&
		    slot->registered_code >= 0 && !slot_is_valid(slot) &&
		    stack->ips[last] - (uintptr_t)slot->at < PAGE)
			return slot;
	}
	return NULL;
}

/* Whether this reports the removal of a section, by any thread of the process. */
static bool is_event(const struct sframe_unwind_record *record)
{
	const struct sframe_unwind_removed *removed = (const void *)record;

	if (record->type != SFRAME_UNWIND_RECORD_REMOVED)
		return false;
	count_one(COUNT_EVENTS);
	if (removed->cause != SFRAME_UNWIND_CAUSE_STALE && !process.flips)
		fail("section %llu at 0x%llx removed: %s", removed->id,
		     removed->sframe_start, removed->defect);
	return true;
}

static void judge_request(struct thread *thread, const struct plan *plan,
			  long ret)
{
	static __thread char buffer[32768] __attribute__((aligned(8)));
	const struct sframe_unwind_stack *stack = NULL;
	struct slot *met;
	ssize_t got;
	char *p;

	if (ret)
		fail("request: %s", strerror(-ret));
	while (!stack) {
		got = read(thread->client, buffer, sizeof(buffer));
		if (got < (ssize_t)sizeof(struct sframe_unwind_record))
			fail("no record of a request for oneself: %s",
			     got < 0 ? strerror(errno) : "too short");
		for (p = buffer; p < buffer + got;
		     p += ((struct sframe_unwind_record *)p)->size) {
			if (is_event((const void *)p))
				continue;
			if (stack)
				fail("two stacks for one request");
			stack = (const void *)p;
		}
	}
	judge_form(stack);
	count_one(process.child ? COUNT_CHILD : COUNT_SELF);
	if (stack->cookie != plan->request.cookie ||
	    stack->user_data != plan->request.user_data ||
	    stack->pid != (uint32_t)getpid() ||
	    stack->tid != (uint32_t)gettid())
		fail("a record of another request");
	judge_self(stack, plan->window, (uintptr_t)end_syscall_ip,
		   plan->request.max_depth ?: DEFAULT_DEPTH,
		   plan->request.flags & SFRAME_UNWIND_REQUEST_FP_FALLBACK);
	met = find_met(thread, plan->window, stack);
	if (met && slot_unregister(met, thread->client, false) != ENOENT)
		fail("section %lu of %p is stale and there after a walk that ended at 0x%llx",
		     met->id, (void *)met->at,
		     stack->ips[stack->nr_frames - 1]);
}

void chain_run(struct thread *thread)
{
	struct plan plan = {
		.request = {
			.size = sizeof(plan.request),
			.user_data = random_next(&thread->random),
			.max_depth = depths[random_below(&thread->random, 8)],
		},
		.window = &thread->window[thread->nr_windows++ % NR_WINDOWS],
	};
	const unsigned int percent = random_below(&thread->random, 100);

	ENTER(thread);
	if (percent < 45) {
		plan.end = END_REQUEST;
		if (percent < 6)
			plan.request.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	} else if (percent < 88) {
		plan.end = END_SPIN;
		plan.spins = 1000 + random_below(&thread->random, 800000) /
					    shared->factor;
	} else {
		plan.end = END_SLEEP;
		plan.sleep.tv_nsec = random_below(&thread->random, 1000000);
	}
	descend(thread, random_below(&thread->random, 4), &plan);
	if (plan.end == END_REQUEST) {
		void **array = thread->array;

		while (*array != (void *)end_syscall)
			array++;
		judge_request(thread, &plan, (long)array[5]);
	}
	settle(thread, plan.window);
	LEAVE(thread);
}

void chain_drain(int fd, unsigned int peer_depth)
{
	static __thread char buffer[65536] __attribute__((aligned(8)));
	const struct sframe_unwind_stack *stack;
	uint64_t to;
	ssize_t got;
	char *p;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0) {
		to = now();
		for (p = buffer; p < buffer + got; p += stack->record.size) {
			stack = (const void *)p;
			judge_form(stack);
			if (!peer_depth) {
				count_one(COUNT_TIMER);
				judge_any(stack, stack->time, stack->time,
					  DEFAULT_DEPTH);
				continue;
			}
			count_one(stack->user_data ? COUNT_INTERRUPT :
						     COUNT_PEER);
			judge_any(stack, stack->time, to, peer_depth);
		}
	}
	if (got < 0 && errno != EAGAIN)
		fail("read: %s", strerror(errno));
}
