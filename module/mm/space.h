/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Space: the module's state of one mm.
 *
 * A registered space exists as long as its mm has the marker: a mapping of one
 * page without access permissions, whose vm_ops report fork, exec and exit. A
 * reference keeps the structure from being freed, but not its sections from
 * being removed.
 *
 * An observed space is created by a walk in an mm that has no space. It has no
 * marker, as the process did not ask for anything. It is freed when the process
 * has ended, when no consumer requests stacks any more, when no walk has used
 * it for SFU_OBSERVED_SECONDS, and when memory is short; but as long as sections
 * are attached to its addresses, only when the process has ended. It becomes a
 * registered space if its process registers a section. A forked child does not
 * inherit it.
 */
#ifndef SFU_SPACE_H
#define SFU_SPACE_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree_latch.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/types.h>

#include "file/attach_table.h"
#include "removals.h"
#include "rules.h"
#include "sections.h"
#include "trace/trace.h"

struct sfu_message;
struct sfu_section;

/**
 * struct sfu_space
 *
 * @node: in the hash of spaces, by @mm; protected by spaces_lock, read by RCU.
 * @all: in the list of all spaces; protected by spaces_lock.
 * @link: in the list of observed spaces; protected by spaces_lock.
 * @id: unique in the system, never 0; not reused, unlike @mm.
 * @mm: the key. While the space is in the hash, it holds a reference to the
 *	mm_struct (mmgrab()), so that its address is not reused.
 * @markers: number of marker mappings; written under spaces_lock. 1, but more
 *	while mremap() copies or moves it; 0 for an observed space.
 * @walked: jiffies of the start of the last walk.
 * @refs: one for the hash, one for each user.
 * @lock: protects @sections. Fork takes it under the mmap lock, so nothing that
 *	takes the mmap lock may be done under it; in particular, no access to
 *	user memory.
 * @sections: registered sections, and those that discovery added.
 * @removals: the function tables among @sections, or NULL; set once, under @lock; read
 *	without it, see sfu_space_removals().
 * @rules: cache of the rules of these sections; has a lock of its own.
 * @gone: the last marker was removed, so that nothing may be added to
 *	@sections; protected by @lock.
 * @corrupt: number of sections removed because they were corrupt or unreadable.
 * @stale: number of sections removed because their mappings had changed.
 * @attached: the attachments that the space sees; needs no lock.
 * @listeners_mutex: protects @listeners.
 * @listeners: listeners to the removal of sections.
 * @rcu: to free the space.
 */
struct sfu_space {
	struct latch_tree_node node;
	struct list_head all;
	struct list_head link;
	u64 id;
	struct mm_struct *mm;
	unsigned int markers;
	unsigned long walked;
	refcount_t refs;
	struct rw_semaphore lock;
	struct sfu_sections sections;
	struct sfu_removals *removals;
	struct sfu_rules rules;
	bool gone;
	atomic64_t corrupt;
	atomic64_t stale;
	struct sfu_attach_view attached;
	struct mutex listeners_mutex;	/* listeners */
	struct list_head listeners;
	struct rcu_head rcu;
};

/* Returns the current mm's space with a reference, or NULL. */
struct sfu_space *sfu_space_get(void);

/* As sfu_space_get(), of @mm, which is not accessed, and may have been freed. */
struct sfu_space *sfu_space_get_of(const struct mm_struct *mm);

/*
 * Returns the current mm's space, without a reference, or NULL. The caller must be
 * in an RCU read-side critical section; the space is not freed before it ends. Any
 * context.
 */
struct sfu_space *sfu_space_peek(void);

/*
 * Get the current mm's space for a registration: creates it if there is none,
 * and maps the marker if it has none. May sleep, takes the mmap lock. Returns
 * it with a reference; or -ENOMEM or -EINTR as ERR_PTR().
 */
struct sfu_space *sfu_space_get_or_create(struct sfu_message *message);

/*
 * Get the current mm's space for a walk: creates an observed one if there is
 * none. May sleep. Returns it with a reference, or NULL if out of memory.
 */
struct sfu_space *sfu_space_observe(void);

/*
 * As sfu_space_observe(), of @mm, which must have users (mmget()); or get the
 * space that it has.
 */
