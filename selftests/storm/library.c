// SPDX-License-Identifier: GPL-2.0
/* Library: shared objects, loaded by dlopen() and unloaded by dlclose(). */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#include "../include/wrappers.h"
#include "library.h"
#include "shared.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

/* Addresses that have been used, for counting when one is used again. */
static uint64_t last_start;

struct search {
	uint64_t base;
	struct library *library;
};

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct search *search = data;
	struct library *library = search->library;
	int i;

	(void)size;
	if (info->dlpi_addr != search->base)
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		const uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_GNU_SFRAME) {
			library->sframe = start;
			library->sframe_size = phdr->p_memsz;
		} else if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X) {
			library->start = start;
			library->end = start + phdr->p_memsz;
		}
	}
	return 1;
}

void library_open(struct library *library, unsigned int file)
{
	void *array[] = { (void *)end_probe, NULL, NULL };
	struct search search = { .library = library };
	struct link_map *map;
	char name[96];

	snprintf(name, sizeof(name), "%s/lib%u.so", shared->dir, file);
	library->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle ||
	    dlinfo(library->handle, RTLD_DI_LINKMAP, &map))
		fail("dlopen: %s", dlerror());
	library->hop = (hop_t)dlsym(library->handle, "lib_hop");
	search.base = map->l_addr;
	library->sframe = 0;
	dl_iterate_phdr(find, &search);
	if (!library->hop || !library->sframe)
		fail("%s lacks lib_hop or PT_GNU_SFRAME", name);
	library->hop(array);
	library->ret = (uintptr_t)array[1];
	count_one(COUNT_DLOPENS);
	if (library->start == last_start)
		count_one(COUNT_REUSED);
	last_start = library->start;
}

void library_close(struct library *library)
{
	if (dlclose(library->handle))
		fail("dlclose: %s", dlerror());
	library->handle = NULL;
	count_one(COUNT_DLCLOSES);
}

bool library_is_valid(const struct library *library)
{
	return library->handle && library->id &&
	       library->registered == library->start;
}

int library_register(struct library *library, int fd)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = library->sframe,
		.sframe_size = library->sframe_size,
		.text_start = library->start,
		.text_size = library->end - library->start,
	};

	if (register_section(fd, &reg)) {
		if (errno == EEXIST)
			count_one(COUNT_EXISTS);
		return errno;
	}
	count_one(COUNT_REGISTERED);
	library->id = reg.id;
	library->registered = library->start;
	return 0;
}

int library_unregister(struct library *library, int fd, bool by_address)
{
	struct sframe_unwind_unregister unreg = { .size = sizeof(unreg) };

	if (by_address)
		unreg.sframe_start = library->sframe;
	else
		unreg.id = library->id;
	library->id = 0;
	if (unregister_section(fd, &unreg))
		return errno;
	count_one(COUNT_UNREGISTERED);
	return 0;
}
