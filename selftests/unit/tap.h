/* SPDX-License-Identifier: GPL-2.0 */
/* Test Anything Protocol: a case is a function that checks until one fails. */
#ifndef SFU_TAP_H
#define SFU_TAP_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Something is wrong. The first reason of a case is kept; what follows is often
 * its consequence. Returns false.
 */
__attribute__((format(printf, 1, 2)))
bool tap_fail(const char *format, ...);

/* End a case, giving its name. */
__attribute__((format(printf, 1, 2)))
void tap_case(const char *format, ...);

/* A case that cannot be tried here. */
void tap_skip(const char *name, const char *why);

/* For main() to return. */
int tap_done(void);

/* Leave the function, which returns nothing, unless @condition holds. */
#define EXPECT(condition) do {						\
	if (!(condition)) {						\
		tap_fail("%s:%d: %s", __FILE__, __LINE__, #condition);	\
		return;							\
	}								\
} while (0)

/* The same for two integers. */
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
