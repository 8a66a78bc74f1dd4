/* SPDX-License-Identifier: GPL-2.0 */
/* What the commands that read profiles have in common. */
#ifndef CLI_PROFILE_COMMON_H
#define CLI_PROFILE_COMMON_H

#include <stdio.h>

#include "cli/options.h"
#include "cli/profile/tree.h"

/* Options of all of them: the short ones, and values of the long ones. */
#define COMMON_SHORT	OPTIONS_SHORT "i:"
enum {
	COMMON_INPUT = 'i',
	COMMON_KALLSYMS = 0x200,
	COMMON_INLINE,
	COMMON_NO_INLINE,
	COMMON_NO_DEMANGLE,
	COMMON_OTHERS,	/* the first value for a command's own options */
};

#define COMMON_LONG							\
	{ "input", required_argument, NULL, COMMON_INPUT },		\
	{ "kallsyms", required_argument, NULL, COMMON_KALLSYMS },	\
	{ "inline", no_argument, NULL, COMMON_INLINE },			\
	{ "no-inline", no_argument, NULL, COMMON_NO_INLINE },		\
	{ "no-demangle", no_argument, NULL, COMMON_NO_DEMANGLE },	\
	OPTIONS_LONG

#define COMMON_HELP							\
	"  -i, --input=FILE   the profile; default: perf.data; - for standard input\n" \
	"      --kallsyms=FILE  names of kernel functions; default: /proc/kallsyms\n" \
	"      --inline       show functions that the compiler inlined, if there is\n" \
	"                     debugging information; takes long for large profiles\n" \
	"      --no-demangle  leave names of C++ and Rust as they are\n"	\
	"  -h, --help         print this\n"				\
	"  -V, --version      print the version\n"

/**
 * struct common - values of these options
 *
 * @input: the profile.
 * @names: how to name addresses.
 */
struct common {
	const char *input;
	struct names_options names;
};

/* Returns whether @option is one of them. */
bool common_option(struct common *common, int option);

/* Returns the escaped form of @text, a new string. */
char *common_escape(const char *text);

/* Returns the number of characters of an escaped string. */
int common_width(const char *escaped);

/* Write the escaped form as a string of JSON, with the quotes. */
void common_json(FILE *to, const char *text);

/* Returns bytes at the beginning of @escaped that are at most @width characters. */
size_t common_cut(const char *escaped, int width);

/* Write something like "1,234,567". */
void common_number(FILE *to, uint64_t number);

/* Whether the number of events of this name is a time in nanoseconds. */
bool common_is_time(const char *event);

/* Write a number of events or, if it is a time, something like "1.234 s". */
void common_events(FILE *to, const char *event, uint64_t number);

#endif /* CLI_PROFILE_COMMON_H */
