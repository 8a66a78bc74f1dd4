// SPDX-License-Identifier: GPL-2.0
/*
 * Convert one file in a worker, and print the result. Runs beside the worker.
 *
 * usage: once FILE [MEMORY]
 */
#include "common.h"

int main(int argc, char **argv)
{
	struct sframe_unwind_converted *converted = NULL;
	struct worker_limits limits = { 0 };
	struct worker_end end;
	const char *weakness;
	char text[256];
	int err;

	if (argc < 2)
		return 2;
	if (argc > 2)
		limits.memory = strtoull(argv[2], NULL, 10);
	err = run_worker(make_snapshot(argv[1]), &limits, &end);
	if (err || end.error) {
		printf("error: %s: %s\n", strerror(-(err ? err : end.error)),
		       end.text);
		return 1;
	}
	weakness = worker_weakness(end.result_fd);
	printf("weakness: %s\n", weakness ? weakness : "none");
	err = worker_result_read(end.result_fd, &limits, &converted, text,
				 sizeof(text));
	if (err)
		printf("error: %s: %s\n", strerror(-err), text);
	else
		printf("section: %zu bytes\n", converted->size);
	sframe_unwind_converted_free(converted);
	return !!err;
}
