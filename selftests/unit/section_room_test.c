// SPDX-License-Identifier: GPL-2.0
/*
 * The cache of sections: which files are removed, and when; several users at
 * once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "convert/base/message.h"
#include "convert/cache/cache_room.h"
#include "section_cache.h"

/* --- the limit */

static void used_last_stays(void)
{
	EXPECT(begin());
	EXPECT_EQ(sfu_cache_set_limit(cache, 8 * FILE_ROOM), 0);
	EXPECT_EQ(sfu_cache_limit(cache), 8 * FILE_ROOM);
	fill(8);
	EXPECT_EQ(count_files(), 9);
	EXPECT_EQ(read_back(name_of(1)), 0);
	/*
	 * One file more: an eighth of the limit is freed, including room for
	 * the new file.
	 */
	EXPECT_EQ(write_one(name_of(9)), 0);
	EXPECT(is_there(name_of(1)) && is_there(name_of(9)));
	EXPECT(!is_there(name_of(2)) && !is_there(name_of(3)));
	for (unsigned int i = 4; i <= 8; i++)
		EXPECT(is_there(name_of(i)));
	/* Up to the limit, inclusive. */
	EXPECT_EQ(write_one(name_of(10)), 0);
	EXPECT(is_there(name_of(4)));
	EXPECT_EQ(write_one(name_of(11)), 0);
	EXPECT(!is_there(name_of(4)) && is_there(name_of(1)));
	/* A cache opened anew counts the existing files. */
	EXPECT_EQ(reopen(), 0);
	EXPECT_EQ(write_one(name_of(12)), 0);
	EXPECT_EQ(write_one(name_of(13)), 0);
	EXPECT_EQ(write_one(name_of(14)), 0);
	EXPECT(count_files() <= 9);
}

static void limit_of_one_entry(void)
{
	EXPECT(begin());
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT_EQ(sfu_cache_set_limit(cache, FILE_ROOM), 0);
	EXPECT(is_there(name_of(1)));
	EXPECT_EQ(write_one(name_of(2)), 0);
	EXPECT(!is_there(name_of(1)));
	EXPECT_EQ(write_one(name_of(3)), 0);
	EXPECT(is_there(name_of(3)) && !is_there(name_of(2)));
	EXPECT_EQ(sfu_cache_set_limit(cache, FILE_ROOM - 1), 0);
	EXPECT(!is_there(name_of(3)));
	EXPECT_EQ(write_one(name_of(4)), -EFBIG);
	EXPECT(strstr(sfu_message_text(), "larger"));
	EXPECT_EQ(sfu_cache_set_limit(cache, 0), 0);
	EXPECT_EQ(write_one(name_of(4)), -EFBIG);
	EXPECT_EQ(count_files(), 1);
}

/* A file that cannot be kept does not displace others. */
static void too_large(void)
{
	struct sframe_unwind_converted large = *made;
	unsigned char *bytes = calloc(1, 10 * FILE_ROOM);

	EXPECT(begin());
	EXPECT_EQ(sfu_cache_set_limit(cache, 8 * FILE_ROOM), 0);
	fill(8);
	large.bytes = bytes;
	large.size = 10 * FILE_ROOM;
	EXPECT_EQ(sfu_cache_write(cache, name_of(9), "", &large), -EFBIG);
	EXPECT_EQ(count_files(), 9);
	large.size = 5 * FILE_ROOM;
	EXPECT_EQ(sfu_cache_write(cache, name_of(9), "", &large), 0);
	EXPECT(is_there(name_of(9)) && is_there(name_of(8)));
	EXPECT(!is_there(name_of(7)) && count_files() == 3);
	free(bytes);
}

static void limit_is_kept(void)
{
	EXPECT(begin());
	EXPECT_EQ(sfu_cache_limit(cache), CACHE_DEFAULT_LIMIT);
	EXPECT_EQ(sfu_cache_set_limit(cache, 12345678), 0);
	EXPECT_EQ(reopen(), 0);
	EXPECT_EQ(sfu_cache_limit(cache), 12345678);
	put_file("limit", "12345678 or so\n");
	EXPECT_EQ(reopen(), 0);
	EXPECT_EQ(sfu_cache_limit(cache), CACHE_DEFAULT_LIMIT);
	put_file("limit", "-1\n");
	EXPECT_EQ(reopen(), 0);
	EXPECT_EQ(sfu_cache_limit(cache), CACHE_DEFAULT_LIMIT);
	put_file("limit", "");
	EXPECT_EQ(reopen(), 0);
	EXPECT_EQ(sfu_cache_limit(cache), CACHE_DEFAULT_LIMIT);
	EXPECT(!unlink(in("limit")) && !symlink("elsewhere", in("limit")));
	EXPECT_EQ(reopen(), 0);
	EXPECT_EQ(sfu_cache_limit(cache), CACHE_DEFAULT_LIMIT);
}

