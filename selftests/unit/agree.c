// SPDX-License-Identifier: GPL-2.0
#include "agree.h"

static bool defect_makes_sense(const struct sfu_defect *defect, u64 size)
{
	return defect->kind > SFU_DEFECT_NONE &&
	       defect->kind < SFU_NR_DEFECTS && defect->offset <= size;
}

/* A section that need not be extended is the same for both ways to open it. */
static int open_table(struct sfu_table *table, const struct sfu_bytes *section,
		      struct sfu_defect *defect)
{
	struct sfu_defect plain_defect = UNTOUCHED;
	struct sfu_table plain;
	const int ret = sfu_table_open_extended(table, section, defect);
	const int plain_ret = sfu_table_open(&plain, section, &plain_defect);

	if (plain_ret == -EINVAL && plain_defect.kind == SFU_DEFECT_HDR_AUXHDR)
		return !ret && !table->extended ? -EPROTO : ret;
	return ret != plain_ret || plain_defect.kind != defect->kind ||
	       (!ret && table->extended) ? -EPROTO : ret;
}

int agree_begin(struct agree *agree, const u8 *bytes, u64 size, u64 address)
{
	struct sfu_bytes section = bytes_at(bytes, size, address);
	struct sfu_defect defect = UNTOUCHED;
	int ret;

	agree->ref = (struct ref_section){
		.bytes = bytes,
		.size = size,
		.address = address,
		.may_extend = true,
	};
	agree->sound = ref_is_sound(&agree->ref);

	ret = open_table(&agree->table, &section, &defect);
	if (ret) {
		if (agree->sound || !defect_makes_sense(&defect, size) ||
		    (ret != -EINVAL && ret != -EOPNOTSUPP)) {
			tap_fail("not opened: %d, \"%s\" at %#llx", ret,
				 sfu_defect_text(defect.kind),
				 (unsigned long long)defect.offset);
			return -1;
		}
		return 0;
	}
	if (!is_untouched(&defect)) {
		tap_fail("opened, but with a defect");
		return -1;
	}

	ret = sfu_table_validate(&agree->table, keep_first, &defect);
	if (ret || agree->sound != is_untouched(&defect) ||
	    (!agree->sound && !defect_makes_sense(&defect, size))) {
		tap_fail("validated: %d, \"%s\" at %#llx; reference: %s", ret,
			 sfu_defect_text(defect.kind),
			 (unsigned long long)defect.offset,
			 agree->sound ? "sound" : "not sound");
		return -1;
	}
	return 1;
}

bool agree_lookup(struct agree *agree, u64 pc)
{
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_rule rule;
	struct ref_rule want;
	char text[100];
	int ret;

	ret = lookup(&agree->table, pc, &rule, &defect);
	if (ret == -EINVAL)
		/* Validation must refuse every section that a lookup refuses. */
		return (!agree->sound &&
			defect_makes_sense(&defect, agree->ref.size)) ||
		       tap_fail("pc %#llx: \"%s\" at %#llx",
				(unsigned long long)pc,
				sfu_defect_text(defect.kind),
				(unsigned long long)defect.offset);
	if ((ret && ret != -ENOENT) || !is_untouched(&defect))
		return tap_fail("pc %#llx: %d", (unsigned long long)pc, ret);
	if (!agree->sound)
		return true;

	want = ref_lookup(&agree->ref, pc);
	return rule_is(&want, ret, &rule) ||
	       tap_fail("pc %#llx: the reference does not say %s",
			(unsigned long long)pc, rule_text(text, ret, &rule));
}

bool agree_layout(struct agree *agree, u64 pc)
{
	const struct ref_section *ref = &agree->ref;
	struct sfu_layout layout = { 0 };
	struct ref_layout want;
	int ret;

	ret = sfu_table_find_layout(&agree->table, pc, &layout);
	if (!agree->sound)
		return !ret || ret == -ENOENT || ret == -EINVAL ||
		       tap_fail("layout at %#llx: %d", (unsigned long long)pc,
				ret);
	want = ref_find_layout(ref, pc);
	if (want.is_known ? !ret && !memcmp(layout.slot, want.slots, 5) &&
			    layout.flags == want.flags : ret == -ENOENT)
		return true;
	return tap_fail("layout at %#llx: %d, not the reference's",
			(unsigned long long)pc, ret);
}
