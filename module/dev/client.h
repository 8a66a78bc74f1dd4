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
#include "ring.h"
#include "walk/consumer.h"

struct pid_namespace;
struct sfu_space;

/**
 * struct sfu_client
 *
 * @consumer: of stacks. Its payer is the opener's, and charged for the ring, too.
 *	Its lock protects @ring and @lost_events, too.
 * @pid_ns: of the opener; records number pids as it does.
 * @wait: readers and pollers.
 * @attachments: what it has attached.
 * @read_mutex: serialises readers, and making the ring.
 * @ring: undelivered records. ring.tail moves under @read_mutex and the lock.
 * @lost_events: see struct sframe_unwind_stats.
 */
struct sfu_client {
	struct sfu_consumer consumer;
	struct pid_namespace *pid_ns;
	wait_queue_head_t wait;
	struct sfu_attachments attachments;
	struct mutex read_mutex;	/* readers; making the ring */
	struct sfu_ring ring;		/* consumer.lock */
	u64 lost_events;		/* consumer.lock */
};

/* Make a client for the current process. Returns NULL without memory. */
struct sfu_client *sfu_client_create(void);

/* The file is closed: drop its reference and what nobody will read. */
void sfu_client_close(struct sfu_client *client);

/* Make what requests need on first use. May sleep. Returns 0 or -ENOMEM. */
int sfu_client_prepare(struct sfu_client *client);

/*
 * Have @client told of events in @space, and of no other; of none, with NULL.
 * Takes over the caller's reference. sfu_client_prepare() has been called. May
 * sleep. Returns 0, or -ENOSPC with SFU_MAX_LISTENERS there already: then it is
 * told of none.
 */
static inline int sfu_client_listen(struct sfu_client *client,
				    struct sfu_space *space)
{
	return sfu_listener_set(&client->consumer.listener, space);
}

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
