// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>

#include "tap.h"

static unsigned int number, failures;
static bool bad;
static char why[400];

bool tap_fail(const char *format, ...)
{
	va_list args;

	if (!bad) {
		va_start(args, format);
		vsnprintf(why, sizeof(why), format, args);
		va_end(args);
	}
	bad = true;
	return false;
}

void tap_case(const char *format, ...)
{
	va_list args;

	printf("%sok %u - ", bad ? "not " : "", ++number);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	if (bad)
		printf(" # %s", why);
	putchar('\n');
	/* The next case may crash. */
	fflush(stdout);
	failures += bad;
	bad = false;
}

void tap_skip(const char *name, const char *reason)
{
	printf("ok %u - %s # SKIP %s\n", ++number, name, reason);
	bad = false;
}

int tap_done(void)
{
	/* A failure outside of any case. */
	if (bad)
		tap_case("end");
	printf("1..%u\n", number);
	return failures ? 1 : 0;
}

void tap_run(const struct tap_test *tests, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		tests[i].run();
		tap_case("%s", tests[i].name);
	}
}
