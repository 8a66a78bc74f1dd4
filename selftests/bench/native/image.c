// SPDX-License-Identifier: GPL-2.0
/*
 * Image: an ELF file as loaded at some address.
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME	0x6474e554
#endif

static const unsigned char *map(const char *path, uint64_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", path);
	p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		err(1, "%s", path);
	close(fd);
	*size = st.st_size;
	return p;
}

void image_read(struct image *image, const char *path, uint64_t base)
{
	const Elf64_Phdr *phdr;
	const Elf64_Ehdr *ehdr;
	const unsigned char *file;
	uint64_t size;
	int i;

	*image = (struct image) { .base = base };
	file = map(path, &size);
	ehdr = (const void *)file;
	phdr = (const void *)(file + ehdr->e_phoff);
	for (i = 0; i < ehdr->e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD)
			image->size = phdr[i].p_vaddr + phdr[i].p_memsz;
	}
	image->bytes = calloc(1, image->size);
	if (!image->bytes)
		err(1, "%s", path);
	for (i = 0; i < ehdr->e_phnum; i++) {
		const Elf64_Phdr *p = &phdr[i];

		if (p->p_type == PT_LOAD && p->p_offset + p->p_filesz <= size)
			__builtin_memcpy(image->bytes + p->p_vaddr,
					 file + p->p_offset, p->p_filesz);
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			image->start = base + p->p_vaddr;
			image->end = image->start + p->p_memsz;
		} else if (p->p_type == PT_GNU_SFRAME) {
			image->sframe = base + p->p_vaddr;
			image->sframe_size = p->p_memsz;
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			image->eh_frame_hdr = base + p->p_vaddr;
		}
	}
	munmap((void *)file, size);
	if (!image->sframe || !image->eh_frame_hdr)
		errx(1, "%s has no SFrame data, or no .eh_frame_hdr", path);
}
