// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "cli/profile/demangle.h"

#ifdef HAVE_IBERTY
#include <libiberty/demangle.h>

/* The demangler is quadratic in the worst case, and names are not trusted. */
#define LENGTH_MAX	4096u

char *demangle(const char *name)
{
	if (name[0] != '_' || strnlen(name, LENGTH_MAX) == LENGTH_MAX)
		return NULL;
	return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
}
#else
char *demangle(const char *name)
{
	(void)name;
	return NULL;
}
#endif
