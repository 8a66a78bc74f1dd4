// SPDX-License-Identifier: GPL-2.0
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "exec_stacks.h"

/* Most stacks held back at the same time; others are printed as they are. */
#define MAX_HELD 64

/* A stack is held back for this time at most: its thread has stopped. */
#define PATIENCE_MS 2000

/* More time for a thread that has been told to request its stack again. */
#define RETRY_MS 1000

/* Time before a retry that waits for something other than a conversion. */
#define PAUSE_MS 20

/**
 * struct held - a stack that is held back
 *
 * @ticket: of the thread that waits; 0: unused.
 * @stack: a copy, printed if nothing better comes.
 * @deadline_ms: when to print it.
 * @retry_ms: when to tell the thread to request it again; 0 if that depends on a
 *	conversion.
 * @is_told: the thread has been told.
 */
struct held {
	uint32_t ticket;
	struct sframe_unwind_stack *stack;
	uint64_t deadline_ms;
	uint64_t retry_ms;
	bool is_told;
};

struct exec_stacks {
	struct exec_page *page;
	struct exec_attach *attach;
	struct stack_printer *printer;
	struct held held[MAX_HELD];
};

struct exec_stacks *exec_stacks_create(struct exec_page *page,
				       struct exec_attach *attach,
				       struct stack_printer *printer)
{
	struct exec_stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks) {
		stacks->page = page;
		stacks->attach = attach;
		stacks->printer = printer;
	}
	return stacks;
}

void exec_stacks_free(struct exec_stacks *stacks)
{
	if (!stacks)
		return;
	for (unsigned int i = 0; i < MAX_HELD; i++)
		free(stacks->held[i].stack);
	free(stacks);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* Set the slot to @value and wake its thread. */
static void wake(uint32_t *slot, uint32_t value)
{
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, slot, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* If a thread waits with this ticket, wake it with @value. Returns whether one did. */
static bool answer_ticket(struct exec_stacks *stacks, uint32_t ticket,
			  uint32_t value)
{
	uint32_t *slot = exec_slot(stacks->page, ticket);

	if (!ticket || __atomic_load_n(slot, __ATOMIC_ACQUIRE) != ticket)
		return false;
	wake(slot, value);
	return true;
}

void exec_stacks_wake_all(struct exec_stacks *stacks)
{
	for (unsigned int i = 0; i < EXEC_SLOTS; i++)
		if (__atomic_load_n(&stacks->page->slots[i], __ATOMIC_ACQUIRE))
			wake(&stacks->page->slots[i], 0);
}

static void print(struct exec_stacks *stacks,
		  const struct sframe_unwind_stack *stack, const char *missing)
{
	stack_printer_print(stacks->printer, stack, missing);
	answer_ticket(stacks, stack->user_data, 0);
}

static void release(struct held *held)
{
	free(held->stack);
	*held = (struct held) { 0 };
}

/* Returns the held stack with @ticket, or an unused place for 0, or NULL. */
static struct held *find_held(struct exec_stacks *stacks, uint32_t ticket)
{
	for (unsigned int i = 0; i < MAX_HELD; i++)
		if (stacks->held[i].ticket == ticket)
			return &stacks->held[i];
	return NULL;
}

/* Print the copy, which has been judged just now. */
static void give_up(struct exec_stacks *stacks, struct held *held,
		    const char *missing)
{
	print(stacks, held->stack, missing);
	release(held);
}

/* Do with @held what the verdict says. */
static void execute(struct exec_stacks *stacks, struct held *held,
		    enum exec_verdict verdict, const char *missing)
{
	switch (verdict) {
	case EXEC_PRINT:
		give_up(stacks, held, missing);
		break;
	case EXEC_HOLD:
		held->retry_ms = 0;
		break;
	case EXEC_RETRY:
		held->is_told = answer_ticket(stacks, held->ticket, EXEC_AGAIN);
		if (!held->is_told)
			give_up(stacks, held, missing);
		break;
	case EXEC_RETRY_LATER:
		held->retry_ms = now_ms() + PAUSE_MS;
		break;
	}
}

/* Hold @stack back. Returns NULL if there is no room. */
static struct held *hold(struct exec_stacks *stacks, struct held *held,
			 const struct sframe_unwind_stack *stack)
{
	struct sframe_unwind_stack *copy = malloc(stack->record.size);

	if (!held)
		held = find_held(stacks, 0);
	if (!held || !copy) {
		free(copy);
		return NULL;
	}
	memcpy(copy, stack, stack->record.size);
	if (!held->ticket)
		held->deadline_ms = now_ms() + PATIENCE_MS;
	free(held->stack);
	held->stack = copy;
	held->ticket = stack->user_data;
	held->retry_ms = 0;
	held->is_told = false;
	return held;
}

void exec_stacks_handle(struct exec_stacks *stacks,
			const struct sframe_unwind_stack *stack)
{
	const uint32_t ticket = stack->user_data;
	struct held *held = ticket ? find_held(stacks, ticket) : NULL;
	const bool is_late = held && now_ms() >= held->deadline_ms;
	struct held *kept = NULL;
	enum exec_verdict verdict;
	const char *missing;

	verdict = exec_attach_judge(stacks->attach, stack, &missing);
	if (ticket && verdict != EXEC_PRINT && !is_late)
		kept = hold(stacks, held, stack);
	if (kept) {
		execute(stacks, kept, verdict, missing);
		return;
	}
	if (held)
		release(held);
	print(stacks, stack, missing);
}

static uint64_t end_of(const struct held *held)
{
	return held->deadline_ms + (held->is_told ? RETRY_MS : 0);
}

static void judge_again(struct exec_stacks *stacks, struct held *held,
			bool is_end)
{
	const char *missing;
	const enum exec_verdict verdict =
		exec_attach_judge(stacks->attach, held->stack, &missing);

	execute(stacks, held, is_end ? EXEC_PRINT : verdict, missing);
}

void exec_stacks_run(struct exec_stacks *stacks, bool all)
{
	const uint64_t now = now_ms();

	for (unsigned int i = 0; i < MAX_HELD; i++) {
		struct held *held = &stacks->held[i];

		if (!held->ticket)
			continue;
		if (now >= end_of(held))
			judge_again(stacks, held, true);
		else if (!held->is_told && held->retry_ms &&
			 now >= held->retry_ms)
			execute(stacks, held, EXEC_RETRY, NULL);
		else if (!held->is_told && !held->retry_ms && all)
			judge_again(stacks, held, false);
	}
}

int exec_stacks_timeout(const struct exec_stacks *stacks)
{
	const uint64_t now = now_ms();
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < MAX_HELD; i++) {
		const struct held *held = &stacks->held[i];

		if (held->ticket && end_of(held) < next)
			next = end_of(held);
		if (held->ticket && !held->is_told && held->retry_ms &&
		    held->retry_ms < next)
			next = held->retry_ms;
	}
	if (next == UINT64_MAX)
		return -1;
	return now < next ? next - now : 0;
}

void exec_stacks_end(struct exec_stacks *stacks)
{
	for (unsigned int i = 0; i < MAX_HELD; i++)
		if (stacks->held[i].ticket)
			judge_again(stacks, &stacks->held[i], true);
}
