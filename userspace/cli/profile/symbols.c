// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "cli/profile/symbols.h"

void symtab_add(struct symbols *symbols, uint64_t start, uint64_t end,
		bool is_open, const char *name, uint32_t rank)
{
	symbols->list = table_grow(symbols->list, &symbols->room, symbols->nr,
				   sizeof(*symbols->list));
	symbols->list[symbols->nr++] = (struct symbol){
		.start = start,
		.end = end,
		.name = name,
		.rank = rank,
		.is_open = is_open,
	};
}

/* What is compared of names: files can have many long ones that are almost equal. */
#define COMPARED	256u

static unsigned int underscores(const char *name)
{
	unsigned int nr = 0;

	while (nr < COMPARED && name[nr] == '_')
		nr++;
	return nr;
}

static int compare(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;
	int order;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	/* The best one first: with a size, of high rank, with few underscores, long. */
	if (left->is_open != right->is_open)
		return left->is_open ? 1 : -1;
	if (left->rank != right->rank)
		return left->rank > right->rank ? -1 : 1;
	if (underscores(left->name) != underscores(right->name))
		return underscores(left->name) < underscores(right->name) ?
		       -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1;
	order = strncmp(left->name, right->name, COMPARED);
	return order ? order :
	       (left->name > right->name) - (left->name < right->name);
}

/* Another name of the same function, or a mark inside of it. */
static bool is_inside(const struct symbol *one, const struct symbol *other)
{
	return one->start == other->start ||
	       (other->is_open && !one->is_open && other->start < one->end);
}

void symtab_sort(struct symbols *symbols)
{
	uint32_t nr = 0;

	if (!symbols->nr)
		return;
	qsort(symbols->list, symbols->nr, sizeof(*symbols->list), compare);
	for (uint32_t i = 0; i < symbols->nr; i++)
		if (!nr || !is_inside(&symbols->list[nr - 1], &symbols->list[i]))
			symbols->list[nr++] = symbols->list[i];
	symbols->nr = nr;
	for (uint32_t i = 0; i + 1 < nr; i++) {
		struct symbol *symbol = &symbols->list[i];

		if (symbol->is_open && symbol->end > symbol[1].start)
			symbol->end = symbol[1].start;
	}
}

const struct symbol *symtab_find(const struct symbols *symbols,
				 uint64_t address)
{
	uint32_t low = 0, high = symbols->nr;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (symbols->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= symbols->list[low - 1].end)
		return NULL;
	return &symbols->list[low - 1];
}

void symtab_free(struct symbols *symbols)
{
	free(symbols->list);
	*symbols = (struct symbols){ 0 };
}
