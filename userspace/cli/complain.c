// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "escape.h"

int complain(const char *format, ...)
{
	char *message;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&message, format, args);
	va_end(args);
	print_line(stderr, "sframe-unwind: %s",
		   length < 0 ? "no memory" : message);
	if (length >= 0)
		free(message);
	return CLI_TROUBLE;
}

int usage_error(const char *command, const char *message)
{
	if (message)
		complain("%s: %s", command, message);
	fprintf(stderr, "Try 'sframe-unwind %s --help'.\n", command);
	return CLI_TROUBLE;
}
