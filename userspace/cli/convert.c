// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind convert: SFrame sections for programs that have none.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "cli.h"
#include "input.h"

const char convert_help[] =
"usage: sframe-unwind convert [OPTION]... FILE...\n"
"\n"
"Make SFrame sections, version 3, of the .eh_frame of each FILE, an executable or\n"
"shared object; of its .debug_frame for what .eh_frame does not cover; or of its\n"
".sframe of version 1 or 2 if it has neither.\n"
"\n"
"  -o, --output=DIR   write FILE.sframe to DIR: the bytes of the section as if it\n"
"                     lay at address 0 of FILE; otherwise it goes to the cache\n"
"      --elf          write an ELF file with that section\n"
"      --from=SOURCE  only eh_frame, debug_frame or sframe\n"
"      --max-rows=N   at most N rows in an entry of the index, default 32\n"
"  -q, --quiet        print nothing but errors\n"
"  -v, --verbose      list the code that was left out, and why\n"
"      --help         print this\n"
"\n"
"Exit status: 0 converted, 2 wrong usage, or a FILE that cannot be converted.\n";

/* A bar appears when the work takes longer than this. */
#define PATIENCE_MS 300
#define BAR_WIDTH 40

/**
 * struct convert - options, and what has been done
 *
 * @output: directory, or NULL for the cache.
 * @names: files written to @output, of @nr_names inputs.
 * @file: the file being converted.
 * @start_ms: when that began.
 * @has_bar: is there a bar to remove?
 */
struct convert {
	struct sframe_unwind_convert_options options;
	const char *output;
	bool is_elf;
	bool is_quiet;
	bool is_verbose;
	char **names;
	size_t nr_names;
	const char *file;
	uint64_t start_ms;
	bool has_bar;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

static void show_bar(void *data, uint64_t done, uint64_t whole)
{
	struct convert *convert = data;
	char bar[BAR_WIDTH + 1];
	unsigned int filled;

	if (now_ms() - convert->start_ms < PATIENCE_MS)
		return;
	if (done > whole)
		done = whole;
	filled = whole ? done * BAR_WIDTH / whole : 0;
	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '#', filled);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %3u%% %.60s\033[K", bar,
		whole ? (unsigned int)(done * 100 / whole) : 0, convert->file);
	convert->has_bar = true;
}

static void remove_bar(struct convert *convert)
{
	if (convert->has_bar)
		fputs("\r\033[K", stderr);
	convert->has_bar = false;
}

static void print_left_out(const struct sframe_unwind_converted *converted)
{
	for (size_t i = 0; i < converted->nr_left_out; i++) {
		const struct sframe_unwind_left_out *range =
			&converted->left_out[i];

		printf("  left out 0x%" PRIx64 "..0x%" PRIx64 ": %s\n",
		       range->start, range->start + range->size,
		       sframe_unwind_left_out_text(range->reason));
	}
}

static void print_result(const struct convert *convert,
			 const struct sframe_unwind_converted *converted,
			 const char *path)
{
	const char *of = converted->sources & SFRAME_UNWIND_FROM_OLD_SFRAME ?
			 "the old .sframe" :
			 converted->sources & SFRAME_UNWIND_FROM_EH_FRAME ?
			 ".eh_frame and its index" : ".debug_frame";

	if (convert->is_quiet)
		return;
	printf("%s: %" PRIu64 " functions, %" PRIu64 " rows, %zu bytes, %.2f of %s",
	       convert->file, converted->nr_functions, converted->nr_rows,
	       converted->size,
	       converted->cfi_size ?
	       (double)converted->size / converted->cfi_size : 0, of);
	if (converted->nr_left_out)
		printf("; left out: %zu ranges, %" PRIu64 " of %" PRIu64 " bytes of code",
		       converted->nr_left_out, converted->left_out_size,
		       converted->left_out_size + converted->covered);
	if (path)
		printf(" -> %s%s", path,
		       converted->flags & SFRAME_UNWIND_CONVERTED_FROM_CACHE ?
		       " (was there)" : "");
	putchar('\n');
	if (convert->is_verbose)
		print_left_out(converted);
}

/* Write it beside the file and rename: readers see all of it or nothing. */
static int write_file(const char *path, const void *bytes, size_t size)
{
	char *temporary;
	FILE *out;
	int fd, err;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkstemp(temporary);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		err = -errno;
		free(temporary);
		return err;
	}
	errno = EIO;
	err = fwrite(bytes, 1, size, out) == size ? 0 : -errno;
	if (fchmod(fd, 0644) && !err)
		err = -errno;
	if (fclose(out) && !err)
		err = -errno;
	if (!err && rename(temporary, path))
		err = -errno;
	if (err)
		unlink(temporary);
	free(temporary);
	return err;
}

