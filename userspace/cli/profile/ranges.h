/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a process has mapped at a time: ranges in the order of their addresses.
 * Shared by reference; only an own copy may be changed.
 */
#ifndef CLI_PROFILE_RANGES_H
#define CLI_PROFILE_RANGES_H

#include "cli/profile/history.h"

struct ranges;

/**
 * struct ranges_usage - what ranges have taken
 *
 * @bytes: of memory, now.
 * @moved: ranges that were copied or moved so far.
 */
struct ranges_usage {
	uint64_t bytes;
	uint64_t moved;
};

/* @usage is updated as long as the ranges exist. */
struct ranges *ranges_create(struct ranges_usage *usage);

/* NULL is allowed below, for no ranges. */

struct ranges *ranges_get(struct ranges *ranges);

void ranges_put(struct ranges *ranges);

/* Returns @ranges, or a copy of it if others use it, too. */
struct ranges *ranges_own(struct ranges *ranges, struct ranges_usage *usage);

/* Map something, instead of what was there. */
void ranges_add(struct ranges *ranges, const struct mapping *mapping);

/* Returns the mapping at @address or NULL; valid until the ranges change. */
const struct mapping *ranges_find(const struct ranges *ranges, uint64_t address);

uint32_t ranges_nr(const struct ranges *ranges);

#endif /* CLI_PROFILE_RANGES_H */
