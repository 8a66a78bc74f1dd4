/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of the subcommands: getopt_long(3) with messages that begin with the
 * program's name, and with --help and --version for all subcommands.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <getopt.h>

/* The last entries of each table of long options. */
#define OPTIONS_LONG							\
	{ "help", no_argument, NULL, 'h' },				\
	{ "version", no_argument, NULL, 'V' },				\
	{ 0 }

/* The first part of each list of short options; a "+" comes before it. */
#define OPTIONS_SHORT ":hV"

/* Returned by options_next() for a wrong option, after a message. */
#define OPTIONS_BAD '?'

/**
 * struct options - options of a subcommand
 *
 * @command: name of the subcommand.
 * @help: text that --help prints.
 * @shorts: short options, beginning with OPTIONS_SHORT.
 * @longs: long options, ending with OPTIONS_LONG.
 */
struct options {
	const char *command;
	const char *help;
	const char *shorts;
	const struct option *longs;
};

/*
 * Returns the next option, as getopt_long(3) does. For a wrong option, prints a message
 * and returns OPTIONS_BAD: then call usage_error() without a message. --help and
 * --version are handled here, and end the process.
 */
int options_next(const struct options *options, int argc, char **argv);

/* Print the program's name and version. */
void options_print_version(void);

#endif /* OPTIONS_H */