/* Two files of one name would overwrite each other. */
static bool is_taken(const struct convert *convert, const char *path)
{
	for (size_t i = 0; i < convert->nr_names; i++)
		if (!strcmp(convert->names[i], path))
			return true;
	return false;
}

static int write_output(struct convert *convert,
			const struct sframe_unwind_converted *converted)
{
	const char *slash = strrchr(convert->file, '/');
	unsigned char *elf = NULL;
	const void *bytes = converted->bytes;
	size_t size = converted->size;
	char *path;
	int err = 0;

	if (asprintf(&path, "%s/%s.sframe", convert->output,
		     slash ? slash + 1 : convert->file) < 0)
		return complain("no memory");
	if (is_taken(convert, path)) {
		complain("%s: %s has been written for another file",
			 convert->file, path);
		free(path);
		return CLI_TROUBLE;
	}
	convert->names[convert->nr_names++] = path;
	if (convert->is_elf) {
		err = sframe_unwind_converted_elf(converted, &elf, &size);
		bytes = elf;
	}
	if (!err)
		err = write_file(path, bytes, size);
	free(elf);
	if (err)
		return complain("%s: %s", path, strerror(-err));
	print_result(convert, converted, path);
	return CLI_OK;
}

/* Without a directory for it, the cache is what the result is for. */
static int use_cached(struct convert *convert,
		      const struct sframe_unwind_converted *converted)
{
	if (!converted->cache_file) {
		print_result(convert, converted, NULL);
		return complain("%s: cannot be kept in the cache%s; use -o",
				convert->file,
				converted->build_id_size ? "" :
				" without a build ID");
	}
	print_result(convert, converted, converted->cache_file);
	return CLI_OK;
}

static int convert_file(struct convert *convert, const char *file)
{
	struct sframe_unwind_converted *converted;
	int fd, err, status;

	convert->file = file;
	convert->start_ms = now_ms();
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return complain("%s: %s", file, strerror(errno));
	if (convert->output)
		err = sframe_unwind_convert_fd(fd, file, &convert->options,
					       &converted);
	else
		err = sframe_unwind_convert_cached(fd, file, &convert->options,
						   &converted);
	close(fd);
	remove_bar(convert);
	if (err)
		return complain("%s", sframe_unwind_convert_error());
	status = convert->output ? write_output(convert, converted) :
				   use_cached(convert, converted);
	sframe_unwind_converted_free(converted);
	return status;
}

static int parse_source(const char *name, uint32_t *source)
{
	if (!strcmp(name, "eh_frame"))
		*source = SFRAME_UNWIND_FROM_EH_FRAME;
	else if (!strcmp(name, "debug_frame"))
		*source = SFRAME_UNWIND_FROM_DEBUG_FRAME;
	else if (!strcmp(name, "sframe"))
		*source = SFRAME_UNWIND_FROM_OLD_SFRAME;
	else
		return -1;
	return 0;
}

static int parse_options(struct convert *convert, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "elf", no_argument, NULL, 'e' },
		{ "from", required_argument, NULL, 'f' },
		{ "max-rows", required_argument, NULL, 'm' },
		{ "output", required_argument, NULL, 'o' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ 0 }
	};
	uint64_t number;
	int option;

	while ((option = getopt_long(argc, argv, "o:qv", longs, NULL)) != -1) {
		switch (option) {
		case 'e':
			convert->is_elf = true;
			break;
		case 'f':
			if (parse_source(optarg, &convert->options.sources))
				return usage_error("convert", "unknown source");
			break;
		case 'm':
			if (input_parse_address(optarg, &number) || !number ||
			    number > UINT16_MAX)
				return usage_error("convert", "bad number of rows");
			convert->options.max_rows = number;
			break;
		case 'o':
			convert->output = optarg;
			break;
		case 'q':
			convert->is_quiet = true;
			break;
		case 'v':
			convert->is_verbose = true;
			break;
		default:
			return usage_error("convert", NULL);
		}
	}
	if (optind == argc)
		return usage_error("convert", "no file given");
	if (convert->is_elf && !convert->output)
		return usage_error("convert", "--elf is for -o");
	return CLI_OK;
}

int convert_main(int argc, char **argv)
{
	struct convert convert = { 0 };
	int worst;

	worst = parse_options(&convert, argc, argv);
	if (worst)
		return worst;
	if (isatty(STDERR_FILENO) && !convert.is_quiet) {
		convert.options.progress = show_bar;
		convert.options.data = &convert;
	}
	convert.names = calloc(argc, sizeof(*convert.names));
	if (!convert.names)
		return complain("no memory");
	for (int i = optind; i < argc; i++) {
		const int status = convert_file(&convert, argv[i]);

		if (status > worst)
			worst = status;
	}
	for (size_t i = 0; i < convert.nr_names; i++)
		free(convert.names[i]);
	free(convert.names);
	return worst;
}
