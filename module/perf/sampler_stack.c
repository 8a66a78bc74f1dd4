// SPDX-License-Identifier: GPL-2.0
/*
 * Sampler: the user stacks that follow samples, and stacks in the stack map.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "files.h"
#include "limits.h"
#include "lock.h"
#include "sampler.h"
#include "stack_copy.h"
#include "stack_map.h"
#include "task.h"
#include "walk/request_memory.h"
#include "walk/walk.h"
#include "words.h"

u32 sfu_sampler_how_bytes(const u8 *how, u32 nr)
{
	if (nr && (how[0] != SFRAME_UNWIND_FRAME_REGS ||
		   !sfu_are_bytes(how + 1, SFRAME_UNWIND_FRAME_SFRAME, nr - 1)))
		return round_up(nr, 8);
	return 0;
}

void *sfu_sampler_put_frames(void *to, const u64 *ip, const u8 *how, u32 nr,
			     u32 how_bytes)
{
	to = sfu_copy_words(to, ip, nr);
	if (how_bytes) {
		/* Zero the padding after the last byte. */
		*(u64 *)(to + how_bytes - sizeof(u64)) = 0;
		memcpy(to, how, nr);
	}
	return to + how_bytes;
}

void sfu_sampler_map_begin(const struct sfu_sampler *sampler,
			   struct sfu_stack_ids *mapped)
{
	*mapped = (struct sfu_stack_ids) {
		.generation = sfu_stack_map_generation(sampler->map),
	};
}

u32 sfu_sampler_map_stack(struct sfu_sampler *sampler,
			  struct sfu_stack_ids *mapped,
			  const struct sfu_mapped_stack *stack)
{
	const u32 id = sfu_stack_map_add(sampler->map, mapped->generation,
					 stack);

	if (!id) {
		mapped->refused = true;
		sfu_sampler_count(sampler, SFU_SAMPLE_MAP_REFUSED);
	} else if (stack->type == SFRAME_UNWIND_MAP_KERNEL_STACK) {
		mapped->kernel = id;
	} else {
		mapped->user = id;
	}
	return id;
}

void sfu_sampler_map_count(struct sfu_sampler *sampler,
			   const struct sfu_stack_ids *mapped, u32 pid, u32 event)
{
	if (mapped->refused ||
	    !sfu_stack_map_count(sampler->map, mapped->generation, mapped->user,
				 mapped->kernel, pid, event))
		sfu_sampler_count(sampler, SFU_SAMPLE_MAP_UNCOUNTED);
}

/*
 * Put the stack of @words and @how into the stack map. If it is there, @stack has its
 * id.
 */
static void map_words(struct sfu_sampler *sampler, const u64 *words,
		      const u8 *how, u32 hash,
		      struct sframe_unwind_user_stack *stack,
		      struct sfu_stack_ids *mapped)
{
	const struct sfu_mapped_stack to_map = {
		.type = SFRAME_UNWIND_MAP_USER_STACK,
		.stop = stack->stop,
		.fields = stack->fields,
		.nr = stack->nr_user,
		.hash = hash,
		.words = words,
		.how = how,
	};

	sfu_sampler_map_begin(sampler, mapped);
	if (!stack->nr_user || !sfu_sampler_map_stack(sampler, mapped, &to_map))
		return;
	stack->nr_user = 0;
	stack->fields = SFRAME_UNWIND_SAMPLE_MAPPED;
}

/* Returns the address behind the frames. */
static void *fill_stack(void *to, const struct sframe_unwind_user_stack *stack,
			const u64 *words, const u8 *how, u32 id, u32 how_bytes)
{
	u64 *word = to + sizeof(*stack);

	memcpy(to, stack, sizeof(*stack));
	if (stack->fields & SFRAME_UNWIND_SAMPLE_MAPPED)
		*word++ = id;
	if (stack->nr_user)
		word = sfu_sampler_put_frames(word, words, how, stack->nr_user,
					      how_bytes);
	return word;
}

/* Returns the table of files, with a reference, or NULL. */
static struct sfu_files *get_files(struct sfu_sampler *sampler)
{
	struct sfu_consumer *consumer = &sampler->consumer;
	struct sfu_files *files;
	unsigned long flags;

	flags = sfu_lock_irqsave(&consumer->lock);
	files = sampler->files;
	if (files)
		sfu_files_get(files);
	sfu_unlock_irqrestore(&consumer->lock, flags);
	return files;
}

/* Returns the places of the frames, or NULL. */
static u64 *locate_frames(struct sfu_sampler *sampler, const struct sfu_walk *walk,
			  u32 nr)
{
	struct sfu_files *files = get_files(sampler);
	u64 *places;

	if (!files)
		return NULL;
	places = kmalloc_array(nr, sizeof(*places), SFU_GFP_OPTIONAL);
	if (places)
		sfu_files_locate(files, walk->ip, walk->how, nr, places);
	sfu_files_put(files);
	return places;
}

bool sfu_sampler_copies(struct sfu_sampler *sampler, u64 ip, u64 generated)
{
	/*
	 * Another process may get the memory of the mm, but not soon the number. Generated
	 * code is replaced by other code in the same place: as long as sections are attached
	 * to such code, there are others to come.
	 */
	const u64 process = ((uintptr_t)current->mm + ((u64)current->tgid << 48)) ^
			    generated << 1;

	/* Not ktime_get_seconds(), which warns in NMIs while the system is suspended. */
	return sampler->spec.copy_size &&
	       sfu_copy_places_is_due(&sampler->places, process, ip, jiffies / HZ,
				      SFU_COPY_SECONDS);
}

