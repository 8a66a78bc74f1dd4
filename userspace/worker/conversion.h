/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conversion: convert the files of one request, in a process that was forked for it.
 */
#ifndef WORKER_CONVERSION_H
#define WORKER_CONVERSION_H

#include "protocol.h"
#include "sandbox.h"

/*
 * Convert the snapshots, one after the other, and write the results to descriptor 1.
 * @sandbox is closed before the first byte of a snapshot is read. Returns an exit status.
 */
int conversion_run(const struct sandbox *sandbox,
		   const struct worker_request *request, const int *snapshots);

/*
 * Instead of converting, write an error for each of @nr snapshots: there is no sandbox, because @failed failed with
 * errno. Returns an exit status.
 */
int conversion_refuse(const struct sandbox *sandbox, const char *failed,
		      unsigned int nr);

#endif /* WORKER_CONVERSION_H */
