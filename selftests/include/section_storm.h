/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sections that are registered and unregistered again, as many as possible.
 */
#ifndef SELFTESTS_SECTION_STORM_H
#define SELFTESTS_SECTION_STORM_H

#include "common.h"

#define STORM_BATCH	100U

struct section_storm {
	unsigned char *text;
	__u64 sframe_start;
	struct sframe_unwind_batch_entry entries[STORM_BATCH];
	struct sframe_unwind_batch batch;
};

/* All have the section of @fake. Returns whether there is memory for their code. */
static inline bool make_section_storm(struct section_storm *storm,
				      const struct fake *fake)
{
	storm->sframe_start = fake->reg.sframe_start;
	storm->text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned int i = 0; i < STORM_BATCH; i++) {
		storm->entries[i] = (struct sframe_unwind_batch_entry) {
			.sframe_size = fake->reg.sframe_size,
			.text_start = (uintptr_t)storm->text + i,
			.text_size = 1,
		};
	}
	storm->batch = (struct sframe_unwind_batch) {
		.size = sizeof(storm->batch),
		.entries = (uintptr_t)storm->entries,
	};
	return storm->text != MAP_FAILED;
}

/* Register STORM_BATCH sections in the client @fd, and unregister them by their ids. */
static inline bool blow_sections(struct section_storm *storm, int fd)
{
	unsigned int i;

	for (i = 0; i < STORM_BATCH; i++)
		storm->entries[i].sframe_start = storm->sframe_start;
	storm->batch.nr = STORM_BATCH;
	if (ioctl(fd, SFRAME_UNWIND_IOC_REGISTER_BATCH, &storm->batch) ||
	    storm->batch.nr_failed)
		return false;
	for (i = 0; i < STORM_BATCH; i++)
		storm->entries[i].sframe_start = 0;
	storm->batch.nr = STORM_BATCH;
	return !ioctl(fd, SFRAME_UNWIND_IOC_UNREGISTER_BATCH, &storm->batch) &&
	       !storm->batch.nr_failed;
}

#endif /* SELFTESTS_SECTION_STORM_H */
