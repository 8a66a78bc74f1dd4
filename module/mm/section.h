/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section: one .sframe byte range and one range of code that it describes.
 *
 * Immutable once made, apart from its reference count, hits and directory. Its
 * bytes are in the memory of the process that registered it or maps its file, and
 * of its forked children: all functions here that read them work on the current
 * mm. Bytes of an attached section, or of one that no process maps, are in kernel
 * memory: see struct sfu_image.
 */
#ifndef SFU_SECTION_H
#define SFU_SECTION_H

#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "decode/sframe.h"
#include "limits.h"
#include "mapping.h"
#include "payer.h"

struct inode;
struct sfu_directory;
struct sfu_image;
struct sfu_message;

/* Where a section comes from; as enum sframe_unwind_section_source, and: */
enum sfu_source {
	SFU_NOTHING,		/* no section: the code has been found to have none */
	SFU_REGISTERED,
	SFU_FOUND,
	SFU_ATTACHED,
};

/**
 * struct sfu_section - as small as can be: there may be a million of them
 *
 * @refs: one of each table of sections that holds it, one of each lookup that
 *	uses it.
 * @payer: number of the payer that it and its directory are charged to, or 0.
 * @num_fdes: of the table, as are all members from @size on.
 * @id: unique in the system, never 0.
 * @hits: rules looked up in it and found.
 * @text: the code.
 * @bytes_origin: of the section's first byte.
 * @address: of the first byte; for bytes in kernel memory, what they count from.
 * @directory: of the table, or NULL; set once.
 * @size: bytes of the table.
 * @index: offset of the FDE index.
 * @fres: offset of the FRE area.
 * @pcrel: see struct sfu_table.
 * @source: enum sfu_source; with any other than SFU_REGISTERED it is part of a
 *	struct sfu_found.
 */
struct sfu_section {
	refcount_t refs;
	u32 num_fdes;
	u64 id;
	atomic64_t hits;
	struct sfu_range text;
	struct sfu_origin bytes_origin;
	u64 address;
	struct sfu_directory *directory;
	u32 size;
	u32 index;
	u32 fres;
	u32 payer : SFU_PAYER_BITS;
	u32 source : 8;
	u32 pcrel : 1;
};

/* Have @section be the one whose header @table is. */
void sfu_section_set_table(struct sfu_section *section,
			   const struct sfu_table *table);

/**
 * struct sfu_found - what was found out about code that nobody registered
 *
 * @section: its bytes are in user memory if @image is NULL.
 * @image: the bytes, or NULL; holds a reference.
 * @key: what attachments to all such files go by, see sfu_attach_key().
 * @inode: of the file; compared only, as long as the file is mapped; or NULL.
 * @has_own: the file has a section of its own that has not been found bad.
 * @generation: of what is attached, as the space saw it that has found this to be
 *	current last. Another one, made by fork, may be entitled to something else.
 */
struct sfu_found {
	struct sfu_section section;
	struct sfu_image *image;
	u64 key;
	const struct inode *inode;
	bool has_own;
	atomic64_t generation;
};

static inline struct sfu_found *sfu_found_of(struct sfu_section *section)
{
	return section->source == SFU_REGISTERED ?
		       NULL : container_of(section, struct sfu_found, section);
}

/**
 * struct sfu_section_spec - what a caller says about a section
 *
 * @bytes_origin, @text_origin: set by sfu_section_locate().
 * @bytes_end: likewise; bytes from there on come from elsewhere than the first.
 * @defect_offset: set by sfu_section_make(), where the contents are wrong.
 */
struct sfu_section_spec {
	u64 sframe_start;
	u64 sframe_size;
	u64 text_start;
	u64 text_size;
	struct sfu_origin bytes_origin;
	struct sfu_origin text_origin;
	u64 bytes_end;
	u64 defect_offset;
	bool validate;
};

/*
 * Registering is to locate, with the mappings locked, and then, with nothing
 * locked, to allocate and make. All give errors, with their messages, of
 * SFRAME_UNWIND_IOC_REGISTER.
 */

