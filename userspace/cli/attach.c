// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind attach: finds and executes a separate program. It is separate because
 * it keeps running as root and should contain as little code as possible.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "installed.h"

#define PROGRAM "sframe-unwind-attach"

const char attach_help[] =
"usage: sframe-unwind attach [OPTION]... --all | -p PID...\n"
"\n"
"Convert the .eh_frame of all executables and shared objects that processes map\n"
"and that have no .sframe, and attach the results to them in the kernel, so that\n"
"stacks can be unwound through them. Continues with programs that are started\n"
"and objects that are loaded later. SIGINT or SIGTERM ends it and detaches\n"
"everything.\n"
"\n"
"  -a, --all          for all processes\n"
"  -p, --pid=PID,...  for these processes and their children; ends with them\n"
"      --poll=SECONDS look at /proc every SECONDS instead of using perf events\n"
"      --ready-fd=N   when everything mapped now has been attached, write a line\n"
"                     to file descriptor N and close it\n"
"  -q, --quiet        print nothing but errors\n"
"  -v, --verbose      print a line for each object\n"
"      --help         print this\n"
"\n"
"Needs CAP_PERFMON and CAP_SYS_PTRACE, and CAP_CHECKPOINT_RESTORE to open deleted\n"
"files and files in other mount namespaces; root has them all.\n"
"\n"
"Exit status: 0 when ended by a signal or with the last PID, 2 on wrong usage, 5\n"
"on failure.\n";

/* Places of the program, relative to the directory of this one. */
static const char * const places[] = {
	"/libexec/" PROGRAM,		/* not installed */
	"/../libexec/sframe_unwind/" PROGRAM,	/* installed, perhaps moved since */
};

int attach_main(int argc, char **argv)
{
	char path[2 * PATH_MAX];

	(void)argc;
	if (find_installed(places, SFRAME_UNWIND_LIBEXECDIR "/" PROGRAM, X_OK,
			   path, sizeof(path)))
		return CLI_TROUBLE;
	execv(path, argv);
	return complain("%s: %s", path, strerror(errno));
}
