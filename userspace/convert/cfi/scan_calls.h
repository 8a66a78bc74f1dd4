/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Calls: functions without CFI that code with CFI calls, as C calls assembly.
 */
#ifndef SFRAME_UNWIND_SCAN_CALLS_H
#define SFRAME_UNWIND_SCAN_CALLS_H

#include "proof_spans.h"

/*
 * Note the functions outside of scan->spans that instructions inside of them call, if code
 * there has not been proven yet. Returns 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_scan_calls(struct scan *scan);

#endif /* SFRAME_UNWIND_SCAN_CALLS_H */
