/* SPDX-License-Identifier: GPL-2.0 */
/* The tail of decode's inputs; make_seeds writes it, too. */
#ifndef SFU_FUZZ_DECODE_H
#define SFU_FUZZ_DECODE_H

#include "env.h"

#define DECODE_PC_IN_FDE	0x01	/* pc is relative to the start of FDE number fde */
#define DECODE_MAPPED		0x02	/* the section is in user memory, not copied */
#define DECODE_EXACT		0x04	/* of the first frame, as are the following ones */
#define DECODE_FP_KNOWN		0x08
#define DECODE_REGS		0x10
#define DECODE_SIGCONTEXT	0x20
#define DECODE_FP_ZERO		0x40	/* fp is relative to address 0 */

/**
 * struct decode_tail - what to do with the section
 *
 * @pc: relative to the section's first byte, or see DECODE_PC_IN_FDE.
 * @fde: number of an FDE, modulo the number of FDEs.
 * @sp, @fp: offsets in the stack, which is the input.
 * @budget: in rows.
 * @flags: DECODE_* bits.
 */
struct decode_tail {
	u64 pc;
	u16 fde;
	u16 sp;
	u16 fp;
	u8 budget;
	u8 flags;
} __attribute__((packed));

#endif /* SFU_FUZZ_DECODE_H */
