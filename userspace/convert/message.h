/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What went wrong, in words, for the thread it went wrong in.
 */
#ifndef SFRAME_UNWIND_MESSAGE_H
#define SFRAME_UNWIND_MESSAGE_H

/* Start a call: there is no message, and @name is what the next is about. */
void sfu_message_begin(const char *name);

/* Set the message, behind the name. Returns -@error. */
__attribute__((format(printf, 2, 3)))
int sfu_message_fail(int error, const char *format, ...);

/* The message without the name in front of it, "" if there is none. */
const char *sfu_message_text(void);

#endif /* SFRAME_UNWIND_MESSAGE_H */
