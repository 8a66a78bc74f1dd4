// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A path begins with the return address on top of the stack. Each instruction gets the
 * state that all paths to it must have. What a called function does is assumed: it
 * returns with the stack pointer above its return address, and with rbp unchanged.
 *
 * Calls that do not return may be followed by code to which other paths lead, maybe of
 * another function. So code behind a call is proven only if control gets from there to
 * the function's end, with the stack pointer at the return address.
 */
#include <string.h>

#include <sframe_unwind_convert.h>

#include "effect.h"
#include "module/decode/bytes.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "scan.h"

/* Largest function in bytes: if its size is known, and if not. */
#define MAX_KNOWN	65536
#define MAX_UNKNOWN	4096

/* Slots for functions that are called; a power of two. */
#define MAX_CALLED	8192

/* Rounds in which is found what leads where; jumps backwards may need several. */
#define MAX_ROUNDS	8

/* Largest stack frame, and largest part of it that one instruction makes; in bytes. */
#define MAX_DEPTH	(1 << 28)
#define MAX_ADD		(1 << 20)

/* Least code without CFI in which the compiler's start files are looked for. */
#define MIN_START 64

/* Longest code behind the call at an entry point. */
#define MAX_TAIL	96

/**
 * struct path - what is known where paths meet
 *
 * @depth: bytes between the stack pointer and the return address.
 * @saved: depth at which rbp was saved, right after the push; 0 if rbp is the caller's.
 * @base: depth at which rsp was copied to rbp; 0 if rbp is something else.
 * @has_sp: @depth is known.
 * @is_known: a path leads here.
 * @target: offset of the instruction to which this one may jump; 0 if there is none.
 * @other: start of another function that is called or jumped to, from the start of this
 *	one; 0 if there is none.
 * @size: of the instruction here; 0 if it was not looked at.
 * @is_inside: inside an instruction.
 * @is_call: it is a call.
 * @continues: control gets to the next instruction.
 * @is_certain: it can be reached without return from a call.
 * @exits: control can get from here to the end of the function.
 */
struct path {
	int32_t depth;
	int32_t saved;
	int32_t base;
	uint32_t target;
	int32_t other;
	bool has_sp;
	bool is_known;
	uint8_t size;
	bool is_inside;
	bool is_call;
	bool continues;
	bool is_certain;
	bool exits;
};

/**
 * struct scan
 *
 * @spans: code that other sources describe.
 * @left: bytes of functions that may still be looked at.
 * @paths: array of struct path, for each byte of the function.
 * @work: array of uint32_t: offsets of instructions to be looked at.
 * @called: hash table of functions that are called, by address.
 * @queue: array of uint64_t: functions of @called to be looked at.
 */
struct scan {
	struct cfi *cfi;
	struct image *image;
	const struct buffer *spans;
	uint64_t left;
	struct buffer paths;
	struct buffer work;
	uint64_t called[MAX_CALLED];
	uint64_t queue[MAX_CALLED];
	size_t nr_queued;
};

/**
 * struct area - a function being looked at
 *
 * @start: its address.
 * @size: in bytes; at most so many if @is_open.
 * @is_open: its end is not known.
 * @is_left: it jumps to addresses that are not known, maybe in itself.
 */
struct area {
	uint64_t start;
	uint64_t size;
	bool is_open;
	bool is_left;
};

static struct path *path_at(const struct scan *scan, uint64_t offset)
{
	return (struct path *)scan->paths.bytes + offset;
}

/* Returns the number of bytes from @address on that have no span. */
static uint64_t uncovered(const struct scan *scan, uint64_t address)
{
	const uint64_t filled = sfu_image_filled(scan->image, address);
	size_t low = 0, high = nr_spans(scan->spans);

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (span_at(scan->spans, middle)->end > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == nr_spans(scan->spans))
		return filled;
	if (span_at(scan->spans, low)->start <= address)
		return 0;
	if (span_at(scan->spans, low)->start - address < filled)
		return span_at(scan->spans, low)->start - address;
	return filled;
}

/* Decode the instruction at @address. Returns 1, 0, or a negative errno. */
static int decode_at(struct scan *scan, uint64_t address, uint64_t most,
		     struct effect *effect)
{
	const size_t size = most < EFFECT_MAX_SIZE ? most : EFFECT_MAX_SIZE;
	const unsigned char *code;
	int ret;

