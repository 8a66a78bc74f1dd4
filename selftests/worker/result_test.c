// SPDX-License-Identifier: GPL-2.0
/*
 * Results of workers that lie: only a sound section is accepted. Built with
 * sanitizers.
 *
 * usage: result_test CORPUS
 */
#include <dirent.h>
#include <stdint.h>

#include "common.h"
#include "userspace/convert/output/packed.h"
#include "userspace/worker/protocol.h"

#define MAX_SIZE (1 << 20)

static const char *corpus;
static unsigned char result[MAX_SIZE];
static size_t result_size;
static char text[200];

static struct worker_header *header(void)
{
	return (struct worker_header *)result;
}

/* Make a result of the section in the file @name of the corpus. */
static void make_result(const char *name)
{
	static const struct sframe_unwind_left_out left_out[2] = {
		{ .start = 0x1000, .size = 16, .reason = 1 },
	};
	static const unsigned char build_id[20] = "build ID";
	struct sframe_unwind_converted converted = {
		.build_id = build_id,
		.build_id_size = sizeof(build_id),
		.nr_functions = 7,
		.left_out = left_out,
		.nr_left_out = 2,
	};
	struct buffer packed = { 0 };
	unsigned char *bytes;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", corpus, name);
	bytes = read_file(path, &converted.size);
	converted.bytes = bytes;
	if (sfu_packed_write(&packed, &converted) ||
	    sizeof(struct worker_header) + packed.size > MAX_SIZE)
		abort();
	memset(result, 0, sizeof(struct worker_header));
	memcpy(header()->magic, WORKER_MAGIC, sizeof(header()->magic));
	header()->packed_size = packed.size;
	memcpy(header() + 1, packed.bytes, packed.size);
	result_size = sizeof(struct worker_header) + packed.size;
	buffer_free(&packed);
	free(bytes);
}

static void make_error(int error, const char *said, size_t size)
{
	memset(result, 0, sizeof(result));
	memcpy(header()->magic, WORKER_MAGIC, sizeof(header()->magic));
	header()->error = error;
	header()->text_size = size;
	memcpy(header() + 1, said, size);
	result_size = sizeof(struct worker_header) + size;
}

/* Parse the result. */
static int look(const struct worker_limits *limits)
{
	struct sframe_unwind_converted *converted;
	const int fd = make_sealed(result, result_size);
	int err;

	memset(text, 'x', sizeof(text));
	err = worker_result_read(fd, limits, &converted, text, sizeof(text));
	worker_weakness(fd);
	close(fd);
	if (!memchr(text, '\0', sizeof(text)))
		tap_fail("the text has no end");
	if (!err != !!converted || !err == !!text[0])
		tap_fail("error %d with result %p and text '%s'", err,
			 (void *)converted, text);
	sframe_unwind_converted_free(converted);
	return err;
}

static void test_sound(void)
{
	make_result("base.sframe");
	EXPECT_EQ(look(NULL), 0);
}

static void test_header(void)
{
	make_result("base.sframe");
	header()->magic[0]++;
	EXPECT_EQ(look(NULL), -EPROTO);
	make_result("base.sframe");
	header()->packed_size++;
	EXPECT_EQ(look(NULL), -EPROTO);
	header()->packed_size = UINT64_MAX - 40;
	EXPECT_EQ(look(NULL), -EPROTO);
	make_result("base.sframe");
	header()->text_size = 1;
	EXPECT_EQ(look(NULL), -EPROTO);
	header()->packed_size--;
	EXPECT_EQ(look(NULL), -EPROTO);
	make_result("base.sframe");
	header()->text_size = UINT32_MAX;
	EXPECT_EQ(look(NULL), -EPROTO);
	make_result("base.sframe");
	header()->error = -EINVAL;
	EXPECT_EQ(look(NULL), -EPROTO);
	make_result("base.sframe");
	header()->error = 1;
	EXPECT_EQ(look(NULL), -EPROTO);
}

static void test_cut(void)
{
	make_result("base.sframe");
	for (const size_t whole = result_size; result_size-- > 0;) {
		if (look(NULL) != -EPROTO)
			tap_fail("%zu of %zu bytes", result_size, whole);
		header()->packed_size = result_size -
					sizeof(struct worker_header);
		if (result_size > sizeof(struct worker_header) &&
		    look(NULL) != -EPROTO)
			tap_fail("%zu of %zu bytes, said so", result_size,
				 whole);
	}
}

