/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Ask "sframe-unwind exec" for its files.
 */
#ifndef ASK_H
#define ASK_H

#include "exec_shared.h"

/*
 * Fill @files with close-on-exec descriptors from 101 on, which programs do not expect to
 * get. Waits at most some seconds. Returns 0, or -1 if sframe-unwind is gone or in another
 * network namespace, or if this process has no free descriptors.
 */
int ask_for_files(const struct exec_setup *setup, int files[EXEC_NR_FILES]);

#endif /* ASK_H */
