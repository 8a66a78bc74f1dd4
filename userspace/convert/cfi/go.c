// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The table has a header with the offsets of its parts; an index of the functions'
 * starts, relative to the start of the code; for each function a structure; and tables
 * of values by address, each a sequence of differences: of the value, and of the
 * address up to which it holds.
 *
 * Up to Go 1.25, the header has the address of the code's start. Since then it is in a
 * structure of the runtime; in position-independent programs it is nowhere in the file.
 * Then it is searched for: only with the right one, instructions agree with the table.
 */
#include <string.h>

#include <sframe_unwind_convert.h>

#include "convert/base/message.h"
#include "go.h"
#include "module/decode/bytes.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "reader.h"
#include "scan.h"

#define GO_1_18_MAGIC		0xfffffff0U
#define GO_1_20_MAGIC		0xfffffff1U
#define HEADER_SIZE		72
#define INDEX_ENTRY_SIZE	8

/* Offset of the address of the code's start in the runtime's structure. */
#define MODULE_TEXT		176

/* Bits of a function's flags. */
#define FLAG_TOP_FRAME		0x01
#define FLAG_SP_WRITE		0x02

/* Distance between the addresses where the code's start is searched for, and number. */
#define SEARCH_STEP		16
#define MAX_SEARCH		65536

/* Functions that have to agree at the code's start. */
#define NR_SAMPLES		64

/* Functions and changes that are looked at in the whole search. */
#define MAX_SEARCH_STEPS	(4 << 20)

/* Most bytes of a number in the tables of values, which have 32 bits. */
#define NUMBER_SIZE		5

/* Most bytes of a function in which a call on another stack is searched for. */
#define MAX_SWITCH		512

/* Longest name that is compared. */
#define NAME_SIZE		32

/* Bytes of code that are looked at before a change of the stack pointer. */
#define BEFORE_SIZE		7

/**
 * struct go - the table
 *
 * @bytes, @size: the table.
 * @nr: number of functions.
 * @names, @values, @functions: offsets of the functions' names, of the tables of
 *	values, and of the index, from which the functions' structures are counted.
 * @flags_at: offset of the flags in a function's structure.
 * @text: address of the code's start.
 * @is_extended: the rules are for an extended section.
 * @left: functions and changes that may still be looked at. Functions share tables of
 *	values, so that a small file can have any number of changes.
 * @entry: address of the program's entry point; 0 if it is that of no program.
 */
struct go {
	const unsigned char *bytes;
	uint64_t size;
	uint64_t nr;
	uint64_t names;
	uint64_t values;
	uint64_t functions;
	unsigned int flags_at;
	uint64_t text;
	bool is_extended;
	uint64_t left;
	uint64_t entry;
	struct image *image;
	struct cfi *cfi;
};

/**
 * struct function
 *
 * @start, @end: addresses; @end is the start of the next one.
 * @values: reads the table of the stack pointer's distances.
 * @has_values: there is one.
 * @flags: FLAG_* bits.
 * @name: its first bytes.
 */
struct function {
	uint64_t start;
	uint64_t end;
	struct reader values;
	bool has_values;
	uint8_t flags;
	char name[NAME_SIZE];
};

/**
 * struct change - addresses with one distance of the stack pointer
 *
 * @start, @end: addresses.
 * @before: distance in bytes at the addresses before.
 * @depth: distance.
 * @is_first: there is nothing before.
 */
struct change {
	uint64_t start;
	uint64_t end;
	int64_t before;
	int64_t depth;
	bool is_first;
};

static bool has_bytes(const struct go *go, uint64_t offset, uint64_t size)
{
	return offset <= go->size && size <= go->size - offset;
}

static bool read_header(struct go *go)
{
	uint32_t magic;

	if (!has_bytes(go, 0, HEADER_SIZE))
		return false;
	magic = get_le32(go->bytes);
	/* Instructions of one byte, pointers of eight. */
	if ((magic != GO_1_18_MAGIC && magic != GO_1_20_MAGIC) ||
	    go->bytes[6] != 1 || go->bytes[7] != 8)
		return false;
	go->flags_at = magic == GO_1_18_MAGIC ? 37 : 41;
	go->nr = get_le64(go->bytes + 8);
	go->text = get_le64(go->bytes + 24);
	go->names = get_le64(go->bytes + 32);
	go->values = get_le64(go->bytes + 56);
	go->functions = get_le64(go->bytes + 64);
	/* The index ends with the end of the last function. */
	return has_bytes(go, go->names, 1) && has_bytes(go, go->values, 1) &&
	       has_bytes(go, go->functions, 4) && go->nr &&
	       go->nr <= (go->size - go->functions - 4) / INDEX_ENTRY_SIZE;
}