/*
 * Are code and bytes of @spec mapped? Returns 0 or an errno. If it fails with
 * mappings->left 0, and that was not SFU_MAX_HELD_MAPPINGS before, it may be
 * tried again with the mappings locked anew.
 */
int sfu_section_locate(struct sfu_section_spec *spec,
		       struct sfu_mappings *mappings,
		       struct sfu_message *message);

/*
 * Memory for @nr sections, cheaper than @nr times for one, charged to the current
 * user. May sleep. Returns how many there are in @memory, which may be less.
 */
u32 sfu_section_alloc(struct sfu_section **memory, u32 nr);

/* Free memory from sfu_section_alloc() that no section has been made in. */
void sfu_section_free(struct sfu_section *memory);

/*
 * Check the contents of @spec, which has been located, and make a section of it
 * in the memory @section. May sleep. Returns 0, the section having one reference,
 * or an errno, and then it is memory yet.
 */
int sfu_section_make(struct sfu_section *section, struct sfu_section_spec *spec,
		     struct sfu_message *message);

/*
 * Make a section, charged to the current user with @charged, of the members of
 * @spec that say what was found: text, source,
 * table and bytes_origin of @spec->section, and the others. Takes over the
 * reference to the image, unless it returns NULL for want of memory. May sleep.
 */
struct sfu_found *sfu_section_create_found(const struct sfu_found *spec,
					   bool charged);

int sfu_section_init(void);
void sfu_section_exit(void);

static inline void sfu_section_get(struct sfu_section *section)
{
	refcount_inc(&section->refs);
}

void sfu_section_put(struct sfu_section *section);

/*
 * Keep what is attached from being taken away while a rule is looked up. Returns
 * whether it is still there; if so, sfu_section_release() is to follow, before the
 * caller's reference is put. Process context.
 */
bool sfu_section_hold(struct sfu_section *section);
void sfu_section_release(struct sfu_section *section);

static inline bool sfu_section_covers(const struct sfu_section *section, u64 pc)
{
	return pc >= section->text.start && pc < section->text.end;
}

/*
 * Are the code at @pc, which the section covers, and the section's bytes mapped
 * in the current mm as they were when it was registered or found? Takes mappings
 * that are looked at off *@budget. May sleep, takes the mmap lock. Returns 0 with
 * the addresses around @pc for which that is so, [*start, *end); -ESTALE; -ETIME
 * if the budget does not suffice; or -EINTR.
 */
int sfu_section_check(struct sfu_section *section, u64 pc, u32 *budget,
		      u64 *start, u64 *end);

/* What sfu_section_check() needs at the most. */
#define SFU_SECTION_CHECK_BUDGET	(SFU_MAX_HELD_MAPPINGS + 1)

/**
 * struct sfu_budget - what may be done yet
 *
 * @rows: to be looked at.
 * @mappings: likewise.
 */
struct sfu_budget {
	u32 rows;
	u32 mappings;
};

/*
 * Find the rule for @pc, which the section covers. Takes what it looks at off
 * *@budget. May sleep, takes the mmap lock. Returns 0; -ENOENT if there is
 * none (match->rule.flags tells of a signal frame that is not described);
 * -ETIME if the budget does not suffice; -EAGAIN if the bytes cannot be read
 * now; -EINTR if the thread is being killed; -EINVAL if the section is corrupt,
 * with @defect, or its bytes are gone, with SFU_DEFECT_NONE. The caller holds the
 * section.
 */
int sfu_section_find_rule(struct sfu_section *section, u64 pc,
			  struct sfu_budget *budget, struct sfu_match *match,
			  struct sfu_defect *defect);

/*
 * The same for what is usual, at a fraction of the cost. Returns whether it did;
 * if not, *@match may have been changed, and that one knows.
 */
bool sfu_section_find_rule_quickly(struct sfu_section *section, u64 pc,
				   struct sfu_budget *budget,
				   struct sfu_match *match);

/* Address of the section in user memory, 0 if it is not there. */
u64 sfu_section_address(struct sfu_section *section);

/* See sfu_mapping_file_name(): the file of the section's code. */
const char *sfu_section_file_name(const struct sfu_section *section,
				  char *buffer);

#endif /* SFU_SECTION_H */
