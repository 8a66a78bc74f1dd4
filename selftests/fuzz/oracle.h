/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What compare asks the oracle, and gets as an answer, through pipes.
 *
 * A question is struct oracle_question, the section, and the addresses to look up,
 * from the section's first byte. The answer is struct oracle_answer and, if that
 * has no error, struct oracle_fde for each FDE, each with its rows behind it, and
 * struct oracle_row for each address.
 */
#ifndef SFU_FUZZ_ORACLE_H
#define SFU_FUZZ_ORACLE_H

#include <stdint.h>

#define ORACLE_MAX_WORDS	6

struct oracle_question {
	uint32_t size;
	uint32_t nr_pcs;
};

/* Errors are libsframe's, or 0. */
struct oracle_answer {
	int32_t error;
	uint32_t num_fdes;
};

/* @start is the field's value; @nr_rows follow, which is num_rows or less. */
struct oracle_fde {
	int64_t start;
	uint32_t size, num_rows;
	uint8_t info, info2, rep_size, padding;
	int32_t error;
	uint32_t nr_rows;
	uint32_t padding2;
};

/* @fp is only there if @has_fp; both offsets are for default FDEs. */
struct oracle_row {
	int32_t error;
	uint32_t start;
	uint32_t word[ORACLE_MAX_WORDS];
	int32_t cfa, fp;
	uint8_t info, base, outermost, has_fp;
};

#endif /* SFU_FUZZ_ORACLE_H */