/* Read function number @number. Returns false if it is malformed. */
static bool read_function(const struct go *go, uint64_t number,
			  struct function *function)
{
	const unsigned char *entry = go->bytes + go->functions +
				     number * INDEX_ENTRY_SIZE;
	const uint64_t at = go->functions + get_le32(entry + 4);
	const unsigned char *fields = go->bytes + at;
	uint64_t name, values;

	memset(function, 0, sizeof(*function));
	if (!has_bytes(go, at, go->flags_at + 1))
		return false;
	function->start = go->text + get_le32(entry);
	function->end = go->text + get_le32(entry + INDEX_ENTRY_SIZE);
	if (function->end < function->start)
		return false;
	function->flags = fields[go->flags_at];
	name = go->names + get_le32(fields + 4);
	if (has_bytes(go, name, 1)) {
		const uint64_t left = go->size - name;
		const size_t most = left < NAME_SIZE ? left : NAME_SIZE;

		memcpy(function->name, go->bytes + name, most);
		function->name[NAME_SIZE - 1] = '\0';
	}
	values = get_le32(fields + 16);
	function->has_values = values &&
			       has_bytes(go, go->values + values, 1);
	if (function->has_values)
		function->values = (struct reader){
			.at = go->bytes + go->values + values,
			.end = go->bytes + go->size,
		};
	return true;
}

static bool is_named(const struct function *function, const char *name)
{
	return !strcmp(function->name, name);
}

/* Read a number of a table of values. Longer ones are malformed. */
static uint32_t next_number(struct reader *values)
{
	uint32_t number = 0;

	for (unsigned int i = 0; i < NUMBER_SIZE; i++) {
		const uint32_t byte = reader_unsigned(values, 1);

		number |= (byte & 0x7f) << 7 * i;
		if (!(byte & 0x80))
			return number;
	}
	values->is_bad = true;
	return 0;
}

/*
 * Read the next distance of @function to *@change, which must be all 0 before the
 * first. Returns false at the end of the table; it is malformed unless change->end is
 * at most the function's end.
 */
static bool next_change(struct function *function, struct change *change)
{
	const uint64_t encoded = next_number(&function->values);
	const bool is_first = !change->end;

	if (function->values.is_bad || (!encoded && !is_first))
		return false;
	change->is_first = is_first;
	change->start = is_first ? function->start : change->end;
	change->before = is_first ? -1 : change->depth;
	change->depth = change->before + (int64_t)(encoded >> 1 ^ -(encoded & 1));
	change->end = change->start + next_number(&function->values);
	if (!function->values.is_bad && change->end > change->start &&
	    change->end <= function->end && change->depth >= 0 &&
	    change->depth <= INT32_MAX - 16)
		return true;
	change->end = UINT64_MAX;
	return false;
}

/* Returns whether the addition at the end of @code changes rsp by @by. */
static bool is_addition(const unsigned char *code, int64_t by)
{
	/* sub or add $imm8, %rsp; @code has 7 bytes */
	if (code[3] == 0x48 && code[4] == 0x83 && code[5] == 0xec)
		return by == -(int64_t)(int8_t)code[6];
	if (code[3] == 0x48 && code[4] == 0x83 && code[5] == 0xc4)
		return by == (int8_t)code[6];
	/* and with imm32 */
	if (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xec)
		return by == -(int64_t)(int32_t)get_le32(code + 3);
	return code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xc4 &&
	       by == (int32_t)get_le32(code + 3);
}

/* Returns whether control does not get from the end of @code to what follows. */
static bool is_left(const unsigned char *code)
{
	return code[6] == 0xc3 ||			/* ret */
	       code[6] == 0x90 || code[6] == 0xcc ||	/* padding */
	       (code[5] == 0x0f && code[6] == 0x0b) ||	/* ud2 */
	       code[5] == 0xeb || code[2] == 0xe9 ||	/* jmp */
	       code[5] == 0xff ||			/* jmp or call *register */
	       code[2] == 0xe8;				/* call without return */
}

