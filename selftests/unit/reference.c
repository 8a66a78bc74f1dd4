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

/* Offsets in the header are from its end, behind the auxiliary header. */
static uint64_t header_end(const struct ref_section *s)
{
	return 28 + s->bytes[7];
}

static bool is_extended(const struct ref_section *s)
{
	return s->bytes[7] != 0;
}

static uint64_t rows_area(const struct ref_section *s)
{
	return header_end(s) + number(s, 24, 4);
}

static uint64_t rows_end(const struct ref_section *s)
{
	return rows_area(s) + number(s, 16, 4);
}

static struct function entry(const struct ref_section *s, uint64_t i)
{
	uint64_t at = header_end(s) + number(s, 20, 4) + 16 * i;
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

/*
 * The CFA of a flexible row. In extended sections its control word may have bit 2: a
 * third word follows; and its register may be 17 to 19.
 */
static bool cfa_place(const struct ref_section *s, uint64_t words, int width,
		      int count, int *n, struct ref_place *p)
{
	const uint64_t control = number(s, words, width);

	if (!is_extended(s) || !(control / 4 % 2)) {
		if (!place(s, words, width, count, n, p) || p->base < 0)
			return false;
		p->is_extended = is_extended(s) && p->base >= 17 &&
				 p->base <= 19;
		return true;
	}
	if (count < 3 || !(control % 2) || control / 8 > 19)
		return false;
	*n = 3;
	p->base = control / 8;
	p->in_memory = true;
	p->is_extended = true;
	p->is_address = !(control / 2 % 2);
	p->has_more = true;
	p->offset = integer(s, words + width, width);
	p->more = integer(s, words + 2 * width, width);
	return p->offset >= -32768 && p->offset <= 32767 &&
	       p->more >= -32768 && p->more <= 32767;
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
	rule->ra = (struct ref_place){ .base = REF_CFA, .in_memory = true,
				       .offset = -8 };
	rule->fp = (struct ref_place){ .base = REF_SAME };

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
	return cfa_place(s, words, width, count, &n, &rule->cfa) &&
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

/* The tables of an extended section: their places, and the numbers of their entries. */
struct tables {
	uint64_t blocks, nr_blocks;
	uint64_t layouts, nr_layouts;
	uint64_t runs, nr_runs;
	uint64_t end;
};

static struct tables tables(const struct ref_section *s)
{
	struct tables t = {
		.blocks = 56,
		.nr_blocks = number(s, 44, 4),
		.nr_runs = number(s, 48, 4),
		.nr_layouts = number(s, 52, 4),
	};

	t.layouts = t.blocks + 4 * t.nr_blocks;
	t.runs = t.layouts + 6 * t.nr_layouts;
	t.end = t.runs + 3 * t.nr_runs;
	return t;
}

/* Number of the first run that does not belong to the first @block blocks. */
static uint64_t first_run(const struct ref_section *s, const struct tables *t,
			  uint64_t block)
{
	return block < t->nr_blocks ? number(s, t->blocks + 4 * block, 4) :
				      t->nr_runs;
}

static bool extension_is_sound(const struct ref_section *s)
{
	uint64_t block, i;
	struct tables t;

	if (!s->may_extend || s->bytes[7] != 28 || s->size < 56)
		return false;
	if (number(s, 28, 4) != 0x58554653 || number(s, 32, 2) != 1 ||
	    number(s, 34, 2) != 0)
		return false;
	t = tables(s);
	if (t.nr_layouts > 256 || t.end > header_end(s) + number(s, 20, 4) ||
	    t.end > s->size)
		return false;
	for (i = 0; i < t.nr_layouts; i++)
		if (s->bytes[t.layouts + 6 * i + 5] & 0x40)
			return false;
	if (first_run(s, &t, 0) != 0)
		return false;
	for (block = 0; block < t.nr_blocks; block++) {
		const uint64_t first = first_run(s, &t, block);
		const uint64_t next = first_run(s, &t, block + 1);

		if (first > next || next > t.nr_runs)
			return false;
		for (i = first; i < next; i++) {
			const uint64_t run = t.runs + 3 * i;

			if (s->bytes[run + 2] >= t.nr_layouts)
				return false;
			if (i > first &&
			    number(s, run, 2) <= number(s, run - 3, 2))
				return false;
		}
	}
	return true;
}

struct ref_layout ref_find_layout(const struct ref_section *s, uint64_t pc)
{
	struct ref_layout layout = { .is_known = false };
	uint64_t at, block, i, found = 0, from = 0;
	struct tables t;

	if (!is_extended(s))
		return layout;
	t = tables(s);
	at = pc - (s->address + number(s, 36, 8));
	if (at / 65536 >= t.nr_blocks)
		return layout;
	/* The last run that starts at or below the address. */
	for (block = 0; block <= at / 65536; block++) {
		for (i = first_run(s, &t, block);
		     i < first_run(s, &t, block + 1); i++) {
			if (65536 * block + number(s, t.runs + 3 * i, 2) > at)
				break;
			found = i + 1;
		}
	}
	if (!found)
		return layout;
	layout.is_known = true;
	from = t.layouts + 6 * s->bytes[t.runs + 3 * (found - 1) + 2];
	for (i = 0; i < 5; i++)
		layout.slots[i] = s->bytes[from + i];
	layout.flags = s->bytes[from + 5];
	return layout;
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
	if (s->bytes[4] != 3 || s->bytes[5] != 0 || s->bytes[6] != 0xf8)
		return false;
	if (is_extended(s) && !extension_is_sound(s))
		return false;
	count = number(s, 8, 4);
	if (count == 0 || rows_end(s) > s->size ||
	    header_end(s) + number(s, 20, 4) + 16 * count > rows_area(s))
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
