/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conversion: convert one file, in a process that was forked for it.
 */
#ifndef WORKER_CONVERSION_H
#define WORKER_CONVERSION_H

#include "protocol.h"
#include "sandbox.h"

/*
 * Convert the snapshot, descriptor 0, and write the result to descriptor 1. @sandbox is
 * closed before the first byte of the snapshot is read. Returns an exit status.
 */
int conversion_run(const struct sandbox *sandbox,
		   const struct worker_request *request);

/*
 * Instead of converting, write an error: there is no sandbox, because @failed failed with
 * errno. Returns an exit status.
 */
int conversion_refuse(const struct sandbox *sandbox, const char *failed);

#endif /* WORKER_CONVERSION_H */
