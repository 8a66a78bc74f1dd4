// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include <sframe_unwind_convert.h>

#include "module/decode/bytes.h"
#include "proof.h"
#include "scan.h"
#include "scan_calls.h"
#include "settle.h"

/* Least code without CFI in which the compiler's start files are looked for. */
#define MIN_START	64

/* Least such code for which is looked whose addresses are taken. */
#define MIN_TAKEN	4096

/* Bytes of "lea disp32(%rip), %reg". */
#define LEA_SIZE	7

/* Bytes of "call rel32". */
#define CALL_SIZE	5

/* Code that is looked at in one piece, at most FILE_PEEK. */
#define PIECE		2048

/* Bytes of "jmp rel8" and "jmp rel32". */
#define SHORT_JMP_SIZE	2
#define JMP_SIZE	5

/* Most bytes from the start of __do_global_dtors_aux to that of the next function. */
#define MAX_AUX		80

/* Bytes of "movb $1, disp32(%rip); pop %rbp; ret". */
#define MARK_SIZE	9

/* Longest code behind the call at an entry point. */
#define MAX_TAIL	96

/* Prove the functions from number *@nr on of those noted, and count them there. */
static int prove_called(struct scan *scan, size_t *nr)
{
	const size_t first = *nr;
	size_t done = first;
	int err = 0;

	while (!err && done < proof_nr_noted(scan))
		err = sfu_proof_called(scan, done++);
	/* Now the functions behind them are known, so the end of more may be. */
	for (size_t i = first; !err && i < done; i++)
		if (sfu_proof_is_partial(scan, sfu_proof_noted_at(scan, i)))
			err = sfu_proof_called(scan, i);
	while (!err && done < proof_nr_noted(scan))
		err = sfu_proof_called(scan, done++);
	*nr = done;
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
		ret = sfu_proof_decode(scan, at, end - at, &effect);
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

	/* A snapshot of a file that has nothing to convert has no code, but zeroes. */
	ret = sfu_image_code(image, entry, sizeof(uint16_t), &code);
	if (ret <= 0 || !get_le16(code))
		return ret < 0 ? ret : 0;
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

/* Note what the instruction in front of @end calls, or takes the address of. */
static int note_from(struct scan *scan, uint64_t end, const struct effect *effect)
{
	const uint64_t target = end + (int64_t)effect->target;

	if (effect->flow == FLOW_CALL && effect->has_target) {
		sfu_proof_note_start(scan, target);
		return sfu_proof_note(scan, target, true);
	}
	if (effect->takes_address && target % PROOF_ALIGN == 0)
		return sfu_proof_note(scan, target, false);
	return 0;
}

/* The entry point has no caller, up to where control leaves it. */
static int add_entry(struct scan *scan)
{
	static const struct sfu_rule outermost = {
		.flags = SFU_RULE_OUTERMOST,
	};
	const uint64_t entry = scan->image->headers.ehdr.e_entry;
	const uint64_t room = entry ? sfu_proof_uncovered(scan, entry) : 0;
	size_t first = nr_spans(&scan->cfi->spans);
	uint64_t at = entry, tail;
	struct effect effect;
	int ret;

	ret = room ? sfu_scan_has_entry(scan->image) : 0;
	if (ret <= 0)
		return ret;
	while (at - entry < room && at - entry < PROOF_MAX_UNKNOWN) {
		ret = sfu_proof_decode(scan, at, room - (at - entry), &effect);
		if (ret <= 0 || effect.flow == FLOW_RETURN ||
		    effect.flow == FLOW_BRANCH)
			break;
		at += effect.size;
		ret = note_from(scan, at, &effect);
		if (ret)
			break;
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
	/* No caller needs them. */
	scan->has_slots = scan->is_extended;
	scan->has_entry = true;
	sfu_proof_note_known(scan, entry);
	ret = sfu_proof_add(scan, &first, entry, at, &outermost);
	return ret ? ret : sfu_proof_end(scan, first);
}

/*
 * Prove the stubs in the procedure linkage table at @start: "jmp *disp(%rip)". At most
 * *@left bytes of code are looked at, and subtracted.
 */
static int prove_stubs(struct scan *scan, uint64_t start, uint64_t size,
		       uint64_t *left)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint64_t filled = sfu_image_filled(scan->image, start);
	const unsigned char *code;
	int ret = 0;

	if (size > filled)
		size = filled;
	if (size > *left)
		size = *left;
	*left -= size;
	for (uint64_t at = 0; at + 8 <= size && ret >= 0; at += 8) {
		const uint64_t room = sfu_proof_uncovered(scan, start + at);
		const size_t most = room < 16 ? room : 16;

		if (most < 8)
			continue;
		ret = sfu_image_code(scan->image, start + at, most, &code);
		if (ret <= 0)
			continue;
		if (most >= 12 && !memcmp(code, endbr, sizeof(endbr)))
			code += sizeof(endbr);
		if (code[0] == 0xff && code[1] == 0x25)
			ret = sfu_proof_function(scan, start + at, most, true);
	}
	return ret < 0 ? ret : 0;
}

/* Prove the functions in .init and .fini, each of which is one, and stubs. */
static int prove_sections(struct scan *scan)
{
	const struct headers *headers = &scan->image->headers;
	char name[HEADERS_NAME_SIZE];
	/* Tables can be a hole, or several sections the same bytes. */
	uint64_t left = scan->left;
	int err = 0;

	for (size_t i = 1; !err && i < headers->nr_sections; i++) {
		const Elf64_Shdr *section = &headers->sections[i];

		if (!(section->sh_flags & SHF_EXECINSTR) || !section->sh_size)
			continue;
		err = sfu_headers_name(headers, &scan->image->file, section,
				       name);
		if (!err && (!strcmp(name, ".init") || !strcmp(name, ".fini")))
			err = sfu_proof_function(scan, section->sh_addr, 0, true);
		else if (!err && (!strcmp(name, ".plt") ||
				  !strcmp(name, ".iplt")))
			err = prove_stubs(scan, section->sh_addr,
					  section->sh_size, &left);
	}
	return err;
}

static int prove_symbol(struct scan *scan, const Elf64_Sym *symbol)
{
	const size_t before = nr_spans(&scan->cfi->spans);
	int err;

	/* Most have CFI. */
	if (!sfu_proof_uncovered(scan, symbol->st_value))
		return 0;
	/* Before it marks the outermost frame, it looks as if it had a caller. */
	if (scan->has_entry &&
	    symbol->st_value == scan->image->headers.ehdr.e_entry)
		return 0;
	sfu_proof_note_start(scan, symbol->st_value);
	err = sfu_proof_function(scan, symbol->st_value, symbol->st_size, true);
	if (!err && nr_spans(&scan->cfi->spans) > before)
		sfu_proof_note_known(scan, symbol->st_value);
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
			err = prove_symbol(scan, &symbol);
	}
	return err;
}

