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
 * @dwfl: libdwfl's, or NULL if there is no file, or if @reader has it.
 * @module: the file.
 * @reader: the child that reads the file; NULL if it is read here.
 * @build_id: its build ID.
 * @build_id_size: bytes of that, 0 if there is none. One that is too long for @build_id is
 *	not kept.
 * @symbols: its symbols, and names of stubs; none with @reader.
 * @stubs: texts of the latter.
 * @starts: where its functions begin; none with @reader.
 * @segments: where its contents are in memory.
 * @nr_segments: number of those.
 * @has_dwarf: whether there is information about inlined functions.
 * @why: why symbols are missing, or NULL.
 * @is_useless: the file could not be read.
 * @is_ours: see struct object_file.
 */
struct object {
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct object_reader *reader;
	uint8_t build_id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	uint32_t build_id_size;
	struct symbols symbols;
	struct strings stubs;
	struct starts starts;
	struct segment segments[SEGMENTS_MAX];
	uint32_t nr_segments;
	const char *why;
	bool is_useless;
	bool has_dwarf;
	bool is_ours;
};

extern const Dwfl_Callbacks object_callbacks;

/* Let libdwfl open a file, which becomes its own, or is closed. Returns whether it did. */
bool object_begin(struct object *object, const char *path, int fd);

/* Read the segments and symbols. */
void object_read(struct object *object);

#endif /* CLI_PROFILE_OBJECT_PARTS_H */
