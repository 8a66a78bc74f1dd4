// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind verify: compare .sframe with .eh_frame.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "cli.h"
#include "convert/base/message.h"
#include "convert/cfi/cfi.h"
#include "defect.h"
#include "escape.h"
#include "file.h"
#include "input.h"
#include "options.h"
#include "targets.h"
#include "verify_compare.h"

const char verify_help[] =
"usage: sframe-unwind verify [OPTION]... FILE...\n"
"\n"
"Compare the .sframe section of each FILE, an executable or shared object, with\n"
"its .eh_frame (or .debug_frame), row by row, and print each disagreement with\n"
"both rules, and the name of the known defect of the assembler or linker that\n"
"explains it. Padding between functions may have the rule of the code before it.\n"
"\n"
"      --complete     code that only .eh_frame describes is a disagreement\n"
"      --ignore-known print disagreements that known defects explain, but ignore\n"
"                     them in the exit status\n"
"  -q, --quiet        print disagreements only\n"
"      --sframe=PATH  read the .sframe section from PATH: for one FILE a raw\n"
"                     section or an ELF file, or the directory that\n"
"                     \"convert -o PATH\" has written for the same FILEs\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n"
"\n"
"Exit status: 0 they agree, 1 they do not, 2 wrong usage, 3 a FILE lacks one of\n"
"the two, 4 a FILE is broken or of an unsupported kind, 5 a FILE cannot be read,\n"
"or another error. With several FILEs, the highest is returned.\n";

/**
 * struct arguments - arguments of the command
 *
 * @is_complete, @ignores_known, @is_quiet: options.
 * @other: file with the .sframe, or NULL if it is in the file itself.
 */
struct arguments {
	bool is_complete;
	bool ignores_known;
	bool is_quiet;
	const char *other;
};

/* Print the converter's message. Returns the exit status. */
static int complain_error(int err)
{
	return complain_as(convert_status(err), "%s",
			   sframe_unwind_convert_error());
}

static int read_sframe(struct verify *verify, const struct input *input)
{
	const struct sfu_bytes bytes = {
		.address = input->address,
		.size = input->size,
		.copy = input->bytes,
	};
	struct sfu_defect defect = { 0 };
	char text[DEFECT_SIZE];
	int err;

	err = sfu_own_sframe_read(&verify->sframe, &verify->image.file.budget,
				 &bytes, &defect);
	if (!err)
		return CLI_OK;
	if (err != -EINVAL && err != -EOPNOTSUPP)
		return complain_error(err);
	return complain_as(CLI_UNSUITABLE, "%s: .sframe+0x%" PRIx64 ": %s",
			   input->file, defect.offset,
			   defect_describe(&defect, bytes.copy, bytes.size,
					   text));
}

/* Read the section of the file, or of @other if that is given. */
static int find_sframe(struct verify *verify, const char *other)
{
	const struct input_options options = { 0 };
	const struct image_section *own = &verify->image.sframe;
	struct input input = { .file = verify->file };
	int status;

	if (!other) {
		if (!own->data)
			return complain_as(CLI_NOTHING, "%s: no .sframe",
					   verify->file);
		input.bytes = own->data->d_buf;
		input.size = own->data->d_size;
		input.address = own->address;
		return read_sframe(verify, &input);
	}
	status = input_open(&input, other, &options);
	if (status)
		return status;
	status = read_sframe(verify, &input);
	input_close(&input);
	return status;
}

/* Replace each span of PLT stubs by two spans for each stub, as in .sframe. */
static int expand_stubs(struct verify *verify)
{
	struct budget *budget = &verify->image.file.budget;
	struct buffer expanded = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < nr_spans(&verify->cfi); i++) {
		const struct span *span = span_at(&verify->cfi, i);
		uint64_t end, at = span->start;

		for (; !err && at < span->end; at = end) {
			const uint64_t in_stub = at % PLT_STUB_SIZE;
			struct span part = *span;

			end = span->end;
			if (span->plt_push) {
				const bool is_pushed = in_stub >=
						       span->plt_push;

				end = at - in_stub + (is_pushed ?
					PLT_STUB_SIZE : span->plt_push);
				part.rule.cfa_offset += is_pushed ? 8 : 0;
			}
			part.start = at;
			part.end = end < span->end ? end : span->end;
			part.plt_push = 0;
			err = sfu_span_add(budget, &expanded,
					   nr_spans(&expanded), &part);
		}
	}
	sfu_budget_free(budget, &verify->cfi);
	verify->cfi = expanded;
	return err;
}

