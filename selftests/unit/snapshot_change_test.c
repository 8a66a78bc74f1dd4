// SPDX-License-Identifier: GPL-2.0
/* Snapshots: how much is read, files that change or fail, and the digest. */
#include <errno.h>
#include <stdbool.h>

#include "convert/snapshot/copy.h"
#include "convert/snapshot/intake.h"
#include "snapshot_file.h"
#include "tap.h"

/* --- holes and limits */

/* A page of headers, then text of which only two bytes exist. */
static int sparse_file(uint64_t size)
{
	int fd;

	begin();
	file.phdr[CFI_TEXT].p_filesz = size;
	file.phdr[CFI_TEXT].p_memsz = size;
	file.ehdr.e_shoff = 0;
	fd = memory_file(&file, CFI_AT(text));
	if (ftruncate(fd, CFI_AT(text) + size) ||
	    pwrite(fd, "\xcc", 1, CFI_AT(text) + size / 2) != 1 ||
	    pwrite(fd, "\xcc", 1, CFI_AT(text) + size - 1) != 1)
		perror("sparse_file");
	return fd;
}

static void holes(void)
{
	const uint64_t size = 1ULL << 40;
	const int fd = sparse_file(size);
	unsigned char byte = 0;

	sfu_snapshot_free(&snapshot);
	watch_reads(fd);
	EXPECT_EQ(lseek(fd, 17, SEEK_SET), 17);
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
	EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 17);
	EXPECT(watched_bytes <= 3 * CFI_PAGE);
	EXPECT(memory_file_storage(snapshot.fd) <= 3 * CFI_PAGE);
	EXPECT_EQ(lseek(snapshot.fd, 0, SEEK_END), CFI_AT(text) + size);
	EXPECT(pread(snapshot.fd, &byte, 1, CFI_AT(text) + size / 2) == 1 &&
	       byte == 0xcc);
	close(fd);
	watched = -1;
}

/* On file systems that do not report holes the number of blocks tells. */
static void implausibly_large(void)
{
	const uint64_t size = INTAKE_SLACK + 2 * INTAKE_COMPRESSION * 4096;
	const int fd = sparse_file(size);

	sfu_snapshot_free(&snapshot);
	watch_reads(fd);
	watched_no_holes = 1;
	watched_blocks = 8;
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), -EFBIG);
	EXPECT(strstr(sfu_message_text(), "allocated"));
	EXPECT(watched_bytes <= INTAKE_SLACK);
	watch_reads(fd);
	watched_no_holes = 1;
	watched_blocks = 24;
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
	EXPECT(watched_bytes > size);
	/* A file system that does not count blocks. */
	sfu_snapshot_free(&snapshot);
	watch_reads(fd);
	watched_no_holes = 1;
	watched_blocks = 0;
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
	close(fd);
	watched = -1;
}

static void limit(void)
{
	struct sfu_snapshot_limits limits = { 0 };

	begin();
	EXPECT_EQ(take(), 0);
	limits.max_bytes = snapshot.nr_bytes;
	EXPECT_EQ(take_with(&limits), 0);
	limits.max_bytes--;
	EXPECT_EQ(take_with(&limits), -EFBIG);
	EXPECT(strstr(sfu_message_text(), "limit"));
	EXPECT(watched_bytes <= limits.max_bytes);
	EXPECT_EQ(snapshot.fd, -1);
	limits.max_bytes = 1;
	EXPECT_EQ(take_with(&limits), -EFBIG);
	EXPECT_EQ(watched_bytes, 0);
}

/* --- files that change */

static int changing, calls;

static bool make_shorter(void *data)
{
	(void)data;
	calls++;
	return ftruncate(changing, CFI_PAGE) != 0;
}

static bool rewrite(void *data)
{
	(void)data;
	return pwrite(changing, "\0", 1, CFI_AT(data)) != 1;
}

static bool end_at_third(void *data)
{
	return ++*(int *)data == 3;
}

static int take_changing(bool (*change)(void *data), void *data,
			 bool no_holes)
{
	const struct sfu_snapshot_limits limits = {
		.is_ended = change,
		.data = data,
	};
	int err;

	begin();
	sfu_snapshot_free(&snapshot);
	changing = memory_file(&file, sizeof(file));
	watch_reads(changing);
	watched_no_holes = no_holes;
	err = sfu_snapshot_take(changing, &limits, &snapshot);
	close(changing);
	watched = -1;
	return err;
}

static void changed_while_read(void)
{
	int count = 0;

	EXPECT_EQ(take_changing(make_shorter, NULL, false), -ESTALE);
	EXPECT_EQ(take_changing(make_shorter, NULL, true), -ESTALE);
	EXPECT(strstr(sfu_message_text(), "shorter"));
	EXPECT(calls > 1 && snapshot.fd == -1);
	EXPECT_EQ(take_changing(rewrite, NULL, false), -ESTALE);
	EXPECT(strstr(sfu_message_text(), "changed"));
	EXPECT_EQ(take_changing(end_at_third, &count, false), -ECANCELED);
	EXPECT_EQ(count, 3);
}

static void unreadable(void)
{
	unsigned int reads = 0;
	int err, pipes[2], fd;

	begin();
	fd = memory_file(&file, sizeof(file));
	do {
		sfu_snapshot_free(&snapshot);
		watch_reads(fd);
		watched_fail_at = ++reads;
		err = sfu_snapshot_take(fd, NULL, &snapshot);
		EXPECT(!err || (err == -EIO && snapshot.fd == -1));
	} while (err && reads < 100);
	EXPECT(reads > 3 && reads < 100);
	close(fd);
	watched = -1;
	EXPECT(!pipe(pipes));
	EXPECT_EQ(sfu_snapshot_take(pipes[0], NULL, &snapshot), -EOPNOTSUPP);
	EXPECT_EQ(sfu_snapshot_take(-1, NULL, &snapshot), -EBADF);
	close(pipes[0]);
	close(pipes[1]);
}

