/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code: where to stop in programs that have been stripped. Functions are what
 * .eh_frame_hdr lists; where their frames change is in .eh_frame; and there are
 * linkage stubs.
 */
#ifndef TRUTH_CODE_H
#define TRUTH_CODE_H

#include "image.h"
#include "../random.h"

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

/* Find the code of @image, anew each time that it has been loaded. */
void code_load(struct code *code, const struct image *image);

/* An address anywhere, or one in the function of @pc. 0 if there is none. */
uint64_t code_pick(const struct code *code, uint64_t *random);
uint64_t code_pick_near(const struct code *code, uint64_t pc,
			uint64_t *random);

#endif /* TRUTH_CODE_H */
