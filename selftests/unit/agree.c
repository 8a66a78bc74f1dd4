// SPDX-License-Identifier: GPL-2.0
#include "agree.h"

static bool defect_makes_sense(const struct sfu_defect *defect, u64 size)
{
	return defect->kind > SFU_DEFECT_NONE &&
	       defect->kind < SFU_NR_DEFECTS && defect->offset <= size;
}

int agree_begin(struct agree *agree, const u8 *bytes, u64 size, u64 address)
{
	struct sfu_bytes section = bytes_at(bytes, size, address);
	struct sfu_defect defect = UNTOUCHED;
	int ret;

	agree->ref = (struct ref_section){ bytes, size, address, 0 };
	agree->sound = ref_is_sound(&agree->ref);

	ret = sfu_table_open(&agree->table, &section, &defect);
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
