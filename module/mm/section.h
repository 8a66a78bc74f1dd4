/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section: one .sframe byte range, or one function table, and one range of code that
 * it describes.
 *
 * Immutable after creation, apart from reference count, hits and directory. The
 * bytes are in the memory of the process that registered the section or maps
 * its file, and of its forked children, so functions that read them work on the
 * current mm. The bytes of an attached section, or of one that the process has
 * not mapped, are in kernel memory: see struct sfu_image.
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

/*
 * The source of a section. Values as in enum sframe_unwind_section_source, and:
 */
enum sfu_source {
	SFU_NOTHING,		/* negative entry: no section exists for the code */
	SFU_REGISTERED,
	SFU_FOUND,
	SFU_ATTACHED,
};

/**
 * struct sfu_section - a section, or the fact that code has none
 *
 * Kept small, because there can be a million of them.
 *
 * @refs: one for each tree node that holds it (in trees with @holds), each
 *	owner in a rule cache, and each lookup that uses it.
 * @num_fdes: of the table, see struct sfu_table; or the entries of a function table.
 * @id: unique in the system, never 0.
 * @hits: number of rules found in it.
 * @text: the code that it describes.
 * @bytes_origin: origin of the section's first byte.
 * @address: user address of the section's first byte; if the bytes are in
 *	kernel memory, the address that function starts are computed from.
 * @directory: of the table, or NULL; set once.
 * @size: bytes of the table.
 * @index: offset of the FDE index, or of the map of a function table.
 * @fres: offset of the FRE area.
 * @payer: number of the payer that it and its directory are charged to, or 0.
 * @source: enum sfu_source. If it is not SFU_REGISTERED, the section is part of
 *	a struct sfu_found.
 * @pcrel: see struct sfu_table.
 * @is_table: it is a function table, see struct sfu_functions; then it is registered.
 * @granule_bits: of a function table.
 * @is_final: the text must be as SFU_MAPPED_FINAL says, and functions as they were noted,
 *	see file/noted.h. Then it is attached, and part of a struct sfu_found.
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
	union {
		u32 fres;
		u32 granule_bits;
	};
	u32 payer : SFU_PAYER_BITS;
	u32 pcrel : 1;
	u32 is_table : 1;
	u32 is_final : 1;
	u32 source : 8;
};

static_assert(SFU_PAYER_BITS + 3 == 24);

/* Copy the decoded header @table into @section. */
void sfu_section_set_table(struct sfu_section *section,
			   const struct sfu_table *table);

/**
 * struct sfu_found - the result of discovery, for code without a registered
 * section
 *
 * @section: the section. Its bytes are in user memory if @image is NULL.
 * @image: contains the bytes; holds a reference; or NULL.
 * @key: key of the file's attachments, see sfu_attach_key().
 * @inode: of the file, or NULL. Only compared, and only while the file is
 *	mapped.
 * @has_own: the file contains a section that has not been found malformed.
 * @above: id of the registered section that covers the code and has no rule for
 *	it, or 0. If not 0, this is in no space, and is for one address.
 * @is_below_registered: with @range and @above, the latter is a registered one.
 * @range: id of the attachment, if it was attached to addresses of the process;
 *	else 0.
 * @last_range: sfu_attach_view_last_range() when it was found, which a child of fork()
 *	may have found in its parent.
 * @generation: of the attachments (see sfu_attach_view_generation()) at the
 *	last time this was found to be current. It belongs to one space: another
 *	space that shares this after fork may see other attachments.
 */
struct sfu_found {
	struct sfu_section section;
	struct sfu_image *image;
	u64 key;
	const struct inode *inode;
	bool has_own;
	bool is_below_registered;
	u64 above;
	u64 range;
	u64 last_range;
	atomic64_t generation;
};

static inline struct sfu_found *sfu_found_of(struct sfu_section *section)
{
	return section->source == SFU_REGISTERED ?
		       NULL : container_of(section, struct sfu_found, section);
}

/* Returns the image that contains the bytes of @section, or NULL. */
static inline struct sfu_image *sfu_section_image(struct sfu_section *section)
{
	const struct sfu_found *found = sfu_found_of(section);

	return found ? found->image : NULL;
}

/**
 * struct sfu_section_spec - arguments and results of registering a section
 *
 * @bytes_origin, @text_origin: set by sfu_section_locate().
 * @bytes_end: set by sfu_section_locate(): end of the bytes that have
 *	@bytes_origin.
 * @defect_offset: set by sfu_section_make(): offset of the defect, if the
 *	contents are wrong.
 * @validate: check the whole section.
 * @is_table: the bytes are a function table. Then the text need not be executable, and:
 * @max_functions, @granule_bits: see struct sframe_unwind_register_table.
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
	bool is_table;
	u8 granule_bits;
	u32 max_functions;
};

/*
 * To register a section, call sfu_section_locate() with the mappings locked,
 * then, without a lock, sfu_section_alloc() and sfu_section_make(). Errors and
 * messages are those of SFRAME_UNWIND_IOC_REGISTER, or with @is_table those of
 * SFRAME_UNWIND_IOC_REGISTER_TABLE.
 */

/*
 * Check that code and bytes of @spec are mapped, and get their origins. Returns
 * 0 or an errno. If it fails with mappings->left 0, and mappings->left was less
 * than SFU_MAX_HELD_MAPPINGS before, the caller may unlock and lock the
 * mappings and try again.
 */
