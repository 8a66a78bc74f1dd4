// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdarg.h>
#include <stdio.h>

#include <sframe_unwind_convert.h>

#include "message.h"

static __thread const char *about;
static __thread char message[512];
static __thread size_t text_at;

void sfu_message_begin(const char *name)
{
	about = name ? name : "(no name)";
	message[0] = '\0';
	text_at = 0;
}

int sfu_message_fail(int error, const char *format, ...)
{
	va_list args;

	text_at = snprintf(message, sizeof(message), "%.300s: ",
			   about ? about : "(no name)");
	va_start(args, format);
	vsnprintf(message + text_at, sizeof(message) - text_at, format, args);
	va_end(args);
	return -error;
}

const char *sfu_message_text(void)
{
	return message + text_at;
}

const char *sframe_unwind_convert_error(void)
{
	return message;
}
