/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Watch: ends attachments to addresses of a process when the memory there
 * changes, before the process can have other code there. Each space has at most one.
 */
#ifndef SFU_WATCH_H
#define SFU_WATCH_H

#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/list.h>
#include <linux/types.h>

struct mm_struct;
struct sfu_attach_entry;
struct sfu_attach_view;
struct sfu_message;
struct sfu_watch;

/* Whether the kernel has MMU notifiers, as those with KVM do. */
#define SFU_CAN_WATCH	IS_ENABLED(CONFIG_MMU_NOTIFIER)

/**
 * struct sfu_watch_attempt - an attempt to attach
 *
 * @link: in the list of the watch.
 * @watch: NULL, if it was not begun.
 * @start, @end: the addresses.
 * @has_changed: the memory there has changed since sfu_watch_begin().
 */
struct sfu_watch_attempt {
	struct list_head link;
	struct sfu_watch *watch;
	u64 start;
	u64 end;
	bool has_changed;
};

#if SFU_CAN_WATCH

/*
 * Begin an attempt to attach to [start, end) of @mm, which must have users (mmget()), and
 * whose space has @view. From the return on, it is noticed if any of this is unmapped,
 * moved, or protected otherwise. What is mapped there must be checked afterwards. The
 * caller must hold a reference to the space until sfu_watch_end(). May sleep, takes the
 * mmap lock. Returns 0; or -EINTR or -ENOMEM, with @message.
 */
int sfu_watch_begin(struct sfu_watch_attempt *attempt,
		    struct sfu_attach_view *view, struct mm_struct *mm,
		    u64 start, u64 end, struct sfu_message *message);

/* End @attempt, if it was begun. */
void sfu_watch_end(struct sfu_watch_attempt *attempt);

/*
 * Add @entry to the table of the space as sfu_attach_table_add() and
 * sfu_attach_table_swap() do: with @replaced not 0, in the place of the entry with this
 * id. It ends at the first change from now on, if entry->range.is_final is set. Returns
 * as these; or -ESTALE, if there was a change already.
 */
int sfu_watch_add_entry(struct sfu_watch_attempt *attempt,
			struct sfu_attach_entry *entry, bool alone, u64 replaced);

/* Stop watching; there is no attempt. Does not sleep. @watch may be NULL. */
void sfu_watch_put(struct sfu_watch *watch);

/* Wait until what was put is freed. */
void sfu_watch_exit(void);

#else /* no attempt is ever begun */

static inline int sfu_watch_begin(struct sfu_watch_attempt *attempt,
				  struct sfu_attach_view *view,
				  struct mm_struct *mm, u64 start, u64 end,
				  struct sfu_message *message)
{
	return -EOPNOTSUPP;
}

static inline void sfu_watch_end(struct sfu_watch_attempt *attempt)
{
}

static inline int sfu_watch_add_entry(struct sfu_watch_attempt *attempt,
				      struct sfu_attach_entry *entry,
				      bool alone, u64 replaced)
{
	return -EOPNOTSUPP;
}

static inline void sfu_watch_put(struct sfu_watch *watch)
{
}

static inline void sfu_watch_exit(void)
{
}

#endif /* SFU_CAN_WATCH */

#endif /* SFU_WATCH_H */
