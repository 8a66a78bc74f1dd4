// SPDX-License-Identifier: GPL-2.0
/* The cache of sections: whose it is, what it keeps, what it gives back. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cfi_file.h"
#include "convert/cache.h"
#include "convert/message.h"
#include "memory_file.h"
#include "tap.h"

#define STRANGER 65534

static char work[64];
static char dir[96];
static struct sfu_cache *cache;
static struct sframe_unwind_converted *made;

__attribute__((format(printf, 1, 2)))
static const char *text(const char *format, ...)
{
	static char texts[4][256];
	static unsigned int next;
	char *to = texts[next++ % 4];
	va_list args;

	va_start(args, format);
	vsnprintf(to, sizeof(texts[0]), format, args);
	va_end(args);
	return to;
}

/* Path of a file in the cache. */
static const char *in(const char *name)
{
	return text("%s/%s", dir, name);
}

static const char *name_of(unsigned char number)
{
	static char names[4][CACHE_NAME_SIZE];
	static unsigned int next;
	char *name = names[next++ % 4];
	struct digest content = { { number } };

	return sfu_cache_name(&content, NULL, name) ? "" : name;
}

static void remove_all(const char *path)
{
	DIR *stream = opendir(path);
	struct dirent *entry;

	while (stream && (entry = readdir(stream))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlink(text("%s/%s", path, entry->d_name)) &&
		    errno == EISDIR)
			rmdir(text("%s/%s", path, entry->d_name));
	}
	if (stream)
		closedir(stream);
}

/* An empty cache. Returns whether it could be opened. */
static bool begin(void)
{
	sfu_message_begin("test");
	room_to_write = -1;
	sfu_cache_close(cache);
	cache = NULL;
	remove_all(dir);
	chmod(dir, 0700);
	return !sfu_cache_open(dir, &cache);
}

static unsigned int count_files(void)
{
	DIR *stream = opendir(dir);
	unsigned int count = 0;
	struct dirent *entry;

	while (stream && (entry = readdir(stream)))
		count += entry->d_type != DT_DIR;
	if (stream)
		closedir(stream);
	return count;
}

static int reopen(void)
{
	sfu_cache_close(cache);
	cache = NULL;
	return sfu_cache_open(dir, &cache);
}

static bool is_there(const char *name)
{
	return !access(in(name), F_OK);
}

/* Does the file give back what was written? Returns 0 or what went wrong. */
static int read_back(const char *name)
{
	struct sframe_unwind_converted *found;
	int err = sfu_cache_read(cache, name, &found);

	if (err)
		return err;
	if (found->size != made->size ||
	    memcmp(found->bytes, made->bytes, made->size) ||
	    found->build_id_size != made->build_id_size ||
	    memcmp(found->build_id, made->build_id, made->build_id_size) ||
	    found->nr_left_out != made->nr_left_out ||
	    memcmp(found->left_out, made->left_out,
		   made->nr_left_out * sizeof(*made->left_out)) ||
	    found->sources != made->sources ||
	    found->nr_functions != made->nr_functions ||
	    found->nr_fdes != made->nr_fdes ||
	    found->nr_rows != made->nr_rows ||
	    found->covered != made->covered ||
	    found->cfi_size != made->cfi_size ||
	    found->left_out_size != made->left_out_size)
		err = -EBADMSG;
	sframe_unwind_converted_free(found);
	return err;
}

static int write_one(const char *name)
{
	return sfu_cache_write(cache, name, "/a/file", made);
}

static void put_file(const char *name, const char *bytes)
{
	FILE *file = fopen(in(name), "w");

	if (file) {
		fputs(bytes, file);
		fclose(file);
	}
}

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