/* What the instruction before a change does. */
enum cause {
	CAUSE_NONE,	/* nothing that explains it */
	CAUSE_LEFT,	/* control does not get from there to the change */
	CAUSE_PUSH_FP,
	CAUSE_OTHER,	/* another instruction that makes the change */
};

/* Find the cause of *@change. Returns 0, or a negative errno with a message. */
static int find_cause(struct image *image, const struct change *change,
		      enum cause *cause)
{
	const int64_t by = change->before - change->depth;
	const unsigned char *code;
	int ret;

	*cause = CAUSE_NONE;
	ret = sfu_image_code(image, change->start - BEFORE_SIZE, BEFORE_SIZE,
			     &code);
	if (ret <= 0)
		return ret;
	if (by == -8 && code[6] == 0x55)
		*cause = CAUSE_PUSH_FP;
	else if ((by == -8 && ((code[6] & 0xf8) == 0x50 || code[6] == 0x9c)) ||
		 (by == 8 && ((code[6] & 0xf8) == 0x58 || code[6] == 0x9d)) ||
		 is_addition(code, by))
		*cause = CAUSE_OTHER;
	else if (is_left(code))
		*cause = CAUSE_LEFT;
	return 0;
}

/**
 * struct proof - what is known of a function
 *
 * @end: of the code that the table describes.
 * @nr_changes: changes of the stack pointer.
 * @saves_fp: wherever its frame has 8 bytes or more, rbp is saved in the first ones.
 * @fp_from: address from which rbp points there; 0 if it does not.
 */
struct proof {
	uint64_t end;
	uint64_t nr_changes;
	bool saves_fp;
	uint64_t fp_from;
};

/* Prove @function, a copy. Returns 1, 0, or a negative errno with a message. */
static int prove(struct go *go, struct function function, struct proof *proof)
{
	static const unsigned char mov[] = { 0x48, 0x89, 0xe5 };
	struct change change = { 0 };
	const unsigned char *code;
	enum cause cause;
	int ret;

	*proof = (struct proof){ .saves_fp = true };
	while (next_change(&function, &change)) {
		if (!go->left)
			return 0;
		go->left--;
		if (change.is_first)
			continue;
		ret = find_cause(go->image, &change, &cause);
		if (ret || !cause)
			return ret;
		proof->nr_changes++;
		if (change.before || !change.depth || cause == CAUSE_LEFT)
			continue;
		if (cause != CAUSE_PUSH_FP) {
			proof->saves_fp = false;
			continue;
		}
		ret = sfu_image_code(go->image, change.start, sizeof(mov),
				     &code);
		if (ret < 0)
			return ret;
		if (!proof->fp_from && ret && !memcmp(code, mov, sizeof(mov)))
			proof->fp_from = change.start + sizeof(mov);
	}
	proof->end = change.end;
	proof->saves_fp &= proof->fp_from != 0;
	return change.end && change.end != UINT64_MAX;
}

static int add_span(const struct go *go, size_t first, uint64_t start,
		    uint64_t end, const struct sfu_rule *rule, uint8_t reason)
{
	struct span span = { .start = start, .end = end, .reason = reason };

	if (rule)
		span.rule = *rule;
	if (nr_spans(&go->cfi->spans) == first)
		span.flags = SPAN_ENTRY;
	return sfu_span_add(&go->image->file.budget, &go->cfi->spans, first,
			    &span);
}

