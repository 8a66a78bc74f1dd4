/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The events that were sampled, and the layout of their records.
 */
#ifndef PROFILE_SOURCES_H
#define PROFILE_SOURCES_H

#include <stdbool.h>

#include "include/sframe_unwind_profile.h"
#include "profile/format.h"

#define SOURCES_MAX	4096u
#define SOURCE_IDS_MAX	(1u << 18)	/* of all sources */
#define SOURCE_NAME_MAX	256u		/* bytes, with the 0 */

/**
 * struct source - one event
 *
 * @known: what the library's users see; its name and ids are allocated.
 * @attr: attributes of the event; members that the file has not are 0.
 */
struct source {
	struct sframe_unwind_profile_source known;
	struct perf_event_attr attr;
};

/**
 * struct source_id - id of a source in records
 *
 * @id: the id.
 * @source: index of the source.
 */
struct source_id {
	uint64_t id;
	uint32_t source;
};

/**
 * struct sources - all of them
 *
 * @list: the sources.
 * @nr: number of @list.
 * @ids: all ids, sorted if @is_sorted.
 * @nr_ids: number of @ids.
 * @room: entries that @ids has room for.
 * @is_sorted: whether @ids is sorted.
 */
struct sources {
	struct source *list;
	size_t nr;
	struct source_id *ids;
	size_t nr_ids;
	size_t room;
	bool is_sorted;
};

/*
 * Add a source; @attr has @attr_size bytes, which may be fewer or more than are
 * known here, and @ids @nr_ids unaligned u64. Returns 0, -EINVAL if there are
 * too many or the attributes are too short, or -ENOMEM.
 */
int sfu_sources_add(struct sources *sources, const void *attr, size_t attr_size,
		    const void *ids, size_t nr_ids);

/* Returns the source with this id, or NULL. */
struct source *sfu_sources_find(struct sources *sources, uint64_t id);

/* Replace a source's name by @name of at most @size bytes. No error if no memory. */
void sfu_source_set_name(struct source *source, const char *name, size_t size);

void sfu_sources_free(struct sources *sources);

#endif /* PROFILE_SOURCES_H */
