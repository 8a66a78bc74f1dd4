/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine with made-up contents, to see what CFI and SFrame make of it: what
 * gives the same numbers for random registers and memory says the same.
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

/* What a caller's register is. */
enum known { UNDEFINED, VALUE, UNKNOWN };

/**
 * struct caller - the caller's registers by one of the two
 *
 * @ra, @fp, @sp: UNDEFINED, or VALUE with the value in the member of that name.
 *	UNKNOWN: the expression is beyond this machine.
 * @has_no_cfa: does libdw refuse to say what the CFA is?
 */
struct caller {
	enum known has_cfa, has_ra, has_fp, has_sp;
	uint64_t cfa, ra, fp, sp;
	bool has_no_cfa;
	bool is_signal;
};

/* Random registers, and @pc in rip. */
void machine_init(struct machine *machine, uint64_t pc);

/* By a frame of libdw. */
void machine_by_cfi(const struct machine *machine, Dwarf_Frame *frame,
		    struct caller *caller);

/* By a rule of SFrame. */
void machine_by_rule(const struct machine *machine,
		     const struct sfu_rule *rule, struct caller *caller);

#endif /* SFU_CONVERT_MACHINE_H */
