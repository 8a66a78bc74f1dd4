/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Escape untrusted strings (names of files, functions and sections, and messages that
 * contain them) for terminals and logs.
 *
 * Bytes that can have an effect on a terminal are written as \xNN: control characters,
 * such as newline and ESC, invalid UTF-8, and the Unicode characters that end lines or
 * change the direction of writing. Backslashes are escaped, too, so that different
 * names have different escaped forms. Blanks are escaped by print_escaped_word() only.
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* Largest size of the escaped form of @length bytes, with the terminating 0. */
#define ESCAPED_SIZE(length) (4 * (length) + 1)

/*
 * Write the escaped form of @text, or "(null)" for NULL, to @buffer of @size bytes, at
 * least 4. If it does not fit, it is truncated between characters and ends with "...".
 * Async-signal-safe. Returns @buffer.
 */
const char *escape(char *buffer, size_t size, const char *text);

/* Write the escaped form of @text to @to, without truncation. */
void print_escaped(FILE *to, const char *text);

/* The same with blanks as \x20, for lines of words: no name can be taken for two of them. */
void print_escaped_word(FILE *to, const char *text);

/*
 * Write one line to @to: the formatted text is escaped as a whole, followed by a
 * newline. Use it for all lines that contain untrusted strings.
 */
__attribute__((format(printf, 2, 3)))
void print_line(FILE *to, const char *format, ...);

#endif /* ESCAPE_H */
