// SPDX-License-Identifier: GPL-2.0
/*
 * The comparison of a section with libdw at one address.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "machine.h"
#include "oracle.h"
#include "module/decode/sframe_format.h"

/* Number of differences printed for each file. */
#define MAX_SHOWN 10

void oracle_differ(struct oracle *oracle, uint64_t pc, const char *format, ...)
{
	va_list args;

	if (oracle->differences++ >= MAX_SHOWN)
		return;
	fprintf(stderr, "%s: 0x%" PRIx64 ": ", oracle->file, pc);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

bool oracle_find_rule(struct oracle *oracle, uint64_t pc,
		      struct sfu_rule *rule)
{
	struct sfu_defect defect;
	struct sfu_fde fde;
	u32 budget = UINT32_MAX;
	int err;

	err = sfu_table_find(&oracle->table, pc, &fde, &defect);
	if (!err)
		err = sfu_fde_find_rule(&oracle->table, &fde, pc, &budget,
					rule, &defect);
	if (err == -EINVAL)
		oracle_differ(oracle, pc, "malformed: %s", sfu_defect_text(defect.kind));
	return !err;
}

static void compare_value(struct oracle *oracle, uint64_t pc, const char *name,
			  enum known cfi_known, uint64_t cfi,
			  enum known rule_known, uint64_t rule)
{
	if (cfi_known == VALUE && rule_known == VALUE && cfi == rule)
		return;
	oracle_differ(oracle, pc, "%s differs (%d %#" PRIx64 ", %d %#" PRIx64 ")",
		      name, cfi_known, cfi, rule_known, rule);
}

void oracle_compare(struct oracle *oracle, uint64_t pc, Dwarf_Frame *frame,
		    const struct sfu_rule *rule)
{
	struct caller cfi, sframe;
	struct machine machine;

	oracle->compared++;
	machine_init(&machine, pc);
	machine_by_cfi(&machine, frame, &cfi);
	/* Only libgcc gives part of a CFA after an expression a meaning. */
	if (cfi.has_no_cfa)
		return;
	machine_by_rule(&machine, rule, &sframe);
	if (cfi.is_signal != sframe.is_signal)
		oracle_differ(oracle, pc, "signal frame by %s only",
			      cfi.is_signal ? "CFI" : "SFrame");
	if (cfi.has_ra == UNDEFINED || sframe.has_ra == UNDEFINED) {
		if (cfi.has_ra != sframe.has_ra)
			oracle_differ(oracle, pc, "outermost by %s only",
				      cfi.has_ra == UNDEFINED ? "CFI" : "SFrame");
		return;
	}
	compare_value(oracle, pc, "CFA", cfi.has_cfa, cfi.cfa, sframe.has_cfa,
		      sframe.cfa);
	compare_value(oracle, pc, "RA", cfi.has_ra, cfi.ra, sframe.has_ra,
		      sframe.ra);
	compare_value(oracle, pc, "FP", cfi.has_fp, cfi.fp, sframe.has_fp,
		      sframe.fp);
	compare_value(oracle, pc, "SP", cfi.has_sp, cfi.sp, sframe.has_sp,
		      sframe.sp);
}

/*
 * Returns whether the slot is below the stack pointer, where the register has been
 * popped from: CFI may still refer to the slot, whose word is the same.
 */
static bool is_popped(const struct sfu_rule *rule,
		      const struct sfu_layout *layout, unsigned int index)
{
	return !(layout->flags & SFRAME_EXT_LAYOUT_FP) &&
	       8 * layout->slot[index] > rule->cfa_offset;
}

void oracle_compare_saved(struct oracle *oracle, uint64_t pc,
			  Dwarf_Frame *frame, const struct sfu_rule *rule,
			  bool exact)
{
	/* Relative to another register, slots may be anywhere. */
	const bool is_sp = (rule->cfa & ~SFU_BASE_MASK) == 0 &&
			   rule->cfa == 7;
	struct machine machine;
	struct sfu_layout layout;
	struct caller cfi;

	machine_init(&machine, pc);
	machine_by_cfi(&machine, frame, &cfi);
	if (cfi.has_no_cfa || cfi.has_ra == UNDEFINED || (exact && !is_sp))
		return;
	if (sfu_table_find_layout(&oracle->table, pc, &layout)) {
		oracle_differ(oracle, pc, "no layout");
		return;
	}
	for (unsigned int i = 0; i < SFU_NR_SAVED; i++) {
		uint64_t want = 0, got = 0;
		const enum known by_cfi = machine_saved_by_cfi(&machine, frame,
							       &cfi, i, &want);
		const enum known known = machine_saved_by_layout(&machine,
					&layout, &cfi, i, exact, &got);

		*(exact ? &oracle->elsewhere : &oracle->at_calls) += 1;
		if (known != VALUE)
			*(exact ? &oracle->unknown_elsewhere :
				  &oracle->unknown_at_calls) += 1;
		else if (by_cfi != VALUE)
			oracle_differ(oracle, pc, "saved register %u is unknown by CFI only",
				      i);
		else if (want != got &&
			 !(exact && is_popped(rule, &layout, i)))
			oracle_differ(oracle, pc, "saved register %u differs%s", i,
				      exact ? "" : " at a call");
	}
}
