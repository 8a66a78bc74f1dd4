// SPDX-License-Identifier: GPL-2.0
#include "reference.h"

/* The @n bytes at @at as an unsigned little-endian number. */
static uint64_t number(const struct ref_section *s, uint64_t at, int n)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < n; i++)
		value += (uint64_t)s->bytes[at + i] << (8 * i);
	return value;
}

/* The @n bytes at @at as a signed little-endian number. */
static int64_t integer(const struct ref_section *s, uint64_t at, int n)
{
	uint64_t value = number(s, at, n);

	if (n < 8 && value >> (8 * n - 1))
		value -= 1ULL << (8 * n);
	return value;
}

/* A function: its index entry and the attribute in front of its rows. */
struct function {
	uint64_t start, size, block;
	uint64_t rows;
	int fre_type, fde_type, rep_size;
	bool pcmask, reserved, signal;
};

static uint64_t rows_area(const struct ref_section *s)
{
	return 28 + number(s, 24, 4);
}

static uint64_t rows_end(const struct ref_section *s)
{
	return rows_area(s) + number(s, 16, 4);
}

static struct function entry(const struct ref_section *s, uint64_t i)
{
	uint64_t at = 28 + number(s, 20, 4) + 16 * i;
	struct function f = {
		.start = s->address + number(s, at, 8),
		.size = number(s, at + 8, 4),
		.block = rows_area(s) + number(s, at + 12, 4),
	};

	if (s->bytes[3] & 4)
		f.start += at;
	return f;
}

static void attribute(const struct ref_section *s, struct function *f)
{
	int info = s->bytes[f->block + 2], info2 = s->bytes[f->block + 3];

	f->rows = number(s, f->block, 2);
	f->fre_type = info % 16;
	f->pcmask = info / 16 % 2;
	f->signal = info / 128;
	f->fde_type = info2 % 32;
	f->rep_size = s->bytes[f->block + 4];
	/* Bit 5 selects a kind of signature that AMD64 does not have. */
	f->reserved = info / 32 % 4 || info2 / 32;
}

struct line {
	uint64_t start, next;
	struct ref_rule rule;
};

/* One location of a flexible row; advances *@n, the words used so far. */
static bool place(const struct ref_section *s, uint64_t words, int width,
		  int count, int *n, struct ref_place *p)
{
	uint64_t control;

	if (*n == count)
		return true;
	control = number(s, words + *n * width, width);
	*n += 1;
	if (control == 0)
		return true;
	if (*n == count || control / 4 % 2)
		return false;
	p->base = control % 2 ? (long)(control / 8) : REF_CFA;
	p->in_memory = control / 2 % 2;
	p->offset = integer(s, words + *n * width, width);
	*n += 1;
	return p->base != REF_CFA || p->in_memory;
}

/* The row at @at, which must end by @end. Returns false if it is malformed. */
static bool row(const struct ref_section *s, const struct function *f,
		uint64_t at, uint64_t end, struct line *line)
{
	static const int widths[] = { 1, 2, 4 };
	int start_size = widths[f->fre_type], info, count, width, n = 0;
	struct ref_rule *rule = &line->rule;
	uint64_t words;

	if (at + start_size + 1 > end)
		return false;
	line->start = number(s, at, start_size);
	info = s->bytes[at + start_size];
	count = info / 2 % 16;
	if (info / 32 % 4 == 3 || info / 128)
		return false;
	width = widths[info / 32 % 4];
	words = at + start_size + 1;
	line->next = words + count * width;
	if (line->next > end)
		return false;

	*rule = (struct ref_rule){ .answer = REF_OUTERMOST };
	if (count == 0)
		return true;
	rule->answer = REF_RULE;
	rule->signal = f->signal;
	rule->ra = (struct ref_place){ REF_CFA, true, -8 };
	rule->fp = (struct ref_place){ REF_SAME, false, 0 };

	if (f->fde_type == 0) {
		rule->cfa.base = info % 2 ? 7 : 6;
		rule->cfa.offset = integer(s, words, width);
		if (count == 2) {
			rule->fp.base = REF_CFA;
			rule->fp.in_memory = true;
			rule->fp.offset = integer(s, words + width, width);
		}
		return count <= 2;
	}
	rule->cfa.base = REF_SAME;
	return place(s, words, width, count, &n, &rule->cfa) &&
	       rule->cfa.base >= 0 &&
	       place(s, words, width, count, &n, &rule->ra) &&
	       place(s, words, width, count, &n, &rule->fp) &&
	       n == count;
}

static bool function_is_sound(const struct ref_section *s, struct function *f)
{
	uint64_t i, at, last = 0;
	struct line line;

	if (f->start + f->size < f->start || f->block + 5 > rows_end(s))
		return false;
	attribute(s, f);
	if (f->reserved || f->fre_type > 2 || f->fde_type > 1)
		return false;
	if (f->pcmask && (f->rep_size == 0 || (uint64_t)f->rep_size > f->size))
		return false;

	at = f->block + 5;
	for (i = 0; i < f->rows; i++) {
		if (!row(s, f, at, rows_end(s), &line))
			return false;
		if (i > 0 && line.start <= last)
			return false;
		if (f->pcmask ? line.start >= (uint64_t)f->rep_size :
				line.start > f->size)
			return false;
		last = line.start;
		at = line.next;
	}
	return true;
}

bool ref_is_sound(const struct ref_section *s)
{
	uint64_t i, count, end = 0, last = 0;
	struct function f;

	if (s->size < 28)
		return false;
	if (number(s, 0, 2) != 0xdee2 || s->bytes[2] != 3)
		return false;
	if (s->bytes[3] != 1 && s->bytes[3] != 5)
		return false;
	if (s->bytes[4] != 3 || s->bytes[5] != 0 || s->bytes[6] != 0xf8 ||
	    s->bytes[7] != 0)
		return false;
	count = number(s, 8, 4);
	if (count == 0 || 28 + number(s, 20, 4) + 16 * count > rows_area(s) ||
	    rows_end(s) > s->size)
		return false;

	for (i = 0; i < count; i++) {
		f = entry(s, i);
		if (f.start < last || f.start < end)
			return false;
		if (!function_is_sound(s, &f))
			return false;
		last = f.start;
		end = f.start + f.size;
	}
	return true;
}

struct ref_rule ref_lookup(struct ref_section *s, uint64_t pc)
{
	struct ref_rule rule = { .answer = REF_NONE };
	struct function f = { 0 };
	uint64_t i, at, offset, count = number(s, 8, 4);
	bool found = false;
	struct line line;

	/*
	 * Functions of a sound section do not overlap: at most one contains the
	 * pc, whatever the search order.
	 */
	for (i = s->near; i < s->near + count && !found; i++) {
		f = entry(s, i % count);
		found = pc >= f.start && pc - f.start < f.size;
	}
	if (!found)
		return rule;
	s->near = (i - 1) % count;
	attribute(s, &f);
	if (f.rows == 0) {
		rule.answer = f.signal ? REF_SIGNAL : REF_OUTERMOST;
		return rule;
	}
	offset = pc - f.start;
	while (f.pcmask && offset >= (uint64_t)f.rep_size)
		offset -= f.rep_size;

	at = f.block + 5;
	for (i = 0; i < f.rows; i++) {
		row(s, &f, at, rows_end(s), &line);
		if (line.start <= offset)
			rule = line.rule;
		at = line.next;
	}
	return rule;
}
