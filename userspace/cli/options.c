// SPDX-License-Identifier: GPL-2.0
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "options.h"

/* Returns whether @argument gives a value to the long option @value, which takes none. */
static bool has_unwanted_value(const struct option *longs, const char *argument,
			       int value)
{
	const size_t length = strcspn(argument, "=");

	if (strncmp(argument, "--", 2) || !argument[length])
		return false;
	for (; longs->name; longs++)
		if (longs->val == value && longs->has_arg == no_argument &&
		    !strncmp(longs->name, argument + 2, length - 2))
			return true;
	return false;
}

/* Print a message about the option for which getopt_long() returned @result. */
static void complain_of(const struct options *options, char **argv, int result)
{
	const char *argument = argv[optind - 1];

	if (!optopt)
		complain("%s: unknown or ambiguous option '%s'",
			 options->command, argument);
	else if (result == ':' && !strncmp(argument, "--", 2))
		complain("%s: option '%s' needs an argument", options->command,
			 argument);
	else if (result == ':')
		complain("%s: option '-%c' needs an argument", options->command,
			 optopt);
	else if (has_unwanted_value(options->longs, argument, optopt))
		complain("%s: option '%.*s' takes no argument",
			 options->command, (int)strcspn(argument, "="),
			 argument);
	else
		complain("%s: unknown option '-%c'", options->command, optopt);
}

int options_next(const struct options *options, int argc, char **argv)
{
	int option;

	opterr = 0;
	option = getopt_long(argc, argv, options->shorts, options->longs, NULL);
	switch (option) {
	case 'h':
		fputs(options->help, stdout);
		exit(finish_output(CLI_OK));
	case 'V':
		options_print_version();
		exit(finish_output(CLI_OK));
	case ':':
	case '?':
		complain_of(options, argv, option);
		return OPTIONS_BAD;
	default:
		return option;
	}
}

void options_print_version(void)
{
	puts("sframe-unwind " SFRAME_UNWIND_VERSION);
}
