// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/escape.h"
#include "cli/profile/common.h"
#include "cli/profile/record.h"

bool common_option(struct common *common, int option)
{
	switch (option) {
	case COMMON_INPUT:
		common->input = optarg;
		return true;
	case COMMON_KALLSYMS:
		common->names.kallsyms = optarg;
		return true;
	case COMMON_INLINE:
	case COMMON_NO_INLINE:
		common->names.no_inlined = option == COMMON_NO_INLINE;
		return true;
	case COMMON_NO_DEMANGLE:
		common->names.no_demangle = true;
		return true;
	default:
		return false;
	}
}

char *common_escape(const char *text)
{
	const size_t size = ESCAPED_SIZE(strlen(text)) + 4;
	char *buffer = table_allocate(size);

	escape(buffer, size, text);
	return buffer;
}

/* Escaped strings are valid UTF-8. */
static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

int common_width(const char *escaped)
{
	int width = 0;

	for (; *escaped; escaped++)
		width += !is_continuation(*escaped);
	return width;
}

size_t common_cut(const char *escaped, int width)
{
	size_t at = 0;

	for (; escaped[at]; at++)
		if (!is_continuation(escaped[at]) && width-- <= 0)
			break;
	return at;
}

void common_json(FILE *to, const char *text)
{
	char *escaped = common_escape(text);

	putc('"', to);
	for (const char *at = escaped; *at; at++) {
		if (*at == '"' || *at == '\\')
			putc('\\', to);
		putc(*at, to);
	}
	putc('"', to);
	free(escaped);
}

void common_number(FILE *to, uint64_t number)
{
	char text[32];
	const int length = snprintf(text, sizeof(text), "%" PRIu64, number);

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			putc(',', to);
		putc(text[i], to);
	}
}

bool common_is_time(const char *event)
{
	return !strcmp(event, RECORD_OFF_CPU);
}

void common_events(FILE *to, const char *event, uint64_t number)
{
	if (!common_is_time(event))
		common_number(to, number);
	else if (number >= 1000000000)
		fprintf(to, "%.3f s", number / 1e9);
	else if (number >= 1000000)
		fprintf(to, "%.3f ms", number / 1e6);
	else
		fprintf(to, "%.3f us", number / 1e3);
}
