// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind convert: make SFrame sections for programs that have none.
 */
#include <errno.h>
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
#include "escape.h"
#include "file.h"
#include "input.h"
#include "options.h"
#include "targets.h"

const char convert_help[] =
"usage: sframe-unwind convert [OPTION]... FILE...\n"
"\n"
"Make an SFrame section, version 3, from the .eh_frame of each FILE, an\n"
"executable or shared object; from its .debug_frame for code that .eh_frame does\n"
"not cover; or from its .sframe of version 1 or 2 if it has neither. - is\n"
"standard input.\n"
"\n"
"  -o, --output=DIR   write the section to DIR/NAME.sframe, as if it lay at\n"
"                     address 0 of FILE; without this option it is stored in the\n"
"                     cache. FILEs with the same NAME keep their paths below DIR\n"
"      --elf          write an ELF file with the section\n"
"      --extended     with -o: add what only sframe-unwind's own reader knows, as in\n"
"                     the cache: rules without a form in version 3, saved registers\n"
"      --from=SOURCE  use only eh_frame, debug_frame, sframe, go or code\n"
"      --max-rows=N   at most N rows in an entry of the index, default 32\n"
"  -q, --quiet        print nothing but errors\n"
"  -v, --verbose      list the code that was left out, and why\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n"
"\n"
"Exit status: 0 converted, 2 wrong usage, 3 a FILE has no call frame information,\n"
"4 a FILE is broken or of an unsupported kind, 5 a FILE cannot be read, the\n"
"result cannot be written, or another error. With several FILEs, the highest is\n"
"returned.\n";

/* A progress bar appears when a conversion takes longer than this. */
#define PATIENCE_MS 300
#define BAR_WIDTH 40

/**
 * struct convert - options and state
 *
 * @output: output directory, or NULL for the cache.
 * @file: the file being converted.
 * @target: path of its result in @output.
 * @start_ms: when its conversion began.
 * @has_bar: a progress bar is on the screen.
 */
struct convert {
	struct sframe_unwind_convert_options options;
	const char *output;
	bool is_elf;
	bool is_extended;
	bool is_quiet;
	bool is_verbose;
	const char *file;
	const char *target;
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
	char bar[BAR_WIDTH + 1], name[60];
	unsigned int filled;

	if (now_ms() - convert->start_ms < PATIENCE_MS)
		return;
	if (done > whole)
		done = whole;
	filled = whole ? done * BAR_WIDTH / whole : 0;
	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '#', filled);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %3u%% %s\033[K", bar,
		whole ? (unsigned int)(done * 100 / whole) : 0,
		escape(name, sizeof(name), convert->file));
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
			 ".eh_frame and its index" :
			 converted->sources & SFRAME_UNWIND_FROM_DEBUG_FRAME ?
			 ".debug_frame" : "its tables";

	char left_out[100] = "";

	if (convert->is_quiet)
		return;
	if (converted->nr_left_out)
		snprintf(left_out, sizeof(left_out),
			 "; left out: %zu ranges, %" PRIu64 " of %" PRIu64 " bytes of code",
			 converted->nr_left_out, converted->left_out_size,
			 converted->left_out_size + converted->covered);
	print_line(stdout,
		   "%s: %" PRIu64 " functions, %" PRIu64 " rows, %zu bytes, %.2f of %s%s%s%s%s",
		   convert->file, converted->nr_functions, converted->nr_rows,
		   converted->size,
		   converted->cfi_size ?
		   (double)converted->size / converted->cfi_size : 0, of,
		   left_out, path ? " -> " : "", path ? path : "",
		   path && converted->flags &
			   SFRAME_UNWIND_CONVERTED_FROM_CACHE ?
		   " (from the cache)" : "");
	if (convert->is_verbose)
		print_left_out(converted);
}

/* Write a temporary file and rename it, so that readers never see a partial file. */
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

