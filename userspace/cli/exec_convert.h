/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Convert a file that a process has mapped, in a child process.
 */
#ifndef EXEC_CONVERT_H
#define EXEC_CONVERT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec_maps.h"

/* Bytes of the longest reason, with the terminating 0. */
#define EXEC_REASON_SIZE 512

#define EXEC_MAX_BUILD_ID 32

/**
 * struct exec_conversion - a child that converts
 *
 * @child: the child.
 * @socket: readable when it has ended or is about to.
 */
struct exec_conversion {
	pid_t child;
	int socket;
};

/**
 * struct exec_wanted - what is to be converted
 *
 * @pid: the process that has mapped the file.
 * @mapping: where.
 * @anyway: also if the file has a .sframe of its own.
 * @is_extended: make an extended section, see SFRAME_UNWIND_ATTACH_EXTENDED.
 */
struct exec_wanted {
	pid_t pid;
	const struct exec_mapping *mapping;
	bool anyway;
	bool is_extended;
};

/**
 * struct exec_converted - the result of a conversion
 *
 * @error: 0 or a negative errno; -EEXIST if the file has a .sframe of its own; -ESRCH if
 *	it could not be opened, which may be different for another process.
 * @has_own: the file has a .sframe of its own, the rules of which the section has, too;
 *	not 0 if so. The child may lie.
 * @is_extended: the section is an extended one; not 0 if so.
 * @build_id_size, @build_id: build ID of the file.
 * @size: bytes of the section.
 * @reason: the error in words.
 */
struct exec_converted {
	int32_t error;
	uint32_t has_own;
	uint32_t is_extended;
	uint32_t build_id_size;
	uint8_t build_id[EXEC_MAX_BUILD_ID];
	uint64_t size;
	char reason[EXEC_REASON_SIZE];
};

/* Set the path of the worker's program, which must stay valid. */
void exec_convert_set_worker(const char *path);

/* Start to convert the file that is @wanted. Returns 0 or a negative errno. */
int exec_convert_start(struct exec_conversion *conversion,
		       const struct exec_wanted *wanted);

/*
 * Get the result, when the socket is readable, and end the child. Without an error, the
 * two @files are open: the ELF file, and the section.
 */
void exec_convert_finish(struct exec_conversion *conversion,
			 struct exec_converted *converted, int files[2]);

/* End the child without a result. */
void exec_convert_cancel(struct exec_conversion *conversion);

struct sframe_unwind_converted;

/*
 * What the child does, for other children: get the section of the file @fd, whose path is
 * @path, from the cache, or from a worker: one that is extended, if @is_extended. Returns
 * 0, or a negative errno with @text, of @size bytes.
 */
int exec_convert_find(int fd, const char *path, bool is_extended,
		      struct sframe_unwind_converted **section, char *text, size_t size);

/* Returns a memory file with the section, or -1 with errno. */
int exec_convert_write(const struct sframe_unwind_converted *section);

#endif /* EXEC_CONVERT_H */
