/* SPDX-License-Identifier: GPL-2.0 */
/* Formats that "script" and "flamegraph" write. */
#ifndef CLI_PROFILE_OUTPUTS_H
#define CLI_PROFILE_OUTPUTS_H

#include <stdio.h>

#include "cli/profile/tree.h"

/* The text that perf script prints. */
void output_text(FILE *to, struct load *load);

/* One line for each stack: command;function;...;function number of samples. */
void output_folded(FILE *to, struct load *load);

/* For speedscope. */
void output_speedscope(FILE *to, struct load *load);

/*
 * For pprof: its protocol buffer, compressed. Returns 0, or -errno of the
 * compressor.
 */
int output_pprof(FILE *to, struct load *load);

#endif /* CLI_PROFILE_OUTPUTS_H */
