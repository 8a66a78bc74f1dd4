/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frame: whether a function keeps the frame pointer, and with it generated code that runs in
 * its frame.
 */
#ifndef ATTACH_FRAME_H
#define ATTACH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns whether @function, a dynamic symbol of the file that is mapped from @base on, sets
 * the frame pointer at its beginning, so keeps it until its end, and is large enough to be
 * an interpreter. @memory is a /proc/PID/mem.
 */
bool frame_is_kept(int memory, uint64_t base, const char *function);

#endif /* ATTACH_FRAME_H */
