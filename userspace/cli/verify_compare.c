// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "convert/cfi/own.h"
#include "convert/output/padding.h"
#include "escape.h"
#include "verify_compare.h"
#include "verify_describe.h"

/* Print the range of addresses, and the function or section that it is in. */
static void print_range(const struct verify *verify, uint64_t start,
			uint64_t end)
{
	char name[SYMBOLS_NAME_SIZE];
	uint64_t offset;
	bool has_name;

	has_name = symbols_function(verify->symbols, start, name, &offset);
	if (!has_name)
		symbols_section(verify->symbols, start, name);
	print_escaped(stdout, verify->file);
	printf(": 0x%" PRIx64 "..0x%" PRIx64 " ", start, end);
	print_escaped(stdout, name);
	if (has_name)
		printf("+0x%" PRIx64, offset);
	fputs(": ", stdout);
}

static void report(struct verify *verify, const struct disagreement *found)
{
	char cfi[160], sframe[160], section[SYMBOLS_NAME_SIZE];
	const char *defect;

	symbols_section(verify->symbols, found->start, section);
	defect = sfu_own_defect(found, !strcmp(section, ".plt.got"));
	verify->disagreements++;
	verify->known += defect != NULL;
	verify_describe(found->cfi, cfi, sizeof(cfi));
	verify_describe(found->sframe, sframe, sizeof(sframe));
	print_range(verify, found->start, found->end);
	printf(".sframe says %s; .eh_frame says %s%s%s%s\n", sframe, cfi,
	       defect ? " [known defect: " : "", defect ? defect : "",
	       defect ? "]" : "");
}

/* A rule based on a register that AMD64 does not have cannot be used. */
static bool is_usable(const struct span *span)
{
	return (span->rule.cfa & SFU_BASE_MASK) != SFU_BASE_OTHER;
}

/*
 * Check whether the two sections disagree about [now->start, now->end), which at least
 * one of them describes. Returns 1 or 0, or a negative errno with a message.
 */
static int differs(struct verify *verify, const struct disagreement *now)
{
	const uint64_t size = now->end - now->start;
	int ret;

	if (sfu_own_is_same(now->cfi, now->sframe)) {
		verify->agreed += size;
		return 0;
	}
	if (!now->cfi) {
		ret = sfu_padding_is(&verify->image, now->start, now->end);
		if (ret > 0)
			verify->padding += size;
		return ret < 0 ? ret : !ret;
	}
	if (now->sframe && (!now->cfi->reason || is_usable(now->sframe)))
		return 1;
	/* Here .sframe has no usable rule. If SFrame cannot express one, that is right. */
	if (now->cfi->reason)
		return 0;
	verify->missing += size;
	return verify->is_complete;
}

/*
 * Compare one range. Neighbouring ranges with the same disagreement are collected in
 * @pending, and reported as one. Returns 0 or a negative errno with a message.
 */
static int compare(struct verify *verify, struct disagreement *pending,
		   const struct disagreement *now)
{
	const int ret = differs(verify, now);

	if (ret <= 0)
		return ret;
	if (pending->end == now->start && sfu_own_is_same(pending->cfi, now->cfi) &&
	    sfu_own_is_same(pending->sframe, now->sframe)) {
		pending->end = now->end;
		return 0;
	}
	if (pending->end)
		report(verify, pending);
	*pending = *now;
	return 0;
}

int verify_compare(struct verify *verify)
{
	struct own_pair pair = {
		.cfi = &verify->cfi,
		.sframe = &verify->sframe,
	};
	struct disagreement pending = { 0 }, now;
	int err = 0;

	while (!err && sfu_own_next(&pair, &now))
		err = compare(verify, &pending, &now);
	if (!err && pending.end)
		report(verify, &pending);
	return err;
}
