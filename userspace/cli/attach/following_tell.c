// SPDX-License-Identifier: GPL-2.0
/*
 * Following: telling which announced code has a section, see told.h. Nobody waits for who is
 * told: when he does not read, he misses something.
 */
#include "clock.h"
#include "following.h"
#include "told.h"
#include "worker/message.h"

void following_tell(const struct following *following, const struct new_object *object,
		    int section)
{
	const struct told_code told = {
		.pid = following->request->mapping.pid,
		.start = object->range.start,
		.end = object->range.end,
		.from = following->code_at,
		.until = now_ns(),
		.size = object->converted->size,
	};
	const int fds[2] = { section, -1 };

	if (told.size > TOLD_BYTES_MAX || fcntl(section, F_ADD_SEALS, TOLD_SEALS))
		return;
	message_send(READER_TOLD, &told, sizeof(told), NULL, 0, fds);
}
