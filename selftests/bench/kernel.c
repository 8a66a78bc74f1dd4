// SPDX-License-Identifier: GPL-2.0
/*
 * The bench in a VM: what the module costs, in instructions, on a machine that
 * counts them.
 *
 * usage: kernel walks | samples | at_once | backtrace | extended | lookups | table | many
 */
#include <errno.h>
#include <string.h>

#include "../include/wrappers.h"
#include "bench.h"

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int fd = open_test_client(0);

	if (fd < 0)
		die("%s: %s", SFU_TEST_DEVICE, strerror(errno));
	/*
	 * In separate processes, because the cost of fork depends on everything
	 * mapped.
	 */
	if (!strcmp(what, "walks"))
		measure_walks(fd);
	else if (!strcmp(what, "samples"))
		measure_samples(fd);
	else if (!strcmp(what, "at_once"))
		measure_at_once(fd);
	else if (!strcmp(what, "backtrace"))
		measure_backtrace(fd);
	else if (!strcmp(what, "extended"))
		measure_extended(fd);
	else if (!strcmp(what, "lookups"))
		measure_lookups(fd);
	else if (!strcmp(what, "table"))
		measure_table(fd);
	else if (!strcmp(what, "many"))
		measure_many(fd);
	else
		die("walks, samples, at_once, backtrace, extended, lookups, table or many?");
	return 0;
}
