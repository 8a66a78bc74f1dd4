/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of an object.
 */
#ifndef CLI_PROFILE_OBJECT_PARTS_H
#define CLI_PROFILE_OBJECT_PARTS_H

#include <elfutils/libdwfl.h>

#include "cli/profile/object.h"
#include "cli/profile/starts.h"

#define SEGMENTS_MAX	64u

/**
 * struct segment - a PT_LOAD
 *
 * @offset: p_offset.
 * @size: p_filesz.
 * @address: p_vaddr.
 */
struct segment {
	uint64_t offset;
	uint64_t size;
	uint64_t address;
};

/**
 * struct object - an ELF file
 *
 * @dwfl: libdwfl's, or NULL if there is no file.
 * @module: the file.
 * @symbols: its symbols, and names of stubs.
 * @stubs: texts of the latter.
 * @starts: where its functions begin.
 * @segments: where its contents are in memory.
 * @nr_segments: number of those.
 * @has_dwarf: whether there is information about inlined functions.
 * @why: why symbols are missing, or NULL.
 * @is_ours: see struct object_file.
 */
struct object {
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct symbols symbols;
	struct strings stubs;
	struct starts starts;
	struct segment segments[SEGMENTS_MAX];
	uint32_t nr_segments;
	const char *why;
	bool has_dwarf;
	bool is_ours;
};

#endif /* CLI_PROFILE_OBJECT_PARTS_H */
