/* SPDX-License-Identifier: GPL-2.0 */
/* Names of C++, Rust and D functions as their programmers write them. */
#ifndef CLI_PROFILE_DEMANGLE_H
#define CLI_PROFILE_DEMANGLE_H

/*
 * Returns a new string, or NULL if @name is not mangled. Without libiberty at
 * build time, nothing is.
 */
char *demangle(const char *name);

#endif /* CLI_PROFILE_DEMANGLE_H */
