// SPDX-License-Identifier: GPL-2.0
/*
 * module/decode/cache.h: walks without a lock while other threads write. Built
 * with ThreadSanitizer, which ends the test at the first access that is neither
 * atomic nor under the lock. It does not check memory barriers: whether those
 * work shows in the frames that the walks reach.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "arch/arch.h"
#include "decode/cache.h"
#include "cache_race_watch.h"
#include "tap.h"
#include "user.h"

#define SECONDS		5

/* Two sets for all keys; more keys than entries. */
#define SET_BITS	1
#define NR_KEYS		5
#define NR_STRANGERS	5

#define KEY		0x401005ULL
#define STRANGER	0x501005ULL
/* In stack words that no walk by right rules uses as a return address. */
#define NOWHERE		0x601005ULL

/* The epoch in which the rules of NR_KEYS are valid. */
#define EPOCH		7
#define OTHER_EPOCH	8

static const struct sfu_epochs epochs = { EPOCH, EPOCH };

#define NR_READERS	2
#define NR_FRAMES	24
#define NR_WORDS	1024
#define STACK_SIZE	(NR_WORDS * sizeof(u64))

/**
 * struct reader - a thread that walks a stack of its own
 *
 * @words: the stack.
 * @sp, @ip, @fp: of its frames, innermost first.
 * @walks: walks that found a caller; all must have used right rules.
 * @frames: frames of those walks.
 * @bent: non-user addresses passed to the accessor.
 * @why: error message.
 */
struct reader {
	pthread_t thread;
	u64 words[NR_WORDS];
	struct sfu_stack stack;
	u64 sp[NR_FRAMES + 1];
	u64 ip[NR_FRAMES + 1];
	u64 fp[NR_FRAMES + 1];
	unsigned long walks, frames, bent;
	const char *why;
};

static struct sfu_cache cache;
/* Held for all functions except sfu_cache_follow(), as in module/mm/rules.c. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reader readers[NR_READERS];
static atomic_bool stop;
static __thread struct reader *self;

const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
	return "halt_on_error=1 exitcode=66";
}

void watch_word(uint64_t asked, uint64_t used)
{
	self->bent += asked > SFU_USER_LIMIT;
	if (used > SFU_USER_LIMIT)
		self->why = "an address that is none of user space is used";
}

static u32 next_random(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Each key has a frame size of its own. */
static u32 frame_size(u32 i)
{
	return (3 + 2 * i) * SFU_WORD_SIZE;
}

/*
 * One key computes its CFA from the frame pointer, which the frame before
 * restored.
 */
static bool has_frame_pointer(u32 i)
{
	return i == 3;
}

/* The rules that the stacks are built for. */
static struct sfu_rule right_rule(u32 i)
{
	struct sfu_rule rule = {
		.cfa = 7,
		.cfa_offset = frame_size(i),
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = -SFU_WORD_SIZE,
		.fp = SFU_BASE_CFA | SFU_DEREF,
		.fp_offset = -2 * SFU_WORD_SIZE,
	};

	if (has_frame_pointer(i)) {
		rule.cfa = 6;
		rule.cfa_offset = 2 * SFU_WORD_SIZE;
	}
	return rule;
}

/*
 * A rule for a key of its own that the cache takes as simple or not: a walk
 * must stop at that key.
 */
static struct sfu_rule hostile_rule(u32 i, u32 *state)
{
	static const s32 far[] = { INT32_MAX - 7, INT32_MAX - 15, 0x40000000 };
	static const s32 bad[] = { INT32_MIN, INT32_MAX, -8, 0, 12 };
	struct sfu_rule rule = right_rule(i);

	switch (next_random(state) % 5) {
	case 0:
		rule.cfa_offset = far[next_random(state) % 3];
		break;
	case 1:
		rule.cfa = rule.cfa == 6 ? 7 : 6;
		rule.cfa_offset = far[next_random(state) % 3];
		rule.fp_offset = -32768;
		break;
	case 2:
		rule.cfa_offset = bad[next_random(state) % 5];
		break;
	case 3:
		rule.fp_offset = next_random(state) % 2 ? INT32_MIN : INT32_MAX;
		break;
	default:
		rule.flags = 1 + next_random(state) % 255;
	}
	return rule;
}

/* A rule that leads to NOWHERE. No walk that finds a caller may have used it. */
static struct sfu_rule wrong_rule(u32 *state)
{
	struct sfu_rule rule = right_rule(next_random(state) % 3);

	/* No frame has an even number of words. */
	rule.cfa_offset += SFU_WORD_SIZE;
	if (next_random(state) % 2)
		rule.fp_offset *= 2;
	return rule;
}

/* Insert or remove something. The lock is held. */
static void write_any(u32 *state)
{
	const u32 i = next_random(state) % NR_KEYS;
	struct sfu_cache_entry *entry;
	struct sfu_rule rule;

	switch (next_random(state) % 16) {
	case 0:
		rule = hostile_rule(i, state);
		sfu_cache_insert(&cache, KEY + 64 * i, EPOCH, i, &rule);
		break;
	case 1:
	case 2:
		rule = wrong_rule(state);
		sfu_cache_insert(&cache, KEY + 64 * i, OTHER_EPOCH, i, &rule);
		break;
	case 3:
	case 4:
		rule = wrong_rule(state);
		sfu_cache_insert(&cache, STRANGER + 64 * i, EPOCH, i, &rule);
		break;
	case 5:
		entry = sfu_cache_find(&cache, STRANGER + 64 * i);
		if (entry)
			sfu_cache_renew(&cache, entry,
					EPOCH + next_random(state) % 2);
		break;
	default:
		rule = right_rule(i);
		sfu_cache_insert(&cache, KEY + 64 * i, EPOCH, i, &rule);
	}
}

