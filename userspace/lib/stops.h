/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The names of the stop reasons, for the library and the tests. A reason that
 * is added to enum sframe_unwind_stop and not here is an error of the compiler.
 */
#ifndef SFRAME_UNWIND_STOPS_H
#define SFRAME_UNWIND_STOPS_H

#include <stddef.h>

#include <linux/sframe_unwind.h>

/* Name of the constant without its prefix, and the reason in a few words. */
#define STOPS(X)							\
	X(COMPLETE, "complete")						\
	X(DEPTH, "depth limit")						\
	X(NO_RULE, "no rule at address")				\
	X(SECTION_REMOVED, "section found corrupt and removed")		\
	X(SECTION_UNREADABLE, "section unreadable")			\
	X(STACK_UNREADABLE, "stack unreadable")				\
	X(NO_PROGRESS, "no progress")					\
	X(NO_REGISTER, "register not known")				\
	X(BAD_ADDRESS, "bad return address")				\
	X(UNSUPPORTED_TASK, "not 64-bit code")				\
	X(EXITED, "thread exited or executed")				\
	X(KILLED, "killed")						\
	X(NO_MEMORY, "no memory")					\
	X(BUDGET, "too many rows or mappings")				\
	X(PENDING, "file being read")

#define STOP_COUNT_ONE(name, text)	+ 1

/* All reasons are below this number; none is 0. */
enum { NR_STOPS = 1 STOPS(STOP_COUNT_ONE) };

#define STOP_CHECK(name, text)						\
	_Static_assert((int)SFRAME_UNWIND_STOP_##name < (int)NR_STOPS,	\
		       "stop reasons are not numbered without gaps");
STOPS(STOP_CHECK)

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

#define STOP_TEXT_CASE(name, text)					\
	case SFRAME_UNWIND_STOP_##name:					\
		return text;

/* Returns the reason in a few words, or NULL if the number is unknown. */
static inline const char *stop_text(unsigned int stop)
{
	switch ((enum sframe_unwind_stop)stop) {
	STOPS(STOP_TEXT_CASE)
	}
	return NULL;
}

#define STOP_NAME_CASE(name, text)					\
	case SFRAME_UNWIND_STOP_##name:					\
		return #name;

/* Returns the name of the constant without its prefix, or NULL. */
static inline const char *stop_name(unsigned int stop)
{
	switch ((enum sframe_unwind_stop)stop) {
	STOPS(STOP_NAME_CASE)
	}
	return NULL;
}

#pragma GCC diagnostic pop

#endif /* SFRAME_UNWIND_STOPS_H */
