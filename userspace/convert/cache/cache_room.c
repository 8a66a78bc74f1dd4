// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The size of the directory is not stored anywhere. Each writer counts the files at
 * its first write, and again when it has written a sixteenth of the limit. So the
 * files can exceed the limit by that much for each writer.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_dir.h"
#include "cache_room.h"
#include "convert/base/digest.h"
#include "convert/base/message.h"
#include "lib/buffer.h"
#include "open_cache.h"

#define LIMIT_FILE "limit"

/* File sizes are rounded up to this. */
#define BLOCK 4096

/* A temporary file older than this has been abandoned by its writer. */
#define TEMPORARY_SECONDS 600

/* Eviction frees one part in this many of the limit. */
#define FREED_PART 8

/* Count again after writing one part in this many of the limit. */
#define UNCOUNTED_PART 16

static uint64_t room_of(uint64_t size)
{
	return (size + BLOCK - 1) / BLOCK * BLOCK;
}

/* --- names */

static size_t count_hex(const char *name)
{
	return strspn(name, "0123456789abcdef");
}

/* Returns whether it is the name of a temporary file, of this or an earlier version. */
static bool is_temporary(const char *name)
{
	const size_t hex = name[0] == '.' ? count_hex(name + 1) : 0;

	return !strncmp(name, CACHE_TEMPORARY_PREFIX,
			strlen(CACHE_TEMPORARY_PREFIX)) ||
	       (hex >= 2 && name[1 + hex] == '.' &&
		strlen(name + 2 + hex) == 16);
}

/* Returns whether a file belongs to the cache, by its name, and sets *@kind. */
static bool has_kind(const char *name, enum cache_kind *kind)
{
	const size_t hex = count_hex(name);

	if (is_temporary(name))
		*kind = CACHE_TEMPORARY;
	else if (hex == DIGEST_TEXT_SIZE - 1 && !strcmp(name + hex, ".section"))
		*kind = CACHE_SECTION;
	else if (hex == DIGEST_TEXT_SIZE - 1 && !strcmp(name + hex, ".stamp"))
		*kind = CACHE_STAMP;
	/* A build ID */
	else if (hex >= 2 && hex % 2 == 0 && hex <= 128 && !name[hex])
		*kind = CACHE_OLD;
	else
		return false;
	return true;
}

/* --- all files */

static int compare_files(const void *a, const void *b)
{
	const struct timespec *first = &((const struct cache_file *)a)->used;
	const struct timespec *second = &((const struct cache_file *)b)->used;

	if (first->tv_sec != second->tv_sec)
		return first->tv_sec < second->tv_sec ? 1 : -1;
	return (first->tv_nsec < second->tv_nsec) -
	       (first->tv_nsec > second->tv_nsec);
}

static int add_file(int dir, const char *name, struct buffer *files)
{
	struct cache_file file = { 0 };
	struct stat stat;

	if (strlen(name) >= sizeof(file.name) || !has_kind(name, &file.kind) ||
	    fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) ||
	    S_ISDIR(stat.st_mode))
		return 0;
	memcpy(file.name, name, strlen(name) + 1);
	file.size = room_of(stat.st_size);
	file.is_of_others = sfu_cache_dir_is_of_others(&stat);
	file.used = stat.st_mtim;
	/* Not used any more, so evict it first. */
	if (file.kind == CACHE_OLD)
		file.used = (struct timespec){ 0 };
	if (buffer_reserve(files, sizeof(file)))
		return -ENOMEM;
	buffer_put(files, &file, sizeof(file));
	return 0;
}

/*
 * Returns 0 with an array of struct cache_file in *@files, most recently used first,
 * or a negative errno.
 */
static int scan(int dir, struct buffer *files)
{
	const int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	int err = stream ? 0 : -errno;

	memset(files, 0, sizeof(*files));
	if (!stream) {
		if (copy >= 0)
			close(copy);
		return err;
	}
	while (!err && (entry = readdir(stream)))
		err = add_file(dir, entry->d_name, files);
	closedir(stream);
	if (err) {
		buffer_free(files);
		return err;
	}
	if (files->size)
		qsort(files->bytes, files->size / sizeof(struct cache_file),
		      sizeof(struct cache_file), compare_files);
	return 0;
}

static bool is_abandoned(const struct cache_file *file)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return file->kind == CACHE_TEMPORARY &&
	       (file->used.tv_sec > now.tv_sec ||
		now.tv_sec - file->used.tv_sec > TEMPORARY_SECONDS);
}

int sfu_cache_list(const struct sfu_cache *cache, struct cache_file **files,
		   size_t *count)
{
	struct buffer found;
	int err = scan(cache->dir, &found);

	*files = NULL;
	*count = 0;
	if (err)
		return sfu_message_fail(-err, "%s: %s", cache->path,
					strerror(-err));
	*files = (struct cache_file *)found.bytes;
	*count = found.size / sizeof(**files);
	return 0;
}