/*
 * Returns whether @code is that of __do_global_dtors_aux, without endbr64: "cmpb $0,
 * completed(%rip); jne; push %rbp", then calls, and "movb $1, completed(%rip); pop %rbp;
 * ret".
 */
static bool is_dtors_aux(const unsigned char *code, size_t size)
{
	if (size < 10 + MARK_SIZE || get_le16(code) != 0x3d80 || code[6] ||
	    code[7] != 0x75 || code[9] != 0x55)
		return false;
	for (size_t at = 10; at + MARK_SIZE <= size; at++)
		if (get_le16(code + at) == 0x05c6 && code[at + 6] == 1 &&
		    get_le16(code + at + 7) == 0xc35d &&
		    (uint32_t)(get_le32(code + at + 2) + at) == get_le32(code + 2))
			return true;
	return false;
}

/*
 * Returns whether @code at @address, behind __do_global_dtors_aux at @aux, is that of
 * frame_dummy, without endbr64: a jump to register_tm_clones, in front of that. In static
 * programs it may call another function first: "mov $imm32, %eax; test %rax, %rax; je".
 */
static bool is_frame_dummy(const unsigned char *code, size_t size,
			   uint64_t address, uint64_t aux)
{
	uint64_t target;
	size_t at = 0;

	if (size >= 10 && code[0] == 0xb8 && get_le32(code + 5) == 0x74c08548)
		at = 10 + code[9];
	if (at + JMP_SIZE > size)
		return false;
	if (code[at] == 0xe9)
		target = address + at + JMP_SIZE + (int32_t)get_le32(code + at + 1);
	else if (code[at] == 0xeb)
		target = address + at + SHORT_JMP_SIZE + (int8_t)code[at + 1];
	else
		return false;
	return target < aux && aux - target <= MIN_START &&
	       target % PROOF_ALIGN == 0;
}

