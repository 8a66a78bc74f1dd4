/* SPDX-License-Identifier: GPL-2.0 */
/* Generate: new programs, and others made of known ones. */
#ifndef KFUZZ_GENERATE_H
#define KFUZZ_GENERATE_H

#include "program.h"

/* @random is the state of the random numbers that decide, see random.h. */
void generate_program(struct program *program, uint64_t *random);

/* Change @program; parts of @other may come into it. */
void generate_mutation(struct program *program, const struct program *other,
		       uint64_t *random);

#endif /* KFUZZ_GENERATE_H */
