// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "object.h"
#include "selftests/unit/tap.h"

const char *object_directory;

int object_file(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", object_directory, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int convert(const char *name,
		   const struct sframe_unwind_convert_options *options,
		   struct sframe_unwind_converted **converted)
{
	const int fd = object_file(name);
	int err;

	err = sframe_unwind_convert_fd(fd, name, options, converted);
	close(fd);
	return err;
}

int object_convert(const char *name, uint32_t sources,
		   struct sframe_unwind_converted **converted)
{
	const struct sframe_unwind_convert_options options = {
		.sources = sources ? sources : ALL_BUT_CODE,
	};

	return convert(name, &options, converted);
}

bool object_table(const struct sframe_unwind_converted *converted,
		  struct sfu_table *table)
{
	const struct sfu_bytes bytes = {
		.size = converted->size,
		.copy = converted->bytes,
	};
	struct sfu_defect defect;

	return !sfu_table_open_extended(table, &bytes, &defect);
}

static bool open_with(struct object *object, const char *name,
		      const struct sframe_unwind_convert_options *options)
{
	memset(object, 0, sizeof(*object));
	if (convert(name, options, &object->converted))
		return tap_fail("%s", sframe_unwind_convert_error());
	object->elf.fd = object_file(name);
	object->elf.elf = elf_begin(object->elf.fd, ELF_C_READ, NULL);
	object->has_elf = true;
	if (!object_table(object->converted, &object->table))
		return tap_fail("the section is not one");
	return object->table.extended == !!options->flags ||
	       tap_fail("the section is of the other kind");
}

bool object_open_from(struct object *object, const char *name, uint32_t sources)
{
	const struct sframe_unwind_convert_options options = {
		.sources = sources,
	};

	return open_with(object, name, &options);
}

bool object_open(struct object *object, const char *name)
{
	return object_open_from(object, name, ALL_BUT_CODE);
}

bool object_open_extended(struct object *object, const char *name,
			  uint32_t sources)
{
	const struct sframe_unwind_convert_options options = {
		.sources = sources,
		.flags = SFRAME_UNWIND_CONVERT_EXTENDED,
	};

	return open_with(object, name, &options);
}

void object_close(struct object *object)
{
	sframe_unwind_converted_free(object->converted);
	if (object->has_elf) {
		elf_end(object->elf.elf);
		close(object->elf.fd);
	}
}

bool object_rule_at(const struct sfu_table *table, uint64_t pc,
		    struct sfu_rule *rule)
{
	struct sfu_defect defect;
	u32 budget = UINT32_MAX;
	struct sfu_fde fde;

	memset(rule, 0, sizeof(*rule));
	return !sfu_table_find(table, pc, &fde, &defect) &&
	       !sfu_fde_find_rule(table, &fde, pc, &budget, rule, &defect);
}

bool object_find(const struct object *object, const char *name, uint64_t at,
		 struct sfu_rule *rule)
{
	uint64_t address, size;

	return elf_section_symbol(&object->elf, name, &address, &size) &&
	       object_rule_at(&object->table, address + at, rule);
}