/*
 * Find what the compiler's start files have: __do_global_dtors_aux by its code, and
 * frame_dummy right behind it. Each of them leads to another function. Others may have the
 * same code inside, with more on the stack: their paths disagree with that.
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
		uint64_t room, aux = 0;

		at = i ? span_at(scan->spans, i - 1)->end :
			 scan->image->nr_texts ? scan->image->texts[0].address : 0;
		if (i < nr && span_at(scan->spans, i)->start - at < MIN_START)
			continue;
		room = sfu_proof_uncovered(scan, at);
		if (room < MIN_START)
			continue;
		scan->gaps += room;
		end = at + (room < 1024 ? room : 1024);
		for (at = (at + 15) & ~15ULL; !ret && at + JMP_SIZE <= end;
		     at += 16) {
			const size_t size = end - at < MAX_AUX ? end - at : MAX_AUX;
			size_t skip;

			ret = sfu_image_code(scan->image, at, size, &code);
			if (ret <= 0)
				break;
			ret = 0;
			skip = memcmp(code, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);
			if (is_dtors_aux(code + skip, size - skip)) {
				aux = at;
				ret = sfu_proof_function(scan, at, 0, false);
			} else if (aux && at - aux <= MAX_AUX &&
				   is_frame_dummy(code + skip, size - skip,
						  at + skip, aux)) {
				ret = sfu_proof_function(scan, at, 0, false);
			}
		}
	}
	return ret;
}

/* Note the functions in code without a span whose address @code, at @address, takes. */
static int note_taken(struct scan *scan, const unsigned char *code,
		       uint64_t size, uint64_t address)
{
	const unsigned char *const end = code + size, *at = code + 1;
	int err = 0;

	/* REX.W, lea, ModRM with disp32(%rip) */
	for (; !err && at + LEA_SIZE - 1 <= end; at++) {
		uint64_t target;

		at = memchr(at, 0x8d, end - at - (LEA_SIZE - 2));
		if (!at)
			break;
		if ((at[-1] & 0xf8) != 0x48 || (at[1] & 0xc7) != 0x05)
			continue;
		target = address + (at - code) + LEA_SIZE - 1 +
			 (int32_t)get_le32(at + 2);
		if (target % PROOF_ALIGN == 0)
			err = sfu_proof_note(scan, target, false);
	}
	return err;
}

/*
 * Find functions whose address is taken by code with CFI: that is compiled code, and
 * takes addresses of functions only. Assembly is often called by tables of these.
 */
static int find_taken(struct scan *scan)
{
	uint64_t left = scan->image->file.budget.allocated;
	const size_t nr = nr_spans(scan->spans);
	int ret = 0;

	if (scan->gaps < MIN_TAKEN)
		return 0;
	for (size_t i = 0; ret >= 0 && i < nr; i++) {
		const struct span *span = span_at(scan->spans, i);
		uint64_t at = span->start, size;

		/* Up to the next gap; pieces overlap by what may be cut off. */
		while (i + 1 < nr && span_at(scan->spans, i + 1)->start ==
					     span_at(scan->spans, i)->end)
			i++;
		for (; ret >= 0 && at + LEA_SIZE <= span_at(scan->spans, i)->end &&
		       left; at += size - (LEA_SIZE - 1)) {
			const uint64_t rest = span_at(scan->spans, i)->end - at;
			const unsigned char *code;

			size = rest < PIECE ? rest : PIECE;
			left -= size < left ? size : left;
			ret = sfu_image_code(scan->image, at, size, &code);
			if (ret > 0)
				ret = note_taken(scan, code, size, at);
		}
	}
	return ret < 0 ? ret : 0;
}

