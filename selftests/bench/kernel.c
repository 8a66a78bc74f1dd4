// SPDX-License-Identifier: GPL-2.0
/*
 * The bench in a VM: what the module costs, in instructions, on a machine that
 * counts them.
 *
 * usage: kernel walks | lookups | many
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "../wrappers.h"
#include "bench.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

static int find_own(struct dl_phdr_info *info, size_t size, void *data)
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
	return 1;	/* the program comes first */
}

struct sframe_unwind_register own_section(void)
{
	struct sframe_unwind_register reg = {};

	dl_iterate_phdr(find_own, &reg);
	return reg;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int fd = open_test_client(0);

	if (fd < 0)
		die("%s: %s", SFU_TEST_DEVICE, strerror(errno));
	/* In processes of their own: what fork costs depends on all there is. */
	if (!strcmp(what, "walks"))
		measure_walks(fd);
	else if (!strcmp(what, "lookups"))
		measure_lookups(fd);
	else if (!strcmp(what, "many"))
		measure_many(fd);
	else
		die("walks, lookups or many?");
	return 0;
}
