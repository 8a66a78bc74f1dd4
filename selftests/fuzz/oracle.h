/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Questions of compare and answers of the oracle, sent through pipes.
 *
 * A question is struct oracle_question, the section, and the addresses to look
 * up, relative to the section's first byte. The answer is struct oracle_answer
 * and, if that has no error, struct oracle_fde for each FDE, followed by its
 * rows, and struct oracle_row for each address.
 */
#ifndef SFU_FUZZ_ORACLE_H
#define SFU_FUZZ_ORACLE_H

#include <stdint.h>

#define ORACLE_MAX_WORDS	6

struct oracle_question {
	uint32_t size;
	uint32_t nr_pcs;
};

/* Errors are those of libsframe, or 0. */
struct oracle_answer {
	int32_t error;
	uint32_t num_fdes;
};

/* @start is the field's value; @nr_rows rows follow, at most num_rows. */
struct oracle_fde {
	int64_t start;
	uint32_t size, num_rows;
	uint8_t info, info2, rep_size, padding;
	int32_t error;
	uint32_t nr_rows;
	uint32_t padding2;
};

/* @fp is valid only if @has_fp; both offsets are for default FDEs. */
struct oracle_row {
	int32_t error;
	uint32_t start;
	uint32_t word[ORACLE_MAX_WORDS];
	int32_t cfa, fp;
	uint8_t info, base, outermost, has_fp;
};

#endif /* SFU_FUZZ_ORACLE_H */
