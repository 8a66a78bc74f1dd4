/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CONVERT_ORACLE_H
#define CONVERT_ORACLE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "module/decode/sframe.h"

/**
 * struct oracle - comparison of one file
 *
 * @file: its name.
 * @elf, @dwarf: the file.
 * @cfi: its .eh_frame and .debug_frame, or NULL.
 * @table: the section made of them.
 * @rows: rows of libdw.
 * @compared: addresses compared.
 * @differences: differences found.
 * @known: bytes with CFI that libdw can apply.
 * @expressed: of them, bytes that have a rule.
 * @padding: bytes of padding that have the rule of the code before it.
 * @at_calls, @unknown_at_calls: preserved registers compared at calls, and of them
 *	those that are unknown in the section.
 * @elsewhere, @unknown_elsewhere: the same at other instructions.
 * @pure_size: bytes of the section without extensions.
 */
struct oracle {
	const char *file;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *cfi[2];
	struct sfu_table table;
	unsigned long rows;
	unsigned long compared;
	unsigned long differences;
	uint64_t known;
	uint64_t expressed;
	uint64_t padding;
	unsigned long at_calls, unknown_at_calls;
	unsigned long elsewhere, unknown_elsewhere;
	size_t pure_size;
};

/* Count a difference at @pc, and print it if there are not too many. */
__attribute__((format(printf, 3, 4)))
void oracle_differ(struct oracle *oracle, uint64_t pc, const char *format, ...);

/* Returns whether the section has a rule for @pc. */
bool oracle_find_rule(struct oracle *oracle, uint64_t pc,
		      struct sfu_rule *rule);

/* Compare the callers that libdw's @frame and @rule lead to. */
void oracle_compare(struct oracle *oracle, uint64_t pc, Dwarf_Frame *frame,
		    const struct sfu_rule *rule);

/* Compare where preserved registers are saved. @exact: @pc is not in a call. */
void oracle_compare_saved(struct oracle *oracle, uint64_t pc,
			  Dwarf_Frame *frame, const struct sfu_rule *rule,
			  bool exact);

#endif /* CONVERT_ORACLE_H */
