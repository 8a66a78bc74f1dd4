// SPDX-License-Identifier: GPL-2.0
/*
 * Discover current: whether discovery would give the same result again.
 */
#include "decode/sframe.h"
#include "discover_current.h"
#include "file/attach_file.h"
#include "file/attach_table.h"
#include "file/image.h"
#include "file/pin.h"
#include "mm/section.h"
#include "mm/space.h"

struct sfu_image *sfu_latest_attached(const struct sfu_space *space,
				      const struct sfu_found *found,
				      bool preferred)
{
	const struct sfu_attach_keys keys = {
		.inode = sfu_attach_inode_key(found->key,
					      sfu_pin_find(found->inode)),
		.file = found->key,
	};

	return sfu_attach_view_find(&space->attached, keys, preferred);
}

/* Returns the image that discovery would use for @found now, or NULL. */
static struct sfu_image *find_attached(const struct sfu_space *space,
				       const struct sfu_found *found)
{
	struct sfu_image *image = NULL;

	if (found->has_own)
		image = sfu_latest_attached(space, found, true);
	/*
	 * Only a preferred attachment replaces the section of the file itself.
	 */
	if (!image && found->section.source != SFU_FOUND)
		image = sfu_latest_attached(space, found, false);
	return image;
}

/* As sfu_discover_is_current(), but for what @found was discovered below. */
static bool is_current(struct sfu_space *space, struct sfu_found *found);

/* Returns whether the section that @found was discovered below is still there. */
static bool is_above(struct sfu_space *space, const struct sfu_found *found)
{
	struct sfu_section *above;
	struct sfu_found *other;
	bool is_same;

	above = sfu_space_find(space, found->section.text.start);
	if (!above)
		return false;
	is_same = above->id == found->above;
	other = sfu_found_of(above);
	/* It is in the space, so it is below no other. */
	if (is_same && other)
		is_same = !other->above && is_current(space, other);
	sfu_section_put(above);
	return is_same;
}

/*
 * Returns whether an attachment to addresses of the process has changed what was
 * found.
 */
static bool has_other_range(const struct sfu_space *space,
			    const struct sfu_found *found)
{
	const struct sfu_attach_view *view = &space->attached;
	const struct sfu_range *text = &found->section.text;

	/* Without a range: one that was added counts where there is no rule. */
	if (!found->range &&
	    found->last_range == sfu_attach_view_last_range(view))
		return false;
	return sfu_attach_view_find_overlap(view, text->start, text->end) !=
	       found->range;
}

static bool is_current(struct sfu_space *space, struct sfu_found *found)
{
	const u64 generation = sfu_space_attach_generation(space);
	const struct sfu_image *used = found->section.source == SFU_ATTACHED &&
				       !found->range ? found->image : NULL;
	struct sfu_image *image;
	bool is_same;

	if (atomic64_read(&found->generation) == generation)
		return true;
	if (has_other_range(space, found))
		return false;
	/* The file was asked before, and may have something attached now. */
	if (found->range && found->is_below_registered)
		return false;
	/* Anonymous memory has no file, and no key. */
	image = found->key ? find_attached(space, found) : NULL;
	is_same = image == used;
	if (image) {
		sfu_image_empty(image);
		sfu_image_put(image);
	}
	if (is_same)
		atomic64_set(&found->generation, generation);
	return is_same;
}

bool sfu_discover_is_current(struct sfu_space *space, struct sfu_found *found)
{
	return (!found->above || is_above(space, found)) &&
	       is_current(space, found);
}
