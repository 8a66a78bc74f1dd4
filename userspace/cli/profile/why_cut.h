/* SPDX-License-Identifier: GPL-2.0 */
/* Why the user's stack of a sample is cut, in a few words. */
#ifndef CLI_PROFILE_WHY_CUT_H
#define CLI_PROFILE_WHY_CUT_H

#include <stdint.h>

/* @stop: as in struct sframe_unwind_profile_sample. */
const char *why_cut(uint32_t stop);

#endif /* CLI_PROFILE_WHY_CUT_H */
