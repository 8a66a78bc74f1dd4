// SPDX-License-Identifier: GPL-2.0
/*
 * functions: a function table. Whatever it contains, the two ways to find a rule must not
 * contradict each other, and a function that is found must cover the address and lie in
 * the code.
 */
#include "arch/arch.h"
#include "decode/functions.h"
#include "fuzz.h"

#define ADDRESS		0x7f1234567000ULL
#define TEXT		0x7f1200000000ULL
#define BUDGET		5000

/* After the table. */
struct tail {
	u32 text_size;
	u16 max;
	u8 granule_bits;
	u8 offset[5];		/* of addresses to look up, in granules and bytes */
} __attribute__((packed));

static void look_up(const struct sfu_functions *functions, u64 pc)
{
	struct sfu_match match, quick;
	u32 left = BUDGET, budget = BUDGET;
	int err;

	memset(&quick, 0, sizeof(quick));
	err = sfu_functions_find_rule(functions, pc, &left, &match);
	FUZZ_CHECK(!err || err == -ENOENT || err == -ETIME, "%d", err);
	if (!err)
		FUZZ_CHECK(match.start <= pc && pc < match.end && match.start >= TEXT &&
			   match.end <= TEXT + functions->text_size,
			   "%#llx", (unsigned long long)pc);
	if (!sfu_functions_find_quickly(functions, pc, &budget, &quick)) {
		FUZZ_CHECK(budget == BUDGET, "%u", budget);
		return;
	}
	FUZZ_CHECK(!err && budget == left, "%d, %u and %u", err, budget, left);
	FUZZ_CHECK(quick.start == match.start && quick.end == match.end &&
		   quick.num_rows == match.num_rows &&
		   !memcmp(&quick.rule, &match.rule, sizeof(match.rule)),
		   "%#llx", (unsigned long long)pc);
}

void fuzz_functions(const u8 *data, size_t size)
{
	struct sfu_functions functions = { .text = TEXT };
	struct tail tail;
	unsigned int i;

	if (!fuzz_take_tail(data, &size, &tail, sizeof(tail)))
		return;
	functions.text_size = 1 + tail.text_size % SFU_FUNCTIONS_MAX_TEXT;
	functions.max = 1 + tail.max;
	functions.map = sfu_functions_map(functions.max);
	functions.granule_bits = tail.granule_bits % (SFU_FUNCTIONS_MAX_BITS + 1);
	/* The module registers no other tables. */
	if (sfu_functions_map_end(functions.max, functions.text_size,
				  functions.granule_bits) > size)
		return;
	functions.bytes = (struct sfu_bytes) { ADDRESS, size, data };
	for (i = 0; i < sizeof(tail.offset); i++) {
		look_up(&functions, TEXT + tail.offset[i]);
		look_up(&functions, TEXT + ((u64)tail.offset[i] << functions.granule_bits));
	}
	look_up(&functions, TEXT - 1);
	look_up(&functions, TEXT + functions.text_size - 1);
	look_up(&functions, TEXT + functions.text_size);
	/* The same in memory of the process. */
	functions.bytes = (struct sfu_bytes) { (uintptr_t)data, size, NULL };
	look_up(&functions, TEXT + tail.offset[0]);
}
