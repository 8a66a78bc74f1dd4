// SPDX-License-Identifier: GPL-2.0
/*
 * Names of C++ and Rust functions, and some that would take for ever or all memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tap.h"
#include "userspace/cli/profile/demangle.h"

#ifdef HAVE_IBERTY
static const char *const names[][2] = {
	{ "_ZN2ns4nameEi", "ns::name(int)" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)" },
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
	{ "_RNvC6_123foo3bar", "123foo::bar" },
	{ "main", NULL },
	{ "_start", NULL },
	{ "_Z", NULL },
	{ "_ZN2ns4nameE\n", NULL },
	{ "", NULL },
};

static void ordinary(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *said = demangle(names[i][0]);

		if (!said != !names[i][1] || (said && strcmp(said, names[i][1])))
			tap_fail("%s: %s", names[i][0], said ? said : "nothing");
		free(said);
	}
}

/* Put the letters and digits of reference number @i, which begins with S or B, to @to. */
static char *put_number(char *to, unsigned int i)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (i > 36)
		*to++ = digits[(i - 1) / 36];
	if (i)
		*to++ = digits[(i - 1) % 36];
	*to++ = '_';
	return to;
}

/* Put reference number @i to a C++ name's own parts to @to. */
static char *put_reference(char *to, unsigned int i)
{
	return put_number(stpcpy(to, "S"), i);
}

/*
 * C++ types, each with two of the type before as arguments, so that it is twice as long. The first one's name has
 * reference number @first.
 */
static char *put_types(char *to, unsigned int nr, unsigned int first)
{
	to = stpcpy(to, "1aIiiE");
	for (unsigned int i = 1; i < nr; i++) {
		to = stpcpy(put_reference(to, first), "I");
		to = put_reference(to, first + i);
		to = stpcpy(put_reference(to, first + i), "E");
	}
	return to;
}

/* A function with such parameters. */
static void make_long(char *name, unsigned int nr)
{
	put_types(stpcpy(name, "_Z1f"), nr, 0);
}

/* The expansion of a pack, which is searched for in all of them before anything is printed; it is not there. */
static void make_search(char *name, unsigned int nr)
{
	strcpy(put_types(stpcpy(name, "_Z1fDp1bI"), nr, 1), "E");
}

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* One such name takes no longer than the limit, and gives no name of megabytes. */
static void bounded(void)
{
	char name[4096], *said;

	for (unsigned int nr = 2; nr < 64; nr += 2) {
		const double start = cpu_seconds();

		make_long(name, nr);
		said = demangle(name);
		EXPECT(!said || strlen(said) < 65536);
		free(said);
		make_search(name, nr);
		free(demangle(name));
		EXPECT(cpu_seconds() - start < 1);
	}
}

/* Rust's references go back to a place in the name: each tuple has the one before twice. */
static void bounded_rust(void)
{
	char name[4096] = "_RINvC1a1bTuuE", *said;
	size_t last = strlen("INvC1a1b");

	for (unsigned int i = 0; i < 30; i++) {
		const size_t here = strlen(name) - 2;
		const char *digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char number[8] = "", *to = number;

		if (last > 62)
			*to++ = digits[(last - 1) / 62 - 1];
		*to++ = digits[(last - 1) % 62];
		*to = '\0';
		sprintf(name + strlen(name), "TB%s_B%s_E", number, number);
		last = here;
	}
	strcat(name, "E");
	{
		const double start = cpu_seconds();

		said = demangle(name);
		EXPECT(!said);
		free(said);
		EXPECT(cpu_seconds() - start < 2);
	}
}

/* Many such names take no longer than some, and do not deny others theirs. */
static void many(void)
{
	const double start = cpu_seconds();
	char name[4096], *said;

	make_search(name, 60);
	for (unsigned int i = 0; i < 20000; i++)
		free(demangle(name));
	EXPECT(cpu_seconds() - start < 10);
	said = demangle(names[0][0]);
	EXPECT(said && !strcmp(said, names[0][1]));
	free(said);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(ordinary),
		TAP_TEST(bounded),
		TAP_TEST(bounded_rust),
		TAP_TEST(many),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
#else
int main(void)
{
	printf("1..0 # SKIP built without libiberty\n");
	return 0;
}
#endif
