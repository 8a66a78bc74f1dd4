/* SPDX-License-Identifier: GPL-2.0 */
/* A file and its snapshot, for the tests of snapshots. */
#ifndef SFU_SNAPSHOT_FILE_H
#define SFU_SNAPSHOT_FILE_H

#include <string.h>
#include <unistd.h>

#include "cfi_file.h"
#include "convert/base/message.h"
#include "convert/snapshot/snapshot.h"
#include "memory_file.h"
#include "tap.h"

static struct cfi_file file;
static struct sfu_snapshot snapshot = { .fd = -1 };

/*
 * A snapshot held in memory as far as there is room must not differ, neither if
 * all fits nor if it moves to a file on the way.
 */
static inline void check_with_room(int fd, const struct sfu_snapshot_limits *with,
				   int want)
{
	static const size_t sizes[] = { 1, 100, 5000, 1 << 20 };
	static unsigned char room[1 << 20], bytes[2][1 << 16];
	struct sfu_snapshot_limits limits = { 0 };
	struct sfu_snapshot other;

	if (with)
		limits = *with;
	limits.room = room;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		limits.room_size = sizes[i];
		EXPECT_EQ(sfu_snapshot_take(fd, &limits, &other), want);
		if (want)
			continue;
		EXPECT(i != 3 || other.copy);
		EXPECT_EQ(sfu_snapshot_open(&other), 0);
		EXPECT_EQ(other.fd >= 0, snapshot.fd >= 0);
		EXPECT(!memcmp(&other.digest, &snapshot.digest,
			       sizeof(other.digest)));
		for (off_t at = 0; other.fd >= 0; at += sizeof(bytes[0])) {
			const ssize_t got = pread(other.fd, bytes[0],
						  sizeof(bytes[0]), at);

			EXPECT_EQ(pread(snapshot.fd, bytes[1], sizeof(bytes[1]),
					at), got);
			EXPECT(got >= 0 && !memcmp(bytes[0], bytes[1], got));
			if (!got)
				break;
		}
		sfu_snapshot_free(&other);
	}
}

/* Take a snapshot of @file. Returns what sfu_snapshot_take() does. */
static inline int take_with(const struct sfu_snapshot_limits *limits)
{
	const int fd = memory_file(&file, sizeof(file));
	int err;

	sfu_snapshot_free(&snapshot);
	watch_reads(fd);
	sfu_message_begin("file");
	err = sfu_snapshot_take(fd, limits, &snapshot);
	watched = -1;
	if (!limits || !limits->is_ended)
		check_with_room(fd, limits, err);
	close(fd);
	return err;
}

static inline int take(void)
{
	return take_with(NULL);
}

/* Start with an intact @file. */
static inline void begin(void)
{
	cfi_file_init(&file);
}

#endif /* SFU_SNAPSHOT_FILE_H */
