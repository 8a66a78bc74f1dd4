/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section: one .sframe byte range and one range of code that it describes.
 *
 * Immutable once made, apart from its reference count. The bytes stay in the
 * memory of the process that registered it, and of its forked children; all
 * functions here that read them work on the current mm.
 */
#ifndef SFU_SECTION_H
#define SFU_SECTION_H

#include <linux/refcount.h>
#include <linux/types.h>

#include "sframe.h"

struct sfu_message;

/**
 * struct sfu_section
 *
 * @refs: one of each table of sections that holds it, one of each lookup that
 *	uses it.
 * @id: unique in the system, never 0.
 * @text_start: first address of the code.
 * @text_end: one past its last address.
 * @table: header of the section, and where its bytes are.
 */
struct sfu_section {
	refcount_t refs;
	u64 id;
	u64 text_start;
	u64 text_end;
	struct sfu_table table;
};

/**
 * struct sfu_section_spec - what a caller says about a section
 */
struct sfu_section_spec {
	u64 sframe_start;
	u64 sframe_size;
	u64 text_start;
	u64 text_size;
	bool validate;
	u64 defect_offset;	/* out: where the contents are wrong */
};

/**
 * struct sfu_match - the rule for an address and the function it belongs to
 */
struct sfu_match {
	struct sfu_rule rule;
	u64 start;		/* of the function; with @end only if one was found */
	u64 end;
};

/*
 * Check @spec against the current mm and the section's contents, and make a
 * section of it. May sleep; takes the mmap lock. Returns a section with one
 * reference, or an error and its message: see SFRAME_UNWIND_IOC_REGISTER.
 */
struct sfu_section *sfu_section_create(struct sfu_section_spec *spec,
				       struct sfu_message *message);

void sfu_section_get(struct sfu_section *section);
void sfu_section_put(struct sfu_section *section);

static inline bool sfu_section_covers(const struct sfu_section *section, u64 pc)
{
	return pc >= section->text_start && pc < section->text_end;
}

/*
 * Find the rule for @pc, which the section covers. May sleep, takes the mmap
 * lock. Returns 0; -ENOENT if there is none (match->rule.flags tells of a
 * signal frame that is not described); -EAGAIN if the bytes cannot be read
 * now; -EINTR if the thread is being killed; -EINVAL if the section is corrupt
 * or its bytes are gone, with @defect.
 */
int sfu_section_find_rule(const struct sfu_section *section, u64 pc,
			  struct sfu_match *match, struct sfu_defect *defect);

#endif /* SFU_SECTION_H */
