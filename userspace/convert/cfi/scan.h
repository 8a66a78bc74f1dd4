/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Scan: prove rules for code without call frame information from its instructions.
 */
#ifndef SFRAME_UNWIND_SCAN_H
#define SFRAME_UNWIND_SCAN_H

#include "convert/base/span.h"
#include "convert/file/image.h"

/*
 * Find rules for functions that @spans, sorted, do not cover: the program's entry
 * point, .init, .fini, what the C compiler's start files add, functions in .dynsym,
 * those that code that @spans cover calls, or takes the address of, those that begin with
 * endbr64, and those that these call.
 * A function is taken only if all paths through it are known instructions, agree about
 * the stack pointer wherever they meet, and return, or leave for another function, with
 * the stack as it was at the start; or mark the outermost frame, and do not return.
 *
 * Rules for an extended section can also tell a new thread from the one that made it.
 *
 * Returns 0 with @cfi; or -ENOMEM or -EFBIG with a message.
 */
int sfu_scan_read(struct cfi *cfi, struct image *image,
		  const struct buffer *spans, bool is_extended);

/*
 * Returns whether nothing calls the code at the file's entry point; or a negative errno
 * with a message. Linkers make any function that of a shared object. The dynamic linker
 * and static programs, which are none that is interpreted either, start with what no
 * function does: they overwrite rbp, or take the address of the stack.
 */
int sfu_scan_has_entry(struct image *image);

#endif /* SFRAME_UNWIND_SCAN_H */