/* Change every byte of the packed header, and of the section. */
static void test_changed(void)
{
	make_result("base.sframe");
	for (size_t at = sizeof(struct worker_header); at < result_size; at++)
		for (unsigned int bit = 0; bit < 8; bit++) {
			int err;

			result[at] ^= 1U << bit;
			err = look(NULL);
			if (err && err != -EPROTO && err != -ENOMEM)
				tap_fail("byte %zu, bit %u: %d", at, bit, err);
			result[at] ^= 1U << bit;
		}
}

static void test_corpus(void)
{
	static const char *const broken[] = {
		"cut-row.sframe", "cut-index.sframe", "magic-elf.sframe",
		"order-middle.sframe", "row-past-end.sframe",
		"word-size-3.sframe", "version-2.sframe", "overlap.sframe",
		"flex-reserved.sframe",
	};
	DIR *dir = opendir(corpus);
	unsigned int accepted = 0, refused = 0;
	const struct dirent *entry;

	EXPECT(dir);
	while ((entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".sframe"))
			continue;
		make_result(entry->d_name);
		if (look(NULL))
			refused++;
		else
			accepted++;
	}
	closedir(dir);
	EXPECT(accepted > 50 && refused > 100);
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", corpus, broken[i]);
		if (access(path, R_OK))
			continue;
		make_result(broken[i]);
		if (look(NULL) != -EPROTO)
			tap_fail("%s is taken", broken[i]);
		if (!strstr(text, "section"))
			tap_fail("%s: %s", broken[i], text);
	}
}

/* Extended sections are examined as the kernel does it: see corpus/extended/EXPECT. */
static void test_extended(void)
{
	char line[1024], name[64], defect[128], file[80], want[160];
	unsigned int nr = 0, offset;
	FILE *expect;

	snprintf(line, sizeof(line), "%s/extended/EXPECT", corpus);
	expect = fopen(line, "r");
	EXPECT(expect);
	if (!expect)
		return;
	while (fgets(line, sizeof(line), expect)) {
		if (line[0] == '#' ||
		    sscanf(line, "%63[^\t]\t%x\t%127[^\t]", name, &offset,
			   defect) != 3)
			continue;
		snprintf(file, sizeof(file), "extended/%s.sframe", name);
		snprintf(want, sizeof(want), "byte %u: %s", offset, defect);
		make_result(file);
		if (look(NULL) != -EPROTO)
			tap_fail("%s is taken", name);
		/* Without a header that makes sense, it is not even a section. */
		if (strstr(text, want))
			nr++;
		else if (strcmp(text, "its conversion made no section"))
			tap_fail("%s: %s", name, text);
	}
	fclose(expect);
	EXPECT(nr > 15);
}

static void test_errors(void)
{
	const struct worker_limits limits = { .memory = 48 << 20 };
	char large[600];

	make_error(-ENODATA, "nothing", 7);
	EXPECT_EQ(look(NULL), -ENODATA);
	EXPECT(!strcmp(text, "nothing"));
	make_error(-EPERM, "x", 1);
	EXPECT_EQ(look(NULL), -EPROTO);
	make_error(-1000000, "x", 1);
	EXPECT_EQ(look(NULL), -EPROTO);
	make_error(-ENOMEM, "no memory", 9);
	EXPECT_EQ(look(NULL), -ENOMEM);
	EXPECT(!strcmp(text, "no memory"));
	EXPECT_EQ(look(&limits), -ENOMEM);
	EXPECT(!strcmp(text, "takes more than 48 MiB of memory to convert"));
	memset(large, 'y', sizeof(large));
	make_error(-EINVAL, large, WORKER_MAX_TEXT);
	EXPECT_EQ(look(NULL), -EINVAL);
	EXPECT_EQ(strlen(text), sizeof(text) - 1);
	make_error(-EINVAL, large, WORKER_MAX_TEXT + 1);
	EXPECT_EQ(look(NULL), -EPROTO);
	/* An error without a message. */
	make_error(-EINVAL, "", 0);
	EXPECT_EQ(look(NULL), -EPROTO);
}

static void test_weakness(void)
{
	int fd;

	make_error(-ENODATA, "nothing", 7);
	fd = make_sealed(result, result_size);
	EXPECT(!worker_weakness(fd));
	close(fd);
	for (unsigned int bits = 1; bits < 16; bits++) {
		header()->weak = bits;
		fd = make_sealed(result, result_size);
		EXPECT(worker_weakness(fd));
		close(fd);
	}
}

/* Read the parts of the only result. Returns the error. */
static int look_same(struct worker_same **same, uint32_t *nr)
{
	const struct worker_part part = { .index = 0, .nr = 1 };
	const int fd = make_sealed(result, result_size);
	const int err = worker_result_same(fd, &part, same, nr);

	close(fd);
	return err;
}

