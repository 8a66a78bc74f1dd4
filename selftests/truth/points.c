// SPDX-License-Identifier: GPL-2.0
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "points.h"

static void add(struct point_list *list, uint64_t offset)
{
	if (list->nr == list->space) {
		list->space = list->space ? 2 * list->space : 1024;
		list->offsets = realloc(list->offsets, list->space *
					sizeof(*list->offsets));
		if (!list->offsets)
			abort();
	}
	list->offsets[list->nr++] = offset;
}

/* The addresses in [@start, @end) where .eh_frame has a new row. */
static void add_changes(struct point_list *list, const struct object *object,
			uint64_t start, uint64_t end)
{
	Dwarf_Addr from, to, bias;
	Dwarf_Frame *frame;
	Dwarf_CFI *cfi;

	cfi = dwfl_module_eh_cfi(object->module, &bias);
	while (cfi && start < end) {
		if (dwarf_cfi_addrframe(cfi, start - bias, &frame))
			return;
		dwarf_frame_info(frame, &from, &to, NULL);
		free(frame);
		if (to + bias <= start || to + bias >= end)
			return;
		start = to + bias;
		add(list, start - object->bias);
	}
}

static void add_functions(struct points *points, const struct object *object)
{
	const int nr = dwfl_module_getsymtab(object->module);

	for (int i = 0; i < nr; i++) {
		GElf_Addr address;
		GElf_Sym symbol;

		if (!dwfl_module_getsym_info(object->module, i, &symbol,
					     &address, NULL, NULL, NULL) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    !symbol.st_size || address < object->start ||
		    address >= object->end)
			continue;
		add(&points->lists[POINT_ENTRY], address - object->bias);
		add_changes(&points->lists[POINT_CHANGE], object, address,
			    address + symbol.st_size);
	}
}

static void add_stubs(struct points *points, const struct object *object)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Addr bias;
	size_t names;
	Elf *elf;

	elf = dwfl_module_getelf(object->module, &bias);
	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header) || !header.sh_entsize)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || strncmp(name, ".plt", 4))
			continue;
		for (uint64_t at = 0; at < header.sh_size;
		     at += header.sh_entsize)
			add(&points->lists[POINT_STUB], header.sh_addr + at);
	}
}

static struct points *find(struct all_points *all, const struct object *object)
{
	struct points *points;

	for (unsigned int i = 0; i < all->nr; i++) {
		if (!strcmp(all->objects[i].name, object->name))
			return &all->objects[i];
	}
	if (all->nr == MAX_OBJECTS)
		return NULL;
	points = &all->objects[all->nr++];
	memset(points, 0, sizeof(*points));
	points->name = strdup(object->name);
	add_functions(points, object);
	add_stubs(points, object);
	return points;
}

uint64_t points_pick(struct all_points *all, const struct image *image,
		     uint64_t *random)
{
	const struct point_list *list;
	const struct object *object;
	struct points *points;

	if (!image->nr_objects)
		return 0;
	object = image->objects[random_below(random, image->nr_objects)];
	points = find(all, object);
	if (!points)
		return 0;
	list = &points->lists[random_below(random, NR_POINT_KINDS)];
	if (!list->nr)
		return 0;
	return object->bias + list->offsets[random_below(random, list->nr)];
}

void points_free(struct all_points *all)
{
	for (unsigned int i = 0; i < all->nr; i++) {
		for (int kind = 0; kind < NR_POINT_KINDS; kind++)
			free(all->objects[i].lists[kind].offsets);
		free(all->objects[i].name);
	}
}