static int write_output(struct convert *convert,
			const struct sframe_unwind_converted *converted)
{
	const char *path = convert->target;
	const void *bytes = converted->bytes;
	size_t size = converted->size;
	unsigned char *elf = NULL;
	int err;

	err = targets_make_parents(path, strlen(convert->output));
	if (!err && convert->is_elf) {
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

/* Report a result that was to be stored in the cache. */
static int use_cached(struct convert *convert,
		      const struct sframe_unwind_converted *converted)
{
	if (!converted->cache_file) {
		print_result(convert, converted, NULL);
		return complain("%s: cannot be kept in the cache: %s; use -o",
				convert->file, converted->cache_problem ?
				converted->cache_problem : "no memory");
	}
	print_result(convert, converted, converted->cache_file);
	return CLI_OK;
}

int convert_status(int error)
{
	switch (error) {
	case -ENODATA:
		return CLI_NOTHING;
	case -EINVAL:
	case -EOPNOTSUPP:
	case -EFBIG:
		return CLI_UNSUITABLE;
	default:
		return CLI_TROUBLE;
	}
}

static int convert_file(struct convert *convert, const char *file)
{
	struct sframe_unwind_converted *converted;
	struct stat stat;
	int fd, err, status;

	convert->file = file;
	convert->start_ms = now_ms();
	fd = file_open(file, &stat);
	if (fd < 0)
		return -fd;
	if (convert->output)
		err = sframe_unwind_convert_fd(fd, file, &convert->options,
					       &converted);
	else
		err = sframe_unwind_convert_cached(fd, file, &convert->options,
						   &converted);
	close(fd);
	remove_bar(convert);
	if (err)
		return complain_as(convert_status(err), "%s",
				   sframe_unwind_convert_error());
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
		*source = SFRAME_UNWIND_FROM_OLD_SFRAME |
			  SFRAME_UNWIND_FROM_OWN_SFRAME;
	else if (!strcmp(name, "go"))
		*source = SFRAME_UNWIND_FROM_GO;
	else if (!strcmp(name, "code"))
		*source = SFRAME_UNWIND_FROM_CODE;
	else
		return -1;
	return 0;
}

static int parse_options(struct convert *convert, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "elf", no_argument, NULL, 'e' },
		{ "extended", no_argument, NULL, 'x' },
		{ "from", required_argument, NULL, 'f' },
		{ "max-rows", required_argument, NULL, 'm' },
		{ "output", required_argument, NULL, 'o' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		OPTIONS_LONG
	};
	static const struct options known = {
		"convert", convert_help, OPTIONS_SHORT "o:qv", longs,
	};
	uint64_t number;
	int option;

	while ((option = options_next(&known, argc, argv)) != -1) {
		switch (option) {
		case 'e':
			convert->is_elf = true;
			break;
		case 'x':
			convert->is_extended = true;
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
	if (convert->is_extended && (!convert->output || convert->is_elf))
		return usage_error("convert", "--extended is for -o, without --elf");
	/* What "attach" looks for in the cache. */
	if (convert->is_extended || !convert->output)
		convert->options.flags = SFRAME_UNWIND_CONVERT_EXTENDED;
	return CLI_OK;
}

int convert_main(int argc, char **argv)
{
	struct convert convert = { 0 };
	char **files, **targets = NULL;
	int worst;
	size_t nr;

	worst = parse_options(&convert, argc, argv);
	if (worst)
		return worst;
	files = argv + optind;
	nr = argc - optind;
	if (isatty(STDERR_FILENO) && !convert.is_quiet) {
		convert.options.progress = show_bar;
		convert.options.data = &convert;
	}
	if (convert.output) {
		targets = targets_plan(convert.output, files, nr);
		if (!targets)
			return complain("no memory");
	}
	for (size_t i = 0; targets && i < nr; i++)
		if (!targets[i])
			return complain_as(CLI_USAGE,
					   "%s: its result would replace that of another FILE",
					   files[i]);
	for (size_t i = 0; i < nr; i++) {
		int status;

		convert.target = targets ? targets[i] : NULL;
		status = convert_file(&convert, files[i]);
		if (status > worst)
			worst = status;
	}
	targets_free(targets, nr);
	return worst;
}
