/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Restorer: the code that signal handlers return to.
 */
#ifndef SFRAME_UNWIND_RESTORER_H
#define SFRAME_UNWIND_RESTORER_H

#include "convert/file/image.h"

/*
 * Check whether the code at @address is a signal restorer, by its bytes, as the kernel
 * module does. Returns 1 if it is, 0 if not, or a negative errno with a message.
 */
int sfu_restorer_is(struct image *image, uint64_t address);

#endif /* SFRAME_UNWIND_RESTORER_H */