	if (!size)
		return 0;
	ret = sfu_image_code(scan->image, address, size, &code);
	return ret <= 0 ? ret : sfu_effect_read(code, size, effect);
}

/* Note that the function at @address is called, and begins there. */
static void note_call(struct scan *scan, uint64_t address)
{
	size_t slot = (address ^ address >> 13) % MAX_CALLED;

	if (!uncovered(scan, address) || scan->nr_queued > MAX_CALLED / 2)
		return;
	while (scan->called[slot]) {
		if (scan->called[slot] == address)
			return;
		slot = (slot + 1) % MAX_CALLED;
	}
	scan->called[slot] = address;
	scan->queue[scan->nr_queued++] = address;
}

/* Returns whether a path with @now may leave the function as if it had just begun. */
static bool is_as_at_start(const struct path *now)
{
	return now->has_sp && !now->depth && !now->saved;
}

/* Returns whether the stack pointer can be at @depth without losing the saved rbp. */
static bool is_depth(const struct path *now, int32_t depth)
{
	return depth >= now->saved && depth < MAX_DEPTH;
}

/* The effects of instructions. Returns false if they are not understood. */
static bool apply(const struct effect *effect, struct path *now)
{
	if (effect->add < -MAX_ADD || effect->add > MAX_ADD)
		return false;
	switch ((enum change)effect->change) {
	case CHANGE_NONE:
		return true;
	case CHANGE_ADD_SP:
		if (!now->has_sp)
			return true;
		now->depth -= effect->add;
		/* rbp must be restored by a pop or leave. */
		return is_depth(now, now->depth);
	case CHANGE_PUSH_FP:
		now->depth += 8;
		if (!now->saved && now->has_sp)
			now->saved = now->depth;
		return now->has_sp;
	case CHANGE_POP_FP:
		if (!now->has_sp || !now->saved || now->depth < now->saved)
			return false;
		if (now->depth == now->saved)
			now->saved = 0;
		now->base = 0;
		now->depth -= 8;
		return true;
	case CHANGE_SP_TO_FP:
		now->base = now->depth - effect->add;
		if (!now->has_sp || !now->saved)
			return false;
		if (!is_depth(now, now->base))
			now->base = 0;
		return true;
	case CHANGE_FP_TO_SP:
		now->depth = now->base - effect->add;
		now->has_sp = true;
		return now->base && is_depth(now, now->depth);
	case CHANGE_LEAVE:
		if (!now->base || now->base != now->saved)
			return false;
		now->depth = now->base - 8;
		now->base = 0;
		now->saved = 0;
		now->has_sp = true;
		return true;
	case CHANGE_WRITE_FP:
		now->base = 0;
		return now->saved && now->has_sp;
	case CHANGE_WRITE_SP:
		now->has_sp = false;
		now->depth = 0;
		return now->base;
	}
	return false;
}

/*
 * A path with @now leads to @offset of the function. Returns 1 if that agrees with
 * other paths; 0; or a negative errno with a message.
 */
static int meet(struct scan *scan, const struct area *area, uint64_t offset,
		const struct path *now)
{
	const uint32_t work = offset;
	struct path *path;
	int err;

	if (offset >= area->size)
		return 0;
	path = path_at(scan, offset);
	if (path->is_inside)
		return 0;
	if (path->is_known)
		return path->depth == now->depth && path->saved == now->saved &&
		       path->base == now->base && path->has_sp == now->has_sp;
	path->depth = now->depth;
	path->saved = now->saved;
	path->base = now->base;
	path->has_sp = now->has_sp;
	path->is_known = true;
	err = sfu_budget_reserve(&scan->image->file.budget, &scan->work,
				 sizeof(work), "code");
	if (err)
		return err;
	buffer_put(&scan->work, &work, sizeof(work));
	return 1;
}

/* The instruction @from calls or jumps to the function at @target. */
static void goes_to(struct path *from, int64_t target)
{
	if (target >= INT32_MIN && target <= INT32_MAX)
		from->other = target;
}

/*
 * A jump or branch at @offset with @now goes to @target, an offset that may be outside.
 */
