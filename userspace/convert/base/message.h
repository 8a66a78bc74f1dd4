/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Error message of the calling thread.
 */
#ifndef SFRAME_UNWIND_MESSAGE_H
#define SFRAME_UNWIND_MESSAGE_H

/* Start a call: clear the message. Later messages begin with @name. */
void sfu_message_begin(const char *name);

/* Set the message, which is preceded by the name. Returns -@error. */
__attribute__((format(printf, 2, 3)))
int sfu_message_fail(int error, const char *format, ...);

/* The message without the name, "" if there is none. */
const char *sfu_message_text(void);

#endif /* SFRAME_UNWIND_MESSAGE_H */
