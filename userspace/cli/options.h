/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of the subcommands: getopt_long(3) with messages of our own, which
 * have the program's name, and with --help and --version for all.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <getopt.h>

/* The last entries of each table of long options. */
#define OPTIONS_LONG							\
	{ "help", no_argument, NULL, 'h' },				\
	{ "version", no_argument, NULL, 'V' },				\
	{ 0 }

/* The first part of each list of short options; "+" stands before it. */
#define OPTIONS_SHORT ":hV"

/* What options_next() returns of an option that it has complained of. */
#define OPTIONS_BAD '?'

/**
 * struct options - what a subcommand takes
 *
 * @command: its name.
 * @help: what --help prints.
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
 * The next option, as getopt_long(3) returns it, or OPTIONS_BAD having
 * complained: usage_error() without a message is next. Prints help or version
 * and ends the process if that is asked for.
 */
int options_next(const struct options *options, int argc, char **argv);

/* Print the program's name and version. */
void options_print_version(void);

#endif /* OPTIONS_H */