/* An open cache notices a changed limit at its next count. */
static void limit_of_another(void)
{
	struct sfu_cache *other = NULL;

	EXPECT(begin());
	EXPECT_EQ(sfu_cache_set_limit(cache, 8 * FILE_ROOM), 0);
	fill(6);
	EXPECT_EQ(sfu_cache_open(dir, &other), 0);
	EXPECT_EQ(sfu_cache_set_limit(other, 4 * FILE_ROOM), 0);
	sfu_cache_close(other);
	EXPECT_EQ(count_files(), 1 + 3);
	for (unsigned int i = 7; i <= 11; i++)
		EXPECT_EQ(write_one(name_of(i)), 0);
	EXPECT_EQ(sfu_cache_limit(cache), 4 * FILE_ROOM);
	EXPECT(count_files() <= 1 + 4);
}

/* Set when a file was last used. */
static void use_at(const char *name, time_t time)
{
	const struct timespec times[2] = { { time, 0 }, { time, 0 } };

	utimensat(AT_FDCWD, in(name), times, 0);
}

/* However many sections are made for others, they displace only each other. */
static void those_of_others_make_room_first(void)
{
	EXPECT(begin());
	EXPECT_EQ(sfu_cache_set_limit(cache, 8 * FILE_ROOM), 0);
	fill(3);
	sfu_cache_set_of_others(cache, true);
	for (unsigned int i = 11; i <= 15; i++) {
		EXPECT_EQ(write_one(name_of(i)), 0);
		use_at(name_of(i), 2000 + i);
	}
	EXPECT_EQ(count_files(), 9);
	/* Read for others, 11 is used last, and 1 stays the user's. */
	EXPECT_EQ(read_back(name_of(11)), 0);
	EXPECT_EQ(read_back(name_of(1)), 0);
	use_at(name_of(1), 1000);
	EXPECT_EQ(write_one(name_of(16)), 0);
	EXPECT(!is_there(name_of(12)) && !is_there(name_of(13)));
	EXPECT(is_there(name_of(11)) && is_there(name_of(14)));
	for (unsigned int i = 17; i <= 40; i++)
		EXPECT_EQ(write_one(name_of(i)), 0);
	for (unsigned int i = 1; i <= 3; i++)
		EXPECT(is_there(name_of(i)));
	EXPECT(count_files() <= 9);
	/* When there are none left, the user's own make room, too. */
	sfu_cache_set_of_others(cache, false);
	for (unsigned int i = 41; i <= 46; i++)
		EXPECT_EQ(write_one(name_of(i)), 0);
	EXPECT(!is_there(name_of(1)) && is_there(name_of(46)));
	EXPECT(!is_there(name_of(40)));
}

/* The contents of a file of the user's can be that of a file of others. */
static void is_the_users_once_he_uses_it(void)
{
	char *file;
	struct sframe_unwind_converted *found;

	EXPECT(begin());
	EXPECT_EQ(sfu_cache_set_limit(cache, 4 * FILE_ROOM), 0);
	sfu_cache_set_of_others(cache, true);
	for (unsigned int i = 1; i <= 4; i++)
		EXPECT_EQ(write_one(name_of(i)), 0);
	EXPECT_EQ(reopen(), 0);
	/* Looking at it is no use. */
	EXPECT_EQ(sfu_cache_look(cache, name_of(2), &file, &found), 0);
	free(file);
	sframe_unwind_converted_free(found);
	EXPECT_EQ(read_back(name_of(1)), 0);
	use_at(name_of(1), 1000);
	use_at(name_of(2), 2000);
	EXPECT_EQ(write_one(name_of(5)), 0);
	EXPECT(is_there(name_of(1)) && !is_there(name_of(2)));
	/* It stays the user's when it is used for others again. */
	sfu_cache_set_of_others(cache, true);
	EXPECT_EQ(read_back(name_of(1)), 0);
	use_at(name_of(1), 1000);
	for (unsigned int i = 11; i <= 20; i++)
		EXPECT_EQ(write_one(name_of(i)), 0);
	EXPECT(is_there(name_of(1)) && is_there(name_of(5)));
}

static void number_of_files(void)
{
	EXPECT(begin());
	for (unsigned int i = 0; i < CACHE_MAX_FILES; i++)
		EXPECT(!mknod(in(text("%064x.stamp", i)), S_IFREG | 0600, 0));
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT(is_there(name_of(1)));
	EXPECT(count_files() < CACHE_MAX_FILES &&
	       count_files() > CACHE_MAX_FILES / 2);
}

/* --- maintenance */

#define OLD_NAME "0123456789abcdef0123456789abcdef01234567"

static void old_files(void)
{
	EXPECT(begin());
	EXPECT_EQ(sfu_cache_set_limit(cache, 8 * FILE_ROOM), 0);
	put_file(OLD_NAME, "old");
	put_file("ab", "old");
	fill(6);
	EXPECT_EQ(count_files(), 9);
	/* Younger than all others, but removed first. */
	EXPECT_EQ(write_one(name_of(9)), 0);
	EXPECT(!is_there(OLD_NAME) && !is_there("ab") && is_there(name_of(1)));
}

