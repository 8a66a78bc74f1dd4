/* SPDX-License-Identifier: GPL-2.0 */
/* Names of C++ and Rust functions as their programmers write them. */
#ifndef CLI_PROFILE_DEMANGLE_H
#define CLI_PROFILE_DEMANGLE_H

/*
 * Returns a new string; or NULL if @name is not mangled, or would take too much time or
 * memory. Without libiberty at build time, always NULL. For one thread of the process; uses
 * SIGVTALRM.
 */
char *demangle(const char *name);

#endif /* CLI_PROFILE_DEMANGLE_H */
