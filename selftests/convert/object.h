/* SPDX-License-Identifier: GPL-2.0 */
/* Objects that the Makefile makes, and what they are converted to. */
#ifndef SFU_CONVERT_OBJECT_H
#define SFU_CONVERT_OBJECT_H

#include <libelf.h>
#include <stdbool.h>

#include <sframe_unwind_convert.h>

#include "module/decode/sframe.h"
#include "selftests/unit/elf_section.h"

/* All sources but code: most tests are about code that the CFI does not describe. */
#define ALL_BUT_CODE	(SFRAME_UNWIND_FROM_EH_FRAME |			\
			 SFRAME_UNWIND_FROM_DEBUG_FRAME |		\
			 SFRAME_UNWIND_FROM_OLD_SFRAME |		\
			 SFRAME_UNWIND_FROM_OWN_SFRAME |		\
			 SFRAME_UNWIND_FROM_GO)

/**
 * struct object - an object, open, and its section
 *
 * @elf: the object.
 * @converted: the result of the conversion.
 * @table: the section in @converted.
 * @has_elf: @elf is open.
 */
struct object {
	struct elf_section elf;
	struct sframe_unwind_converted *converted;
	struct sfu_table table;
	bool has_elf;
};

/* Where the objects are. */
extern const char *object_directory;

/* Returns a descriptor of the object @name, or -1. */
int object_file(const char *name);

/* Convert @name from @sources, by default ALL_BUT_CODE. Returns as the library. */
int object_convert(const char *name, uint32_t sources,
		   struct sframe_unwind_converted **converted);

/* Open the section in @converted, which may be an extended one. */
bool object_table(const struct sframe_unwind_converted *converted,
		  struct sfu_table *table);

/* Convert and open @name. On failure, which is told, close it all the same. */
bool object_open(struct object *object, const char *name);
bool object_open_from(struct object *object, const char *name,
		      uint32_t sources);
bool object_open_extended(struct object *object, const char *name,
			  uint32_t sources);
void object_close(struct object *object);

/* Find the rule at @pc. */
bool object_rule_at(const struct sfu_table *table, uint64_t pc,
		    struct sfu_rule *rule);

/* Find the rule at the first byte of symbol @name, plus @at. */
bool object_find(const struct object *object, const char *name, uint64_t at,
		 struct sfu_rule *rule);

#endif /* SFU_CONVERT_OBJECT_H */
