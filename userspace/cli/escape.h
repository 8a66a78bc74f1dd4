/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Strings that somebody else chose (names of files, functions and sections,
 * messages that contain them), for terminals and logs.
 *
 * Bytes that a terminal could take for more than letters come out as \xNN:
 * control characters, of which newline and ESC are two, invalid UTF-8, and the
 * characters of Unicode that end lines or turn the direction of what follows.
 * So does the backslash, so that each name has one form only and different
 * names have different ones. Blanks stay.
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* Bytes that the escaped form of @length bytes takes, with its end. */
#define ESCAPED_SIZE(length) (4 * (length) + 1)

/*
 * Write the escaped form of @text, "(null)" of NULL, to @buffer of @size bytes,
 * at least 4. What does not fit is cut, between characters, and ends with
 * "...". Async-signal-safe. Returns @buffer.
 */
const char *escape(char *buffer, size_t size, const char *text);

/* Write the escaped form of @text to @to, however long it is. */
void print_escaped(FILE *to, const char *text);

/*
 * Write one line to @to: what @format makes is escaped as a whole, strings of
 * strangers with it, then comes a newline. For all lines with such strings.
 */
__attribute__((format(printf, 2, 3)))
void print_line(FILE *to, const char *format, ...);

#endif /* ESCAPE_H */
