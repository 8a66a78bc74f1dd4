/* SPDX-License-Identifier: GPL-2.0 */
/* Library: shared objects, loaded by dlopen() and unloaded by dlclose(). */
#ifndef STORM_LIBRARY_H
#define STORM_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "ends.h"

#define NR_LIBRARIES	6	/* files */

/**
 * struct library - one file
 *
 * @handle: of dlopen(), or NULL.
 * @hop: its function.
 * @ret: return address in that function.
 * @start, @end: its code.
 * @sframe, @sframe_size: its section.
 * @id: of its registration, or 0. May be from an earlier dlopen().
 * @registered: address of its code at registration.
 */
struct library {
	void *handle;
	hop_t hop;
	uint64_t ret;
	uint64_t start;
	uint64_t end;
	uint64_t sframe;
	uint64_t sframe_size;
	uint64_t id;
	uint64_t registered;
};

void library_open(struct library *library, unsigned int file);
void library_close(struct library *library);

/* Whether it is registered at its present address. */
bool library_is_valid(const struct library *library);

/* Returns 0 or an errno. */
int library_register(struct library *library, int fd);
int library_unregister(struct library *library, int fd, bool by_address);

#endif /* STORM_LIBRARY_H */
