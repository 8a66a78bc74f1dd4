// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

/* Longest form of one character: four bytes of UTF-8, each as \xNN. */
#define UNIT_MAX 16

/*
 * Decode the character at @text, which is not the end of the string. Returns its number
 * of bytes, or 0 if they are not valid UTF-8: truncated, longer than necessary, a
 * surrogate, or beyond U+10FFFF. Reads no byte beyond the end of the string.
 */
static unsigned int decode(const unsigned char *text, uint32_t *character)
{
	/* Smallest character for each number of bytes. */
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char first = text[0];
	unsigned int length;

	if (first < 0x80) {
		*character = first;
		return 1;
	}
	length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	if (first < 0xc0 || first >= 0xf8)
		return 0;
	*character = first & (0x7f >> length);
	for (unsigned int i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | (text[i] & 0x3f);
	}
	if (*character < smallest[length] || *character > 0x10ffff ||
	    (*character >= 0xd800 && *character < 0xe000))
		return 0;
	return length;
}

/* Returns whether the character need not be escaped. */
static bool is_harmless(uint32_t character)
{
	switch (character) {
	case 0x00 ... 0x1f:
	case '\\':
	case 0x7f ... 0x9f:
	case 0x061c:			/* Arabic letter mark */
	case 0x200e ... 0x200f:		/* marks of direction */
	case 0x2028 ... 0x2029:		/* line and paragraph separator */
	case 0x202a ... 0x202e:		/* embeddings and overrides */
	case 0x2066 ... 0x2069:		/* isolates */
		return false;
	default:
		return true;
	}
}

/*
 * Write the escaped form of the character, or of the invalid byte, at *@text to @unit,
 * and advance *@text. Returns the number of bytes written.
 */
static unsigned int escape_next(const unsigned char **text, char *unit)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *at = *text;
	uint32_t character = 0;
	unsigned int length = decode(at, &character), written = 0;

	*text += length ? length : 1;
	if (length && is_harmless(character)) {
		memcpy(unit, at, length);
		return length;
	}
	for (; at < *text; at++) {
		unit[written++] = '\\';
		unit[written++] = 'x';
		unit[written++] = digits[*at >> 4];
		unit[written++] = digits[*at & 15];
	}
	return written;
}

const char *escape(char *buffer, size_t size, const char *text)
{
	const unsigned char *next = (const void *)(text ? text : "(null)");
	size_t length = 0, room = 0;
	char unit[UNIT_MAX];

	while (*next) {
		const unsigned int more = escape_next(&next, unit);

		if (length + more >= size) {
			/* The dots and the terminating 0 fit after @room bytes. */
			memcpy(buffer + room, "...", 4);
			return buffer;
		}
		memcpy(buffer + length, unit, more);
		length += more;
		if (length + 4 <= size)
			room = length;
	}
	buffer[length] = '\0';
	return buffer;
}

/* Number of bytes that need not be escaped: printable ASCII from @first on. */
static size_t plain_length(const unsigned char *text, unsigned char first)
{
	size_t length = 0;

	while (text[length] >= first && text[length] < 0x7f && text[length] != '\\')
		length++;
	return length;
}

/* Print what needs no escape at once: nearly all names need none. */
static void print_from(FILE *to, const char *text, unsigned char first)
{
	const unsigned char *next = (const void *)(text ? text : "(null)");
	char unit[UNIT_MAX];

	while (*next) {
		const size_t plain = plain_length(next, first);

		if (plain) {
			fwrite(next, 1, plain, to);
			next += plain;
		} else if (*next == ' ') {
			fputs("\\x20", to);
			next++;
		} else {
			fwrite(unit, 1, escape_next(&next, unit), to);
		}
	}
}

void print_escaped(FILE *to, const char *text)
{
	print_from(to, text, ' ');
}

void print_escaped_word(FILE *to, const char *text)
{
	print_from(to, text, ' ' + 1);
}

void print_line(FILE *to, const char *format, ...)
{
	char *line;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&line, format, args);
	va_end(args);
	flockfile(to);
	print_escaped(to, length < 0 ? "(no memory for this line)" : line);
	putc('\n', to);
	funlockfile(to);
	if (length >= 0)
		free(line);
}