void sfu_sampler_prepare(struct sfu_consumer *consumer,
			 const struct sfu_walk *walk, u32 nr,
			 enum sframe_unwind_stop stop,
			 struct sfu_prepared *prepared)
{
	struct sfu_sampler *sampler = sfu_sampler_of(consumer);
	const u8 *how;

	if (sampler->spec.copy_size) {
		prepared->cut = sfu_cut_ends(&walk->cut, nr, stop);
		if (prepared->cut &&
		    sfu_sampler_copies(sampler, walk->cut.ip, walk->cut.generated))
			prepared->copy = sfu_stack_copy_make(&walk->cut,
							     sampler->spec.copy_size);
	}

	if (sampler->spec.max_files)
		prepared->places = locate_frames(sampler, walk, nr);
	if (!sampler->spec.map_pages)
		return;
	how = sfu_sampler_how_bytes(walk->how, nr) ? walk->how : NULL;
	prepared->hash = sfu_stack_map_hash(&sampler->map_key,
					    prepared->places ?: walk->ip, how,
					    nr);
}

/*
 * Add @copy to the record, unless that would fill more than half of the ring:
 * room for other records comes first.
 */
static void add_copy(const struct sfu_sample_ring *ring,
		     const struct sframe_unwind_stack_copy *copy,
		     struct sframe_unwind_user_stack *stack)
{
	const u32 size = stack->record.size + sfu_stack_copy_bytes(copy);

	if (!sfu_sample_ring_is_half_free(ring, size))
		return;
	stack->record.size = size;
	stack->fields |= SFRAME_UNWIND_SAMPLE_COPY;
}

/* Count a stack that was cut. Returns whether its copy is to follow. */
static bool copy_follows(struct sfu_sampler *sampler,
			 const struct sframe_unwind_user_stack *stack)
{
	const bool follows = stack->fields & SFRAME_UNWIND_SAMPLE_COPY;

	sfu_sampler_count(sampler,
			  follows ? SFU_SAMPLE_COPIED : SFU_SAMPLE_NOT_COPIED);
	return follows;
}

static void commit(struct sfu_sampler *sampler, struct sfu_sample_ring *ring)
{
	if (sfu_sample_ring_commit(ring))
		WRITE_ONCE(sampler->wake_due, true);
}

bool sfu_sampler_stack(struct sfu_consumer *consumer,
		       const struct sfu_request *request,
		       const struct sfu_walk *walk, u32 nr,
		       enum sframe_unwind_stop stop,
		       struct sfu_prepared *prepared)
{
	const u64 *words = prepared->places ?: (nr ? walk->ip : NULL);
	const u8 *how = nr ? walk->how : NULL;
	u32 how_bytes = sfu_sampler_how_bytes(how, nr);
	struct sfu_sampler *sampler = sfu_sampler_of(consumer);
	struct sfu_sample_ring *ring = sfu_sampler_ring(sampler);
	struct sframe_unwind_user_stack stack = {
		.record.type = SFRAME_UNWIND_RECORD_USER_STACK,
		.cookie = request->cookie,
		.nr_user = nr,
		.fields = (how_bytes ? SFRAME_UNWIND_SAMPLE_HOW : 0) |
			  (prepared->places ? SFRAME_UNWIND_SAMPLE_PLACES : 0),
		.stop = stop,
	};
	struct sfu_stack_ids mapped = {};
	void *to;

	lockdep_assert_held(&consumer->lock);
	if (!ring)
		return false;
	if (sampler->map)
		map_words(sampler, words, how, prepared->hash, &stack, &mapped);
	if (!stack.nr_user)
		how_bytes = 0;
	stack.record.size = sizeof(stack) + how_bytes +
			    (stack.nr_user + !!mapped.user) * sizeof(u64);
	if (unlikely(prepared->copy))
		add_copy(ring, prepared->copy, &stack);
	to = sfu_sampler_reserve(sampler, ring, stack.record.size);
	if (!to)
		return false;
	stack.time = sampler->time();
	sfu_task_ids(sampler->pid_ns, &stack.pid, &stack.tid);
	to = fill_stack(to, &stack, words, how, mapped.user, how_bytes);
	if (sampler->map)
		sfu_sampler_map_count(sampler, &mapped, stack.pid, 0);
	if (unlikely(prepared->cut) && copy_follows(sampler, &stack))
		prepared->copy_to = to;
	else
		commit(sampler, ring);
	return true;
}

/*
 * The copy can be large, and the sampler's lock is that of all CPUs. Until it is committed,
 * the record is not published, and neither are those of samples that interrupt this.
 */
void sfu_sampler_finish(struct sfu_consumer *consumer,
			const struct sfu_prepared *prepared)
{
	struct sfu_sampler *sampler = sfu_sampler_of(consumer);

	memcpy(prepared->copy_to, prepared->copy,
	       sfu_stack_copy_bytes(prepared->copy));
	commit(sampler, sfu_sampler_ring(sampler));
}
