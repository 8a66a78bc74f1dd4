// SPDX-License-Identifier: GPL-2.0
/*
 * cache: operations on a rule cache, compared with a map that forgets nothing.
 * The cache may drop an entry, and reports that, but an entry it has must be
 * the last one stored for the key.
 */
#include "arch/arch.h"
#include "decode/cache.h"
#include "decode/sframe_format.h"
#include "fuzz.h"

#define NR_KEYS		64
#define MAX_SET_BITS	3

/* One operation. */
struct operation {
	u8 what;	/* below 0x40: look up the key of that number */
	u8 key;
	u8 value;
	u8 rule;
} __attribute__((packed));

/* The last rule stored for each key, and the number of keys in the cache. */
struct map {
	struct {
		bool known;
		u32 epoch, owner;
		struct sfu_rule rule;
	} of[NR_KEYS];
	u32 stored;
};

/* Keys of return addresses and of exact ones, a few bytes or many pages apart. */
static u64 key_of(u8 number)
{
	const u64 near = number % 8, far = number / 8 % 4;
	const u64 key = 0x7f1234567001ULL + 5 * near + far * 0x101000;

	return number & 0x20 ? key | SFU_CACHE_EXACT : key;
}

static struct sfu_rule rule_of(u8 number)
{
	static const u8 cfa[] = { SFU_REG_SP, SFU_REG_FP,
				  SFRAME_EXT_REG_FP_SWITCH,
				  SFU_REG_FP | SFU_DEREF };
	const bool keeps_fp = !(number & 0x40);

	return (struct sfu_rule) {
		.cfa = cfa[number % 4],
		.cfa_offset = 4 * (number >> 2 & 7) - 8,
		.ra = number & 0x20 ? 3 : SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = -8,
		.fp = number & 0x40 ? SFU_SAME : SFU_BASE_CFA | SFU_DEREF,
		.fp_offset = number & 0x40 ? 0 : -16,
		.flags = !(number & 0x80) ? 0 :
			 keeps_fp ? SFU_RULE_KEEPS_FP : SFU_RULE_SIGNAL,
	};
}

/* Independent implementation of the summary that sfu_cache_follow() uses. */
static u64 brief_of(u64 key, const struct sfu_rule *rule)
{
	const bool exact = key >> 63;
	const bool by_fp = rule->cfa == SFU_REG_FP ||
			   rule->cfa == SFRAME_EXT_REG_FP_SWITCH;
	const bool simple = (!rule->flags ||
			     (rule->flags == SFU_RULE_KEEPS_FP && !exact)) &&
			    rule->ra == (SFU_BASE_CFA | SFU_DEREF) &&
			    (rule->cfa == SFU_REG_SP || by_fp) &&
			    rule->cfa_offset > 0 && rule->cfa_offset % 8 == 0;

	if (!simple)
		return SFU_BRIEF_COMPLEX;
	return rule->cfa_offset + by_fp + 2 * exact +
	       ((u64)(u16)rule->fp_offset << 48);
}

static void check_find(const struct sfu_cache *cache, const struct map *map,
		       u8 number)
{
	const u64 key = key_of(number);
	const struct sfu_cache_entry *entry = sfu_cache_find(cache, key);

	if (!entry)
		return;
	FUZZ_CHECK(map->of[number].known, "key %u was never remembered", number);
	FUZZ_CHECK(entry->brief == brief_of(key, &map->of[number].rule),
		   "brief %#llx", (unsigned long long)entry->brief);
	FUZZ_CHECK(entry->key == key && entry->epoch == map->of[number].epoch &&
		   entry->owner == map->of[number].owner &&
		   !memcmp(&entry->rule, &map->of[number].rule,
			   sizeof(entry->rule)),
		   "key %u was remembered otherwise", number);
}

static void insert(struct sfu_cache *cache, struct map *map,
		   const struct operation *op)
{
	const u8 number = op->key % NR_KEYS;
	const u64 key = key_of(number);
	const bool had = sfu_cache_find(cache, key);
	const struct sfu_rule rule = rule_of(op->rule);
	bool replaced;

	replaced = sfu_cache_insert(cache, key, op->value, op->what, &rule);
	FUZZ_CHECK(!(had && replaced), "replaced another than itself");
	map->stored += !had && !replaced;
	map->of[number].known = true;
	map->of[number].epoch = op->value;
	map->of[number].owner = op->what;
	map->of[number].rule = rule;
	FUZZ_CHECK(sfu_cache_find(cache, key), "key %u is not there", number);
}

/*
 * The cache has as many entries as were added without replacing others, and no
 * key twice.
 */
static void check_all(const struct sfu_cache *cache, const struct map *map)
{
	const u32 count = cache->nr_sets * SFU_CACHE_WAYS;
	u32 i, used = 0, found = 0;

	for (i = 0; i < count; i++)
		used += cache->entry[i].key != 0;
	for (i = 0; i < NR_KEYS; i++) {
		check_find(cache, map, i);
		found += sfu_cache_find(cache, key_of(i)) != NULL;
	}
	FUZZ_CHECK(used == map->stored && found == map->stored,
		   "%u entries, %u keys, not %u", used, found, map->stored);
}

void fuzz_cache(const u8 *data, size_t size)
{
	struct sfu_cache_entry entries[SFU_CACHE_WAYS << MAX_SET_BITS] = { 0 };
	struct map map = { 0 };
	struct sfu_cache cache;
	struct operation op;
	u8 set_bits;

	if (!fuzz_take_tail(data, &size, &set_bits, sizeof(set_bits)))
		return;
	sfu_cache_init(&cache, set_bits % (MAX_SET_BITS + 1), entries);
	FUZZ_CHECK(cache.nr_sets * SFU_CACHE_WAYS * sizeof(entries[0]) <=
		   sizeof(entries), "too large");
	for (; size >= sizeof(op); data += sizeof(op), size -= sizeof(op)) {
		memcpy(&op, data, sizeof(op));
		if (op.what < NR_KEYS)
			check_find(&cache, &map, op.what);
		else
			insert(&cache, &map, &op);
	}
	check_all(&cache, &map);
}