static int jump(struct scan *scan, const struct area *area, uint64_t offset,
		int64_t target, const struct path *now)
{
	struct path *from = path_at(scan, offset);

	if (target >= 0 && (uint64_t)target < area->size &&
	    !(area->is_open && is_as_at_start(now))) {
		from->target = target;
		/* The start is not behind a call. */
		from->exits |= !target;
		return meet(scan, area, target, now);
	}
	if (!is_as_at_start(now))
		return 0;
	/* Back to the start, or to another function in place of a call. */
	from->exits = true;
	goes_to(from, target);
	return 1;
}

/* Look at the instruction at @offset. Returns as meet(). */
static int follow(struct scan *scan, struct area *area, uint64_t offset)
{
	struct path *const path = path_at(scan, offset);
	struct path now = *path;
	uint64_t next;
	struct effect effect;
	int64_t target;
	int ret;

	ret = decode_at(scan, area->start + offset, area->size - offset,
			&effect);
	if (ret <= 0)
		return ret;
	path->size = effect.size;
	for (unsigned int i = 1; i < effect.size; i++) {
		if (path_at(scan, offset + i)->is_known)
			return 0;
		path_at(scan, offset + i)->is_inside = true;
	}
	if (!apply(&effect, &now))
		return 0;
	next = offset + effect.size;
	target = (int64_t)next + effect.target;
	path->is_call = effect.flow == FLOW_CALL;
	path->continues = next < area->size &&
			  (effect.flow == FLOW_NEXT ||
			   effect.flow == FLOW_CALL ||
			   effect.flow == FLOW_BRANCH);
	switch ((enum flow)effect.flow) {
	case FLOW_STOP:
		return 1;
	case FLOW_RETURN:
	case FLOW_LEAVE:
		path->exits = true;
		area->is_left |= effect.flow == FLOW_LEAVE;
		return is_as_at_start(&now);
	case FLOW_JUMP:
		return jump(scan, area, offset, target, &now);
	case FLOW_BRANCH:
		ret = jump(scan, area, offset, target, &now);
		return ret <= 0 ? ret : meet(scan, area, next, &now);
	case FLOW_CALL:
		if (effect.has_target && target > 0 &&
		    (uint64_t)target < area->size && !area->is_open)
			return 0;
		if (effect.has_target && (uint64_t)target == next)
			return 0;
		if (effect.has_target)
			goes_to(path, target);
		/* A call that does not return may be the last instruction. */
		if (next == area->size && !area->is_open)
			return 1;
		return meet(scan, area, next, &now);
	case FLOW_NEXT:
		return meet(scan, area, next, &now);
	}
	return 0;
}

/* Note what leads from and to the instruction at @offset. Returns whether that is new. */
static bool lead(struct scan *scan, uint64_t offset)
{
	struct path *path = path_at(scan, offset);
	struct path *next = path->continues ? path_at(scan, offset + path->size) :
					      NULL;
	struct path *target = path->target ? path_at(scan, path->target) : NULL;
	bool is_new = false;

	if (path->is_certain && next && !path->is_call && !next->is_certain)
		is_new = next->is_certain = true;
	if (path->is_certain && target && !target->is_certain)
		is_new = target->is_certain = true;
	if (!path->exits && ((next && next->exits) || (target && target->exits)))
		is_new = path->exits = true;
	return is_new;
}

/* Find out what is certain, and what exits. What is not found within the rounds is not. */
static void find_leads(struct scan *scan, const struct area *area)
{
	bool is_new = true;

	path_at(scan, 0)->is_certain = true;
	for (unsigned int i = 0; is_new && i < MAX_ROUNDS; i++) {
		is_new = false;
		for (uint64_t at = 0; at < area->size; at++)
			if (path_at(scan, at)->size)
				is_new |= lead(scan, at);
		for (uint64_t at = area->size; at-- > 0;)
			if (path_at(scan, at)->size)
				is_new |= lead(scan, at);
	}
}

/*
 * Returns whether the state of @path is proven. In a function whose end is known, and
 * without an address to which a jump may go, code behind a call has no other path to it.
 */
static bool is_proven(const struct area *area, const struct path *path)
{
	return path->size && (path->is_certain || path->exits ||
			      (!area->is_open && !area->is_left));
}

