/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ELF files of a profile, with their symbols: from the file or its separate
 * debug file, and from debuginfod if DEBUGINFOD_URLS is set.
 */
#ifndef CLI_PROFILE_OBJECT_H
#define CLI_PROFILE_OBJECT_H

#include "cli/profile/history.h"
#include "cli/profile/object_reader.h"
#include "cli/profile/symbols.h"

struct object;

/* Bytes that the symbols of all our objects may take; all those of others; of one of these. */
#define OBJECTS_MAX	(1ULL << 30)
#define OWNER_MAX	(OBJECTS_MAX / 4)

/**
 * struct objects - files that are open; all 0 at the beginning
 *
 * A file that has several names is read once.
 *
 * @keys: numbers of the files, by device and inode.
 * @list: the objects by number.
 * @room: room for those.
 * @none: what objects without a file have.
 * @bytes: what ours take, and the tables of others.
 * @bytes_of_others: what copies of the files of others may take, with those that were useless.
 * @readers: what reads those of others.
 */
struct objects {
	struct pairs keys;
	struct object **list;
	uint32_t room;
	struct object *none;
	uint64_t bytes;
	uint64_t bytes_of_others;
	struct readers readers;
};

void objects_free(struct objects *objects);

/*
 * Find the file of an object: what a running process has mapped; or by its path; or
 * among what the process of a profile has mapped, if it still runs; or by its build ID. A file with another build ID is not used. The result belongs to
 * @objects. Never fails; without a file, there are no symbols. *@why gets the reason
 * for that, or NULL.
 */
struct object *object_open(struct objects *objects,
			   const struct history_object *known,
			   const char **why);

/* From an offset in the file to the address that the file's symbols use. */
uint64_t object_address(const struct object *object, uint64_t offset);

/* Returns the symbol, valid until the next call for the same object; or NULL. */
const struct symbol *object_find(const struct object *object, uint64_t address);

/*
 * Returns where the function without a symbol at @address begins, or @address if
 * that is not known.
 */
uint64_t object_start(const struct object *object, uint64_t address);

/*
 * Functions that the compiler inlined at @address, the innermost first: up to
 * @max names, valid until the next call for the same object. The function of the
 * symbol itself is not among them. Returns their number.
 */
uint32_t object_inlined(struct object *object, uint64_t address,
			const char **names, uint32_t max);

/* Returns the source file and line of @address, or NULL and 0. */
const char *object_line(struct object *object, uint64_t address, int *line);

/*
 * Returns the source file and line where the inlined function number @i of those
 * that object_inlined() finds was called, or NULL and 0.
 */
const char *object_call_line(struct object *object, uint64_t address,
			     uint32_t i, int *line);

#endif /* CLI_PROFILE_OBJECT_H */