/* Parts of an object that are in its code, behind the section. */
static void test_same(void)
{
	static const struct worker_same parts[] = { { 1, 2, 3 }, { 4, 5, 6 } };
	struct worker_same *same;
	uint32_t nr;

	make_result("base.sframe");
	EXPECT_EQ(look_same(&same, &nr), 0);
	EXPECT_EQ(nr, 0);
	free(same);
	memcpy(result + result_size, parts, sizeof(parts));
	result_size += sizeof(parts);
	EXPECT_EQ(look(NULL), -EPROTO);
	header()->nr_same = 2;
	EXPECT_EQ(look(NULL), 0);
	EXPECT_EQ(look_same(&same, &nr), 0);
	EXPECT_EQ(nr, 2);
	EXPECT(!memcmp(same, parts, sizeof(parts)));
	free(same);
	header()->nr_same = 3;
	EXPECT_EQ(look_same(&same, &nr), -EPROTO);
	EXPECT(!same);
	header()->nr_same = UINT32_MAX;
	EXPECT_EQ(look(NULL), -EPROTO);
	header()->nr_same = 1;
	EXPECT_EQ(look(NULL), -EPROTO);
	/* An error has none. */
	make_error(-EINVAL, "wrong", 5);
	memcpy(result + result_size, parts, sizeof(parts));
	result_size += sizeof(parts);
	header()->nr_same = 2;
	EXPECT_EQ(look(NULL), -EPROTO);
}

/* Look for result @index of @nr in the first @size bytes. Returns the error. */
static int look_at(unsigned int index, unsigned int nr, size_t size)
{
	const struct worker_part part = { .index = index, .nr = nr };
	struct sframe_unwind_converted *converted;
	const int fd = make_sealed(result, size);
	const int err = worker_result_read_part(fd, &part, NULL, &converted,
						text, sizeof(text));

	close(fd);
	sframe_unwind_converted_free(converted);
	return err;
}

/* Several results: an error, a section, and an error, cut and changed. */
static void test_parts(void)
{
	static unsigned char all[3 * MAX_SIZE];
	size_t size = 0, ends[3];

	for (int i = 0; i < 3; i++) {
		if (i == 1)
			make_result("base.sframe");
		else
			make_error(-EINVAL, "wrong", 5);
		memcpy(all + size, result, result_size);
		size += result_size;
		ends[i] = size;
	}
	EXPECT(size <= MAX_SIZE);
	memcpy(result, all, size);
	EXPECT_EQ(look_at(0, 3, size), -EINVAL);
	EXPECT_EQ(look_at(1, 3, size), 0);
	EXPECT_EQ(look_at(2, 3, size), -EINVAL);
	EXPECT_EQ(look_at(3, 3, size), -EPROTO);
	EXPECT_EQ(look_at(3, 4, size), -EPROTO);
	EXPECT_EQ(look_at(0, 1, size), -EPROTO);
	EXPECT_EQ(look_at(1, 2, size), -EPROTO);
	for (size_t cut = 0; cut < size; cut++) {
		EXPECT_EQ(look_at(0, 3, cut),
			  cut < ends[0] ? -EPROTO : -EINVAL);
		EXPECT_EQ(look_at(1, 3, cut), cut < ends[1] ? -EPROTO : 0);
		EXPECT_EQ(look_at(2, 3, cut), -EPROTO);
	}
	/* The sizes of a result decide where the next one begins. */
	header()->text_size++;
	EXPECT_EQ(look_at(1, 3, size), -EPROTO);
	header()->text_size = UINT32_MAX;
	EXPECT_EQ(look_at(1, 3, size), -EPROTO);
	header()->text_size = 5;
	header()->packed_size = UINT64_MAX - 4;
	EXPECT_EQ(look_at(1, 3, size), -EPROTO);
}

static void test_not_sealed(void)
{
	struct sframe_unwind_converted *converted;
	const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	make_result("base.sframe");
	EXPECT_EQ(write(fd, result, result_size), result_size);
	EXPECT_EQ(worker_result_read(fd, NULL, &converted, text, sizeof(text)),
		  -EPROTO);
	close(fd);
	EXPECT_EQ(worker_result_read(-1, NULL, &converted, text, sizeof(text)),
		  -EPROTO);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_sound),
		TAP_TEST(test_header),
		TAP_TEST(test_cut),
		TAP_TEST(test_changed),
		TAP_TEST(test_corpus),
		TAP_TEST(test_extended),
		TAP_TEST(test_errors),
		TAP_TEST(test_same),
		TAP_TEST(test_weakness),
		TAP_TEST(test_parts),
		TAP_TEST(test_not_sealed),
	};

	if (argc != 2)
		return 2;
	corpus = argv[1];
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
