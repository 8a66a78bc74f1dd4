// SPDX-License-Identifier: GPL-2.0
/*
 * Listener: is called when a section of one space is removed.
 *
 * Lock order: sfu_listener.mutex > sfu_space.listeners_mutex.
 */
#include <linux/errno.h>

#include "limits.h"
#include "listener.h"
#include "space.h"

/* Returns 0, or -ENOSPC with too many listeners. */
static int add_listener(struct sfu_space *space, struct sfu_listener *listener)
{
	struct list_head *at;
	u32 nr = 0;

	mutex_lock(&space->listeners_mutex);
	list_for_each(at, &space->listeners)
		nr++;
	if (nr < SFU_MAX_LISTENERS)
		list_add(&listener->link, &space->listeners);
	mutex_unlock(&space->listeners_mutex);
	return nr < SFU_MAX_LISTENERS ? 0 : -ENOSPC;
}

static void remove_listener(struct sfu_space *space,
			    struct sfu_listener *listener)
{
	mutex_lock(&space->listeners_mutex);
	list_del_init(&listener->link);
	mutex_unlock(&space->listeners_mutex);
}

int sfu_listener_set(struct sfu_listener *listener, struct sfu_space *space)
{
	struct sfu_space *unused;
	int err = 0;

	mutex_lock(&listener->mutex);
	unused = listener->space;
	if (space != unused) {
		if (unused)
			remove_listener(unused, listener);
		if (space)
			err = add_listener(space, listener);
		listener->space = err ? NULL : space;
	}
	mutex_unlock(&listener->mutex);
	/*
	 * The previous space; or, if it is the same, the surplus reference to
	 * it.
	 */
	sfu_space_put(unused);
	if (err)
		sfu_space_put(space);
	return err;
}

void sfu_listeners_tell(struct sfu_space *space,
			const struct sframe_unwind_removed *removed)
{
	struct sfu_listener *listener;

	mutex_lock(&space->listeners_mutex);
	list_for_each_entry(listener, &space->listeners, link)
		listener->event(listener, removed);
	mutex_unlock(&space->listeners_mutex);
}
