/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listener: somebody who is told when a section of one space is removed.
 */
#ifndef SFU_LISTENER_H
#define SFU_LISTENER_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sframe_unwind.h>

struct sfu_space;

/**
 * struct sfu_listener - part of a structure of its owner's
 *
 * @event: a section of @space was removed. May sleep; called with listeners_mutex
 *	of the space.
 * @link: in the list of @space, protected by that one's listeners_mutex.
 * @mutex: serialises changes of @space.
 * @space: whose events it wants, with a reference, or NULL.
 */
struct sfu_listener {
	void (*event)(struct sfu_listener *listener,
		      const struct sframe_unwind_removed *removed);
	struct list_head link;
	struct mutex mutex;	/* space */
	struct sfu_space *space;
};

static inline void
sfu_listener_init(struct sfu_listener *listener,
		  void (*event)(struct sfu_listener *listener,
				const struct sframe_unwind_removed *removed))
{
	listener->event = event;
	listener->space = NULL;
	INIT_LIST_HEAD(&listener->link);
	mutex_init(&listener->mutex);
}

/*
 * Have @listener told of events in @space, and of no other; of none, with NULL.
 * Takes over the caller's reference. May sleep. Returns 0, or -ENOSPC with
 * SFU_MAX_LISTENERS there already: then it is told of none.
 */
int sfu_listener_set(struct sfu_listener *listener, struct sfu_space *space);

/* Tell each listener of @space. May sleep. */
void sfu_listeners_tell(struct sfu_space *space,
			const struct sframe_unwind_removed *removed);

#endif /* SFU_LISTENER_H */
