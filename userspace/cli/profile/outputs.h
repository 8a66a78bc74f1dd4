/* SPDX-License-Identifier: GPL-2.0 */
/* Formats that "script" and "flamegraph" write. */
#ifndef CLI_PROFILE_OUTPUTS_H
#define CLI_PROFILE_OUTPUTS_H

#include <stdio.h>

#include "cli/profile/tree.h"

/* The text that perf script prints; @how: and how each of the user's frames was found. */
void output_text(FILE *to, struct load *load, bool how);

/**
 * struct output_texts - text of each place, made once; all 0 at the beginning
 *
 * @list: lines by number of the place, or NULL.
 * @room: room for those.
 */
struct output_texts {
	char **list;
	uint32_t room;
};

void output_free_texts(struct output_texts *texts);

/* One sample of that text. @texts are of the same names. */
void output_sample(FILE *to, struct load *load,
		   const struct sframe_unwind_profile_record *record,
		   struct output_texts *texts);

/* Its first line, without the newline; @has_chain: whether frames follow. */
void output_head(FILE *to, struct load *load,
		 const struct sframe_unwind_profile_record *record,
		 bool has_chain);

/* Write a name, without the characters that separate parts of a folded line. */
void output_folded_name(FILE *to, const char *name);

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