static void *write_all(void *arg)
{
	u32 state = 1, i, idle;

	(void)arg;
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		pthread_mutex_lock(&lock);
		for (i = next_random(&state) % 8; i; i--)
			write_any(&state);
		pthread_mutex_unlock(&lock);
		/*
		 * Pause, so that some walks run without a concurrent write and
		 * count.
		 */
		for (idle = next_random(&state) % 4096; idle; idle--)
			atomic_load_explicit(&stop, memory_order_relaxed);
	}
	return NULL;
}

/* Build a stack at @address according to the right rules. */
static void make_stack(struct reader *reader, u64 address)
{
	u64 *words = reader->words;
	u32 i, at;

	for (i = 0; i < NR_WORDS; i++)
		words[i] = NOWHERE;
	reader->stack = (struct sfu_stack) {
		.address = address,
		.size = STACK_SIZE,
		.copy = (const u8 *)words,
	};
	reader->sp[0] = address;
	for (i = 0; i <= NR_FRAMES; i++) {
		reader->ip[i] = KEY + 64 * (i % NR_KEYS);
		if (i < NR_FRAMES)
			reader->sp[i + 1] = reader->sp[i] +
					    frame_size(i % NR_KEYS);
	}
	for (i = 0; i <= NR_FRAMES; i++) {
		/* Not a readable address, unless a rule is based on it. */
		reader->fp[i] = 0xffffffff00000000ULL + 16 * i;
		if (i < NR_FRAMES && has_frame_pointer(i % NR_KEYS))
			reader->fp[i] = reader->sp[i + 1] - 2 * SFU_WORD_SIZE;
		if (!i)
			continue;
		at = (reader->sp[i] - address) / SFU_WORD_SIZE;
		words[at - 1] = reader->ip[i];
		words[at - 2] = reader->fp[i];
	}
}

/*
 * Walk some frames, starting at one of the first. Returns an error message or
 * NULL.
 */
static const char *walk(struct reader *reader, u32 *state)
{
	const u32 start = next_random(state) % NR_KEYS;
	const u32 max = 1 + next_random(state) % (NR_FRAMES - NR_KEYS);
	struct sfu_frame frame = {
		.ip = reader->ip[start],
		.sp = reader->sp[start],
		.fp = reader->fp[start],
		.fp_known = true,
	};
	u64 ips[NR_FRAMES];
	u32 nr, i;

	nr = sfu_cache_follow(&cache, epochs, &frame, &reader->stack, ips,
			      max).nr;
	if (!nr)
		return NULL;
	if (nr > max)
		return "more steps than asked for";
	for (i = 0; i < nr; i++) {
		if (ips[i] != reader->ip[start + i + 1])
			return "a step by no entry's rule";
	}
	if (frame.ip != ips[nr - 1] || frame.sp != reader->sp[start + nr])
		return "not the last frame reached";
	sfu_step_read_fp(&frame, &reader->stack);
	if (frame.fp != reader->fp[start + nr])
		return "a frame pointer by no entry's rule";
	reader->walks++;
	reader->frames += nr;
	return NULL;
}

static void *read_all(void *arg)
{
	const char *why = NULL;
	u32 state;

	self = arg;
	state = self - readers;
	while (!why && !self->why &&
	       !atomic_load_explicit(&stop, memory_order_relaxed))
		why = walk(self, &state);
	if (why)
		self->why = why;
	if (self->why)
		atomic_store(&stop, true);
	return NULL;
}

static void test_walks_while_others_write(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	pthread_t writer;
	time_t end;
	u32 i;

	sfu_cache_init(&cache, SET_BITS, calloc(1, sfu_cache_bytes(SET_BITS)));
	/* The highest and the lowest possible stack. */
	make_stack(&readers[0], SFU_USER_LIMIT - STACK_SIZE);
	make_stack(&readers[1], 0x10000);
	EXPECT_EQ(pthread_create(&writer, NULL, write_all, NULL), 0);
	for (i = 0; i < NR_READERS; i++)
		EXPECT_EQ(pthread_create(&readers[i].thread, NULL, read_all,
					 &readers[i]), 0);
	end = time(NULL) + SECONDS;
	while (time(NULL) < end && !atomic_load(&stop))
		nanosleep(&pause, NULL);
	atomic_store(&stop, true);
	EXPECT_EQ(pthread_join(writer, NULL), 0);
	for (i = 0; i < NR_READERS; i++)
		EXPECT_EQ(pthread_join(readers[i].thread, NULL), 0);
	for (i = 0; i < NR_READERS; i++) {
		struct reader *reader = &readers[i];

		printf("# %lu walks, %lu frames, %lu addresses bent\n",
		       reader->walks, reader->frames, reader->bent);
		if (reader->why)
			tap_fail("stack at %#llx: %s",
				 (unsigned long long)reader->stack.address,
				 reader->why);
	}
	/* The cases that the test is about have occurred. */
	for (i = 0; i < NR_READERS; i++) {
		EXPECT(readers[i].walks);
		EXPECT(readers[i].frames > readers[i].walks);
		EXPECT(readers[i].bent);
	}
	free(cache.entry);
}

static const struct tap_test tests[] = {
	TAP_TEST(test_walks_while_others_write),
};

int main(void)
{
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
