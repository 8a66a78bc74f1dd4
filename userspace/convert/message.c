// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdarg.h>
#include <stdio.h>

#include <sframe_unwind_convert.h>

#include "message.h"

static __thread const char *about;
static __thread char message[512];

void sfu_message_begin(const char *name)
{
	about = name ? name : "(no name)";
	message[0] = '\0';
}

int sfu_message_fail(int error, const char *format, ...)
{
	va_list args;
	int length;

	length = snprintf(message, sizeof(message), "%.300s: ", about);
	va_start(args, format);
	vsnprintf(message + length, sizeof(message) - length, format, args);
	va_end(args);
	return -error;
}

const char *sframe_unwind_convert_error(void)
{
	return message;
}
