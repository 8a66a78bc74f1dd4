// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind-convert-worker: convert one snapshot in a sandbox. See
 * protocol.h for what goes in and out.
 */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "convert/packed.h"
#include "input.h"
#include "protocol.h"
#include "sandbox.h"

/* What the converter puts before its messages; cut off again. */
#define NAME "file"

static bool write_all(const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		const ssize_t put = write(STDOUT_FILENO, at, size);

		if (put < 0)
			return false;
		at += put;
		size -= put;
	}
	return true;
}

static int answer(struct worker_header *header, const void *bytes)
{
	memcpy(header->magic, WORKER_MAGIC, sizeof(header->magic));
	if (!write_all(header, sizeof(*header)) ||
	    !write_all(bytes, header->text_size + header->packed_size))
		return WORKER_EXIT_FAILED;
	return WORKER_EXIT_DONE;
}

__attribute__((format(printf, 3, 4)))
static int answer_error(unsigned int weak, int error, const char *format, ...)
{
	struct worker_header header = { .error = -error, .weak = weak };
	char text[WORKER_MAX_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	header.text_size = strlen(text);
	return answer(&header, text);
}

static int answer_converted(unsigned int weak, uint64_t room,
			    const struct sframe_unwind_converted *converted)
{
	struct worker_header header = { .weak = weak };
	struct buffer packed = { 0 };

	if (sfu_packed_write(&packed, converted))
		return answer_error(weak, ENOMEM, "no memory");
	header.packed_size = packed.size;
	if (sizeof(header) + packed.size > room)
		return answer_error(weak, EFBIG,
				    "its section would take %zu bytes, of which it may have %llu",
				    packed.size, (unsigned long long)room);
	return answer(&header, packed.bytes);
}

/*
 * Have no other call than brk for memory, and give nothing back. Some functions
 * of the C library look something up at their first call: it is now.
 */
static int compare_nothing(const void *a, const void *b)
{
	(void)a;
	(void)b;
	return 0;
}

static bool settle_memory(void)
{
	static char many[4096];

	if (!mallopt(M_MMAP_MAX, 0) || !mallopt(M_TRIM_THRESHOLD, -1) ||
	    !mallopt(M_TOP_PAD, 1 << 20))
		return false;
	free(malloc(1));
	/* How much memory there is */
	qsort(many, sizeof(many) / 8, 8, compare_nothing);
	return true;
}

/* A number from the command line, 0 if it is none. */
static uint64_t number(const char *text)
{
	char *end;
	const uint64_t value = strtoull(text, &end, 10);

	return *end ? 0 : value;
}

int main(int argc, char **argv)
{
	struct sframe_unwind_convert_options options = { 0 };
	struct sframe_unwind_converted *converted;
	struct sandbox sandbox;
	unsigned int weak = 0;
	const char *failed;
	const void *input;
	size_t size;
	int err;

	if (argc != 5) {
		fputs("sframe-unwind-convert-worker: is run by \"sframe-unwind attach\"\n",
		      stderr);
		return WORKER_EXIT_USAGE;
	}
	sandbox = (struct sandbox){
		.memory = number(argv[1]),
		.output = number(argv[2]),
		.cpu_seconds = number(argv[3]),
	};
	options.max_rows = number(argv[4]);
	input = input_map(STDIN_FILENO, &size);
	if (!input)
		return answer_error(0, errno == EFBIG || errno == ENOMEM ?
				    EFBIG : ENOEXEC, "the snapshot: %s",
				    strerror(errno));
	if (!settle_memory())
		return answer_error(0, ENOEXEC, "mallopt");
	failed = sandbox_enter(&sandbox, &weak);
	if (failed)
		return answer_error(weak, ENOEXEC, "no sandbox: %s: %s", failed,
				    strerror(errno));

	/* Here the first byte of the file is looked at. */
	err = sframe_unwind_convert_memory(input, size, NAME, &options,
					   &converted);
	if (err)
		err = answer_error(weak, -err, "%s",
				   sframe_unwind_convert_error() +
				   strlen(NAME ": "));
	else
		err = answer_converted(weak, sandbox.output, converted);
	_exit(err);
}
