/* SPDX-License-Identifier: GPL-2.0 */
/* A file, and the snapshot of it, for the tests of snapshots. */
#ifndef SFU_SNAPSHOT_FILE_H
#define SFU_SNAPSHOT_FILE_H

#include <unistd.h>

#include "cfi_file.h"
#include "convert/message.h"
#include "convert/snapshot.h"
#include "memory_file.h"

static struct cfi_file file;
static struct sfu_snapshot snapshot = { .fd = -1 };

/* Take a snapshot of @file. Returns what sfu_snapshot_take() does. */
static inline int take_with(const struct sfu_snapshot_limits *limits)
{
	const int fd = memory_file(&file, sizeof(file));
	int err;

	sfu_snapshot_free(&snapshot);
	watch_reads(fd);
	sfu_message_begin("file");
	err = sfu_snapshot_take(fd, limits, &snapshot);
	close(fd);
	watched = -1;
	return err;
}

static inline int take(void)
{
	return take_with(NULL);
}

/* In order: @file made anew. */
static inline void begin(void)
{
	cfi_file_init(&file);
}

#endif /* SFU_SNAPSHOT_FILE_H */
