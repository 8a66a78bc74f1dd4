// SPDX-License-Identifier: GPL-2.0
/*
 * Stray: detach attachments that are not in the table of known files.
 */
#include <stdlib.h>
#include <sys/ioctl.h>

#include <linux/sframe_unwind.h>

#include "child.h"
#include "stray.h"

/* Entries of one listing call. */
#define NR_LISTED 64U

/* --- known attachments */

struct ids {
	uint64_t *ids;
	size_t nr;
};

static void add_id(void *data, const struct known *known)
{
	struct ids *ids = data;

	if (known->state == FILE_ATTACHED)
		ids->ids[ids->nr++] = known->id;
}

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static void add_code_id(void *data, uint64_t id)
{
	struct ids *ids = data;

	ids->ids[ids->nr++] = id;
}

/* Collect the ids of all known attachments. Returns false without memory. */
static bool collect_known(const struct jobs *jobs, struct ids *ids)
{
	const struct known_totals *totals = known_files_totals(jobs->known);
	const unsigned int nr_code = jobs->codes ?
				     codes_for_each(jobs->codes, NULL, NULL) : 0;

	ids->nr = 0;
	ids->ids = calloc(totals->nr[FILE_ATTACHED] + nr_code + 1,
			  sizeof(*ids->ids));
	if (!ids->ids)
		return false;
	known_for_each(jobs->known, add_id, ids);
	if (nr_code)
		codes_for_each(jobs->codes, add_code_id, ids);
	qsort(ids->ids, ids->nr, sizeof(*ids->ids), compare);
	return true;
}

static bool is_known(const struct ids *ids, uint64_t id)
{
	return bsearch(&id, ids->ids, ids->nr, sizeof(id), compare);
}

/* --- all attachments */

static void list_unknown(struct strays *strays, const struct ids *known,
			 int device)
{
	struct sframe_unwind_attached attached[NR_LISTED];
	struct sframe_unwind_list_attached list = {
		.size = sizeof(list),
		.attached = (uintptr_t)attached,
	};

	strays->nr = 0;
	strays->has_more = false;
	for (;;) {
		list.nr = NR_LISTED;
		if (ioctl(device, SFRAME_UNWIND_IOC_LIST_ATTACHED, &list)) {
			strays->has_more = true;
			return;
		}
		if (!list.nr)
			return;
		for (uint32_t i = 0; i < list.nr; i++) {
			if (is_known(known, attached[i].id))
				continue;
			if (strays->nr == STRAYS_MAX) {
				strays->has_more = true;
				return;
			}
			strays->ids[strays->nr++] = attached[i].id;
		}
		list.from = attached[list.nr - 1].id + 1;
	}
}

static void begin(struct strays *strays, const struct jobs *jobs, int device)
{
	struct ids known;

	if (!collect_known(jobs, &known))
		return;
	strays->nr_lost = jobs->nr_lost;
	strays->listed_at = now_ns();
	strays->next_at = strays->listed_at + STRAYS_MIN_NS;
	if (jobs->codes)
		codes_begin_listing(jobs->users);
	list_unknown(strays, &known, device);
	free(known.ids);
	strays->is_complete = !strays->has_more;
	/* A reader that was killed but has not ended may still attach something. */
	strays->has_more |= children_left_of_all() != 0;
}

static void end(struct strays *strays, const struct jobs *jobs)
{
	struct ids known;

	if (!collect_known(jobs, &known))
		return;
	for (unsigned int i = 0; i < strays->nr; i++)
		if (!is_known(&known, strays->ids[i]))
			known_detach(jobs->known, strays->ids[i]);
	free(known.ids);
	strays->listed_at = 0;
	if (strays->has_more)
		strays->nr_lost--;
	if (strays->is_complete && jobs->codes)
		codes_end_listing(jobs->codes, jobs->users);
}

void strays_check(struct strays *strays, const struct jobs *jobs, int device)
{
	if (!strays->listed_at && strays->nr_lost != jobs->nr_lost &&
	    now_ns() >= strays->next_at)
		begin(strays, jobs, device);
	else if (strays->listed_at &&
		 readers_asked_since(jobs->readers) > strays->listed_at)
		end(strays, jobs);
}
