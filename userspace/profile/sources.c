// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/sources.h"

/* The names that perf gives to events, if the file has none. */
static const char * const hardware_names[] = {
	"cycles", "instructions", "cache-references", "cache-misses",
	"branches", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
	"stalled-cycles-backend", "ref-cycles",
};

static const char * const software_names[] = {
	"cpu-clock", "task-clock", "page-faults", "context-switches",
	"cpu-migrations", "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy", "bpf-output", "cgroup-switches",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void describe(const struct perf_event_attr *attr, char *name, size_t size)
{
	/* The upper half selects a PMU on machines with several kinds of CPU. */
	const uint64_t config = attr->config & UINT32_MAX;

	if (attr->type == PERF_TYPE_HARDWARE && config < COUNT(hardware_names))
		snprintf(name, size, "%s", hardware_names[config]);
	else if (attr->type == PERF_TYPE_SOFTWARE &&
		 config < COUNT(software_names))
		snprintf(name, size, "%s", software_names[config]);
	else if (attr->type == PERF_TYPE_TRACEPOINT)
		snprintf(name, size, "tracepoint:%" PRIu64,
			 (uint64_t)attr->config);
	else if (attr->type == PERF_TYPE_RAW)
		snprintf(name, size, "r%" PRIx64, (uint64_t)attr->config);
	else
		snprintf(name, size, "pmu%u/config=%#" PRIx64 "/", attr->type,
			 (uint64_t)attr->config);
}

void sfu_source_set_name(struct source *source, const char *name, size_t size)
{
	char *copy;

	if (size > SOURCE_NAME_MAX - 1)
		size = SOURCE_NAME_MAX - 1;
	copy = strndup(name, size);
	if (!copy)
		return;
	free((char *)source->known.name);
	source->known.name = copy;
}

static int add_ids(struct sources *sources, struct source *source,
		   const void *from, size_t nr)
{
	const uint32_t index = sources->nr;
	uint64_t *ids;

	if (nr > SOURCE_IDS_MAX - sources->nr_ids)
		return -EINVAL;
	if (sources->nr_ids + nr > sources->room) {
		const size_t room = (sources->nr_ids + nr) * 2;
		struct source_id *more = realloc(sources->ids,
						 room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		sources->ids = more;
		sources->room = room;
	}
	ids = malloc((nr ? nr : 1) * sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		ids[i] = get_u64((const char *)from + i * sizeof(*ids));
		sources->ids[sources->nr_ids++] =
			(struct source_id){ ids[i], index };
	}
	source->known.ids = ids;
	source->known.nr_ids = nr;
	sources->is_sorted = sources->is_sorted && !nr;
	return 0;
}

/* Allocate in powers of two. */
static int make_room(struct sources *sources)
{
	struct source *list;

	if (sources->nr >= SOURCES_MAX)
		return -EINVAL;
	if (sources->nr & (sources->nr - 1) || sources->nr == 1)
		return 0;
	list = realloc(sources->list,
		       (sources->nr ? sources->nr * 2 : 2) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	sources->list = list;
	return 0;
}

int sfu_sources_add(struct sources *sources, const void *attr, size_t attr_size,
		    const void *ids, size_t nr_ids)
{
	char name[SOURCE_NAME_MAX];
	struct source *source;
	int ret;

	if (attr_size < PERF_ATTR_SIZE_VER0)
		return -EINVAL;
	ret = make_room(sources);
	if (ret)
		return ret;
	source = &sources->list[sources->nr];
	memset(source, 0, sizeof(*source));
	memcpy(&source->attr, attr, attr_size < sizeof(source->attr) ?
	       attr_size : sizeof(source->attr));
	describe(&source->attr, name, sizeof(name));
	sfu_source_set_name(source, name, sizeof(name));
	if (!source->known.name)
		return -ENOMEM;
	ret = add_ids(sources, source, ids, nr_ids);
	if (ret) {
		free((char *)source->known.name);
		return ret;
	}
	source->known.type = source->attr.type;
	source->known.config = source->attr.config;
	source->known.period = source->attr.sample_period;
	source->known.frequency = source->attr.freq;
	source->known.is_user_only = source->attr.exclude_kernel;
	sources->nr++;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct source_id *left = a, *right = b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return (left->source > right->source) - (left->source < right->source);
}

struct source *sfu_sources_find(struct sources *sources, uint64_t id)
{
	size_t low = 0, high = sources->nr_ids;

	if (!sources->is_sorted && high)
		qsort(sources->ids, high, sizeof(*sources->ids), compare_ids);
	sources->is_sorted = true;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (sources->ids[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == sources->nr_ids || sources->ids[low].id != id)
		return NULL;
	return &sources->list[sources->ids[low].source];
}

void sfu_sources_free(struct sources *sources)
{
	for (size_t i = 0; i < sources->nr; i++) {
		free((char *)sources->list[i].known.name);
		free((uint64_t *)sources->list[i].known.ids);
	}
	free(sources->list);
	free(sources->ids);
	*sources = (struct sources){ 0 };
}
