/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of functions that a process made at run time: from its perf map,
 * /tmp/perf-PID.map, and its jitdump.
 */
#ifndef CLI_PROFILE_JIT_H
#define CLI_PROFILE_JIT_H

#include "cli/profile/symbols.h"

struct jit;

/*
 * Read what there is for process @pid; @jitdump: path of its jitdump, or NULL.
 * Files that belong neither to us nor to root are not used, because everybody
 * can make them. Never fails.
 */
struct jit *jit_open(uint32_t pid, const char *jitdump);

/* Without names. */
struct jit *jit_open_none(void);

/* Bytes that it takes. */
uint64_t jit_size(const struct jit *jit);

void jit_close(struct jit *jit);

/* Returns the symbol, or NULL. */
const struct symbol *jit_find(const struct jit *jit, uint64_t address);

#endif /* CLI_PROFILE_JIT_H */
