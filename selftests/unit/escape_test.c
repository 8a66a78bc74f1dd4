// SPDX-License-Identifier: GPL-2.0
/*
 * How the command prints strings from outside.
 */
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "userspace/cli/escape.h"

static const struct {
	const char *text;
	const char *escaped;
} cases[] = {
	{ "", "" },
	{ NULL, "(null)" },
	{ "/usr/lib/a b.so", "/usr/lib/a b.so" },
	{ "\x1b[31mred", "\\x1b[31mred" },
	{ "one\nattached sudo: forged", "one\\x0aattached sudo: forged" },
	{ "\r\t\a\b", "\\x0d\\x09\\x07\\x08" },
	{ "\x01\x1f ~\x7f", "\\x01\\x1f ~\\x7f" },
	/*
	 * An escape sequence in the input must differ from an escaped
	 * character.
	 */
	{ "\\x1b", "\\x5cx1b" },
	{ "Gr\xc3\xbc\xc3\x9f" "e", "Gr\xc3\xbc\xc3\x9f" "e" },
	{ "\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf",
	  "\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf" },
	/* C1 control characters: one byte on some terminals, two in UTF-8. */
	{ "\x9b" "31m", "\\x9b31m" },
	{ "\xc2\x9b" "31m", "\\xc2\\x9b31m" },
	{ "\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0" },
	/*
	 * Invalid UTF-8: a stray continuation byte, truncated, overlong, too
	 * large.
	 */
	{ "\x80\xbf", "\\x80\\xbf" },
	{ "\xc3", "\\xc3" },
	{ "\xe2\x82", "\\xe2\\x82" },
	{ "\xe2\x82z", "\\xe2\\x82z" },
	{ "\xf0\x9f\x98", "\\xf0\\x9f\\x98" },
	{ "\xc0\x8a", "\\xc0\\x8a" },
	{ "\xc1\xbf", "\\xc1\\xbf" },
	{ "\xe0\x80\x8a", "\\xe0\\x80\\x8a" },
	{ "\xe0\x9f\xbf", "\\xe0\\x9f\\xbf" },
	{ "\xf0\x80\x80\x8a", "\\xf0\\x80\\x80\\x8a" },
	{ "\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	{ "\xed\xbf\xbf", "\\xed\\xbf\\xbf" },
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
	{ "\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80" },
	{ "\xfe\xff", "\\xfe\\xff" },
	/* Unicode line separators and direction marks, and their neighbours. */
	{ "\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9" },
	{ "a\xe2\x80\xaetxt.exe", "a\\xe2\\x80\\xaetxt.exe" },
	{ "\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa",
	  "\\xe2\\x81\\xa6\\xe2\\x81\\xa9\xe2\x81\xaa" },
	{ "\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90\xd8\x9c",
	  "\\xe2\\x80\\x8e\\xe2\\x80\\x8f\xe2\x80\x90\\xd8\\x9c" },
};

#define NR_CASES (sizeof(cases) / sizeof(cases[0]))

static void forms(void)
{
	char buffer[100];

	for (size_t i = 0; i < NR_CASES; i++)
		if (strcmp(escape(buffer, sizeof(buffer), cases[i].text),
			   cases[i].escaped))
			tap_fail("case %zu is %s, not %s", i, buffer,
				 cases[i].escaped);
}

/* The output of @print as a string to be freed; NULL if empty. */
static char *printed(void (*print)(FILE *to, const char *text),
		     const char *text)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&bytes, &size);

	print(to, text);
	fclose(to);
	return bytes;
}

static void printed_forms(void)
{
	for (size_t i = 0; i < NR_CASES; i++) {
		char *got = printed(print_escaped, cases[i].text);

		if (strcmp(got, cases[i].escaped))
			tap_fail("case %zu is %s, not %s", i, got,
				 cases[i].escaped);
		free(got);
	}
}

/* A name cannot forge another word of the line. */
static void words(void)
{
	static const char * const names[][2] = {
		{ "", "" },
		{ NULL, "(null)" },
		{ "x file=/bin/su", "x\\x20file=/bin/su" },
		{ "  ", "\\x20\\x20" },
		{ "a\\x20\n\xff\xc3\xbc ", "a\\x5cx20\\x0a\\xff\xc3\xbc\\x20" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *got = printed(print_escaped_word, names[i][0]);

		if (strcmp(got, names[i][1]))
			tap_fail("case %zu is %s, not %s", i, got, names[i][1]);
		free(got);
	}
}

static void print_between(FILE *to, const char *text)
{
	print_line(to, "%s: %d\n%s", text, 7, text);
}

static void lines(void)
{
	char *got = printed(print_between, "a\n\x1b");

	if (strcmp(got, "a\\x0a\\x1b: 7\\x0aa\\x0a\\x1b\n"))
		tap_fail("got %s", got);
	free(got);
}

/* Every byte and every pair of bytes gives one line of harmless characters. */
static void all_bytes(void)
{
	char buffer[ESCAPED_SIZE(2)];

	for (unsigned int i = 1; i < 0x10000; i++) {
		const char text[] = { i & 0xff ? i & 0xff : i >> 8,
				      i & 0xff ? i >> 8 : 0, '\0' };
		unsigned int high = 0;

		escape(buffer, sizeof(buffer), text);
		for (const char *at = buffer; *at; at++) {
			const unsigned char byte = *at;

			high += byte >= 0x80;
			if (byte < 0x20 || byte == 0x7f)
				tap_fail("%02x %02x gives %02x", text[0] & 0xff,
					 text[1] & 0xff, byte);
		}
		if (high == 1)
			tap_fail("%02x %02x: half a character",
				 text[0] & 0xff, text[1] & 0xff);
	}
}

static void cut(void)
{
	/* A buffer of exactly that size, for ASan. */
	for (size_t size = 4; size < 40; size++) {
		char *buffer = malloc(size);

		for (size_t i = 0; i < NR_CASES; i++) {
			const char *whole = cases[i].escaped;
			size_t length;

			escape(buffer, size, cases[i].text);
			length = strlen(buffer);
			if (strlen(whole) < size) {
				if (strcmp(buffer, whole))
					tap_fail("case %zu is cut at %zu", i,
						 size);
				continue;
			}
			/* Less than one escaped character may be left unused. */
			if (length < 3 || length + 16 < size ||
			    memcmp(buffer, whole, length - 3) ||
			    strcmp(buffer + length - 3, "..."))
				tap_fail("case %zu in %zu bytes: %s", i, size,
					 buffer);
			/* Not truncated within \xNN or a UTF-8 character. */
			for (size_t i = 4; i <= 6 && i <= length; i++)
				if (buffer[length - i] == '\\')
					tap_fail("ends within: %s", buffer);
			if ((whole[length - 3] & 0xc0) == 0x80)
				tap_fail("ends within a character: %s", buffer);
		}
		free(buffer);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(forms),
		TAP_TEST(printed_forms),
		TAP_TEST(words),
		TAP_TEST(lines),
		TAP_TEST(all_bytes),
		TAP_TEST(cut),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
