// SPDX-License-Identifier: GPL-2.0
/*
 * Worker: read and examine its result. No number in it can be trusted: a hostile file
 * may have taken over the worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/output/packed.h"
#include "module/decode/sframe.h"
#include "worker.h"
#include "worker/protocol.h"

/* Returns whether a worker may report that error. */
static bool is_error(int error)
{
	switch (error) {
	case -EINVAL:
	case -ENODATA:
	case -EOPNOTSUPP:
	case -EFBIG:
	case -ENOMEM:
	case -ENOEXEC:
		return true;
	default:
		return false;
	}
}

/* Bytes of the result that @header begins, which is_header(). */
static uint64_t size_of(const struct worker_header *header)
{
	return sizeof(*header) + header->text_size + header->packed_size +
	       header->nr_same * sizeof(struct worker_same);
}

/* Returns whether @header, with @left bytes from its beginning on, makes sense. */
static bool is_header(const struct worker_header *header, uint64_t left)
{
	if (memcmp(header->magic, WORKER_MAGIC, sizeof(header->magic)) ||
	    header->text_size > WORKER_MAX_TEXT ||
	    header->packed_size > left ||
	    size_of(header) > left)
		return false;
	if (header->error)
		return !header->packed_size && !header->nr_same &&
		       header->text_size && is_error(header->error);
	return !header->text_size;
}

/* Find one of the results. Sets *@at to its offset in the file. */
static int read_header(int fd, const struct worker_part *part,
		       struct worker_header *header, uint64_t *at)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	uint64_t end = 0, whole;
	struct stat stat;

	if (seals < 0 || !(seals & F_SEAL_WRITE) || fstat(fd, &stat))
		return -EPROTO;
	whole = stat.st_size;
	for (unsigned int i = 0; i <= part->index; i++) {
		*at = end;
		if (pread(fd, header, sizeof(*header), *at) !=
			    sizeof(*header) ||
		    !is_header(header, whole - *at))
			return -EPROTO;
		end += size_of(header);
	}
	/* There is nothing after the last one. */
	return part->index + 1 < part->nr || end == whole ? 0 : -EPROTO;
}

static int tell_error(int fd, uint64_t at, const struct worker_header *header,
		      const struct worker_limits *limits, char *text,
		      size_t size)
{
	char said[WORKER_MAX_TEXT + 1];
	ssize_t got;

	if (header->error == -ENOMEM && limits && limits->memory) {
		snprintf(text, size,
			 "takes more than %llu MiB of memory to convert",
			 (unsigned long long)limits->memory >> 20);
		return -ENOMEM;
	}
	got = pread(fd, said, header->text_size, at + sizeof(*header));
	said[got > 0 ? got : 0] = '\0';
	snprintf(text, size, "%s", said);
	return header->error;
}

/* Returns 0, or -EPROTO with a text. */
static int examine(const struct sframe_unwind_converted *converted, char *text,
		   size_t size)
{
	const struct sfu_bytes bytes = {
		.size = converted->size,
		.copy = converted->bytes,
	};
	struct sfu_defect defect = { SFU_DEFECT_NONE };
	struct sfu_table table;

	if (!sfu_table_open_extended(&table, &bytes, &defect) &&
	    !sfu_table_check(&table, &defect))
		return 0;
	snprintf(text, size, "its conversion made a broken section: byte %llu: %s",
		 (unsigned long long)defect.offset,
		 sfu_defect_text(defect.kind));
	return -EPROTO;
}

static int unpack(int fd, const struct worker_header *header, uint64_t at,
		  struct sframe_unwind_converted **converted, char *text,
		  size_t size)
{
	const uint64_t skipped = at % sysconf(_SC_PAGESIZE);
	const uint64_t start = skipped + sizeof(*header);
	const size_t mapped = start + header->packed_size;
	const unsigned char *bytes;
	int err;

	bytes = mmap(NULL, mapped, PROT_READ, MAP_PRIVATE, fd, at - skipped);
	if (bytes == MAP_FAILED) {
		snprintf(text, size, "no memory to read its result");
		return -ENOMEM;
	}
	err = sfu_packed_read(bytes + start, header->packed_size, converted);
	munmap((void *)(uintptr_t)bytes, mapped);
	if (err == -ENOMEM) {
		snprintf(text, size, "no memory to read its result");
		return err;
	}
	if (err) {
		snprintf(text, size, "its conversion made no section");
		return -EPROTO;
	}
	err = examine(*converted, text, size);
	if (err) {
		sframe_unwind_converted_free(*converted);
		*converted = NULL;
	}
	return err;
}

int worker_result_read_part(int result_fd, const struct worker_part *part,
			    const struct worker_limits *limits,
			    struct sframe_unwind_converted **converted,
			    char *text, size_t size)
{
	struct worker_header header;
	uint64_t at;

	*converted = NULL;
	text[0] = '\0';
	if (read_header(result_fd, part, &header, &at)) {
		snprintf(text, size, "its conversion returned no result");
		return -EPROTO;
	}
	if (header.error)
		return tell_error(result_fd, at, &header, limits, text, size);
	return unpack(result_fd, &header, at, converted, text, size);
}

void worker_result_code(int result_fd, const struct worker_part *part,
			uint64_t *start, uint64_t *size)
{
	struct worker_header header;
	uint64_t at;
	const int err = read_header(result_fd, part, &header, &at);

	*start = err ? 0 : header.code_start;
	*size = err ? 0 : header.code_size;
}

int worker_result_same(int result_fd, const struct worker_part *part,
		       struct worker_same **same, uint32_t *nr)
{
	struct worker_header header;
	uint64_t at, size;

	*same = NULL;
	*nr = 0;
	if (read_header(result_fd, part, &header, &at))
		return -EPROTO;
	size = header.nr_same * sizeof(**same);
	at += size_of(&header) - size;
	*same = malloc(size ? size : 1);
	if (!*same)
		return -ENOMEM;
	if (pread(result_fd, *same, size, at) != (ssize_t)size) {
		free(*same);
		*same = NULL;
		return -EPROTO;
	}
	*nr = header.nr_same;
	return 0;
}

/* The only result. */
static const struct worker_part whole = { .index = 0, .nr = 1 };

int worker_result_read(int result_fd, const struct worker_limits *limits,
		       struct sframe_unwind_converted **converted, char *text,
		       size_t size)
{
	return worker_result_read_part(result_fd, &whole, limits, converted,
				       text, size);
}

const char *worker_weakness(int result_fd)
{
	/* The first of any number. */
	const struct worker_part first = { .index = 0, .nr = UINT_MAX };
	struct worker_header header;
	uint64_t at;

	if (read_header(result_fd, &first, &header, &at) || !header.weak)
		return NULL;
	if (header.weak & WORKER_WEAK_NAMESPACES)
		return header.weak & WORKER_WEAK_USER ?
		       "conversions run as this user and in no namespaces of their own" :
		       "conversions run in no namespaces of their own";
	if (header.weak & WORKER_WEAK_ROOT)
		return "conversions have no root directory of their own";
	if (header.weak & WORKER_WEAK_USER)
		return "conversions run as this user";
	return "conversions have no user namespace of their own";
}
