// SPDX-License-Identifier: GPL-2.0
#include <elf.h>
#include <string.h>

#include "announced.h"
#include "frame.h"
#include "symbol.h"

/*
 * An interpreter into which generated code jumps, and from which it is jumped to, has all
 * instructions of its language in one function. If it is a loop that calls a function for
 * each, it is small, and generated code is called, too, with a frame of its own.
 */
#define MIN_SIZE 4096

static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* push %rbp; mov %rsp,%rbp */
static const unsigned char set_frame[] = { 0x55, 0x48, 0x89, 0xe5 };

/* What a uprobe, such as one that counts calls, puts in the place of a first byte. */
#define BREAKPOINT 0xcc

/* Returns whether the @size bytes at @at are @code, or are so but for a probe. */
static bool is_code(const unsigned char *at, const unsigned char *code, size_t size)
{
	return (at[0] == code[0] || at[0] == BREAKPOINT) &&
	       !memcmp(at + 1, code + 1, size - 1);
}

bool frame_is_kept(int memory, uint64_t base, const char *function)
{
	unsigned char code[sizeof(endbr) + sizeof(set_frame)];
	const unsigned char *at = code;
	struct symbol symbol;

	if (!symbol_find(memory, base, function, STT_FUNC, &symbol) ||
	    symbol.size < MIN_SIZE ||
	    !announced_read(memory, symbol.address, code, sizeof(code)))
		return false;
	if (is_code(at, endbr, sizeof(endbr)))
		at += sizeof(endbr);
	return is_code(at, set_frame, sizeof(set_frame));
}
