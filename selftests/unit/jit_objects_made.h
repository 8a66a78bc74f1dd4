/* SPDX-License-Identifier: GPL-2.0 */
/* Objects with symbols, as programs announce them, and files of them, that are made for tests. */
#ifndef SELFTESTS_UNIT_JIT_OBJECTS_MADE_H
#define SELFTESTS_UNIT_JIT_OBJECTS_MADE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "userspace/cli/profile/jit_objects.h"

enum { MADE_NONE, MADE_TEXT, MADE_SYMBOLS, MADE_STRINGS, MADE_SECTIONS };

/* Its text has no bytes: it is in the process. One function. */
struct made_object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[MADE_SECTIONS];
	Elf64_Sym symbols[2];
	char strings[64];
};

/* Not inline: at -O2, GCC 12 loses stores to an object that is copied where it was made. */
static __attribute__((noinline, unused)) void
made_object(struct made_object *object, uint64_t start, uint64_t size,
	    const char *name)
{
	*object = (struct made_object){
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				     ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_REL,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_shoff = offsetof(struct made_object, sections),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = MADE_SECTIONS,
			.e_shstrndx = MADE_STRINGS,
		},
		.sections = {
			[MADE_TEXT] = {
				.sh_type = SHT_NOBITS,
				.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_addr = start,
				.sh_size = size,
			},
			[MADE_SYMBOLS] = {
				.sh_type = SHT_SYMTAB,
				.sh_offset = offsetof(struct made_object, symbols),
				.sh_size = sizeof(object->symbols),
				.sh_link = MADE_STRINGS,
				.sh_entsize = sizeof(Elf64_Sym),
			},
			[MADE_STRINGS] = {
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct made_object, strings),
				.sh_size = sizeof(object->strings),
			},
		},
		.symbols[1] = {
			.st_name = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = MADE_TEXT,
			.st_size = size,
		},
	};
	snprintf(object->strings + 1, sizeof(object->strings) - 1, "%s", name);
}

/**
 * struct made_objects - a file that is being made
 *
 * @bytes: its bytes.
 * @size: number of those.
 */
struct made_objects {
	unsigned char bytes[32768];
	size_t size;
};

static inline void made_objects_bytes(struct made_objects *file,
				      const void *bytes, size_t size)
{
	memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static inline void made_objects_look(struct made_objects *file, uint64_t before,
				     uint64_t time)
{
	const struct jit_objects_record record = {
		.kind = JIT_OBJECTS_LOOK,
		.before = before,
		.time = time,
	};

	made_objects_bytes(file, &record, sizeof(record));
}

/* The same of a look that is not sure. */
static inline void made_objects_partial(struct made_objects *file,
					uint64_t before, uint64_t time)
{
	const struct jit_objects_record record = {
		.kind = JIT_OBJECTS_LOOK,
		.number = JIT_OBJECTS_PARTIAL,
		.before = before,
		.time = time,
	};

	made_objects_bytes(file, &record, sizeof(record));
}

/* With the first look. */
static inline void made_objects_begin(struct made_objects *file, uint64_t time)
{
	static const uint64_t magic = JIT_OBJECTS_MAGIC;

	file->size = 0;
	made_objects_bytes(file, &magic, sizeof(magic));
	made_objects_look(file, 0, time);
}

static inline void made_objects_kind(struct made_objects *file, uint32_t kind,
				     uint32_t number)
{
	const struct jit_objects_record record = {
		.kind = kind,
		.number = number,
	};

	made_objects_bytes(file, &record, sizeof(record));
}

static inline void made_objects_put(struct made_objects *file,
				    const void *object, size_t size)
{
	static const char padding[8];
	const struct jit_objects_record record = {
		.kind = JIT_OBJECTS_MADE,
		.entry = 1,
		.place = 2,
		.bytes = size,
		.stored = size,
	};

	made_objects_bytes(file, &record, sizeof(record));
	made_objects_bytes(file, object, size);
	made_objects_bytes(file, padding, -size % 8);
}

/* The same with an object of one function. */
static inline void made_objects_add(struct made_objects *file, uint64_t start,
				    uint64_t size, const char *name)
{
	struct made_object object;

	made_object(&object, start, size, name);
	made_objects_put(file, &object, sizeof(object));
}

#endif /* SELFTESTS_UNIT_JIT_OBJECTS_MADE_H */