static struct sfu_rule rule_of(const struct path *path)
{
	struct sfu_rule rule = {
		.cfa = path->has_sp ? SFU_REG_SP : SFU_REG_FP,
		.cfa_offset = (path->has_sp ? path->depth : path->base) + 8,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = SFU_SFRAME_FIXED_RA,
		.fp = SFU_SAME,
	};

	if (path->saved) {
		rule.fp = SFU_BASE_CFA | SFU_DEREF;
		rule.fp_offset = -8 - path->saved;
	}
	return rule;
}

/* Add the spans from number @first on as a function. */
static int add_function(struct scan *scan, size_t first)
{
	const struct buffer *spans = &scan->cfi->spans;
	struct cfi_fde fde = {
		.first = first,
		.count = nr_spans(spans) - first,
		.order = nr_fdes(scan->cfi),
	};
	int err;

	if (!fde.count)
		return 0;
	fde.start = span_at(spans, first)->start;
	fde.end = span_at(spans, nr_spans(spans) - 1)->end;
	err = sfu_budget_reserve(&scan->image->file.budget, &scan->cfi->fdes,
				 sizeof(fde), "code");
	if (!err)
		buffer_put(&scan->cfi->fdes, &fde, sizeof(fde));
	return err;
}

/* Add a span; spans of one function without a gap are one entry of @cfi. */
static int add_span(struct scan *scan, size_t *first, uint64_t start,
		    uint64_t end, const struct sfu_rule *rule)
{
	struct buffer *spans = &scan->cfi->spans;
	struct span span = { .start = start, .end = end, .rule = *rule };
	int err;

	if (nr_spans(spans) > *first &&
	    span_at(spans, nr_spans(spans) - 1)->end != start) {
		err = add_function(scan, *first);
		if (err)
			return err;
		*first = nr_spans(spans);
	}
	if (nr_spans(spans) == *first)
		span.flags = SPAN_ENTRY;
	return sfu_span_add(&scan->image->file.budget, spans, *first, &span);
}

static int add_paths(struct scan *scan, const struct area *area)
{
	size_t first = nr_spans(&scan->cfi->spans);
	int err = 0;

	for (uint64_t at = 0; !err && at < area->size; at++) {
		const struct path *path = path_at(scan, at);
		const uint64_t start = area->start + at;
		struct sfu_rule rule;

		if (!is_proven(area, path))
			continue;
		if (path->other)
			note_call(scan, area->start + path->other);
		rule = rule_of(path);
		err = add_span(scan, &first, start, start + path->size, &rule);
	}
	return err ? err : add_function(scan, first);
}

/* Prove the function at @start; @size is 0 if it is not known. */
static int prove(struct scan *scan, uint64_t start, uint64_t size)
{
	const uint64_t room = uncovered(scan, start);
	struct area area = { .start = start, .is_open = !size };
	struct path now = { .has_sp = true };
	size_t bytes;
	int ret;

	area.size = size ? size : room < MAX_UNKNOWN ? room : MAX_UNKNOWN;
	if (!area.size || area.size > room || area.size > MAX_KNOWN ||
	    area.size > scan->left)
		return 0;
	scan->left -= area.size;
	bytes = area.size * sizeof(struct path);
	scan->paths.size = 0;
	scan->work.size = 0;
	ret = sfu_budget_reserve(&scan->image->file.budget, &scan->paths, bytes,
				 "code");
	if (ret)
		return ret;
	memset(scan->paths.bytes, 0, bytes);
	ret = meet(scan, &area, 0, &now);
	while (ret > 0 && scan->work.size) {
		uint32_t offset;

		scan->work.size -= sizeof(offset);
		memcpy(&offset, scan->work.bytes + scan->work.size,
		       sizeof(offset));
		ret = follow(scan, &area, offset);
	}
	if (ret <= 0)
		return ret;
	find_leads(scan, &area);
	return add_paths(scan, &area);
}

static int prove_called(struct scan *scan, size_t *done)
{
	int err = 0;

	while (!err && *done < scan->nr_queued)
		err = prove(scan, scan->queue[(*done)++], 0);
	return err;
}

/*
 * Returns the end of the code from @address on, if it is the rest of an entry point
 * behind a call: it ends in a jump or hlt, and has switched the stack, or marked the
 * outermost frame, before. Returns 0 if not, or if it is not known.
 */
