// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include "cli/profile/pauses.h"
#include "cli/profile/table.h"

/* Room at first: most threads have few. */
#define ROOM_FIRST	4u

static void set_room(struct pauses *pauses, uint32_t room)
{
	struct pause *ring = table_allocate(room * sizeof(*ring));

	for (uint32_t i = pauses->first; i != pauses->next; i++)
		ring[i % room] = pauses->ring[i % pauses->room];
	free(pauses->ring);
	pauses->ring = ring;
	pauses->room = room;
}

void pauses_add(struct pauses *pauses, const struct pause *pause)
{
	if (!pauses->room)
		set_room(pauses, ROOM_FIRST);
	else if (pauses_nr(pauses) == pauses->room && pauses->room < PAUSES_MAX)
		set_room(pauses, PAUSES_MAX);
	if (pauses_nr(pauses) == pauses->room) {
		pauses->forgotten = pauses_first(pauses)->from;
		pauses->first++;
	}
	pauses->next++;
	*pauses_last(pauses) = *pause;
}