int sfu_section_locate(struct sfu_section_spec *spec,
		       struct sfu_mappings *mappings,
		       struct sfu_message *message);

/*
 * Allocate memory for up to @nr sections in @memory, charged to the current
 * user. May sleep. Returns the number allocated, which may be less than @nr, or
 * 0.
 */
u32 sfu_section_alloc(struct sfu_section **memory, u32 nr);

/*
 * Free memory from sfu_section_alloc() that was not passed to
 * sfu_section_make().
 */
void sfu_section_free(struct sfu_section *memory);

/*
 * Check the contents of the located @spec, and initialize @section, which
 * sfu_section_alloc() allocated. May sleep. Returns 0 with one reference to
 * @section; or an errno, and the caller has to free @section with
 * sfu_section_free().
 */
int sfu_section_make(struct sfu_section *section, struct sfu_section_spec *spec,
		     struct sfu_message *message);

/*
 * Create a section from @spec, in which text, source, table and bytes_origin of
 * spec->section and all other members are set. With @charged, it is charged to
 * the current user. Takes over the reference to the image, unless it returns
 * NULL because it is out of memory. May sleep.
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

/* For sfu_section_hold(): @found has an image. */
bool sfu_section_hold_image(struct sfu_found *found);

/*
 * Keep the bytes of an attached section from being freed while a rule is looked
 * up. Returns false if they are gone. If true, the caller must call
 * sfu_section_release() before it drops its reference. Process context.
 */
static inline bool sfu_section_hold(struct sfu_section *section)
{
	struct sfu_found *found = sfu_found_of(section);

	return !found || !found->image || sfu_section_hold_image(found);
}

void sfu_section_release(struct sfu_section *section);

static inline bool sfu_section_covers(const struct sfu_section *section, u64 pc)
{
	return pc >= section->text.start && pc < section->text.end;
}

/*
 * Check that the code at @pc, which the section must cover, and the section's
 * bytes are mapped in the current mm as they were when it was registered or
 * found. Decreases *@budget by the number of mappings visited. May sleep, takes
 * the mmap lock. Returns 0 with [*start, *end), the addresses around @pc for
 * which this is true; -ESTALE if they are not; -ETIME if the budget is
 * exhausted; or -EINTR.
 */
int sfu_section_check(struct sfu_section *section, u64 pc, u32 *budget,
		      u64 *start, u64 *end);

/* The largest budget that sfu_section_check() needs. */
#define SFU_SECTION_CHECK_BUDGET	(SFU_MAX_HELD_MAPPINGS + 1)

/**
 * struct sfu_budget - work that a walk may still do
 *
 * @rows: rows that may be read.
 * @mappings: mappings that may be visited.
 */
struct sfu_budget {
	u32 rows;
	u32 mappings;
};

/*
 * Find the rule for @pc, which the section must cover. Decreases *@budget. May
 * sleep, takes the mmap lock. The caller must have called sfu_section_hold().
 * Returns 0; -ENOENT if there is no rule (match->rule.flags is SFU_RULE_SIGNAL
 * for a signal frame without rows); -ETIME if the budget is exhausted; -EAGAIN
 * if the bytes cannot be read at present; -EINTR if the thread is being killed;
 * -EINVAL with @defect if the section is corrupt, or with SFU_DEFECT_NONE if
 * its bytes can never be read again.
 */
int sfu_section_find_rule(struct sfu_section *section, u64 pc,
			  struct sfu_budget *budget, struct sfu_match *match,
			  struct sfu_defect *defect);

/*
 * As sfu_section_find_rule(), but at a fraction of its cost, and only for
 * common functions in sections whose bytes are in user memory; needs no
 * sfu_section_hold(). Returns whether it succeeded. If not, *@match is
 * undefined, and the caller has to use sfu_section_find_rule().
 */
bool sfu_section_find_rule_quickly(struct sfu_section *section, u64 pc,
				   struct sfu_budget *budget,
				   struct sfu_match *match);

/*
 * As sfu_section_find_rule_quickly(), also for bytes in kernel memory. Reads at most
 * *@rows rows. Does not count the rule, and never sleeps. User memory that is not there
 * cannot be read: page faults must be disabled. Any context but NMI, with preemption
 * disabled.
 */
bool sfu_section_peek_rule(struct sfu_section *section, u64 pc, u32 *rows,
			   struct sfu_match *match);

/*
 * Find the layout for @pc, see sfu_table_find_layout(). The caller must have called
 * sfu_section_hold().
 */
int sfu_section_find_layout(struct sfu_section *section, u64 pc,
			    struct sfu_layout *layout);

/* Returns the range of the bytes in user memory, empty if they are not there. */
struct sfu_range sfu_section_bytes(struct sfu_section *section);

/* Free @directory, made for @section; may be NULL. */
void sfu_section_free_directory(const struct sfu_section *section,
				struct sfu_directory *directory);

/*
 * Returns the section's user address, or 0 if its bytes are in kernel memory.
 */
u64 sfu_section_address(struct sfu_section *section);

/*
 * Get the name of the file of the section's code, see sfu_mapping_file_name().
 */
const char *sfu_section_file_name(const struct sfu_section *section,
				  char *buffer);

#endif /* SFU_SECTION_H */
