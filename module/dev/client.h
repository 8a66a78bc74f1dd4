/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Client: one open file of /dev/sframe_unwind.
 */
#ifndef SFU_CLIENT_H
#define SFU_CLIENT_H

#include <linux/mutex.h>
#include <linux/sframe_unwind.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "file/attach.h"
#include "perf/sampler.h"
#include "ring.h"
#include "walk/consumer.h"

struct pid_namespace;
struct sfu_space;

/**
 * struct sfu_client
 *
 * @consumer: the client as a consumer. Its payer, that of the opener, is also
 *	charged for the client and the ring. Its lock also protects @ring and
 *	@lost_events.
 * @id: unique in the system, never 0.
 * @pid_ns: PID namespace of the opener, for the ids in records.
 * @wait: readers and pollers.
 * @attachments: the client's attachments.
 * @sampler: takes samples for the client; or NULL. Set once.
 * @read_mutex: serialises readers. A reader may wait for a page of its buffer
 *	without limit, so nothing else takes it.
 * @create_mutex: serialises the creation of the ring and the sampler.
 * @ring: unread records. ring.tail is changed under both @read_mutex and
 *	consumer.lock.
 * @lost_events: see struct sframe_unwind_stats.
 */
struct sfu_client {
	struct sfu_consumer consumer;
	u64 id;
	struct pid_namespace *pid_ns;
	wait_queue_head_t wait;
	struct sfu_attachments attachments;
	struct sfu_sampler *sampler;
	struct mutex read_mutex;	/* readers */
	struct mutex create_mutex;	/* creation of the ring, the sampler */
	struct sfu_ring ring;		/* consumer.lock */
	u64 lost_events;		/* consumer.lock */
};

/*
 * Create a client, charged to the current user. Returns NULL if out of memory.
 */
struct sfu_client *sfu_client_create(void);

/*
 * Close the client: detach its attachments, free its ring, drop the file's
 * reference.
 */
void sfu_client_close(struct sfu_client *client);

/* As sfu_client_prepare(), which calls it only if that seems to be necessary. */
int sfu_client_make_ring(struct sfu_client *client);

/*
 * Allocate the ring and what requests need, once. May sleep. Returns 0 or
 * -ENOMEM.
 */
static inline int sfu_client_prepare(struct sfu_client *client)
{
	/* Pairs with the release in make_ring(): if the ring is there, all of it is. */
	return smp_load_acquire(&client->ring.data) ?
		       0 : sfu_client_make_ring(client);
}

/*
 * Make the sampler, once. May sleep. Returns 0, -EEXIST or -ENOMEM.
 */
int sfu_client_make_sampler(struct sfu_client *client,
			    const struct sfu_sampler_spec *spec);

/* Returns the sampler, or NULL. */
static inline struct sfu_sampler *
sfu_client_sampler(const struct sfu_client *client)
{
	/* Pairs with the release in sfu_client_make_sampler(). */
	return smp_load_acquire(&client->sampler);
}

/*
 * Put events of @space only into @client; of no space, if it is NULL. Takes
 * over the caller's reference to @space. sfu_client_prepare() must have been
 * called. May sleep. Returns 0; or -ENOSPC if @space has SFU_MAX_LISTENERS
 * already, and @client gets no events then.
 */
static inline int sfu_client_listen(struct sfu_client *client,
				    struct sfu_space *space)
{
	return sfu_listener_set(&client->consumer.listener, space);
}

/*
 * Copy whole records to @buffer, and remove them from the ring. Unless
 * @nonblock, waits for a record, and for other readers. Returns the number of
 * bytes; -EAGAIN; -ERESTARTSYS; -EINVAL if the first record is larger than
 * @size; or -EFAULT.
 */
ssize_t sfu_client_read(struct sfu_client *client, char __user *buffer,
			size_t size, bool nonblock);

/* Returns whether a record is waiting. */
bool sfu_client_is_readable(struct sfu_client *client);

void sfu_client_stats(struct sfu_client *client,
		      struct sframe_unwind_stats *stats);

#endif /* SFU_CLIENT_H */
