// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Functions: find the rule for a pc in a function table.
 */
#include "../arch/arch.h"
#include "../user.h"
#include "functions.h"
#include "sframe_find.h"

/**
 * struct located - the entry of a function, checked to cover the wanted address
 *
 * @start: offset in the code.
 * @size: in bytes.
 * @rows: offset in the table, not checked.
 */
struct located {
	u32 start;
	u32 size;
	u32 rows;
};

/*
 * Locate the function that covers the byte of code at @offset. All offsets used here are
 * inside of the table: the caller has checked its parts, and numbers are checked before
 * they are used. Returns 0, -ENOENT or -EFAULT.
 */
static __always_inline int locate(const struct sfu_functions *functions,
				  struct sfu_window *window, bool copied,
				  u64 offset, struct located *located)
{
	const u64 slot = functions->map + (offset >> functions->granule_bits) *
						  SFU_FUNCTIONS_SLOT_SIZE;
	struct sfu_place at;
	u32 used, number;

	if (offset >= functions->text_size)
		return -ENOENT;
	at = sfu_window_at(window, 0);
	sfu_window_get(copied, window, at, SFU_FUNCTIONS_USED, used, unreadable);
	/* Pairs with the release of used: entries below it are complete. */
	smp_rmb();
	at = sfu_window_at(window, slot);
	sfu_window_get(copied, window, at, 0, number, unreadable);
	if (!number || number > used || number > functions->max)
		return -ENOENT;
	at = sfu_window_at(window, SFU_FUNCTIONS_ENTRIES +
				   (number - 1ULL) * SFU_FUNCTIONS_ENTRY_SIZE);
	sfu_window_get(copied, window, at, SFU_FUNCTIONS_SIZE, located->size,
		       unreadable);
	/* Pairs with the release of the size: what it publishes is complete. */
	smp_rmb();
	sfu_window_get(copied, window, at, SFU_FUNCTIONS_START, located->start,
		       unreadable);
	sfu_window_get(copied, window, at, SFU_FUNCTIONS_ROWS, located->rows,
		       unreadable);
	if (offset < located->start || offset - located->start >= located->size ||
	    (u64)located->start + located->size > functions->text_size)
		return -ENOENT;
	return 0;

unreadable:
	return -EFAULT;
}

static __always_inline void set_range(const struct sfu_functions *functions,
				      const struct located *located,
				      struct sfu_match *match)
{
	match->start = functions->text + located->start;
	match->end = match->start + located->size;
}

static __always_inline bool find_quickly(const struct sfu_functions *functions,
					 bool copied, u64 pc, u32 *budget,
					 struct sfu_match *match)
{
	const u64 size = functions->bytes.size;
	struct located located;
	struct sfu_window window;
	bool found = false;

	if (!sfu_window_begin(&window, &functions->bytes, 0, size, copied))
		return false;
	if (!locate(functions, &window, copied, pc - functions->text, &located)) {
		set_range(functions, &located, match);
		found = sfu_find_in_block(&window, copied, size, located.rows,
					  pc, budget, match);
	}
	sfu_window_end(&window, copied);
	return found;
}

bool sfu_functions_find_quickly(const struct sfu_functions *functions, u64 pc,
				u32 *budget, struct sfu_match *match)
{
	return functions->bytes.copy ?
		       find_quickly(functions, true, pc, budget, match) :
		       find_quickly(functions, false, pc, budget, match);
}

static __always_inline int locate_slowly(const struct sfu_functions *functions,
					 bool copied, u64 pc,
					 struct located *located)
{
	struct sfu_window window;
	int err;

	if (!sfu_window_begin(&window, &functions->bytes, 0,
			      functions->bytes.size, copied))
		return -EFAULT;
	err = locate(functions, &window, copied, pc - functions->text, located);
	sfu_window_end(&window, copied);
	return err;
}

int sfu_functions_find_rule(const struct sfu_functions *functions, u64 pc,
			    u32 *budget, struct sfu_match *match)
{
	const struct sfu_table table = { .bytes = functions->bytes };
	struct sfu_defect defect;
	struct located located;
	struct sfu_fde fde;
	int err;

	*match = (struct sfu_match) {};
	err = functions->bytes.copy ?
		      locate_slowly(functions, true, pc, &located) :
		      locate_slowly(functions, false, pc, &located);
	if (err)
		return err;
	set_range(functions, &located, match);
	fde = (struct sfu_fde) {
		.start = match->start,
		.size = located.size,
		.block = located.rows,
	};
	err = sfu_fde_read_attribute(&table, &fde, &defect);
	if (!err) {
		match->num_rows = fde.num_rows;
		err = sfu_fde_find_rule(&table, &fde, pc, budget, &match->rule,
					&defect);
	}
	if (err == -EINVAL) {
		*match = (struct sfu_match) {};
		err = -ENOENT;
	}
	return err;
}
