/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Space: the state of one mm.
 *
 * A registered space lives as long as its mm has the marker: a mapping of one
 * page without access whose vm_ops tell of fork, exec and exit. Whoever holds a
 * reference keeps the memory, not the registrations.
 *
 * An observed space is made by a walk in an mm that has none. It has no marker,
 * as the process did not ask for anything. It goes when the process has gone,
 * when nobody asks for stacks any more, when no walk has needed it for a while,
 * and when memory is short. It becomes a registered one when its process
 * registers. A child that is forked meanwhile begins anew.
 */
#ifndef SFU_SPACE_H
#define SFU_SPACE_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/types.h>

#include "file/attach_table.h"
#include "rules.h"
#include "sections.h"

struct sfu_message;
struct sfu_section;

/**
 * struct sfu_space
 *
 * @node: in the hash of spaces, by @mm; protected by spaces_lock, read by RCU.
 * @link: in the list of observed spaces; protected by spaces_lock.
 * @id: unique in the system, never 0; unlike @mm not used again.
 * @mm: the key. While it is in the hash it has a reference to the mm_struct, so
 *	that no other mm gets the same address.
 * @markers: mappings that keep it alive; written under spaces_lock. One, unless
 *	mremap() copies or moves it; 0 of an observed space.
 * @walked: jiffies of the last walk that began.
 * @refs: one of the hash, one of each user.
 * @lock: protects @sections. Taken inside the mmap lock by fork, so nothing
 *	that takes the mmap lock, no access to user memory above all, may be
 *	done under it.
 * @sections: registered ones, and what has been found.
 * @rules: rules of these sections; has a lock of its own.
 * @gone: the last marker is gone; protected by @lock. Nothing is added to
 *	@sections any more.
 * @corrupt: sections removed because they were corrupt or unreadable.
 * @stale: sections removed because their mappings had changed.
 * @attached: what it sees of what is attached; needs no lock.
 * @listeners_mutex: protects @listeners.
 * @listeners: consumers that want its events.
 */
struct sfu_space {
	struct hlist_node node;
	struct list_head link;
	u64 id;
	struct mm_struct *mm;
	unsigned int markers;
	unsigned long walked;
	refcount_t refs;
	struct rw_semaphore lock;
	struct sfu_sections sections;
	struct sfu_rules rules;
	bool gone;
	atomic64_t corrupt;
	atomic64_t stale;
	struct sfu_attach_view attached;
	struct mutex listeners_mutex;	/* listeners */
	struct list_head listeners;
	struct rcu_head rcu;
};

/* The current mm's space with a reference, or NULL. */
struct sfu_space *sfu_space_get(void);

/*
 * The same, for registering: makes it if there is none and maps the marker if
 * it has none. May sleep, takes the mmap lock. Returns -ENOMEM or -EINTR.
 */
struct sfu_space *sfu_space_get_or_create(struct sfu_message *message);

/*
 * The same, for a walk: makes an observed one if there is none. May sleep.
 * Returns NULL without memory.
 */
struct sfu_space *sfu_space_observe(void);

/* A walk begins in @space. */
static inline void sfu_space_note_walk(struct sfu_space *space)
{
	const unsigned long now = jiffies;

	if (READ_ONCE(space->walked) != now)
		WRITE_ONCE(space->walked, now);
}

/*
 * Somebody begins, or ceases, to ask for stacks. With the last one all observed
 * spaces go, soon afterwards. Any context but NMI.
 */
void sfu_space_asker_add(void);
void sfu_space_asker_remove(void);

/* Returns 0 or -ENOMEM. */
int sfu_space_init(void);

/* There are no clients, no walks and no markers any more. */
void sfu_space_exit(void);

/* @space may be NULL. */
void sfu_space_put(struct sfu_space *space);

/*
 * Number of sections of @space, which may be NULL: registered ones, and all
 * that there are.
 */
u32 sfu_space_nr_registered(struct sfu_space *space);
u32 sfu_space_nr_sections(struct sfu_space *space);

/*
 * Add @section, which covers something. Returns 0; -EEXIST, with a reference to
 * the section that it overlaps in *@other; -ENOSPC or -ENOMEM. All but 0 with
 * @message; see SFRAME_UNWIND_IOC_REGISTER.
 */
int sfu_space_add(struct sfu_space *space, struct sfu_section *section,
		  struct sfu_section **other, struct sfu_message *message);

/*
 * Remove the registered section with @id, or with 0 all from @sframe_start. May
 * sleep. Returns how many; -ENOENT; or -ENOMEM or -EINTR, and then of several some
 * may have been removed. @space may be NULL.
 */
int sfu_space_remove(struct sfu_space *space, u64 id, u64 sframe_start);

/*
 * The section that covers @pc, with a reference, or NULL; and the first one
 * that starts at or above @address. @space may be NULL.
 */
struct sfu_section *sfu_space_find(struct sfu_space *space, u64 pc);
struct sfu_section *sfu_space_find_from(struct sfu_space *space, u64 address);

/*
 * Remove all that nobody registered. Walks find it again. May sleep; ends early
 * if the thread is being killed.
 */
void sfu_space_forget_found(struct sfu_space *space);

/* What @space sees of what is attached: see sfu_attach_view_generation(). */
static inline u64 sfu_space_attach_generation(struct sfu_space *space)
{
	return sfu_attach_view_generation(&space->attached);
}

/* See sfu_sections_find_gap(). */
bool sfu_space_find_gap(struct sfu_space *space, u64 pc, u64 *start, u64 *end);

/*
 * Remove @section if it is there yet. May sleep. Returns whether it was; false
 * also without memory, and then the next walk tries again.
 */
bool sfu_space_drop(struct sfu_space *space, struct sfu_section *section);

#endif /* SFU_SPACE_H */
