// SPDX-License-Identifier: GPL-2.0
/* The cache of sections: names, ownership, and contents. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/base/message.h"
#include "memory_file.h"
#include "section_cache.h"

/* --- files */

static void gives_back(void)
{
	struct sframe_unwind_converted *found;
	struct stat stat;
	char *file;

	EXPECT(begin());
	EXPECT_EQ(read_back(name_of(1)), -ENOENT);
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT_EQ(read_back(name_of(1)), 0);
	EXPECT_EQ(read_back(name_of(2)), -ENOENT);
	EXPECT(!lstat(in(name_of(1)), &stat) && S_ISREG(stat.st_mode));
	EXPECT_EQ(stat.st_mode & 0777, 0600);
	EXPECT_EQ(count_files(), 1);
	EXPECT_EQ(sfu_cache_read(cache, name_of(1), &found), 0);
	EXPECT_EQ(found->flags, SFRAME_UNWIND_CONVERTED_FROM_CACHE |
				SFRAME_UNWIND_CONVERTED_IN_CACHE);
	sframe_unwind_converted_free(found);
	EXPECT_EQ(sfu_cache_look(cache, name_of(1), &file, &found), 0);
	EXPECT(!strcmp(file, "/a/file"));
	free(file);
	sframe_unwind_converted_free(found);
}

/* The inputs that a name depends on. */
static void names(void)
{
	struct sframe_unwind_convert_options options = { 0 };
	struct digest content = { { 1 } };
	char name[CACHE_NAME_SIZE], other[CACHE_NAME_SIZE];

	EXPECT_EQ(sfu_cache_name(&content, NULL, name), 0);
	EXPECT_EQ(strlen(name), 64 + strlen(".section"));
	/* Explicit or not, the default gives the same name. */
	options.max_rows = 32;
	options.sources = 0x3f;
	EXPECT_EQ(sfu_cache_name(&content, &options, other), 0);
	EXPECT(!strcmp(name, other));
	options.max_rows = 33;
	EXPECT_EQ(sfu_cache_name(&content, &options, other), 0);
	EXPECT(strcmp(name, other));
	options.max_rows = 32;
	options.sources = 1;
	EXPECT_EQ(sfu_cache_name(&content, &options, other), 0);
	EXPECT(strcmp(name, other));
	content.bytes[DIGEST_SIZE - 1] ^= 1;
	EXPECT_EQ(sfu_cache_name(&content, NULL, other), 0);
	EXPECT(strcmp(name, other));
	options.sources = 0x80;
	EXPECT_EQ(sfu_cache_name(&content, &options, other), -EINVAL);
}

static void damaged(void)
{
	struct stat stat;
	unsigned char byte;
	int fd;

	EXPECT(begin());
	EXPECT_EQ(write_one(name_of(1)), 0);
	fd = open(in(name_of(1)), O_RDWR);
	EXPECT(fd >= 0 && !fstat(fd, &stat));
	for (off_t at = 0; at < stat.st_size; at++) {
		EXPECT_EQ(pread(fd, &byte, 1, at), 1);
		byte ^= 0x04;
		EXPECT_EQ(pwrite(fd, &byte, 1, at), 1);
		EXPECT_EQ(read_back(name_of(1)), -EINVAL);
		byte ^= 0x04;
		EXPECT_EQ(pwrite(fd, &byte, 1, at), 1);
	}
	EXPECT_EQ(read_back(name_of(1)), 0);
	EXPECT_EQ(pwrite(fd, "", 1, stat.st_size), 1);
	EXPECT_EQ(read_back(name_of(1)), -EINVAL);
	for (off_t size = stat.st_size - 1; size >= 0; size--) {
		EXPECT(!ftruncate(fd, size));
		EXPECT_EQ(read_back(name_of(1)), -EINVAL);
	}
	close(fd);
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT_EQ(read_back(name_of(1)), 0);
	/* A valid file under another file's name. */
	EXPECT(!rename(in(name_of(1)), in(name_of(2))));
	EXPECT_EQ(read_back(name_of(2)), -EINVAL);
}

static void not_ours(void)
{
	EXPECT(begin());
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT(!chmod(in(name_of(1)), 0620));
	EXPECT_EQ(read_back(name_of(1)), -EPERM);
	EXPECT(!chmod(in(name_of(1)), 0602));
	EXPECT_EQ(read_back(name_of(1)), -EPERM);
	EXPECT(!chmod(in(name_of(1)), 0600));
	EXPECT(!rename(in(name_of(1)), in("aside")));
	EXPECT(!symlink("aside", in(name_of(1))));
	EXPECT_EQ(read_back(name_of(1)), -ELOOP);
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT_EQ(read_back(name_of(1)), 0);
	EXPECT(!unlink(in(name_of(1))));
	EXPECT(!mkfifo(in(name_of(1)), 0600));
	EXPECT_EQ(read_back(name_of(1)), -EPERM);
	EXPECT(!unlink(in(name_of(1))));
	EXPECT(!mkdir(in(name_of(1)), 0700));
	EXPECT_EQ(read_back(name_of(1)), -EPERM);
	EXPECT(write_one(name_of(1)) < 0);
	EXPECT_EQ(count_files(), 1);
	EXPECT(!rmdir(in(name_of(1))));
	if (geteuid())
		return;
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT(!chown(in(name_of(1)), STRANGER, -1));
	EXPECT_EQ(read_back(name_of(1)), -EPERM);
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT_EQ(read_back(name_of(1)), 0);
}

