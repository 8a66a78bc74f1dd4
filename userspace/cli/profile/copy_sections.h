/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SFrame data for stacks that "record" completes: the sections that "attach" attaches, or
 * has in its cache. A child finds the section of a file there, or has it converted, by the
 * same sandboxed worker.
 */
#ifndef CLI_PROFILE_COPY_SECTIONS_H
#define CLI_PROFILE_COPY_SECTIONS_H

#include "cli/profile/history.h"
#include "module/decode/sframe.h"

struct copy_sections;

/**
 * enum copy_section - whether there is a section
 *
 * @COPY_SECTION_LATER: not known yet.
 * @COPY_SECTION_NONE: no.
 * @COPY_SECTION_HERE: yes.
 */
enum copy_section {
	COPY_SECTION_LATER,
	COPY_SECTION_NONE,
	COPY_SECTION_HERE,
};

/* Returns NULL, after a message, if files cannot be converted. */
struct copy_sections *copy_sections_create(const char *command);

void copy_sections_free(struct copy_sections *sections);

/*
 * Find the section for the code at @pc, which is in @mapping of @object; process @pid has it
 * mapped. The file is opened when it is asked for the first time, as long as it is there.
 * *@table is set to the section, as if it was mapped beside the code.
 */
enum copy_section copy_sections_find(struct copy_sections *sections, uint64_t pc,
				     const struct mapping *mapping,
				     const struct history_object *object, uint32_t pid,
				     struct sfu_table *table);

/*
 * Go on with the conversions, without waiting. Unless @is_urgent, "attach" has some time to
 * convert a file first, whose result is in the cache then.
 */
void copy_sections_work(struct copy_sections *sections, bool is_urgent);

#endif /* CLI_PROFILE_COPY_SECTIONS_H */
