/* SPDX-License-Identifier: GPL-2.0 */
/* The .sframe section of the test program itself. */
#ifndef SELFTESTS_OWN_SECTION_H
#define SELFTESTS_OWN_SECTION_H

#include <elf.h>
#include <link.h>
#include <linux/sframe_unwind.h>

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

static inline int find_own(struct dl_phdr_info *info, size_t size, void *data)
{
	struct sframe_unwind_register *reg = data;
	int i;

	(void)size;
	reg->size = sizeof(*reg);
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_GNU_SFRAME) {
			reg->sframe_start = info->dlpi_addr + phdr->p_vaddr;
			reg->sframe_size = phdr->p_memsz;
		} else if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X) {
			reg->text_start = info->dlpi_addr + phdr->p_vaddr;
			reg->text_size = phdr->p_memsz;
		}
	}
	return 1;	/* dl_iterate_phdr() reports the program first */
}

/*
 * The registration of the program's section for its code segment, both found in
 * the program headers. Without a PT_GNU_SFRAME, sframe_start is 0.
 */
static inline struct sframe_unwind_register own_section(void)
{
	struct sframe_unwind_register reg = {};

	dl_iterate_phdr(find_own, &reg);
	return reg;
}

#endif /* SELFTESTS_OWN_SECTION_H */
