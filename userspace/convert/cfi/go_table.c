// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The table has a header with the offsets of its parts; an index of the functions'
 * starts, relative to the start of the code; for each function a structure; and tables
 * of values by address, each a sequence of differences: of the value, and of the
 * address up to which it holds.
 */
#include "go_table.h"
#include "module/decode/bytes.h"

#define GO_1_18_MAGIC		0xfffffff0U
#define GO_1_20_MAGIC		0xfffffff1U
#define HEADER_SIZE		72
#define INDEX_ENTRY_SIZE	8

/* Most bytes of a number in the tables of values, which have 32 bits. */
#define NUMBER_SIZE		5

/* Bytes of code that are looked at before a change of the stack pointer. */
#define BEFORE_SIZE		7

static bool has_bytes(const struct go *go, uint64_t offset, uint64_t size)
{
	return offset <= go->size && size <= go->size - offset;
}

bool sfu_go_read_header(struct go *go)
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

bool sfu_go_read_function(const struct go *go, uint64_t number,
			  struct go_function *function)
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
		const size_t most = left < GO_NAME_SIZE ? left : GO_NAME_SIZE;

		memcpy(function->name, go->bytes + name, most);
		function->name[GO_NAME_SIZE - 1] = '\0';
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

bool sfu_go_next_change(struct go_function *function, struct go_change *change)
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
static int find_cause(struct image *image, const struct go_change *change,
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

int sfu_go_prove(struct go *go, struct go_function function, struct go_proof *proof)
{
	static const unsigned char mov[] = { 0x48, 0x89, 0xe5 };
	struct go_change change = { 0 };
	const unsigned char *code;
	enum cause cause;
	int ret;

	*proof = (struct go_proof){ .saves_fp = true };
	while (sfu_go_next_change(&function, &change)) {
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