/* What a name stands for. */
static void names(void)
{
	struct sframe_unwind_convert_options options = { 0 };
	struct digest content = { { 1 } };
	char name[CACHE_NAME_SIZE], other[CACHE_NAME_SIZE];

	EXPECT_EQ(sfu_cache_name(&content, NULL, name), 0);
	EXPECT_EQ(strlen(name), 64 + strlen(".section"));
	/* Said or not, the default is the same. */
	options.max_rows = 32;
	options.sources = 7;
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
	options.sources = 8;
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
	/* A good file, but another one's. */
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

/* The directory that it is in decides what its name stands for. */
static void private_way_there(void)
{
	EXPECT(begin());
	EXPECT(!chmod(work, 0707));
	EXPECT_EQ(reopen(), -EPERM);
	EXPECT(strstr(sfu_message_text(), work));
	/* As /tmp: others can add to it, but not take our names. */
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
	const char *link = text("%s/link", work);

	EXPECT(begin());
	EXPECT(!symlink(dir, link));
	sfu_cache_close(cache);
	cache = NULL;
	EXPECT_EQ(sfu_cache_open(link, &cache), -ELOOP);
	EXPECT_EQ(sfu_cache_open(text("%s//", link), &cache), -ELOOP);
	EXPECT(!unlink(link));
	/* On the way there are as good as who made them. */
	EXPECT(!symlink(work, link));
	EXPECT_EQ(sfu_cache_open(text("%s/sections", link), &cache), 0);
	sfu_cache_close(cache);
	cache = NULL;
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

/* --- the limit */

/* Files 1 to @count, used one after the other. */
static void fill(unsigned int count)
{
	for (unsigned int i = 1; i <= count; i++) {
		const struct timespec times[2] = { { 1000 + i, 0 },
						   { 1000 + i, 0 } };

		write_one(name_of(i));
		utimensat(AT_FDCWD, in(name_of(i)), times, 0);
	}
}

/* Bytes of the limit that one of our files takes. */
#define FILE_ROOM 4096

static void used_last_stays(void)
{
	EXPECT(begin());
	EXPECT_EQ(sfu_cache_set_limit(cache, 8 * FILE_ROOM), 0);
	EXPECT_EQ(sfu_cache_limit(cache), 8 * FILE_ROOM);
	fill(8);
	EXPECT_EQ(count_files(), 9);
	EXPECT_EQ(read_back(name_of(1)), 0);
	/* One more: an eighth is made free, and it has to fit in. */
	EXPECT_EQ(write_one(name_of(9)), 0);
	EXPECT(is_there(name_of(1)) && is_there(name_of(9)));
	EXPECT(!is_there(name_of(2)) && !is_there(name_of(3)));
	for (unsigned int i = 4; i <= 8; i++)
		EXPECT(is_there(name_of(i)));
	/* At the limit, not one past it. */
	EXPECT_EQ(write_one(name_of(10)), 0);
	EXPECT(is_there(name_of(4)));
	EXPECT_EQ(write_one(name_of(11)), 0);
	EXPECT(!is_there(name_of(4)) && is_there(name_of(1)));
	/* Another writer counts what is there. */
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

/* What cannot be kept drives nothing out. */
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

/* --- looking after it */

#define OLD_NAME "0123456789abcdef0123456789abcdef01234567"

static void old_files(void)
{
	EXPECT(begin());
	EXPECT_EQ(sfu_cache_set_limit(cache, 8 * FILE_ROOM), 0);
	put_file(OLD_NAME, "old");
	put_file("ab", "old");
	fill(6);
	EXPECT_EQ(count_files(), 9);
	/* Younger than all, but the first to go. */
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
	/* One that may be being written stays. */
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

/* --- many at once */

#define ROUNDS 200

/* Returns the number of things that went wrong. */
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
	/* Each may be wrong by what he wrote between two counts. */
	EXPECT(count_files() <= 1 + 8 + 2);
	for (unsigned int i = 0; i < 16; i++) {
		const int err = read_back(name_of(i));

		EXPECT(!err || err == -ENOENT);
	}
}

/* --- what is converted */

static struct cfi_file file;

static int convert(struct sframe_unwind_converted **to)
{
	const struct sframe_unwind_convert_options options = {
		.cache_dir = dir,
	};
	const int fd = memory_file(&file, sizeof(file));
	int err;

	err = sframe_unwind_convert_cached(fd, "file", &options, to);
	close(fd);
	return err;
}

/* Is the result in the cache that of @file, and was it there before? */
static bool converts_well(bool is_known)
{
	struct sframe_unwind_converted *right, *found = NULL;
	bool is_right = false;

	if (sframe_unwind_convert_memory(&file, sizeof(file), "file", NULL,
					 &right))
		return false;
	if (!convert(&found))
		is_right = found->size == right->size &&
			   !memcmp(found->bytes, right->bytes, right->size) &&
			   found->cache_file && !access(found->cache_file, 0) &&
			   !found->cache_problem &&
			   is_known == !!(found->flags &
					  SFRAME_UNWIND_CONVERTED_FROM_CACHE);
	sframe_unwind_converted_free(right);
	sframe_unwind_converted_free(found);
	return is_right;
}

/* What the names of the cache were made with once, besides the build ID. */
static uint64_t old_hash(uint64_t hash, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ words[i]) * 0x100000001b3;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Other contents with the same build ID and, by one free word, the same hash. */
static void forged(void)
{
	/* In front of its contents came a section's address and size. */
	const uint64_t place[] = { CFI_AT(eh_frame), CFI_SIZE(eh_frame) };
	const uint64_t start = old_hash(0xcbf29ce484222325, place, 2);
	/* Words of no-operations behind a function's program. */
	const size_t changed = CFI_AT(eh_frame.fde[0].program[7]) + 7 - CFI_AT(eh_frame);
	const size_t at = changed / 8;
	uint64_t good[CFI_SIZE(eh_frame) / 8], bad[CFI_SIZE(eh_frame) / 8];

	EXPECT(begin());
	cfi_file_init(&file);
	EXPECT(converts_well(false));
	EXPECT(converts_well(true));
	memcpy(good, &file.eh_frame, sizeof(good));
	memcpy(bad, good, sizeof(bad));
	/* CFA+128 behind the first instruction, then what makes up for it. */
	bad[at] = 0x000000000001800e;
	bad[at + 1] ^= old_hash(start, good, at + 1) ^
		       old_hash(start, bad, at + 1);
	EXPECT(memcmp(good, bad, sizeof(bad)));
	EXPECT_EQ(old_hash(start, good, sizeof(good) / 8),
		  old_hash(start, bad, sizeof(bad) / 8));
	memcpy(&file.eh_frame, bad, sizeof(bad));
	EXPECT(converts_well(false));
	/* And the other way round. */
	EXPECT(begin());
	EXPECT(converts_well(false));
	cfi_file_init(&file);
	EXPECT(converts_well(false));
}

/* What is between functions changes the result; it is not in .eh_frame. */
static void other_code(void)
{
	EXPECT(begin());
	cfi_file_init(&file);
	EXPECT(converts_well(false));
	memset(file.text + CFI_NOPS, 0xc3, CFI_SECOND - CFI_NOPS);
	EXPECT(converts_well(false));
}

static void without_build_id(void)
{
	EXPECT(begin());
	cfi_file_init(&file);
	file.note.header.n_type = 0;
	EXPECT(converts_well(false));
	EXPECT(converts_well(true));
}

/* A section that libelf uncompresses, for which it writes to the image's header. */
static void compressed(void)
{
	const Elf64_Chdr header = {
		.ch_type = ELFCOMPRESS_ZLIB,
		.ch_size = 8,
		.ch_addralign = 8,
	};
	/* One stored block of 8 bytes, all 0, and their checksum. */
	static const uint8_t zeroes[] = { 0x78, 0x01, 1, 8, 0, 0xf7, 0xff,
					  0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1 };
	struct sframe_unwind_converted *found;

	EXPECT(begin());
	cfi_file_init(&file);
	memcpy(file.data, &header, sizeof(header));
	memcpy(file.data + sizeof(header), zeroes, sizeof(zeroes));
	file.shdr[CFI_DEBUG_FRAME].sh_flags = SHF_COMPRESSED;
	file.shdr[CFI_DEBUG_FRAME].sh_offset = CFI_AT(data);
	file.shdr[CFI_DEBUG_FRAME].sh_size = sizeof(header) + sizeof(zeroes);
	EXPECT_EQ(convert(&found), 0);
	EXPECT_EQ(found->nr_functions, 2);
	sframe_unwind_converted_free(found);
	EXPECT_EQ(convert(&found), 0);
	EXPECT(found->flags & SFRAME_UNWIND_CONVERTED_FROM_CACHE);
	sframe_unwind_converted_free(found);
}

/* The one in the segments, which the kernel goes by; sections may say another. */
static void kernels_build_id(void)
{
	struct sframe_unwind_converted *found;

	EXPECT(begin());
	cfi_file_init(&file);
	memcpy(file.data, &file.note, sizeof(file.note));
	memset(file.data + offsetof(typeof(file.note), id), 0xbd, CFI_ID_SIZE);
	file.shdr[CFI_ID].sh_offset = CFI_AT(data);
	EXPECT_EQ(convert(&found), 0);
	EXPECT_EQ(found->build_id_size, CFI_ID_SIZE);
	EXPECT(!memcmp(found->build_id, file.note.id, CFI_ID_SIZE));
	sframe_unwind_converted_free(found);
	file.phdr[CFI_NOTE].p_type = PT_NULL;
	EXPECT_EQ(convert(&found), 0);
	EXPECT_EQ(found->build_id_size, 0);
	sframe_unwind_converted_free(found);
}

/* The result is there, and the reason why it was not kept. */
static void problems(void)
{
	struct sframe_unwind_converted *found;

	EXPECT(begin());
	cfi_file_init(&file);
	room_to_write = 10;
	EXPECT_EQ(convert(&found), 0);
	room_to_write = -1;
	EXPECT(!found->cache_file && !found->flags);
	EXPECT(strstr(found->cache_problem, "No space left on device"));
	EXPECT(strstr(found->cache_problem, dir) == found->cache_problem);
	sframe_unwind_converted_free(found);
	EXPECT(!*sframe_unwind_convert_error());
	EXPECT(!chmod(dir, 0777));
	EXPECT_EQ(convert(&found), 0);
	EXPECT(!found->cache_file);
	EXPECT(strstr(found->cache_problem, "others can write to it"));
	sframe_unwind_converted_free(found);
	EXPECT(!chmod(dir, 0700));
	/* A damaged file is replaced. */
	EXPECT_EQ(convert(&found), 0);
	EXPECT(!truncate(found->cache_file, 100));
	sframe_unwind_converted_free(found);
	EXPECT(converts_well(false));
	EXPECT(converts_well(true));
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
		TAP_TEST(used_last_stays),
		TAP_TEST(limit_of_one_entry),
		TAP_TEST(too_large),
		TAP_TEST(limit_is_kept),
		TAP_TEST(number_of_files),
		TAP_TEST(old_files),
		TAP_TEST(clean),
		TAP_TEST(abandoned_files),
		TAP_TEST(list),
		TAP_TEST(two_writers),
		TAP_TEST(forged),
		TAP_TEST(other_code),
		TAP_TEST(without_build_id),
		TAP_TEST(compressed),
		TAP_TEST(kernels_build_id),
		TAP_TEST(problems),
	};

	strcpy(work, "/tmp/section_cache.XXXXXX");
	if (!mkdtemp(work)) {
		perror(work);
		return 1;
	}
	snprintf(dir, sizeof(dir), "%s/sections", work);
	cfi_file_init(&file);
	/* With something left out: an undefined CFA. */
	file.eh_frame.fde[1].program[5] = 0x0f;
	if (sframe_unwind_convert_memory(&file, sizeof(file), "file", NULL,
					 &made)) {
		fputs(sframe_unwind_convert_error(), stderr);
		return 1;
	}
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	sfu_cache_close(cache);
	sframe_unwind_converted_free(made);
	remove_all(dir);
	rmdir(dir);
	remove_all(work);
	rmdir(work);
	return tap_done();
}