static void clean(void)
{
	static const char temporary[] = "." OLD_NAME ".0123456789abcdef";
	static const char *const others[] = {
		"limit", "README", "abc", OLD_NAME "g", ".hidden",
		OLD_NAME ".section",
	};
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	uint64_t count, size;

	EXPECT(begin());
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		put_file(others[i], "x");
	fill(3);
	put_file(OLD_NAME, "old");
	put_file(temporary, "old");
	put_file(".new.0123456789abcdef", "new");
	put_file(text("%064x.stamp", 1), "");
	EXPECT(!mkdir(in("abcdef"), 0700));
	/* A file that may still be written stays. */
	EXPECT_EQ(sfu_cache_clean(cache, &count, &size), 0);
	EXPECT_EQ(count, 5);
	EXPECT_EQ(size, 4 * FILE_ROOM);
	EXPECT(is_there(temporary) && is_there(".new.0123456789abcdef"));
	utimensat(AT_FDCWD, in(temporary), old, 0);
	utimensat(AT_FDCWD, in(".new.0123456789abcdef"), old, 0);
	EXPECT_EQ(sfu_cache_clean(cache, &count, &size), 0);
	EXPECT_EQ(count, 2);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		EXPECT(is_there(others[i]));
	EXPECT_EQ(count_files(), sizeof(others) / sizeof(others[0]));
	EXPECT(!rmdir(in("abcdef")));
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT_EQ(read_back(name_of(1)), 0);
}

static void abandoned_files(void)
{
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };

	EXPECT(begin());
	put_file(".new.0123456789abcdef", "old");
	utimensat(AT_FDCWD, in(".new.0123456789abcdef"), old, 0);
	put_file(".new.0123456789abcde0", "new");
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT(!is_there(".new.0123456789abcdef"));
	EXPECT(is_there(".new.0123456789abcde0"));
}

static void list(void)
{
	struct cache_file *files;
	size_t count;

	EXPECT(begin());
	EXPECT_EQ(sfu_cache_list(cache, &files, &count), 0);
	EXPECT_EQ(count, 0);
	free(files);
	fill(3);
	put_file(OLD_NAME, "old");
	put_file("README", "");
	EXPECT_EQ(read_back(name_of(2)), 0);
	EXPECT_EQ(sfu_cache_list(cache, &files, &count), 0);
	EXPECT_EQ(count, 4);
	EXPECT(!strcmp(files[0].name, name_of(2)));
	EXPECT(!strcmp(files[1].name, name_of(3)));
	EXPECT(!strcmp(files[2].name, name_of(1)));
	EXPECT(!strcmp(files[3].name, OLD_NAME));
	EXPECT_EQ(files[0].kind, CACHE_SECTION);
	EXPECT_EQ(files[0].size, FILE_ROOM);
	EXPECT_EQ(files[2].used.tv_sec, 1001);
	EXPECT_EQ(files[3].kind, CACHE_OLD);
	free(files);
}

/* --- concurrent users */

#define ROUNDS 200

/* Returns the number of failures. */
static int write_and_read(unsigned int seed)
{
	int bad = reopen() != 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		const char *name = name_of((i * 7 + seed) % 16);
		int err;

		bad += write_one(name) != 0;
		err = read_back(name);
		bad += err && err != -ENOENT;
	}
	return bad;
}

static int clean_and_list(void)
{
	uint64_t freed, size;
	int bad = reopen() != 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct cache_file *files;
		size_t count;

		bad += i % 8 == 0 && sfu_cache_clean(cache, &freed, &size);
		bad += sfu_cache_list(cache, &files, &count) != 0;
		free(files);
	}
	return bad;
}

static void two_writers(void)
{
	pid_t children[3];
	int status;

	EXPECT(begin());
	EXPECT_EQ(sfu_cache_set_limit(cache, 8 * FILE_ROOM), 0);
	fflush(stdout);
	for (unsigned int i = 0; i < 3; i++) {
		children[i] = fork();
		if (!children[i])
			_exit(i < 2 ? write_and_read(i) : clean_and_list());
	}
	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_EQ(waitpid(children[i], &status, 0), children[i]);
		EXPECT_EQ(status, 0);
	}
	/* Each writer may be wrong by what it wrote between two counts. */
	EXPECT(count_files() <= 1 + 8 + 2);
	for (unsigned int i = 0; i < 16; i++) {
		const int err = read_back(name_of(i));

		EXPECT(!err || err == -ENOENT);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(used_last_stays),
		TAP_TEST(limit_of_one_entry),
		TAP_TEST(too_large),
		TAP_TEST(limit_is_kept),
		TAP_TEST(limit_of_another),
		TAP_TEST(those_of_others_make_room_first),
		TAP_TEST(is_the_users_once_he_uses_it),
		TAP_TEST(number_of_files),
		TAP_TEST(old_files),
		TAP_TEST(clean),
		TAP_TEST(abandoned_files),
		TAP_TEST(list),
		TAP_TEST(two_writers),
	};

	return run_with_cache(tests, sizeof(tests) / sizeof(tests[0]));
}