static int add_cfi(struct verify *verify, const struct image_section *section)
{
	struct image *image = &verify->image;
	struct cfi cfi = { 0 };
	int err;

	if (!section->data)
		return 0;
	err = sfu_cfi_read(&cfi, image, section == &image->eh_frame, false, NULL,
			   NULL);
	if (!err)
		err = sfu_span_merge(&image->file.budget, &verify->cfi, &cfi);
	cfi_free(&image->file.budget, &cfi);
	return err;
}

static int read_cfi(struct verify *verify)
{
	int err;

	err = add_cfi(verify, &verify->image.eh_frame);
	if (!err)
		err = add_cfi(verify, &verify->image.debug_frame);
	if (!err)
		err = expand_stubs(verify);
	return err ? complain_error(err) : CLI_OK;
}

static void print_sum(const struct verify *verify)
{
	print_line(stdout, "%s: %lu disagreement%s, %lu by known defects; %" PRIu64 " bytes of code agree, %" PRIu64 " have no rule in .sframe, %" PRIu64 " are padding with a rule",
		   verify->file, verify->disagreements,
		   verify->disagreements == 1 ? "" : "s", verify->known,
		   verify->agreed, verify->missing, verify->padding);
}

static int verify_image(struct verify *verify,
			const struct arguments *arguments)
{
	const struct image *image = &verify->image;
	int status, err;

	status = find_sframe(verify, arguments->other);
	if (status)
		return status;
	if (!image->eh_frame.data && !image->debug_frame.data)
		return complain_as(CLI_NOTHING,
				   "%s: no .eh_frame to compare .sframe with",
				   verify->file);
	status = read_cfi(verify);
	if (status)
		return status;
	verify->symbols = symbols_read(&verify->image);
	if (!verify->symbols)
		return complain("no memory");
	err = verify_compare(verify);
	symbols_free(verify->symbols);
	if (err)
		return complain_error(err);
	if (!arguments->is_quiet)
		print_sum(verify);
	if (arguments->ignores_known)
		verify->disagreements -= verify->known;
	return verify->disagreements ? CLI_DEFECT : CLI_OK;
}

static int verify_file(const char *file, const struct arguments *arguments)
{
	struct verify verify = {
		.file = file,
		.is_complete = arguments->is_complete,
	};
	struct stat stat;
	const int fd = file_open(file, &stat);
	int err, status;

	if (fd < 0)
		return -fd;
	sfu_message_begin(file);
	err = sfu_image_open_fd(&verify.image, fd);
	if (err) {
		close(fd);
		return complain_error(err);
	}
	status = verify_image(&verify, arguments);
	sfu_budget_free(&verify.image.file.budget, &verify.cfi);
	sfu_own_sframe_free(&verify.sframe, &verify.image.file.budget);
	sfu_image_close(&verify.image);
	close(fd);
	return status;
}

/* @path is a directory with the sections of @files, or one section, or NULL. */
static int verify_files(struct arguments *arguments, const char *path,
			char **files, size_t nr)
{
	char **targets = NULL;
	int worst = CLI_OK;
	struct stat status_of;

	if (path && !stat(path, &status_of) && S_ISDIR(status_of.st_mode)) {
		targets = targets_plan(path, files, nr);
		if (!targets)
			return complain("no memory");
	} else if (path && nr > 1) {
		return usage_error("verify", "--sframe: several files need a directory");
	}
	for (size_t i = 0; i < nr; i++) {
		int status;

		/* The same file was given before. */
		if (targets && !targets[i])
			continue;
		arguments->other = targets ? targets[i] : path;
		status = verify_file(files[i], arguments);
		if (status > worst)
			worst = status;
	}
	targets_free(targets, nr);
	return worst;
}

int verify_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "complete", no_argument, NULL, 'c' },
		{ "ignore-known", no_argument, NULL, 'i' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "sframe", required_argument, NULL, 's' },
		OPTIONS_LONG
	};
	static const struct options known = {
		"verify", verify_help, OPTIONS_SHORT "q", longs,
	};
	struct arguments arguments = { 0 };
	const char *sframe = NULL;
	int option;

	while ((option = options_next(&known, argc, argv)) != -1) {
		switch (option) {
		case 'c':
			arguments.is_complete = true;
			break;
		case 'i':
			arguments.ignores_known = true;
			break;
		case 'q':
			arguments.is_quiet = true;
			break;
		case 's':
			sframe = optarg;
			break;
		default:
			return usage_error("verify", NULL);
		}
	}
	if (optind == argc)
		return usage_error("verify", "no file given");
	return verify_files(&arguments, sframe, argv + optind, argc - optind);
}
