/* SPDX-License-Identifier: GPL-2.0 */
/* Generate: create new programs, and mutate known ones. */
#ifndef KFUZZ_GENERATE_H
#define KFUZZ_GENERATE_H

#include "program.h"

/* @random is the state of the random numbers, see ../include/random.h. */
void generate_program(struct program *program, uint64_t *random);

/* Mutate @program, possibly with parts of @other. */
void generate_mutation(struct program *program, const struct program *other,
		       uint64_t *random);

#endif /* KFUZZ_GENERATE_H */
