/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conversion: of one file, in a process of its own.
 */
#ifndef WORKER_CONVERSION_H
#define WORKER_CONVERSION_H

#include "protocol.h"
#include "sandbox.h"

/*
 * Convert the snapshot that is descriptor 0 to descriptor 1, in @sandbox, which
 * is closed before the snapshot is looked at. Returns an exit status.
 */
int conversion_run(const struct sandbox *sandbox,
		   const struct worker_request *request);

/* Say, in the place of that, that there is no sandbox: what @failed, with errno. */
int conversion_refuse(const struct sandbox *sandbox, const char *failed);

#endif /* WORKER_CONVERSION_H */
