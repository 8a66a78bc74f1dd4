/* SPDX-License-Identifier: GPL-2.0 */
/* Compress the records of a profile. Includes nothing of the module, unlike fuzz.h. */
#ifndef PROFILE_PACK_H
#define PROFILE_PACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Make a copy of a profile, of @size bytes, with all its records in compressed ones, which
 * are cut as the last byte of the file says. Returns the size of that, and in *@file the
 * address, valid until the next call; 0 if the file is not well-formed enough, or has
 * records that mean something else when they are compressed.
 */
size_t profile_pack(const uint8_t *data, size_t size, const void **file);

#endif /* PROFILE_PACK_H */
