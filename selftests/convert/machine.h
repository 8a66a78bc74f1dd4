/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine with random registers and memory contents, to which CFI and SFrame
 * rules are applied: if both give the same caller, they mean the same.
 */
#ifndef SFU_CONVERT_MACHINE_H
#define SFU_CONVERT_MACHINE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "module/decode/sframe.h"

#define NR_REGS 17

struct machine {
	uint64_t regs[NR_REGS];
};

/* State of a caller's register. */
enum known { UNDEFINED, VALUE, UNKNOWN };

/**
 * struct caller - the caller's registers by CFI or SFrame
 *
 * @ra, @fp, @sp: UNDEFINED; VALUE, with the value in the member of that name;
 *	or UNKNOWN: the machine cannot evaluate the expression.
 * @has_no_cfa: libdw does not return the CFA.
 */
struct caller {
	enum known has_cfa, has_ra, has_fp, has_sp;
	uint64_t cfa, ra, fp, sp;
	bool has_no_cfa;
	bool is_signal;
};

/* Set random registers, and rip to @pc. */
void machine_init(struct machine *machine, uint64_t pc);

/* Apply a frame of libdw. */
void machine_by_cfi(const struct machine *machine, Dwarf_Frame *frame,
		    struct caller *caller);

/*
 * Get the caller's value of preserved register @index, by CFI, with the CFA in
 * @caller; and by @layout. @exact: the instruction is not a call. The latter is
 * UNKNOWN if the layout says so.
 */
enum known machine_saved_by_cfi(const struct machine *machine,
				Dwarf_Frame *frame, const struct caller *caller,
				unsigned int index, uint64_t *value);
enum known machine_saved_by_layout(const struct machine *machine,
				   const struct sfu_layout *layout,
				   const struct caller *caller,
				   unsigned int index, bool exact,
				   uint64_t *value);

/* Apply an SFrame rule. */
void machine_by_rule(const struct machine *machine,
		     const struct sfu_rule *rule, struct caller *caller);

#endif /* SFU_CONVERT_MACHINE_H */
