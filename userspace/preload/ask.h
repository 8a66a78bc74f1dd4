/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Ask "sframe-unwind exec" for its files, and for sections. Async-signal-safe; no
 * function is a cancellation point. They set errno.
 */
#ifndef ASK_H
#define ASK_H

#include "exec_shared.h"

/* Seconds to wait for an answer; sframe-unwind may be busy printing a stack. */
#define ASK_PATIENCE_S 10

/*
 * Returns a close-on-exec socket that receives only from sframe-unwind, and that waits
 * at most @patience_s seconds; or -1 if sframe-unwind is gone or in another network
 * namespace.
 */
int ask_open(const struct exec_setup *setup, unsigned int patience_s);

/*
 * Fill @files with close-on-exec descriptors from 101 on, which programs do not expect to
 * get. Waits at most some seconds. Returns 0, or -1 if sframe-unwind is gone or in another
 * network namespace, or if this process has no free descriptors.
 */
int ask_for_files(const struct exec_setup *setup, int files[EXEC_NR_FILES]);

/*
 * Give @report and get the next section, by @socket, which ask_open() has returned.
 * Returns 0 with @section and @files, close-on-exec and to be closed, -1 for missing ones;
 * or -1.
 */
int ask_for_section(int socket, const struct exec_setup *setup,
		    const struct exec_report *report,
		    struct exec_section *section,
		    int files[EXEC_NR_SECTION_FILES]);

#endif /* ASK_H */
