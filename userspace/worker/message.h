/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Message: bytes with file descriptors over a SOCK_SEQPACKET socket.
 */
#ifndef WORKER_MESSAGE_H
#define WORKER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Most descriptors of a message with many. */
#define MESSAGE_MAX_FDS 32

/*
 * Send @bytes followed by @rest as one message, with up to two descriptors @fds, -1 where
 * there is none. Does not wait. Returns 0 or a negative errno.
 */
int message_send(int socket, const void *bytes, size_t size, const void *rest,
		 size_t rest_size, const int fds[2]);

/*
 * Receive a message, with its descriptors in the same elements of @fds, close-on-exec
 * and to be closed. Waits for a message unless @is_now. Returns its size, 0 if the
 * socket is closed, or a negative errno: -EAGAIN if there is no message, -EMSGSIZE if it
 * is empty, or larger than @size.
 */
ssize_t message_receive(int socket, void *bytes, size_t size, int fds[2],
			bool is_now);

/*
 * The same with @nr descriptors, MESSAGE_MAX_FDS at most. The receiver has to know that
 * it gets such a message; it sets *@nr.
 */
int message_send_many(int socket, const void *bytes, size_t size,
		      const int *fds, unsigned int nr);
ssize_t message_receive_many(int socket, void *bytes, size_t size,
			     int fds[MESSAGE_MAX_FDS], unsigned int *nr);

#endif /* WORKER_MESSAGE_H */
