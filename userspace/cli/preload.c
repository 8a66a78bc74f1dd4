// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "installed.h"
#include "preload.h"

/* Places relative to the directory of this program: not installed; installed, perhaps moved since. */
static const struct {
	const char *places[2];
	const char *fallback;
} objects[] = {
	[PRELOAD_EXEC] = {
		{ "/sframe_unwind/preload.so", "/../lib/sframe_unwind/preload.so" },
		SFRAME_UNWIND_LIBDIR "/sframe_unwind/preload.so",
	},
	[PRELOAD_JIT] = {
		{ "/sframe_unwind/jit.so", "/../lib/sframe_unwind/jit.so" },
		SFRAME_UNWIND_LIBDIR "/sframe_unwind/jit.so",
	},
};

int preload_find(enum preload_object object, char *path, size_t size)
{
	const int err = find_installed(objects[object].places,
				       objects[object].fallback, R_OK, path, size);

	if (err || !strpbrk(path, " :"))
		return err;
	return complain("%s: a path with a blank or colon cannot be preloaded", path);
}

int preload_set(const char *path)
{
	const char *old = getenv("LD_PRELOAD");
	char *value;
	int err;

	if (asprintf(&value, "%s%s%s", path, old && *old ? ":" : "",
		     old ? old : "") < 0)
		return -1;
	err = setenv("LD_PRELOAD", value, 1);
	free(value);
	return err;
}
