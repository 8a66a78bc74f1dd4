// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cfi_file.h"
#include "convert/base/message.h"
#include "memory_file.h"
#include "section_cache.h"

char work[64];
char dir[96];
struct sfu_cache *cache;
struct sframe_unwind_converted *made;

__attribute__((format(printf, 1, 2)))
const char *text(const char *format, ...)
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
const char *in(const char *name)
{
	return text("%s/%s", dir, name);
}

const char *name_of(unsigned char number)
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

/* Open an empty cache. Returns whether that worked. */
bool begin(void)
{
	sfu_message_begin("test");
	room_to_write = -1;
	sfu_cache_close(cache);
	cache = NULL;
	remove_all(dir);
	chmod(dir, 0700);
	return !sfu_cache_open(dir, &cache);
}

unsigned int count_files(void)
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

int reopen(void)
{
	sfu_cache_close(cache);
	cache = NULL;
	return sfu_cache_open(dir, &cache);
}

bool is_there(const char *name)
{
	return !access(in(name), F_OK);
}

/* Read the file and compare it with the result written. Returns 0 or an error. */
int read_back(const char *name)
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

int write_one(const char *name)
{
	return sfu_cache_write(cache, name, "/a/file", made);
}

void put_file(const char *name, const char *bytes)
{
	FILE *file = fopen(in(name), "w");

	if (file) {
		fputs(bytes, file);
		fclose(file);
	}
}

/* Write files 1 to @count, each used later than the one before. */
void fill(unsigned int count)
{
	for (unsigned int i = 1; i <= count; i++) {
		const struct timespec times[2] = { { 1000 + i, 0 },
						   { 1000 + i, 0 } };

		write_one(name_of(i));
		utimensat(AT_FDCWD, in(name_of(i)), times, 0);
	}
}

static int set_up(void)
{
	static struct cfi_file file;

	strcpy(work, "/tmp/section_cache.XXXXXX");
	if (!mkdtemp(work)) {
		perror(work);
		return 1;
	}
	snprintf(dir, sizeof(dir), "%s/sections", work);
	cfi_file_init(&file);
	/* With an undefined CFA, which the converter leaves out. */
	file.eh_frame.fde[1].program[5] = 0x0f;
	if (sframe_unwind_convert_memory(&file, sizeof(file), "file", NULL,
					 &made)) {
		fputs(sframe_unwind_convert_error(), stderr);
		return 1;
	}
	return 0;
}

int run_with_cache(const struct tap_test *tests, unsigned int count)
{
	if (set_up())
		return 1;
	tap_run(tests, count);
	sfu_cache_close(cache);
	sframe_unwind_converted_free(made);
	remove_all(dir);
	rmdir(dir);
	remove_all(work);
	rmdir(work);
	return tap_done();
}
