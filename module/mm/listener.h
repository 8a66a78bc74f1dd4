/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listener: is called when a section of one space is removed.
 */
#ifndef SFU_LISTENER_H
#define SFU_LISTENER_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sframe_unwind.h>

struct sfu_space;

/**
 * struct sfu_listener - embedded in a structure of its owner
 *
 * @event: called after a section of @space was removed, with the
 *	listeners_mutex of the space held. May sleep.
 * @link: in the space's list, protected by the listeners_mutex of the space.
 * @mutex: serialises changes of @space.
 * @space: the space whose events it gets; holds a reference; or NULL.
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
 * Let @listener get the events of @space only; of no space, if it is NULL.
 * Takes over the caller's reference to @space. May sleep. Returns 0; or -ENOSPC
 * if @space has SFU_MAX_LISTENERS already, and @listener gets no events then.
 */
int sfu_listener_set(struct sfu_listener *listener, struct sfu_space *space);

/* Call each listener of @space. May sleep. */
void sfu_listeners_tell(struct sfu_space *space,
			const struct sframe_unwind_removed *removed);

#endif /* SFU_LISTENER_H */
