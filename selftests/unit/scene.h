/* SPDX-License-Identifier: GPL-2.0 */
/* Walks in a scene of corpus.h, by the module's decode and step. */
#ifndef SFU_SCENE_H
#define SFU_SCENE_H

#include "corpus.h"
#include "lookup.h"

struct scene {
	u64 address;
	u8 *memory;
	struct sfu_table table;		/* of the section under test */
	struct sfu_table observer;
};

/* Create a scene at @address without a section under test. */
void scene_begin(struct scene *scene, u64 address);

/*
 * Check @size bytes of @section as registration does. Returns the ioctl's
 * result, and sets @defect on failure.
 */
int scene_register(struct scene *scene, const u8 *section, u32 size,
		   struct sfu_defect *defect);

/* Look up @pc, an offset from the section's start, and walk from there. */
void scene_walk(const struct scene *scene, u64 pc, struct corpus_walk *walk);

/* Format @walk as in EXPECT. Returns @text. */
char *scene_walk_text(char text[static 256], const struct corpus_walk *walk);

void scene_end(struct scene *scene);

#endif /* SFU_SCENE_H */
