// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "cli/profile/copy_walk.h"
#include "cli/profile/record.h"
#include "sframe_unwind.h"

static uint32_t entry_of(const struct sframe_unwind_sample_record *from)
{
	switch (from->entry) {
	case SFRAME_UNWIND_ENTRY_USER:
		return SFRAME_UNWIND_PROFILE_ENTRY_NONE;
	case SFRAME_UNWIND_ENTRY_SYSTEM_CALL:
		return SFRAME_UNWIND_PROFILE_ENTRY_SYSCALL;
	case SFRAME_UNWIND_ENTRY_PAGE_FAULT:
	case SFRAME_UNWIND_ENTRY_EXCEPTION:
		return SFRAME_UNWIND_PROFILE_ENTRY_FAULT;
	case SFRAME_UNWIND_ENTRY_INTERRUPT:
		return SFRAME_UNWIND_PROFILE_ENTRY_INTERRUPT;
	case SFRAME_UNWIND_ENTRY_NEW_THREAD:
		return SFRAME_UNWIND_PROFILE_ENTRY_NEW;
	default:
		return SFRAME_UNWIND_PROFILE_ENTRY_UNKNOWN;
	}
}

void record_sample_begin(struct sframe_unwind_profile_record *record,
			 const struct sframe_unwind_sample_record *from,
			 uint32_t event, uint64_t *frames)
{
	struct sframe_unwind_profile_sample *sample = &record->sample;

	*record = (struct sframe_unwind_profile_record){
		.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
		.source = event,
		.time = from->time,
		.pid = from->pid,
		.tid = from->tid,
		.cpu = from->cpu,
	};
	/* The kernel does not write more; another process that has the ring might. */
	sample->nr_kernel = from->nr_kernel < SFRAME_UNWIND_PROFILE_FRAMES ?
				    from->nr_kernel :
				    SFRAME_UNWIND_PROFILE_FRAMES;
	memcpy(frames, from->kernel, sample->nr_kernel * sizeof(*frames));
	sample->frames = frames;
	sample->period = from->fields & SFRAME_UNWIND_SAMPLE_PERIOD ?
			 from->period : 1;
	sample->address = from->address;
	sample->entry = entry_of(from);
	sample->flags = SFRAME_UNWIND_PROFILE_CHAIN;
	sample->raw = from->raw_size ? from->raw : NULL;
	sample->raw_size = from->raw_size;
	if (sample->nr_kernel) {
		sample->flags |= SFRAME_UNWIND_PROFILE_KERNEL;
		sample->ip = frames[0];
	} else if (from->fields & SFRAME_UNWIND_SAMPLE_REGISTERS) {
		sample->ip = from->ip;
	}
}

void record_sample_set_user(struct sframe_unwind_profile_record *record,
			    const struct sframe_unwind_sample_record *user,
			    uint64_t *frames, uint8_t *how)
{
	struct sframe_unwind_profile_sample *sample = &record->sample;
	const uint32_t room = SFRAME_UNWIND_PROFILE_FRAMES - sample->nr_kernel;

	sample->nr_user = user->nr_frames < room ? user->nr_frames : room;
	if (sample->frames != frames)
		memcpy(frames, sample->frames,
		       sample->nr_kernel * sizeof(uint64_t));
	sample->frames = frames;
	memcpy(frames + sample->nr_kernel, user->frames,
	       sample->nr_user * sizeof(uint64_t));
	if (user->how)
		memcpy(how, user->how, sample->nr_user);
	else
		memset(how, SFRAME_UNWIND_FRAME_SFRAME, sample->nr_user);
	how[0] = sframe_unwind_sample_how(user, 0);
	sample->how = how;
	sample->stop = user->stop;
	if (!sample->nr_kernel && sample->nr_user)
		sample->ip = user->frames[0];
}

void record_sample_add_user(struct sframe_unwind_profile_record *record,
			    const struct copy_walk *walk, uint32_t stop,
			    uint64_t *frames, uint8_t *how)
{
	struct sframe_unwind_profile_sample *sample = &record->sample;
	const uint32_t nr = sample->nr_kernel + sample->nr_user;
	const uint32_t room = SFRAME_UNWIND_PROFILE_FRAMES - nr;
	const uint32_t more = walk->nr < room ? walk->nr : room;

	memcpy(frames, sample->frames, nr * sizeof(uint64_t));
	memcpy(how, sample->how, sample->nr_user);
	memcpy(frames + nr, walk->ip, more * sizeof(uint64_t));
	memcpy(how + sample->nr_user, walk->how, more);
	sample->frames = frames;
	sample->how = how;
	sample->nr_user += more;
	sample->stop = stop;
}

_Static_assert((int)SFRAME_UNWIND_STOP_PENDING < (int)RECORD_REFUSED,
	       "a reason has the number of another one");

uint32_t record_sample_reason(uint32_t stop)
{
	switch (stop) {
	case SFRAME_UNWIND_PROFILE_STOP_REFUSED:
		return RECORD_REFUSED;
	case SFRAME_UNWIND_PROFILE_STOP_LATE:
		return RECORD_LATE;
	default:
		return stop < RECORD_REFUSED ? stop : RECORD_OTHER;
	}
}
