/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code: places to stop stripped programs at. Functions are those listed in
 * .eh_frame_hdr; changes of their frames come from .eh_frame; and linkage
 * stubs.
 */
#ifndef TRUTH_CODE_H
#define TRUTH_CODE_H

#include "image.h"
#include "../include/random.h"

#define MAX_CODE_OBJECTS	128
#define MAX_STUB_SECTIONS	4

struct code {
	unsigned int nr;
	struct code_object {
		Dwfl_Module *module;
		uint64_t start, end, bias;
		uint64_t header;	/* address of .eh_frame_hdr */
		const uint8_t *table;	/* in it */
		size_t nr_functions;
		unsigned int nr_stubs;
		struct stubs {
			uint64_t address, size, each;
		} stubs[MAX_STUB_SECTIONS];
	} objects[MAX_CODE_OBJECTS];
};

/* Find the code of @image, each time that it has been loaded. */
void code_load(struct code *code, const struct image *image);

/* A random address anywhere, or in the function of @pc. 0 if there is none. */
uint64_t code_pick(const struct code *code, uint64_t *random);
uint64_t code_pick_near(const struct code *code, uint64_t pc,
			uint64_t *random);

#endif /* TRUTH_CODE_H */
