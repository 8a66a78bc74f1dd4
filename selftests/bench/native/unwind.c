// SPDX-License-Identifier: GPL-2.0
/*
 * Libunwind, reading recorded stacks by its remote accessors.
 */
#include <err.h>
#include <libunwind-x86_64.h>
#include <string.h>

#include "walkers.h"

/* Exported by the library, but not declared in its headers. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip,
				       unw_dyn_info_t *di, unw_proc_info_t *pi,
				       int need_unwind_info, void *arg);

/* The header of .eh_frame_hdr, as GNU ld writes it. */
struct eh_frame_hdr {
	unsigned char version;
	unsigned char frame_encoding;
	unsigned char count_encoding;
	unsigned char table_encoding;
	int32_t frame;
	uint32_t nr;
	struct {
		int32_t start;
		int32_t fde;
	} table[];
};

static unw_addr_space_t space;
static const struct image *program;
static const struct stack *current;
static unw_dyn_info_t table;

static int find_proc_info(unw_addr_space_t as, unw_word_t ip,
			  unw_proc_info_t *info, int need_unwind_info,
			  void *arg)
{
	unw_dyn_info_t copy = table;

	return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &copy, info,
						  need_unwind_info, arg);
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info,
			    void *arg)
{
	(void)as;
	(void)info;
	(void)arg;
}

static int get_dyn_info(unw_addr_space_t as, unw_word_t *list, void *arg)
{
	(void)as;
	(void)list;
	(void)arg;
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t as, unw_word_t address,
		      unw_word_t *word, int write, void *arg)
{
	const unsigned char *bytes;

	(void)as;
	(void)arg;
	if (write)
		return -UNW_EINVAL;
	if (!stack_word(current, address, word))
		return 0;
	bytes = image_at(program, address, sizeof(*word));
	if (!bytes)
		return -UNW_EINVAL;
	memcpy(word, bytes, sizeof(*word));
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value,
		      int write, void *arg)
{
	(void)as;
	(void)arg;
	if (write || reg < 0 || reg >= NR_REGISTERS)
		return -UNW_EINVAL;
	*value = current->reg[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg,
			unw_fpreg_t *value, int write, void *arg)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EINVAL;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t ip, char *buffer,
			 size_t size, unw_word_t *offset, void *arg)
{
	(void)as;
	(void)ip;
	(void)buffer;
	(void)size;
	(void)offset;
	(void)arg;
	return -UNW_EINVAL;
}

void unwind_open(const struct image *image)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	const struct eh_frame_hdr *hdr =
		(const void *)image_at(image, image->eh_frame_hdr,
				       sizeof(*hdr));

	/*
	 * Encodings of the pointer to .eh_frame, of the count, and of the
	 * table.
	 */
	if (!hdr || hdr->version != 1 || hdr->frame_encoding != 0x1b ||
	    hdr->count_encoding != 0x03 || hdr->table_encoding != 0x3b)
		errx(1, ".eh_frame_hdr is not as GNU ld writes it");
	program = image;
	memset(&table, 0, sizeof(table));
	table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	table.start_ip = image->start;
	table.end_ip = image->end;
	table.u.rti.segbase = image->eh_frame_hdr;
	table.u.rti.table_data = image->eh_frame_hdr + sizeof(*hdr);
	table.u.rti.table_len = hdr->nr * sizeof(hdr->table[0]) /
				sizeof(unw_word_t);
	space = unw_create_addr_space(&accessors, 0);
	if (!space)
		errx(1, "libunwind: no address space");
	unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
}

unsigned int unwind_walk(const struct stack *stack, uint64_t *ip,
			 unsigned int max)
{
	unw_cursor_t cursor;
	unsigned int nr = 0;
	unw_word_t pc;

	current = stack;
	if (unw_init_remote(&cursor, space, NULL))
		return 0;
	while (nr < max && unw_step(&cursor) > 0) {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		ip[nr++] = pc;
		if (pc < program->start || pc >= program->end)
			break;
	}
	return nr;
}

void unwind_close(void)
{
	unw_destroy_addr_space(space);
}
