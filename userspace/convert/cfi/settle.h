/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Settle: decide between rules of several functions for the same code.
 */
#ifndef SFRAME_UNWIND_SETTLE_H
#define SFRAME_UNWIND_SETTLE_H

#include "convert/base/span.h"

/*
 * Make the spans of @cfi, which all have rules and may overlap in any way, sorted and
 * disjoint, and its functions anew. Where rules differ, none of them is sure: code that
 * has one is left out. Returns 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_settle(struct budget *budget, struct cfi *cfi);

#endif /* SFRAME_UNWIND_SETTLE_H */