struct sfu_space *sfu_space_observe_of(struct mm_struct *mm);

/* Note that a walk begins in @space. */
static inline void sfu_space_note_walk(struct sfu_space *space)
{
	const unsigned long now = jiffies;

	if (READ_ONCE(space->walked) != now)
		WRITE_ONCE(space->walked, now);
}

/*
 * Count the consumers that request stacks. Soon after the last one was removed,
 * all observed spaces are freed. Any context but NMI.
 */
void sfu_space_asker_add(void);
void sfu_space_asker_remove(void);

/* Returns 0 or -ENOMEM. */
int sfu_space_init(void);

/* To be called when there are no clients, walks and markers any more. */
void sfu_space_exit(void);

/* Drop a reference. @space may be NULL. */
void sfu_space_put(struct sfu_space *space);

/*
 * Number of registered sections of @space, and of all its sections; without
 * negative entries. @space may be NULL.
 */
u32 sfu_space_nr_registered(struct sfu_space *space);
u32 sfu_space_nr_sections(struct sfu_space *space);

/*
 * Add @section, whose text must not be empty. May sleep. Returns 0; -EEXIST
 * with a reference to a section that it overlaps in *@other; -ENOSPC; or
 * -ENOMEM. Errors come with @message; see SFRAME_UNWIND_IOC_REGISTER and
 * SFRAME_UNWIND_IOC_REGISTER_TABLE.
 */
int sfu_space_add(struct sfu_space *space, struct sfu_section *section,
		  struct sfu_section **other, struct sfu_message *message);

/*
 * Remove the registered section with @id; if @id is 0, all registered sections
 * whose bytes start at @sframe_start. @space may be NULL. May sleep. Returns
 * the number removed; -ENOENT if there is none; or -ENOMEM or -EINTR, after
 * which some of several sections may have been removed.
 */
int sfu_space_remove(struct sfu_space *space, u64 id, u64 sframe_start);

/*
 * Make the sections of @parent those of @child, which has none and which nobody else
 * knows. For fork. May sleep; cannot fail.
 */
void sfu_space_share(struct sfu_space *child, struct sfu_space *parent);

/*
 * Find the section that covers @pc, or the first one whose text starts at or
 * above @address. @space may be NULL. May sleep. Returns it with a reference,
 * or NULL.
 */
struct sfu_section *sfu_space_find(struct sfu_space *space, u64 pc);
struct sfu_section *sfu_space_find_from(struct sfu_space *space, u64 address);

/*
 * Returns the function table in slot number @slot of space->removals with a reference,
 * or NULL. May sleep.
 */
struct sfu_section *sfu_space_find_table(struct sfu_space *space, u32 slot);

/*
 * Remove all sections that discovery added; walks find them again. May sleep.
 * Stops early if the thread is being killed.
 */
void sfu_space_forget_found(struct sfu_space *space);

/*
 * Likewise, with the rule cache, at once and for the shrinker: only from a space without
 * registered sections, and if nobody holds its lock. May sleep. Returns whether there
 * were any.
 */
bool sfu_space_shed(struct sfu_space *space);

/*
 * Generation of the attachments that @space sees: see
 * sfu_attach_view_generation().
 */
static inline u64 sfu_space_attach_generation(struct sfu_space *space)
{
	return sfu_attach_view_generation(&space->attached);
}

/* The function tables of @space, for sfu_removals_read(). Any context. */
static inline const struct sfu_removals *
sfu_space_removals(const struct sfu_space *space)
{
	/* Pairs with the release in add_section(). */
	return smp_load_acquire(&space->removals);
}

/* See sfu_sections_find_gap(). */
bool sfu_space_find_gap(struct sfu_space *space, u64 pc, u64 *start, u64 *end);

/*
 * Remove @section for @reason. May sleep. Returns false if it was removed already, or if
 * memory for the change was short; in the latter case the next walk tries
 * again.
 */
bool sfu_space_drop(struct sfu_space *space, struct sfu_section *section,
		    enum sfu_removed reason);

/* What trace events tell of @section of @space. */
struct sfu_trace_section sfu_space_traced(const struct sfu_space *space,
					  struct sfu_section *section);

#endif /* SFU_SPACE_H */
