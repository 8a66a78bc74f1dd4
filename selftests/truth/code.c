// SPDX-License-Identifier: GPL-2.0
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"

/* Encodings of .eh_frame_hdr that every linker uses. */
#define HEADER_VERSION		1
#define COUNT_UDATA4		0x03
#define TABLE_DATAREL_SDATA4	0x3b
#define HEADER_SIZE		12
#define ENTRY_SIZE		8

/* Number of frame changes considered in one function. */
#define MAX_CHANGES		64

/*
 * Whether @header, that of the file, is at its address in the process, too. If
 * a program maps a page of a file's code once more, as libffi does, libdw finds
 * a second object there, whose addresses lead into anything: breakpoints in
 * it would change the program's data.
 */
static bool is_mapped(const struct code_object *object, const uint8_t *header,
		      struct memory *memory)
{
	uint8_t mapped[HEADER_SIZE];

	return memory_read(memory, object->header, mapped, sizeof(mapped)) &&
		!memcmp(mapped, header, sizeof(mapped));
}

static void find_table(struct code_object *object, Elf *elf,
		       struct memory *memory)
{
	GElf_Phdr segment;
	Elf_Data *data;
	size_t count;
	uint32_t nr;

	if (elf_getphdrnum(elf, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		const uint8_t *header;

		if (!gelf_getphdr(elf, i, &segment) ||
		    segment.p_type != PT_GNU_EH_FRAME)
			continue;
		data = elf_getdata_rawchunk(elf, segment.p_offset,
					    segment.p_filesz, ELF_T_BYTE);
		header = data ? data->d_buf : NULL;
		if (!header || data->d_size < HEADER_SIZE ||
		    header[0] != HEADER_VERSION || header[2] != COUNT_UDATA4 ||
		    header[3] != TABLE_DATAREL_SDATA4)
			return;
		memcpy(&nr, header + 8, sizeof(nr));
		if (nr > (data->d_size - HEADER_SIZE) / ENTRY_SIZE)
			return;
		object->header = object->bias + segment.p_vaddr;
		if (!is_mapped(object, header, memory))
			return;
		object->table = header + HEADER_SIZE;
		object->nr_functions = nr;
	}
}

static void find_stubs(struct code_object *object, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section)) &&
	       object->nr_stubs < MAX_STUB_SECTIONS) {
		const char *name;

		if (!gelf_getshdr(section, &header) || !header.sh_entsize)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || strncmp(name, ".plt", 4))
			continue;
		object->stubs[object->nr_stubs++] = (struct stubs){
			object->bias + header.sh_addr, header.sh_size,
			header.sh_entsize
		};
	}
}

struct loading {
	struct code *code;
	struct memory *memory;
};

static int add_object(Dwfl_Module *module, void **data, const char *name,
		      Dwarf_Addr start, void *arg)
{
	const struct loading *loading = arg;
	struct code *code = loading->code;
	struct code_object *object = &code->objects[code->nr];
	GElf_Addr bias;
	Elf *elf;

	(void)data;
	(void)name;
	(void)start;
	if (code->nr == MAX_CODE_OBJECTS)
		return DWARF_CB_ABORT;
	elf = dwfl_module_getelf(module, &bias);
	if (!elf)
		return DWARF_CB_OK;
	memset(object, 0, sizeof(*object));
	object->module = module;
	object->bias = bias;
	dwfl_module_info(module, NULL, &object->start, &object->end, NULL, NULL,
			 NULL, NULL);
	find_table(object, elf, loading->memory);
	find_stubs(object, elf);
	if (object->nr_functions)
		code->nr++;
	return DWARF_CB_OK;
}

void code_load(struct code *code, const struct image *image)
{
	struct loading loading = { code, image->memory };

	code->nr = 0;
	dwfl_getmodules(image->dwfl, add_object, &loading, 0);
}

static uint64_t function_start(const struct code_object *object, size_t i)
{
	int32_t offset;

	memcpy(&offset, object->table + i * ENTRY_SIZE, sizeof(offset));
	return object->header + offset;
}

/* Index of the last function that starts at or below @pc. */
static size_t function_of(const struct code_object *object, uint64_t pc)
{
	size_t low = 0, high = object->nr_functions;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (function_start(object, middle) <= pc)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * A random address where the frame of the function at @start changes; or
 * @start.
 */
static uint64_t pick_change(const struct code_object *object, uint64_t start,
			    uint64_t *random)
{
	uint64_t at = start, picked = start;
	Dwarf_Addr from, to, bias;
	Dwarf_Frame *frame;
	Dwarf_CFI *cfi;

	cfi = dwfl_module_eh_cfi(object->module, &bias);
	for (unsigned int i = 1; cfi && i <= MAX_CHANGES; i++) {
		if (dwarf_cfi_addrframe(cfi, at - bias, &frame))
			break;
		dwarf_frame_info(frame, &from, &to, NULL);
		free(frame);
		if (to + bias <= at)
			break;
		at = to + bias;
		/* The end of the last row is that of the function. */
		if (dwarf_cfi_addrframe(cfi, at - bias, &frame))
			break;
		free(frame);
		if (!random_below(random, i))
			picked = at;
	}
	return picked;
}

static uint64_t pick_in(const struct code_object *object, size_t function,
			uint64_t *random)
{
	const uint64_t start = function_start(object, function);

	return random_below(random, 3) ? pick_change(object, start, random) :
					 start;
}

static uint64_t pick_stub(const struct code_object *object,
			  uint64_t *random)
{
	const struct stubs *stubs =
		&object->stubs[random_below(random, object->nr_stubs)];

	return stubs->address + stubs->each *
	       random_below(random, stubs->size / stubs->each);
}

uint64_t code_pick(const struct code *code, uint64_t *random)
{
	const struct code_object *object;

	if (!code->nr)
		return 0;
	object = &code->objects[random_below(random, code->nr)];
	if (object->nr_stubs && !random_below(random, 3))
		return pick_stub(object, random);
	return pick_in(object, random_below(random, object->nr_functions),
		       random);
}

uint64_t code_pick_near(const struct code *code, uint64_t pc,
			uint64_t *random)
{
	for (unsigned int i = 0; i < code->nr; i++) {
		const struct code_object *object = &code->objects[i];

		if (pc >= object->start && pc < object->end)
			return pick_in(object, function_of(object, pc), random);
	}
	return 0;
}
