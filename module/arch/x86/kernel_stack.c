// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel stack: the kernel part of a sample, and how the thread has entered the
 * kernel.
 */
#include <linux/build_bug.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <asm/unwind.h>

#include "../kernel_stack.h"

u32 sfu_arch_kernel_stack(const struct pt_regs *regs, bool precise, u64 *ip,
			  u32 max, bool *cut)
{
	struct pt_regs *start = (struct pt_regs *)regs;
	struct pt_regs *entry;
	struct unwind_state state;
	unsigned long address;
	u32 nr = 0;

	*cut = false;
	if (user_mode(start))
		return 0;
	ip[nr++] = start->ip;
	/*
	 * The unwinder can start at @start only if all registers are set. If they
	 * are those of a caller, perf has set a few, and not the flags: start at
	 * this function, and skip the frames below the caller. The caller's own
	 * address is stored already.
	 */
	if (start->flags & X86_EFLAGS_FIXED && !precise) {
		unwind_start(&state, current, start, NULL);
	} else {
		unwind_start(&state, current, NULL,
			     (unsigned long *)start->sp);
		if (!unwind_done(&state) &&
		    unwind_get_return_address(&state) == start->ip)
			unwind_next_frame(&state);
	}
	for (; !unwind_done(&state); unwind_next_frame(&state)) {
		/* The whole stack: this is where the thread entered the kernel. */
		entry = unwind_get_entry_regs(&state, NULL);
		if (entry && user_mode(entry))
			return nr;
		address = unwind_get_return_address(&state);
		if (!address || nr == max) {
			*cut = true;
			return nr;
		}
		ip[nr++] = address;
	}
	*cut = unwind_error(&state);
	return nr;
}

/*
 * Names of the functions of the kernel's entry code, or what they start with.
 * The first one that matches counts.
 */
static const struct {
	const char *name;
	enum sframe_unwind_entry entry;
} entry_names[] = {
	{ "asm_exc_page_fault", SFRAME_UNWIND_ENTRY_PAGE_FAULT },
	{ "asm_exc_", SFRAME_UNWIND_ENTRY_EXCEPTION },
	{ "asm_sysvec_", SFRAME_UNWIND_ENTRY_INTERRUPT },
	{ "asm_common_interrupt", SFRAME_UNWIND_ENTRY_INTERRUPT },
	{ "asm_spurious_interrupt", SFRAME_UNWIND_ENTRY_INTERRUPT },
	{ "ret_from_fork", SFRAME_UNWIND_ENTRY_NEW_THREAD },
	{ "entry_SYSCALL_64", SFRAME_UNWIND_ENTRY_SYSTEM_CALL },
	{ "entry_SYSENTER_compat", SFRAME_UNWIND_ENTRY_SYSTEM_CALL },
	{ "entry_SYSCALL_compat", SFRAME_UNWIND_ENTRY_SYSTEM_CALL },
	{ "asm_int80_emulation", SFRAME_UNWIND_ENTRY_SYSTEM_CALL },
	{ "entry_INT80_compat", SFRAME_UNWIND_ENTRY_SYSTEM_CALL },
	{ "int80_emulation", SFRAME_UNWIND_ENTRY_SYSTEM_CALL },
};

static enum sframe_unwind_entry entry_of_name(u64 address)
{
	char name[64];
	u32 i;

	snprintf(name, sizeof(name), "%ps", (void *)address);
	for (i = 0; i < ARRAY_SIZE(entry_names); i++) {
		if (str_has_prefix(name, entry_names[i].name))
			return entry_names[i].entry;
	}
	return SFRAME_UNWIND_ENTRY_UNKNOWN;
}

#define KNOWN_BITS	5
#define ENTRY_SHIFT	56

/*
 * Entries by address, because finding a name takes thousands of instructions.
 * The highest byte of a kernel address is always 0xff; here, it is the entry. 0
 * if unused.
 */
static u64 known_entries[1 << KNOWN_BITS];

static enum sframe_unwind_entry entry_of_address(u64 address)
{
	const u64 low = address & ~(0xffULL << ENTRY_SHIFT);
	u64 *slot = &known_entries[hash_64(address, KNOWN_BITS)];
	const u64 known = READ_ONCE(*slot);
	enum sframe_unwind_entry entry;

	if (known << 8 >> 8 == low)
		return known >> ENTRY_SHIFT;
	entry = entry_of_name(address);
	WRITE_ONCE(*slot, (u64)entry << ENTRY_SHIFT | low);
	return entry;
}

enum sframe_unwind_entry sfu_arch_entry(const struct pt_regs *regs,
					u64 outermost, s32 *nr)
{
	enum sframe_unwind_entry entry = SFRAME_UNWIND_ENTRY_UNKNOWN;
	const bool is_call = (long)regs->orig_ax >= 0;

	*nr = 0;
	if (outermost)
		entry = entry_of_address(outermost);
	if (entry == SFRAME_UNWIND_ENTRY_UNKNOWN && is_call)
		entry = SFRAME_UNWIND_ENTRY_SYSTEM_CALL;
	if (entry == SFRAME_UNWIND_ENTRY_SYSTEM_CALL)
		*nr = regs->orig_ax;
	return entry;
}
