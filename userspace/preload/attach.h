/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Attach sections that "sframe-unwind exec" offers, for the own process.
 */
#ifndef PRELOAD_ATTACH_H
#define PRELOAD_ATTACH_H

#include <stdint.h>

#include "exec_shared.h"

/* To be called once, before attach_offered(). */
void attach_prepare(void);

/*
 * Attach all sections that are offered to this process, unless @offers, the number in the
 * shared page, is the same as when this was last done. @device is the open device. The
 * calling thread waits, for seconds at most. Async-signal-safe; sets errno.
 */
void attach_offered(const struct exec_setup *setup, int device,
		    uint32_t offers);

#endif /* PRELOAD_ATTACH_H */