int sfu_cache_clean(struct sfu_cache *cache, uint64_t *count, uint64_t *size)
{
	struct cache_file *files;
	size_t nr_files;
	int err;

	*count = *size = 0;
	cache->is_counted = false;
	err = sfu_cache_list(cache, &files, &nr_files);
	if (err)
		return err;
	for (size_t i = 0; i < nr_files; i++) {
		if (files[i].kind == CACHE_TEMPORARY && !is_abandoned(&files[i]))
			continue;
		if (!unlinkat(cache->dir, files[i].name, 0)) {
			++*count;
			*size += files[i].size;
		} else if (errno != ENOENT && !err) {
			err = sfu_message_fail(errno, "%s/%s: %s", cache->path,
					       files[i].name, strerror(errno));
		}
	}
	free(files);
	return err;
}

/* --- the limit */

uint64_t sfu_cache_limit(const struct sfu_cache *cache)
{
	return cache->limit;
}

void sfu_cache_read_limit(struct sfu_cache *cache)
{
	unsigned char *bytes;
	uint64_t limit;
	size_t size;
	int length;

	cache->limit = CACHE_DEFAULT_LIMIT;
	if (sfu_cache_dir_read(cache->dir, LIMIT_FILE, CACHE_LOOK, &bytes, &size))
		return;
	/* sfu_cache_dir_read() allocates one byte more than @size. */
	bytes[size] = '\0';
	if (isdigit(bytes[0]) &&
	    sscanf((char *)bytes, "%" SCNu64 "%n", &limit, &length) == 1 &&
	    !strcmp((char *)bytes + length, "\n"))
		cache->limit = limit;
	free(bytes);
}

/*
 * Remove least recently used files, so that @size bytes and some spare room fit: of files
 * that are needed least, or of the others.
 */
static void evict_some(struct sfu_cache *cache, const struct cache_file *files,
		       size_t count, uint64_t size, bool is_needed)
{
	uint64_t most = cache->limit - cache->limit / FREED_PART;

	if (most < size)
		most = size;
	while (count && (cache->used + size > most ||
			 cache->nr_files >= CACHE_MAX_FILES -
					    CACHE_MAX_FILES / FREED_PART)) {
		const struct cache_file *file = &files[--count];

		if (file->kind == CACHE_TEMPORARY ||
		    is_needed == (file->kind == CACHE_OLD ||
				  file->is_of_others) ||
		    (unlinkat(cache->dir, file->name, 0) && errno != ENOENT))
			continue;
		cache->used -= file->size;
		cache->nr_files--;
	}
}

static void evict(struct sfu_cache *cache, const struct cache_file *files,
		  size_t count, uint64_t size)
{
	evict_some(cache, files, count, size, false);
	evict_some(cache, files, count, size, true);
}

/* Count all files, and evict some if @size bytes more would exceed the limit. */
static int recount(struct sfu_cache *cache, uint64_t size)
{
	const struct cache_file *files;
	struct buffer found;
	int err;

	/* Another process may have changed the limit. */
	sfu_cache_read_limit(cache);
	/* Do not evict anything for a file that does not fit at all. */
	if (size > cache->limit)
		size = 0;
	err = scan(cache->dir, &found);
	if (err)
		return err;
	files = (const struct cache_file *)found.bytes;
	cache->used = 0;
	cache->nr_files = 0;
	for (size_t i = 0; i < found.size / sizeof(*files); i++) {
		if (is_abandoned(&files[i]) &&
		    !unlinkat(cache->dir, files[i].name, 0))
			continue;
		cache->used += files[i].size;
		cache->nr_files++;
	}
	if (cache->used + size > cache->limit ||
	    cache->nr_files >= CACHE_MAX_FILES)
		evict(cache, files, found.size / sizeof(*files), size);
	cache->is_counted = true;
	cache->written = 0;
	buffer_free(&found);
	return 0;
}

int sfu_cache_make_room(struct sfu_cache *cache, uint64_t size)
{
	int err = 0;

	size = room_of(size);
	if (!cache->is_counted || cache->used + size > cache->limit ||
	    cache->nr_files >= CACHE_MAX_FILES ||
	    cache->written > cache->limit / UNCOUNTED_PART) {
		/* Only one process at a time: two would evict twice as much. */
		if (flock(cache->dir, LOCK_EX | LOCK_NB))
			return errno == EWOULDBLOCK ? 0 : -errno;
		err = recount(cache, size);
		flock(cache->dir, LOCK_UN);
		if (size > cache->limit)
			return -EFBIG;
	}
	cache->used += size;
	cache->written += size;
	cache->nr_files++;
	return err;
}

int sfu_cache_set_limit(struct sfu_cache *cache, uint64_t limit)
{
	char text[32];
	int err;

	snprintf(text, sizeof(text), "%" PRIu64 "\n", limit);
	err = sfu_cache_dir_write(cache->dir, LIMIT_FILE, text, strlen(text),
				  false);
	if (!err)
		err = recount(cache, 0);
	return err ? sfu_message_fail(-err, "%s: %s", cache->path,
				      strerror(-err)) : 0;
}
