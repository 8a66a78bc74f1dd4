/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read ELF files that are not ours in children, one for each file.
 *
 * libdw unpacks what a file says is compressed, also the whole .gnu_debugdata, and
 * follows DWARF, without any limit: some kilobytes can take gigabytes, and the
 * entries of a file that import each other can take for ever. Sizes in headers would
 * only bound the former. So the file is read where the kernel bounds both: a child has
 * only so much address space, and a timer of its CPU time ends it. What is allowed is
 * more than an honest file takes whose data has the same size.
 *
 * What takes over libdw gets little: see object_sandbox.h. What a child says is checked.
 *
 * A child answers questions about addresses. It is started when it is needed, and
 * ended for others when there are too many or they take too much memory together.
 */
#ifndef CLI_PROFILE_OBJECT_READER_H
#define CLI_PROFILE_OBJECT_READER_H

#include "cli/profile/object_owner.h"
#include "cli/profile/symbols.h"

struct object;
struct object_file;
struct object_reader;

/*
 * Read @file, a copy that nobody changes, whose descriptor becomes the reader's. Fills in
 * the segments, the build ID and whether there is DWARF of @object, whose reader this
 * becomes. Returns whether the file can be used; if not, @object->why tells why.
 */
bool object_reader_open(struct readers *readers, struct object *object,
			struct object_file *file);

void object_reader_close(struct object_reader *reader);

/* As object_find() and so on; names are valid until the next call of the same function. */
const struct symbol *object_reader_find(struct object_reader *reader,
					uint64_t address);
uint64_t object_reader_start(struct object_reader *reader, uint64_t address);
uint32_t object_reader_inlined(struct object_reader *reader, uint64_t address,
			       const char **names, uint32_t max);
const char *object_reader_line(struct object_reader *reader, uint64_t address,
			       int *line);
const char *object_reader_call_line(struct object_reader *reader,
				    uint64_t address, uint32_t i, int *line);

#endif /* CLI_PROFILE_OBJECT_READER_H */
