/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Asking "sframe-unwind exec" for its files.
 */
#ifndef ASK_H
#define ASK_H

#include "exec_shared.h"

/*
 * Fill @files, numbers beyond those that programs expect to get, closed on
 * exec. Waits for some seconds at the most. Returns 0 or -1: sframe-unwind is
 * gone, or in another network namespace, or this process has no room for them.
 */
int ask_for_files(const struct exec_setup *setup, int files[EXEC_NR_FILES]);

#endif /* ASK_H */