/* Add the spans of a proven function. */
static int add_changes(const struct go *go, struct function function,
		       const struct proof *proof, size_t first)
{
	const bool uses_fp = function.flags & FLAG_SP_WRITE;
	struct change change = { 0 };
	int err = 0;

	while (!err && next_change(&function, &change)) {
		struct sfu_rule rule = {
			.cfa = SFU_REG_SP,
			.cfa_offset = change.depth + 8,
			.ra = SFU_BASE_CFA | SFU_DEREF,
			.ra_offset = SFU_SFRAME_FIXED_RA,
			.fp = SFU_SAME,
		};
		uint64_t start = change.start;

		if (change.depth && proof->saves_fp) {
			rule.fp = SFU_BASE_CFA | SFU_DEREF;
			rule.fp_offset = -16;
		}
		if (change.depth && uses_fp) {
			/* In front of that it is pushed, and rsp is not changed. */
			if (start < proof->fp_from && change.end >=
						      proof->fp_from) {
				err = add_span(go, first, start,
					       proof->fp_from, &rule, 0);
				start = proof->fp_from;
			}
			/* The caller's stack may be the one at lower addresses. */
			rule.cfa = go->is_extended ? SFRAME_EXT_REG_FP_SWITCH :
						     SFU_REG_FP;
			rule.cfa_offset = 16;
		}
		if (!err)
			err = add_span(go, first, start, change.end, &rule, 0);
	}
	return err;
}

/* Returns whether nothing calls @function, or it never returns. */
static bool is_outermost(const struct go *go, const struct function *function)
{
	if (go->entry >= function->start && go->entry < function->end)
		return true;
	return is_named(function, "runtime.goexit") ||
	       is_named(function, "runtime.mstart") ||
	       is_named(function, "runtime.rt0_go") ||
	       is_named(function, "_rt0_amd64_linux") ||
	       is_named(function, "_rt0_amd64");
}

/*
 * These leave their stack for that of another goroutine, or for one that they
 * themselves begin.
 */
static bool switches_stacks(const struct function *function)
{
	return is_named(function, "runtime.cgocallback") ||
	       is_named(function, "runtime.gogo") ||
	       is_named(function, "gogo") ||
	       is_named(function, "runtime.mcall") ||
	       is_named(function, "runtime.morestack") ||
	       is_named(function, "runtime.switchToCrashStack0") ||
	       is_named(function, "runtime.clone");
}

/* The one rule for code without a caller. */
static const struct sfu_rule no_caller = { .flags = SFU_RULE_OUTERMOST };

/*
 * Find the call of a function that switches stacks, and clears rbp to mark the
 * outermost frame: "mov 0x38(%reg), %rsp; mov $0, %ebp", a few bytes, "call". Returns
 * 1 with the offsets from which on there is no caller, and of the call's end; or 0.
 */
static int find_cleared(const unsigned char *code, size_t size, size_t *from,
			size_t *to)
{
	static const unsigned char clear[] = { 0xbd, 0, 0, 0, 0 };

	for (size_t i = 4; i + 19 <= size; i++) {
		if (memcmp(code + i, clear, sizeof(clear)) ||
		    (code[i - 4] & 0xfe) != 0x48 || code[i - 3] != 0x8b ||
		    (code[i - 2] & 0xf8) != 0x60 || code[i - 1] != 0x38)
			continue;
		*from = i + sizeof(clear);
		/* push %rax; mov (%rdx), %r12; call *%r12 */
		if (!memcmp(code + *from, "\x50\x4c\x8b\x22\x41\xff\xd4", 7))
			*to = *from + 7;
		else if (code[*from] == 0xe8)
			*to = *from + 5;
		else
			continue;
		return 1;
	}
	return 0;
}

/* Add the spans of a function that switches stacks. */
static int add_switch(const struct go *go, const struct function *function,
		      size_t first)
{
	uint64_t size = function->end - function->start;
	const unsigned char *code;
	size_t from, to;
	int ret;

	if (size > MAX_SWITCH)
		size = MAX_SWITCH;
	ret = sfu_image_code(go->image, function->start, size, &code);
	if (ret < 0)
		return ret;
	if (!ret || !find_cleared(code, size, &from, &to))
		return add_span(go, first, function->start, function->end,
				NULL, SFRAME_UNWIND_LEFT_OUT_SP);
	ret = add_span(go, first, function->start, function->start + from,
		       NULL, SFRAME_UNWIND_LEFT_OUT_SP);
	if (!ret)
		ret = add_span(go, first, function->start + from,
			       function->start + to, &no_caller, 0);
	if (!ret)
		ret = add_span(go, first, function->start + to, function->end,
			       NULL, SFRAME_UNWIND_LEFT_OUT_SP);
	return ret;
}

