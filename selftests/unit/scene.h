/* SPDX-License-Identifier: GPL-2.0 */
/* Walks through a scene of corpus.h, by the module's decode and step. */
#ifndef SFU_SCENE_H
#define SFU_SCENE_H

#include "corpus.h"
#include "lookup.h"

struct scene {
	u64 address;
	u8 *memory;
	struct sfu_table table;		/* of the section that is looked at */
	struct sfu_table observer;
};

/* A scene at @address with nobody's section in it. */
void scene_begin(struct scene *scene, u64 address);

/*
 * Look at @size bytes of @section, as its registration does. Returns as the
 * ioctl does, and sets @defect if it fails.
 */
int scene_register(struct scene *scene, const u8 *section, u32 size,
		   struct sfu_defect *defect);

/* Look @pc up, which counts from the section, and walk from there. */
void scene_walk(const struct scene *scene, u64 pc, struct corpus_walk *walk);

/* @walk the way EXPECT has it. Returns @text. */
char *scene_walk_text(char text[static 256], const struct corpus_walk *walk);

void scene_end(struct scene *scene);

#endif /* SFU_SCENE_H */