static uint64_t find_tail(struct scan *scan, uint64_t address, uint64_t most,
			  int *err)
{
	const uint64_t end = address + (most < MAX_TAIL ? most : MAX_TAIL);
	bool is_marked = false;
	struct effect effect;
	uint64_t at;
	int ret;

	for (at = address; at < end; at += effect.size) {
		ret = decode_at(scan, at, end - at, &effect);
		if (ret <= 0) {
			*err = ret;
			return 0;
		}
		is_marked |= effect.change == CHANGE_WRITE_FP ||
			     effect.change == CHANGE_WRITE_SP;
		if ((effect.flow == FLOW_STOP && at == address) ||
		    (effect.flow == FLOW_LEAVE && is_marked))
			return at + effect.size;
		if ((effect.flow != FLOW_NEXT && effect.flow != FLOW_CALL) ||
		    effect.change == CHANGE_PUSH_FP)
			return 0;
	}
	return 0;
}

int sfu_scan_has_entry(struct image *image)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const unsigned char copy[] = { 0x48, 0x89, 0xe7 };
	const struct headers *headers = &image->headers;
	uint64_t entry = headers->ehdr.e_entry;
	const unsigned char *code;
	struct effect effect;
	int ret;

	if (headers->ehdr.e_type == ET_EXEC)
		return 1;
	for (size_t i = 0; i < headers->nr_segments; i++)
		if (headers->segments[i].p_type == PT_INTERP)
			return 1;
	ret = sfu_image_code(image, entry, sizeof(endbr), &code);
	if (ret <= 0)
		return ret;
	if (!memcmp(code, endbr, sizeof(endbr)))
		entry += sizeof(endbr);
	ret = sfu_image_code(image, entry, EFFECT_MAX_SIZE, &code);
	if (ret <= 0 || !sfu_effect_read(code, EFFECT_MAX_SIZE, &effect))
		return ret < 0 ? ret : 0;
	return effect.change == CHANGE_WRITE_FP ||
	       !memcmp(code, copy, sizeof(copy));
}

/* The entry point has no caller, up to where control leaves it. */
static int add_entry(struct scan *scan)
{
	static const struct sfu_rule outermost = {
		.flags = SFU_RULE_OUTERMOST,
	};
	const uint64_t entry = scan->image->headers.ehdr.e_entry;
	const uint64_t room = entry ? uncovered(scan, entry) : 0;
	size_t first = nr_spans(&scan->cfi->spans);
	uint64_t at = entry, tail;
	struct effect effect;
	int ret;

	ret = room ? sfu_scan_has_entry(scan->image) : 0;
	if (ret <= 0)
		return ret;
	while (at - entry < room && at - entry < MAX_UNKNOWN) {
		ret = decode_at(scan, at, room - (at - entry), &effect);
		if (ret <= 0 || effect.flow == FLOW_RETURN ||
		    effect.flow == FLOW_BRANCH)
			break;
		at += effect.size;
		if (effect.flow == FLOW_NEXT)
			continue;
		if (effect.flow == FLOW_CALL) {
			ret = 0;
			tail = find_tail(scan, at, room - (at - entry), &ret);
			if (tail)
				at = tail;
		}
		break;
	}
	if (ret < 0 || at == entry)
		return ret < 0 ? ret : 0;
	ret = add_span(scan, &first, entry, at, &outermost);
	return ret ? ret : add_function(scan, first);
}

/* Prove the stubs in the procedure linkage table at @start: "jmp *disp(%rip)". */
static int prove_stubs(struct scan *scan, uint64_t start, uint64_t size)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint64_t filled = sfu_image_filled(scan->image, start);
	const unsigned char *code;
	int ret = 0;

	if (size > filled)
		size = filled;
	for (uint64_t at = 0; at + 8 <= size && ret >= 0; at += 8) {
		const uint64_t room = uncovered(scan, start + at);
		const size_t most = room < 16 ? room : 16;

		if (most < 8)
			continue;
		ret = sfu_image_code(scan->image, start + at, most, &code);
		if (ret <= 0)
			continue;
		if (most >= 12 && !memcmp(code, endbr, sizeof(endbr)))
			code += sizeof(endbr);
		if (code[0] == 0xff && code[1] == 0x25)
			ret = prove(scan, start + at, most);
	}
	return ret < 0 ? ret : 0;
}

