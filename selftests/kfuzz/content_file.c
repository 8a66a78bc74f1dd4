// SPDX-License-Identifier: GPL-2.0
/* Content: generated files. */
#include <string.h>

#include "content.h"
#include "elf_broken.h"
#include "run.h"
#include "stub.h"

_Static_assert(sizeof(struct elf_base) <= CONTENT_SIZE, "too large");
_Static_assert(sizeof(struct elf_sframe) == CONTENT_SFRAME_SIZE, "another size");

static const unsigned char stub_bytes[] = STUB_BYTES;

/* Write code that can be called once it is mapped. */
static void put_stubs(struct elf_base *elf)
{
	memcpy(elf->small, stub_bytes, sizeof(stub_bytes));
	memcpy(elf->large, stub_bytes, sizeof(stub_bytes));
}

static size_t make_elf(uint64_t number, struct elf_base *elf)
{
	size_t size = sizeof(*elf);

	if (number < ELF_NR_BROKEN)
		size = elf_broken_build(&elf_broken[number], elf);
	else
		elf_base_init(elf);
	put_stubs(elf);
	return size;
}

static size_t make_sframe(void *to)
{
	const struct elf_sframe sframe = elf_sframe_at(0);

	memcpy(to, &sframe, sizeof(sframe));
	return sizeof(sframe);
}

size_t content_make_file(enum file_content content, uint64_t seed, void *to,
			 size_t *size)
{
	switch (content) {
	case FILE_ELF:
	default:
		*size = make_elf(ELF_NR_BROKEN, to);
		break;
	case FILE_ELF_BROKEN:
		*size = make_elf(seed % ELF_NR_BROKEN, to);
		break;
	case FILE_ELF_FLIPPED:
		*size = make_elf(ELF_NR_BROKEN, to);
		/*
		 * Change headers and notes, in half of the cases also the
		 * section.
		 */
		content_flip(to, seed & 1 ? sizeof(Elf64_Ehdr) +
			     8 * sizeof(Elf64_Phdr) : ELF_PAGE, seed);
		break;
	case FILE_SFRAME:
		*size = make_sframe(to);
		break;
	case FILE_SFRAME_FLIPPED:
		*size = make_sframe(to);
		content_flip(to, *size, seed);
		break;
	case FILE_SECTION:
		*size = SLOT_USED;
		return content_make(CONTENT_SECTION, seed, 0, to);
	}
	return *size;
}
