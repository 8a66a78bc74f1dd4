/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Client: one open file of /dev/sframe_unwind.
 */
#ifndef SFU_CLIENT_H
#define SFU_CLIENT_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sframe_unwind.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "file/attach.h"
#include "ring.h"

struct pid_namespace;
struct sfu_payer;
struct sfu_request;
struct sfu_space;
struct sfu_walk;

/**
 * struct sfu_client
 *
 * @refs: one of the open file, one of each pending request.
 * @payer: whoever is charged for it, its ring and its requests: the opener.
 * @pid_ns: of the opener; records number pids as it does.
 * @wait: readers and pollers.
 * @listen_mutex: serialises changes of @space.
 * @space: whose events it wants, with a reference, or NULL.
 * @listener: in the list of @space, protected by that one's listeners_mutex.
 * @attachments: what it has attached.
 * @walk: memory for a walk, or NULL while one uses it. Taken by xchg(), put
 *	there under @lock.
 * @read_mutex: serialises readers, and making the ring.
 * @lock: taken in any context, see lock.h.
 * @ring: undelivered records. ring.tail moves under @read_mutex and @lock.
 * @closed: nobody can read any more.
 * @spare: memory for requests.
 * @nr_spare: entries in it.
 * @pending, @accepted, @delivered, @lost_full, @lost_events: see struct
 *	sframe_unwind_stats.
 */
struct sfu_client {
	refcount_t refs;
	struct sfu_payer *payer;
	struct pid_namespace *pid_ns;
	wait_queue_head_t wait;
	struct mutex listen_mutex;	/* space */
	struct sfu_space *space;
	struct list_head listener;
	struct sfu_attachments attachments;
	struct sfu_walk *walk;
	struct mutex read_mutex;	/* readers; making the ring */
	raw_spinlock_t lock;		/* all members below */
	struct sfu_ring ring;
	bool closed;
	struct hlist_head spare;
	u32 nr_spare;
	u32 pending;
	u64 accepted;
	u64 delivered;
	u64 lost_full;
	u64 lost_events;
#ifdef SFU_TEST
	struct sfu_test_timer *test_timer;	/* one thread tests at a time */
#endif
};

/* Make a client for the current process. Returns NULL without memory. */
struct sfu_client *sfu_client_create(void);

/* The file is closed: drop its reference and what nobody will read. */
void sfu_client_close(struct sfu_client *client);

/* Make what requests need on first use. May sleep. Returns 0 or -ENOMEM. */
int sfu_client_prepare(struct sfu_client *client);

/*
 * Count a request in, with a reference that sfu_client_end() gives back.
 * sfu_client_prepare() has been called. Any context but NMI. Returns 0, with a
 * spare request in *@spare if there is one and @spare is not NULL; or -EAGAIN
 * with too many pending.
 */
int sfu_client_begin(struct sfu_client *client, struct sfu_request **spare);

/* Take sfu_client_begin() back but for sfu_client_end(): it was not accepted. */
void sfu_client_cancel(struct sfu_client *client);

/*
 * A request of @client is over, whose memory is @spare, or NULL if the client is
 * not to have it. Any context but NMI if it is NULL.
 */
void sfu_client_end(struct sfu_client *client, struct sfu_request *spare);

/*
 * Deliver the current thread's stack for @request, the first @nr frames of
 * @walk, which may be NULL with 0, or count it as lost. Process context.
 */
void sfu_client_deliver(struct sfu_client *client,
			const struct sfu_request *request,
			const struct sfu_walk *walk, u32 nr,
			enum sframe_unwind_stop stop);

/*
 * Give back the memory for a walk that @client or its user has had: it is kept
 * for the next one unless nobody will read that. Process context.
 */
void sfu_client_keep_walk(struct sfu_client *client, struct sfu_walk *walk);

/*
 * Have @client told of events in @space, and of no other; of none, with NULL.
 * Takes over the caller's reference. sfu_client_prepare() has been called. May
 * sleep. Returns 0, or -ENOSPC with SFU_MAX_LISTENERS there already: then it is
 * told of none.
 */
int sfu_client_listen(struct sfu_client *client, struct sfu_space *space);

/*
 * Put @removed, with the current thread's pid and tid, into the ring of each
 * client that listens to @space. May sleep.
 */
void sfu_client_tell(struct sfu_space *space,
		     struct sframe_unwind_removed *removed);

/*
 * Copy whole records to @buffer. Waits for one, and while another thread reads,
 * unless @nonblock. Returns the number of bytes; -EAGAIN, -ERESTARTSYS, -EINVAL
 * if @size is less than the first record, -EFAULT.
 */
ssize_t sfu_client_read(struct sfu_client *client, char __user *buffer,
			size_t size, bool nonblock);

/* Is there a record to be read? */
bool sfu_client_is_readable(struct sfu_client *client);

void sfu_client_stats(struct sfu_client *client,
		      struct sframe_unwind_stats *stats);

#endif /* SFU_CLIENT_H */
