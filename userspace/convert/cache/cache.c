// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A file has a header, the name of the converted file, and the result as written by
 * output/packed.c. It is in the byte order of the machine that wrote it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "cache_dir.h"
#include "cache_room.h"
#include "convert/base/message.h"
#include "convert/output/packed.h"
#include "convert/output/result.h"
#include "open_cache.h"

/* Raise it with every change of the converter's output. */
#define CONVERTER_VERSION 10

#define MAX_FILE_NAME 4096

static const char cache_magic[] = "SFUCACH2";

/**
 * struct cache_header - first bytes of a file
 *
 * @digest: digest of the file's own name and of all bytes after this member.
 * @file_size: bytes of the name of the converted file.
 */
struct cache_header {
	char magic[8];
	struct digest digest;
	uint64_t file_size;
};

int sfu_cache_open(const char *path, struct sfu_cache **to)
{
	struct sfu_cache *cache = calloc(1, sizeof(*cache));
	int err;

	*to = NULL;
	if (!cache)
		return sfu_message_fail(ENOMEM, "no memory");
	err = sfu_cache_dir_path(path, &cache->path);
	if (err) {
		free(cache);
		return err;
	}
	cache->dir = sfu_cache_dir_open(cache->path);
	if (cache->dir < 0) {
		err = cache->dir;
		free(cache->path);
		free(cache);
		return err;
	}
	sfu_cache_read_limit(cache);
	*to = cache;
	return 0;
}

void sfu_cache_close(struct sfu_cache *cache)
{
	if (!cache)
		return;
	close(cache->dir);
	free(cache->path);
	free(cache);
}

void sfu_cache_set_of_others(struct sfu_cache *cache, bool is_of_others)
{
	cache->is_of_others = is_of_others;
}

const char *sfu_cache_path(const struct sfu_cache *cache)
{
	return cache->path;
}

int sfu_cache_name(const struct digest *content,
		   const struct sframe_unwind_convert_options *given,
		   char name[CACHE_NAME_SIZE])
{
	static const char about[] = "sframe_unwind section";
	struct sframe_unwind_convert_options options;
	char text[DIGEST_TEXT_SIZE];
	unsigned char numbers[16];
	struct digest_run run;
	struct digest digest;
	int err;

	err = sfu_options_complete(given, &options);
	if (err)
		return err;
	if (sfu_digest_begin(&run))
		return sfu_message_fail(ENOMEM, "no memory");
	put_le(numbers, CONVERTER_VERSION, 4);
	put_le(numbers + 4, options.sources, 4);
	put_le(numbers + 8, options.max_rows, 4);
	put_le(numbers + 12, options.flags, 4);
	sfu_digest_add(&run, about, sizeof(about));
	sfu_digest_add(&run, numbers, sizeof(numbers));
	sfu_digest_add(&run, content->bytes, sizeof(content->bytes));
	sfu_digest_end(&run, &digest);
	sfu_digest_text(&digest, text);
	snprintf(name, CACHE_NAME_SIZE, "%s.section", text);
	return 0;
}

/* Digest of the name of a file and of the @size bytes after the digest in its header. */
static int digest_of(const char *name, const void *bytes, size_t size,
		     struct digest *digest)
{
	struct digest_run run;
	const int err = sfu_digest_begin(&run);

	if (err)
		return err;
	sfu_digest_add(&run, name, strlen(name) + 1);
	sfu_digest_add(&run, bytes, size);
	sfu_digest_end(&run, digest);
	return 0;
}

#define DIGEST_END (offsetof(struct cache_header, digest) + DIGEST_SIZE)

/* Check and unpack the @size bytes of the file @name. */
static int unpack(const char *name, const unsigned char *bytes, size_t size,
		  char **file, struct sframe_unwind_converted **converted)
{
	struct cache_header header;
	struct digest digest;
	int err;

	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.magic, cache_magic, sizeof(header.magic)))
		return -EINVAL;
	err = digest_of(name, bytes + DIGEST_END, size - DIGEST_END, &digest);
	if (err)
		return err;
	if (memcmp(&digest, &header.digest, sizeof(digest)))
		return -EINVAL;
	bytes += sizeof(header);
	size -= sizeof(header);
	if (header.file_size > size)
		return -EINVAL;
	if (file) {
		*file = strndup((const char *)bytes, header.file_size);
		if (!*file)
			return -ENOMEM;
	}
	err = sfu_packed_read(bytes + header.file_size,
			      size - header.file_size, converted);
	if (err && file) {
		free(*file);
		*file = NULL;
	}
	return err;
}

static int read_file(const struct sfu_cache *cache, const char *name,
		     enum cache_use use, char **file,
		     struct sframe_unwind_converted **converted)
{
	unsigned char *bytes;
	size_t size;
	int err;

	*converted = NULL;
	err = sfu_cache_dir_read(cache->dir, name, use, &bytes, &size);
	if (err)
		return err;
	err = unpack(name, bytes, size, file, converted);
	free(bytes);
	return err;
}

int sfu_cache_read(struct sfu_cache *cache, const char *name,
		   struct sframe_unwind_converted **converted)
{
	const int err = read_file(cache, name, cache->is_of_others ?
				  CACHE_USE_BY_OTHERS : CACHE_USE, NULL,
				  converted);

	if (!err)
		(*converted)->flags = SFRAME_UNWIND_CONVERTED_FROM_CACHE |
				      SFRAME_UNWIND_CONVERTED_IN_CACHE;
	return err;
}

int sfu_cache_look(const struct sfu_cache *cache, const char *name,
		   char **file, struct sframe_unwind_converted **converted)
{
	*file = NULL;
	return read_file(cache, name, CACHE_LOOK, file, converted);
}

static int pack(const char *name, const char *file,
		const struct sframe_unwind_converted *converted,
		struct buffer *to)
{
	struct cache_header header = {
		.file_size = strnlen(file, MAX_FILE_NAME),
	};
	struct digest digest;
	int err;

	memcpy(header.magic, cache_magic, sizeof(header.magic));
	if (buffer_reserve(to, sizeof(header) + header.file_size))
		return -ENOMEM;
	buffer_put(to, &header, sizeof(header));
	buffer_put(to, file, header.file_size);
	err = sfu_packed_write(to, converted);
	if (!err)
		err = digest_of(name, to->bytes + DIGEST_END,
				to->size - DIGEST_END, &digest);
	if (!err)
		memcpy(to->bytes + offsetof(struct cache_header, digest),
		       &digest, sizeof(digest));
	return err;
}

int sfu_cache_write(struct sfu_cache *cache, const char *name, const char *file,
		    const struct sframe_unwind_converted *converted)
{
	struct buffer bytes = { 0 };
	int err;

	err = pack(name, file, converted, &bytes);
	if (!err)
		err = sfu_cache_make_room(cache, bytes.size);
	if (!err)
		err = sfu_cache_dir_write(cache->dir, name, bytes.bytes,
					  bytes.size, cache->is_of_others);
	buffer_free(&bytes);
	if (err == -EFBIG)
		return sfu_message_fail(EFBIG, "%s: larger than the cache's limit of %llu bytes",
					cache->path,
					(unsigned long long)cache->limit);
	if (err)
		return sfu_message_fail(-err, "%s: %s", cache->path,
					strerror(-err));
	return 0;
}
