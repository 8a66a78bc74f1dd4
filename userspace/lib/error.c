// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Error messages. They are kept per thread, not in the handle, so that threads
 * sharing a handle do not overwrite each other's and no lock is needed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "handle.h"

static __thread struct {
	const struct sframe_unwind *handle;
	char text[ERROR_SIZE];
} last;

const char *sframe_unwind_error(const struct sframe_unwind *handle)
{
	return last.handle == handle ? last.text : "";
}

char *sfu_error_begin(const struct sframe_unwind *handle)
{
	last.handle = handle;
	last.text[0] = '\0';
	return last.text;
}

const char *sfu_error_text(int error)
{
	const char *text = strerrordesc_np(error);

	return text ? text : "unknown error";
}

int sfu_error_end(int error, const char *what)
{
	if (last.text[0])
		return -error;
	snprintf(last.text, sizeof(last.text), "%s: %s", what,
		 sfu_error_text(error));
	return -error;
}

int sfu_error_set(const struct sframe_unwind *handle, int error,
		  const char *format, ...)
{
	va_list args;

	last.handle = handle;
	va_start(args, format);
	vsnprintf(last.text, sizeof(last.text), format, args);
	va_end(args);
	return -error;
}