static int add_spans(struct go *go, const struct function *function,
		     size_t first)
{
	struct proof proof;
	int ret;

	if (is_outermost(go, function))
		return add_span(go, first, function->start, function->end,
				&no_caller, 0);
	if (switches_stacks(function))
		return add_switch(go, function, first);
	ret = function->has_values ? prove(go, *function, &proof) : 0;
	if (ret < 0)
		return ret;
	if (ret && function->flags & FLAG_SP_WRITE && !proof.saves_fp)
		ret = 0;
	if (!ret)
		return add_span(go, first, function->start, function->end, NULL,
				SFRAME_UNWIND_LEFT_OUT_SP);
	return add_changes(go, *function, &proof, first);
}

static int add_function(struct go *go, const struct function *function)
{
	struct cfi *cfi = go->cfi;
	struct cfi_fde fde = {
		.start = function->start,
		.end = function->end,
		.first = nr_spans(&cfi->spans),
		.order = nr_fdes(cfi),
	};
	int err;

	err = add_spans(go, function, fde.first);
	if (err)
		return err;
	fde.count = nr_spans(&cfi->spans) - fde.first;
	if (!fde.count)
		return 0;
	err = sfu_budget_reserve(&go->image->file.budget, &cfi->fdes,
				 sizeof(fde), ".gopclntab");
	if (!err)
		buffer_put(&cfi->fdes, &fde, sizeof(fde));
	return err;
}

/*
 * Check whether go->text is the code's start: the first functions with a frame are
 * proven. Returns 1, 0, or a negative errno with a message.
 */
static int is_start(struct go *go)
{
	unsigned int nr_proven = 0, nr_failed = 0;

	if (!sfu_image_text(go->image, go->text))
		return 0;
	for (uint64_t i = 0; i < go->nr && nr_proven < NR_SAMPLES; i++) {
		struct function function;
		struct proof proof;
		int ret;

		if (!go->left || !read_function(go, i, &function))
			return 0;
		go->left--;
		if (!function.has_values)
			continue;
		ret = prove(go, function, &proof);
		if (ret < 0)
			return ret;
		nr_proven += ret && proof.nr_changes;
		nr_failed += !ret;
		if (nr_failed > nr_proven / 16)
			return 0;
	}
	return nr_proven != 0;
}

/* Search for the code's start. Returns 1 with go->text, 0, or a negative errno. */
static int find_start(struct go *go)
{
	const struct image_section *module = &go->image->go_module;
	int ret = 0;

	go->left = MAX_SEARCH_STEPS;
	if (go->text)
		ret = is_start(go);
	if (!ret && module->data && module->data->d_size >= MODULE_TEXT + 8) {
		go->text = get_le64((unsigned char *)module->data->d_buf +
				    MODULE_TEXT);
		ret = is_start(go);
	}
	for (size_t i = 0; !ret && i < go->image->nr_texts; i++) {
		const struct image_text *text = &go->image->texts[i];
		const uint64_t most = text->file_size / SEARCH_STEP;

		for (uint64_t n = 0; !ret && go->left && n < most &&
				     n < MAX_SEARCH; n++) {
			go->text = (text->address + SEARCH_STEP - 1) /
				   SEARCH_STEP * SEARCH_STEP + n * SEARCH_STEP;
			ret = is_start(go);
		}
	}
	return ret;
}

int sfu_go_read(struct cfi *cfi, struct image *image, bool is_extended)
{
	const Elf_Data *data = image->gopclntab.data;
	struct go go = {
		.bytes = data->d_buf,
		.size = data->d_size,
		.image = image,
		.cfi = cfi,
		.is_extended = is_extended,
	};
	uint64_t end = 0;
	int ret;

	if (!read_header(&go))
		return 0;
	ret = find_start(&go);
	if (ret <= 0)
		return ret;
	ret = sfu_scan_has_entry(image);
	if (ret < 0)
		return ret;
	go.entry = ret ? image->headers.ehdr.e_entry : 0;
	go.left = MAX_SEARCH_STEPS + image->file.budget.allocated;
	for (uint64_t i = 0; i < go.nr; i++) {
		struct function function;

		/* Functions are in order, so that all tables end. */
		if (!read_function(&go, i, &function) || function.start < end)
			break;
		end = function.end;
		if (function.start == function.end ||
		    sfu_image_filled(image, function.start) <
			    function.end - function.start)
			continue;
		ret = add_function(&go, &function);
		if (ret)
			return ret;
	}
	return 0;
}
