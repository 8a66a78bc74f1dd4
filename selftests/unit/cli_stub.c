// SPDX-License-Identifier: GPL-2.0
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli_stub.h"
#include "userspace/cli/cli.h"

char said[512];

int complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(said, sizeof(said), format, args);
	va_end(args);
	return CLI_TROUBLE;
}

/* When there is no memory. */
int finish_output(int status)
{
	return status;
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *ftw)
{
	(void)status;
	(void)type;
	(void)ftw;
	return remove(path);
}

void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