/* Prove the functions in .init and .fini, each of which is one, and stubs. */
static int prove_sections(struct scan *scan)
{
	const struct headers *headers = &scan->image->headers;
	char name[HEADERS_NAME_SIZE];
	int err = 0;

	for (size_t i = 1; !err && i < headers->nr_sections; i++) {
		const Elf64_Shdr *section = &headers->sections[i];

		if (!(section->sh_flags & SHF_EXECINSTR) || !section->sh_size)
			continue;
		err = sfu_headers_name(headers, &scan->image->file, section,
				       name);
		if (!err && (!strcmp(name, ".init") || !strcmp(name, ".fini")))
			err = prove(scan, section->sh_addr, 0);
		else if (!err && (!strcmp(name, ".plt") ||
				  !strcmp(name, ".iplt")))
			err = prove_stubs(scan, section->sh_addr,
					  section->sh_size);
	}
	return err;
}

static int prove_symbols(struct scan *scan)
{
	const struct image_section *section = &scan->image->dynsym;
	const Elf64_Sym *symbols;
	size_t count;
	int err = 0;

	if (!section->data)
		return 0;
	symbols = section->data->d_buf;
	count = section->data->d_size / sizeof(*symbols);
	for (size_t i = 0; !err && i < count; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols + i, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
		    symbol.st_shndx != SHN_UNDEF && symbol.st_size)
			err = prove(scan, symbol.st_value, symbol.st_size);
	}
	return err;
}

/*
 * Find __do_global_dtors_aux, which the compiler's start files have, by its code:
 * "cmpb $0, (%rip); jne; push %rbp; cmpq $0, (%rip)". It calls another one of these.
 */
static int prove_start_files(struct scan *scan)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint64_t at = scan->image->headers.ehdr.e_entry, end = 0;
	const size_t nr = nr_spans(scan->spans);
	int ret = 0;

	/* In the gaps between functions, at most 1 KiB of each. */
	for (size_t i = 0; !ret && i <= nr; i++) {
		const unsigned char *code;
		uint64_t room;

		at = i ? span_at(scan->spans, i - 1)->end :
			 scan->image->nr_texts ? scan->image->texts[0].address : 0;
		if (i < nr && span_at(scan->spans, i)->start - at < MIN_START)
			continue;
		room = uncovered(scan, at);
		if (room < MIN_START)
			continue;
		end = at + (room < 1024 ? room : 1024);
		for (at = (at + 15) & ~15ULL; !ret && at + 32 <= end; at += 16) {
			ret = sfu_image_code(scan->image, at, 32, &code);
			if (ret <= 0)
				break;
			ret = 0;
			if (!memcmp(code, endbr, sizeof(endbr)))
				code += sizeof(endbr);
			if (code[0] == 0x80 && code[1] == 0x3d && !code[6] &&
			    code[7] == 0x75 && code[9] == 0x55 &&
			    code[10] == 0x48 && code[11] == 0x83 &&
			    code[12] == 0x3d)
				ret = prove(scan, at, 0);
		}
	}
	return ret;
}

int sfu_scan_read(struct cfi *cfi, struct image *image,
		  const struct buffer *spans)
{
	struct budget *budget = &image->file.budget;
	struct scan *scan;
	void *memory;
	size_t done = 0;
	int err;

	err = sfu_budget_allocate(budget, sizeof(*scan), "code", &memory);
	if (err)
		return err;
	scan = memory;
	memset(scan, 0, sizeof(*scan));
	scan->cfi = cfi;
	scan->image = image;
	scan->spans = spans;
	for (size_t i = 0; i < image->nr_texts; i++)
		scan->left += image->texts[i].file_size;
	/* Code can be a hole, or several segments the same bytes. */
	if (scan->left > budget->allocated)
		scan->left = budget->allocated;
	scan->left += 16 * MAX_UNKNOWN;
	err = add_entry(scan);
	if (!err)
		err = prove_sections(scan);
	if (!err)
		err = prove_start_files(scan);
	if (!err)
		err = prove_symbols(scan);
	if (!err)
		err = prove_called(scan, &done);
	sfu_budget_free(budget, &scan->paths);
	sfu_budget_free(budget, &scan->work);
	sfu_budget_free_memory(budget, scan, sizeof(*scan));
	return err;
}