static void full_disk(void)
{
	struct stat stat;

	EXPECT(begin());
	EXPECT_EQ(write_one(name_of(1)), 0);
	EXPECT(!lstat(in(name_of(1)), &stat));
	for (long room = 0; room < stat.st_size; room += 30) {
		room_to_write = room;
		EXPECT_EQ(write_one(name_of(2)), -ENOSPC);
		EXPECT_EQ(count_files(), 1);
		EXPECT(strstr(sfu_message_text(), "No space left on device"));
		EXPECT(strstr(sfu_message_text(), dir));
	}
	room_to_write = -1;
	EXPECT_EQ(read_back(name_of(1)), 0);
}

/* --- the directory */

static void private_directory(void)
{
	struct stat stat;

	EXPECT(begin());
	EXPECT(!strcmp(sfu_cache_path(cache), dir));
	EXPECT(!chmod(dir, 0755));
	EXPECT_EQ(reopen(), 0);
	EXPECT(!lstat(dir, &stat));
	EXPECT_EQ(stat.st_mode & 0777, 0700);
	EXPECT(!chmod(dir, 0770));
	EXPECT_EQ(reopen(), -EPERM);
	EXPECT(!chmod(dir, 0702));
	EXPECT_EQ(reopen(), -EPERM);
	EXPECT(strstr(sfu_message_text(), dir));
	EXPECT(!chmod(dir, 0700));
	if (geteuid())
		return;
	EXPECT(!chown(dir, STRANGER, -1));
	EXPECT_EQ(reopen(), -EPERM);
	EXPECT(!chown(dir, 0, -1));
}

/* A cache directory must be private on its whole path. */
static void private_way_there(void)
{
	EXPECT(begin());
	EXPECT(!chmod(work, 0707));
	EXPECT_EQ(reopen(), -EPERM);
	EXPECT(strstr(sfu_message_text(), work));
	/* As /tmp: others can add files, but not replace ours. */
	EXPECT(!chmod(work, 01707));
	EXPECT_EQ(reopen(), 0);
	EXPECT(!chmod(work, 0700));
	EXPECT_EQ(reopen(), 0);
	if (geteuid())
		return;
	EXPECT(!chown(work, -1, STRANGER) && !chmod(work, 0770));
	EXPECT_EQ(reopen(), -EPERM);
	EXPECT(!chown(work, STRANGER, 0) && !chmod(work, 0700));
	EXPECT_EQ(reopen(), -EPERM);
	EXPECT(!chown(work, 0, 0));
}

static void links(void)
{
	char link[80];

	snprintf(link, sizeof(link), "%s/link", work);
	EXPECT(begin());
	EXPECT(!symlink(dir, link));
	sfu_cache_close(cache);
	cache = NULL;
	EXPECT_EQ(sfu_cache_open(link, &cache), -ELOOP);
	EXPECT_EQ(sfu_cache_open(text("%s//", link), &cache), -ELOOP);
	EXPECT(!unlink(link));
	/* Links on the path are as trustworthy as their owners. */
	EXPECT(!symlink(work, link));
	EXPECT_EQ(sfu_cache_open(text("%s/sections", link), &cache), 0);
	sfu_cache_close(cache);
	cache = NULL;
	/* But not if others can change the directory they point to. */
	EXPECT(!mkdir(in("open"), 0700) && !chmod(in("open"), 0777));
	EXPECT(!unlink(link) && !symlink(in("open"), link));
	EXPECT_EQ(sfu_cache_open(text("%s/below", link), &cache), -EPERM);
	EXPECT(strstr(sfu_message_text(), in("open")));
	EXPECT(!rmdir(in("open/below")) && !rmdir(in("open")));
	EXPECT(!unlink(link) && !symlink(work, link));
	if (!geteuid()) {
		EXPECT(!lchown(link, STRANGER, -1));
		EXPECT_EQ(sfu_cache_open(text("%s/sections", link), &cache),
			  -EPERM);
	}
	EXPECT(!unlink(link));
	put_file("file", "");
	EXPECT_EQ(sfu_cache_open(in("file"), &cache), -ENOTDIR);
	EXPECT_EQ(sfu_cache_open(in("file/below"), &cache), -ENOTDIR);
	EXPECT(!cache);
}

static void default_directories(void)
{
	char *wanted = NULL;

	if (!geteuid())
		return;
	setenv("XDG_CACHE_HOME", work, 1);
	sfu_cache_close(cache);
	EXPECT_EQ(sfu_cache_open(NULL, &cache), 0);
	EXPECT(asprintf(&wanted, "%s/sframe_unwind/sections", work) > 0);
	EXPECT(!strcmp(sfu_cache_path(cache), wanted));
	free(wanted);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	sfu_cache_close(cache);
	EXPECT_EQ(sfu_cache_open(NULL, &cache), -ENOENT);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(gives_back),
		TAP_TEST(names),
		TAP_TEST(damaged),
		TAP_TEST(not_ours),
		TAP_TEST(full_disk),
		TAP_TEST(private_directory),
		TAP_TEST(private_way_there),
		TAP_TEST(links),
		TAP_TEST(default_directories),
	};

	return run_with_cache(tests, sizeof(tests) / sizeof(tests[0]));
}