/* Note the places in @code, at @address, that begin with endbr64, not behind a call. */
static int note_endbr(struct scan *scan, const unsigned char *code, uint64_t size,
		      uint64_t address)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const unsigned char *at = code;
	int err = 0;

	for (; !err && at + sizeof(endbr) <= code + size; at++) {
		at = memchr(at, endbr[0], code + size - at - (sizeof(endbr) - 1));
		if (!at)
			break;
		if (memcmp(at, endbr, sizeof(endbr)) ||
		    (at - code >= CALL_SIZE && at[-CALL_SIZE] == 0xe8))
			continue;
		err = sfu_proof_note_endbr(scan, address + (at - code));
	}
	return err;
}

/*
 * Find functions without CFI that may be called by a pointer, if the compiler marks
 * them: all that are not static, and those whose address is taken.
 */
static int find_endbr(struct scan *scan)
{
	uint64_t left = scan->image->file.budget.allocated;
	const size_t nr = nr_spans(scan->spans);
	int ret = 0;

	if (scan->gaps < MIN_TAKEN)
		return 0;
	for (size_t i = 0; ret >= 0 && i <= nr && left; i++) {
		uint64_t at = i ? span_at(scan->spans, i - 1)->end :
			      scan->image->nr_texts ?
				  scan->image->texts[0].address : 0;
		uint64_t room, size;

		if (i < nr && span_at(scan->spans, i)->start - at < MIN_START)
			continue;
		room = sfu_proof_uncovered(scan, at);
		for (; ret >= 0 && room >= MIN_START && left;
		     at += size, room -= size) {
			const unsigned char *code;

			size = room < PIECE ? room : PIECE;
			left -= size < left ? size : left;
			ret = sfu_image_code(scan->image, at, size, &code);
			if (ret > 0)
				ret = note_endbr(scan, code, size, at);
			/* Pieces overlap by what may be cut off. */
			if (size == PIECE)
				size -= CALL_SIZE + 3;
		}
	}
	return ret < 0 ? ret : 0;
}

int sfu_scan_read(struct cfi *cfi, struct image *image,
		  const struct buffer *spans, bool is_extended)
{
	struct budget *budget = &image->file.budget;
	size_t nr_proven = 0;
	struct scan *scan;
	void *memory;
	int err;

	err = sfu_budget_allocate(budget, sizeof(*scan), "code", &memory);
	if (err)
		return err;
	scan = memory;
	memset(scan, 0, sizeof(*scan));
	scan->cfi = cfi;
	scan->image = image;
	scan->spans = spans;
	scan->is_extended = is_extended;
	for (size_t i = 0; i < image->nr_texts; i++)
		scan->left += 4 * image->texts[i].file_size;
	/* Code can be a hole, or several segments the same bytes. */
	if (scan->left > 4 * budget->allocated)
		scan->left = 4 * budget->allocated;
	scan->left += 16 * PROOF_MAX_UNKNOWN;
	err = add_entry(scan);
	if (!err)
		err = prove_sections(scan);
	if (!err)
		err = prove_start_files(scan);
	if (!err)
		err = prove_symbols(scan);
	if (!err)
		err = find_taken(scan);
	if (!err)
		err = prove_called(scan, &nr_proven);
	if (!err)
		err = sfu_scan_calls(scan);
	if (!err)
		err = find_endbr(scan);
	if (!err)
		err = prove_called(scan, &nr_proven);
	if (!err)
		err = sfu_settle(budget, cfi);
	sfu_proof_free(scan);
	sfu_budget_free_memory(budget, scan, sizeof(*scan));
	return err;
}