/* --- the digest */

static void same_digest(void)
{
	struct digest first;

	begin();
	EXPECT_EQ(take(), 0);
	first = snapshot.digest;
	EXPECT_EQ(take(), 0);
	EXPECT(!memcmp(&first, &snapshot.digest, sizeof(first)));
	/* Conversions do not depend on these bytes. */
	memset(file.data, 1, sizeof(file.data));
	EXPECT_EQ(take(), 0);
	EXPECT(!memcmp(&first, &snapshot.digest, sizeof(first)));
}

/* Each byte in the snapshot affects the digest. */
static void each_byte_counts(void)
{
	static unsigned char is_read[WATCHED_BYTES];
	struct digest first;

	begin();
	EXPECT_EQ(take(), 0);
	first = snapshot.digest;
	memcpy(is_read, watched_map, sizeof(is_read));
	for (size_t i = 0; i < sizeof(file); i += i < CFI_AT(text) ? 1 : 61) {
		unsigned char *byte = (unsigned char *)&file + i;

		if (!is_read[i])
			continue;
		*byte ^= 0x10;
		if (!take() && !memcmp(&first, &snapshot.digest, sizeof(first)))
			tap_fail("byte %zu does not count", i);
		*byte ^= 0x10;
	}
}

static void places_count(void)
{
	struct digest first;
	int fd;

	/* The same bytes, read in the same order, at another offset. */
	begin();
	memset(file.text, 0x90, sizeof(file.text));
	memset(file.data, 0x90, sizeof(file.data));
	file.phdr[CFI_TEXT].p_filesz = 1024;
	EXPECT_EQ(take(), 0);
	first = snapshot.digest;
	file.phdr[CFI_TEXT].p_offset += 1024;
	EXPECT_EQ(take(), 0);
	EXPECT(memcmp(&first, &snapshot.digest, sizeof(first)));
	/* The same bytes with the hole behind or before them. */
	begin();
	for (unsigned int i = 0; i < 2; i++) {
		sfu_snapshot_free(&snapshot);
		fd = memory_file(&file, CFI_AT(text));
		file.phdr[CFI_TEXT].p_filesz = 2 * CFI_PAGE;
		file.phdr[CFI_TEXT].p_memsz = 2 * CFI_PAGE;
		EXPECT_EQ(pwrite(fd, &file, CFI_AT(text), 0), CFI_AT(text));
		EXPECT(!ftruncate(fd, CFI_AT(text) + 2 * CFI_PAGE));
		EXPECT_EQ(pwrite(fd, file.text, CFI_PAGE,
				 CFI_AT(text) + i * CFI_PAGE), CFI_PAGE);
		EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
		EXPECT(snapshot.nr_bytes < 2 * CFI_PAGE);
		EXPECT(!i || memcmp(&first, &snapshot.digest, sizeof(first)));
		first = snapshot.digest;
		close(fd);
	}
	/* The same bytes in a longer file. */
	begin();
	EXPECT_EQ(take(), 0);
	first = snapshot.digest;
	fd = memory_file(&file, sizeof(file));
	EXPECT(!ftruncate(fd, sizeof(file) + 1));
	sfu_snapshot_free(&snapshot);
	EXPECT_EQ(sfu_snapshot_take(fd, NULL, &snapshot), 0);
	EXPECT(memcmp(&first, &snapshot.digest, sizeof(first)));
	close(fd);
}

/*
 * Write pieces in any order; reads within and between pieces must return the
 * same from both stores.
 */
static void pieces_of_a_copy(void)
{
	enum { SIZE = 1 << 16, PIECE = 100, STEP = 160 };
	static unsigned char room[SIZE], want[SIZE], got[SIZE];
	const unsigned int nr = SIZE / STEP;
	struct copy copy;
	int fd;

	EXPECT_EQ(sfu_copy_begin(&copy, SIZE, room, sizeof(room)), 0);
	for (unsigned int i = 0; i < nr; i++) {
		/*
		 * 7 has no common factor with the count, so each piece comes
		 * once.
		 */
		const size_t at = i * 7 % nr * STEP;

		memset(want + at, 1 + i % 255, PIECE);
		EXPECT_EQ(sfu_copy_add(&copy, at, want + at, PIECE), 0);
		/* More pieces than there is room for. */
		EXPECT_EQ(copy.fd >= 0, i >= COPY_MAX_PIECES);
		for (size_t size = 1; size < 400; size += 77) {
			const size_t from = at > 150 ? at - 150 : 0;

			memset(got, 0xee, size);
			EXPECT_EQ(sfu_copy_get(&copy, from, got, size), 0);
			EXPECT(!memcmp(got, want + from, size));
		}
	}
	EXPECT_EQ(sfu_copy_get(&copy, SIZE - 1, got, 2), -EFAULT);
	EXPECT_EQ(sfu_copy_get(&copy, SIZE + 1, got, 0), -EFAULT);
	fd = sfu_copy_take(&copy);
	sfu_copy_end(&copy);
	EXPECT_EQ(pread(fd, got, SIZE, 0), SIZE);
	EXPECT(!memcmp(got, want, SIZE));
	close(fd);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(holes),
		TAP_TEST(implausibly_large),
		TAP_TEST(limit),
		TAP_TEST(changed_while_read),
		TAP_TEST(unreadable),
		TAP_TEST(same_digest),
		TAP_TEST(each_byte_counts),
		TAP_TEST(places_count),
		TAP_TEST(pieces_of_a_copy),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
