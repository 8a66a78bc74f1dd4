// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "escape.h"

static void print_message(const char *format, va_list args)
{
	char *message;
	const int length = vasprintf(&message, format, args);

	print_line(stderr, "sframe-unwind: %s",
		   length < 0 ? "no memory" : message);
	if (length >= 0)
		free(message);
}

int complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(format, args);
	va_end(args);
	return CLI_TROUBLE;
}

int complain_as(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(format, args);
	va_end(args);
	return status;
}

int usage_error(const char *command, const char *message)
{
	if (message)
		complain("%s: %s", command, message);
	fprintf(stderr, "Try 'sframe-unwind %s --help'.\n", command);
	return CLI_USAGE;
}

int finish_output(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return complain("cannot write to standard output");
	return status;
}
