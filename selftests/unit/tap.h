/* SPDX-License-Identifier: GPL-2.0 */
/* Test Anything Protocol. A case is a function that runs until a check fails. */
#ifndef SFU_TAP_H
#define SFU_TAP_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Report a failure. Only the first message of a case is kept, because later
 * failures are often consequences of it. Returns false.
 */
__attribute__((format(printf, 1, 2)))
bool tap_fail(const char *format, ...);

/* End a case and print its name. */
__attribute__((format(printf, 1, 2)))
void tap_case(const char *format, ...);

/* Report a case that cannot run here. */
void tap_skip(const char *name, const char *why);

/* The value for main() to return. */
int tap_done(void);

/* Return from the function, which is void, unless @condition is true. */
#define EXPECT(condition) do {						\
	if (!(condition)) {						\
		tap_fail("%s:%d: %s", __FILE__, __LINE__, #condition);	\
		return;							\
	}								\
} while (0)

/* As EXPECT(), for two integers that must be equal. */
#define EXPECT_EQ(got, want) do {					\
	long long got_ = (got), want_ = (want);				\
	if (got_ != want_) {						\
		tap_fail("%s:%d: %s is %lld, not %lld", __FILE__,	\
			 __LINE__, #got, got_, want_);			\
		return;							\
	}								\
} while (0)

struct tap_test {
	const char *name;
	void (*run)(void);
};

#define TAP_TEST(function)	{ #function, function }

void tap_run(const struct tap_test *tests, unsigned int count);

#endif /* SFU_TAP_H */
