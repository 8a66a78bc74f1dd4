// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind verify: does .sframe say what .eh_frame says?
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "cli.h"
#include "defect.h"
#include "escape.h"
#include "file.h"
#include "options.h"
#include "verify_defect.h"
#include "verify_symbols.h"
#include "convert/cfi.h"
#include "convert/image.h"
#include "convert/message.h"
#include "module/sframe_format.h"

const char verify_help[] =
"usage: sframe-unwind verify [OPTION]... FILE...\n"
"\n"
"Compare the .sframe section of each FILE, an executable or shared object, with\n"
"its .eh_frame (or .debug_frame), row by row, and print each disagreement with\n"
"what both say, and the name of the assembler's or linker's defect if it is a\n"
"known one.\n"
"\n"
"      --complete     code that only .eh_frame describes is a disagreement\n"
"  -q, --quiet        print disagreements only\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n"
"\n"
"Exit status: 0 they agree, 1 they do not, 2 wrong usage, 3 a FILE lacks one of\n"
"the two, 4 a FILE is broken or of a kind that is not taken, 5 a FILE cannot be\n"
"read, or other trouble. Of several FILEs the highest counts.\n";

/**
 * struct verify - a file being verified
 *
 * @cfi, @sframe: arrays of struct span, in order: what the two say.
 * @firsts: of each span of @sframe, number of its entry's first one.
 * @agreed, @missing: bytes of code.
 * @disagreements: number of them.
 */
struct verify {
	const char *file;
	bool is_complete;
	bool is_quiet;
	struct image image;
	struct symbols *symbols;
	struct buffer cfi;
	struct buffer sframe;
	struct buffer firsts;
	uint64_t agreed;
	uint64_t missing;
	unsigned long disagreements;
};

/* Both names of an address: in its function and in the file. */
static void print_range(const struct verify *verify, uint64_t start,
			uint64_t end)
{
	uint64_t offset;
	const char *name = symbols_function(verify->symbols, start, &offset);

	print_escaped(stdout, verify->file);
	printf(": 0x%" PRIx64 "..0x%" PRIx64 " ", start, end);
	print_escaped(stdout, name ? name :
			      symbols_section(verify->symbols, start));
	if (name)
		printf("+0x%" PRIx64, offset);
	fputs(": ", stdout);
}

static void report(struct verify *verify, const struct disagreement *found)
{
	const char *defect = verify_defect(found);
	char cfi[160], sframe[160];

	verify->disagreements++;
	verify_describe(found->cfi, cfi, sizeof(cfi));
	verify_describe(found->sframe, sframe, sizeof(sframe));
	print_range(verify, found->start, found->end);
	printf(".sframe says %s; .eh_frame says %s%s%s%s\n", sframe, cfi,
	       defect ? " [known defect: " : "", defect ? defect : "",
	       defect ? "]" : "");
}

static bool is_same(const struct span *a, const struct span *b)
{
	if (!a || !b)
		return a == b;
	/* Of a signal trampoline without a caller nothing else counts. */
	if (a->rule.flags & b->rule.flags & SFU_RULE_OUTERMOST)
		return true;
	return a->reason == b->reason &&
	       !memcmp(&a->rule, &b->rule, sizeof(a->rule));
}

/* A rule with a register that AMD64 does not have leads nowhere. */
static bool is_usable(const struct span *span)
{
	return (span->rule.cfa & SFU_BASE_MASK) != SFU_BASE_OTHER;
}

/* Do they differ? [now->start, now->end) is code that one of them describes. */
static bool differs(struct verify *verify, const struct disagreement *now)
{
	const uint64_t size = now->end - now->start;

	if (is_same(now->cfi, now->sframe)) {
		verify->agreed += size;
		return false;
	}
	if (!now->cfi)
		return true;
	if (now->sframe && (!now->cfi->reason || is_usable(now->sframe)))
		return true;
	/* Neither can say what to do, or only .eh_frame can. */
	if (now->cfi->reason)
		return false;
	verify->missing += size;
	return verify->is_complete;
}

/* Report what differs, the code with the same difference at once. */
static void compare(struct verify *verify, struct disagreement *pending,
		    const struct disagreement *now)
{
	if (!differs(verify, now))
		return;
	if (pending->end == now->start && is_same(pending->cfi, now->cfi) &&
	    is_same(pending->sframe, now->sframe)) {
		pending->end = now->end;
		return;
	}
	if (pending->end)
		report(verify, pending);
	*pending = *now;
}

/* Go through both lists at once. */
static void compare_all(struct verify *verify)
{
	const size_t nr_cfi = nr_spans(&verify->cfi);
	const size_t nr_sframe = nr_spans(&verify->sframe);
	struct disagreement pending = { 0 };
	bool was_outermost = false;
	size_t i = 0, j = 0;
	uint64_t at = 0;

	while (i < nr_cfi || j < nr_sframe) {
		const struct span *cfi = i < nr_cfi ?
					 span_at(&verify->cfi, i) : NULL;
		const struct span *sframe = j < nr_sframe ?
					    span_at(&verify->sframe, j) : NULL;
		struct disagreement now = { .end = UINT64_MAX };

		/* From where at least one says something, to where one ends. */
		if (cfi && cfi->end <= at) {
			i++;
			continue;
		}
		if (sframe && sframe->end <= at) {
			j++;
			continue;
		}
		now.start = UINT64_MAX;
		if (cfi && cfi->start < now.start)
			now.start = cfi->start;
		if (sframe && sframe->start < now.start)
			now.start = sframe->start;
		if (now.start < at)
			now.start = at;
		if (cfi && cfi->start <= now.start) {
			now.cfi = cfi;
			now.end = cfi->end;
		} else if (cfi) {
			now.end = cfi->start;
		}
		if (sframe && sframe->start <= now.start) {
			now.sframe = sframe;
			now.first = &span_at(&verify->sframe,
				((size_t *)verify->firsts.bytes)[j])->rule;
			if (sframe->end < now.end)
				now.end = sframe->end;
		} else if (sframe && sframe->start < now.end) {
			now.end = sframe->start;
		}
		if (now.cfi && now.cfi->flags & SPAN_ENTRY)
			was_outermost = false;
		now.was_outermost = was_outermost;
		now.section = symbols_section(verify->symbols, now.start);
		compare(verify, &pending, &now);
		if (now.cfi && now.cfi->rule.flags & SFU_RULE_OUTERMOST)
			was_outermost = true;
		at = now.end;
	}
	if (pending.end)
		report(verify, &pending);
}

/* A rule as this compares them: what does not count is 0. */
static struct sfu_rule normal_rule(const struct sfu_rule *rule)
{
	struct sfu_rule normal = *rule;

	if (rule->flags & SFU_RULE_OUTERMOST)
		normal = (struct sfu_rule){ .flags = rule->flags };
	else if (rule->fp == SFRAME_AMD64_REG_FP && !rule->fp_offset)
		normal.fp = SFU_SAME;
	return normal;
}

static int add_sframe_span(struct verify *verify, const struct span *span,
			   size_t first)
{
	if (span->start >= span->end)
		return 0;
	if (buffer_reserve(&verify->sframe, sizeof(*span)) ||
	    buffer_reserve(&verify->firsts, sizeof(first)))
		return -ENOMEM;
	buffer_put(&verify->sframe, span, sizeof(*span));
	buffer_put(&verify->firsts, &first, sizeof(first));
	return 0;
}

/* The rows of an FDE, or of one of its blocks, from @start to @end. */
static int add_rows(struct verify *verify, const struct sfu_table *table,
		    const struct sfu_fde *fde, uint64_t start, uint64_t end,
		    struct sfu_defect *defect)
{
	const size_t first = nr_spans(&verify->sframe);
	struct span span = { .start = end };
	struct sfu_rows rows;
	struct sfu_row row;
	int err, ret;

	/* No rows mean that there is no caller, but for signal trampolines. */
	if (!fde->num_rows && !sfu_fde_is_signal(fde)) {
		span.start = start;
		span.rule.flags = SFU_RULE_OUTERMOST;
	}
	sfu_rows_begin(&rows, table, fde);
	while ((ret = sfu_rows_next(&rows, &row, defect)) > 0) {
		struct sfu_rule rule;

		span.end = row.start < end - start ? start + row.start : end;
		err = add_sframe_span(verify, &span, first);
		if (!err)
			err = sfu_row_decode(fde, &row, &rule, defect);
		if (err)
			return err;
		span.start = span.end;
		span.rule = normal_rule(&rule);
	}
	if (ret)
		return ret;
	span.end = end;
	return add_sframe_span(verify, &span, first);
}

static int add_fde(struct verify *verify, const struct sfu_table *table,
		   u32 index, struct sfu_defect *defect)
{
	const unsigned char *code;
	struct sfu_fde fde;
	uint64_t step;
	int err;

	err = sfu_table_read_fde(table, index, &fde, defect);
	if (err || !fde.size)
		return err;
	step = fde.size;
	/* In the file, whose size bounds the number of blocks. */
	if (fde.info & SFRAME_FDE_PCMASK &&
	    sfu_image_code(&verify->image, fde.start, fde.size, &code) ==
	    fde.size)
		step = fde.rep_size;
	for (uint64_t at = 0; !err && at < fde.size; at += step) {
		const uint64_t left = fde.size - at;

		err = add_rows(verify, table, &fde, fde.start + at,
			       fde.start + at + (left < step ? left : step),
			       defect);
	}
	return err;
}

static int read_sframe(struct verify *verify)
{
	const struct sfu_bytes bytes = {
		.address = verify->image.sframe.address,
		.size = verify->image.sframe.data->d_size,
		.copy = verify->image.sframe.data->d_buf,
	};
	struct sfu_defect defect = { 0 };
	char text[DEFECT_SIZE];
	struct sfu_table table;
	int err;

	err = sfu_table_open(&table, &bytes, &defect);
	for (u32 i = 0; !err && i < table.num_fdes; i++)
		err = add_fde(verify, &table, i, &defect);
	if (err == -ENOMEM)
		return complain("no memory");
	if (err)
		return complain_as(CLI_UNSUITABLE, "%s: .sframe+0x%" PRIx64 ": %s",
				   verify->file, defect.offset,
				   defect_describe(&defect, bytes.copy,
						   bytes.size, text));
	return CLI_OK;
}

/* Linkage stubs are alike, which the section says its own way. */
static int expand_stubs(struct verify *verify)
{
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
			err = sfu_span_add(&expanded, nr_spans(&expanded),
					   &part);
		}
	}
	buffer_free(&verify->cfi);
	verify->cfi = expanded;
	return err;
}

static int read_cfi(struct verify *verify)
{
	struct cfi eh_frame = { 0 }, debug_frame = { 0 };
	int err = 0, status = CLI_OK;

	if (verify->image.eh_frame.data)
		err = sfu_cfi_read(&eh_frame, &verify->image, true, NULL, NULL);
	if (!err && verify->image.debug_frame.data)
		err = sfu_cfi_read(&debug_frame, &verify->image, false, NULL,
				   NULL);
	if (err)
		status = complain_as(convert_status(err), "%s",
				     sframe_unwind_convert_error());
	else if (sfu_span_merge(&verify->cfi, &eh_frame) ||
		 sfu_span_merge(&verify->cfi, &debug_frame) ||
		 expand_stubs(verify))
		status = complain("no memory");
	cfi_free(&eh_frame);
	cfi_free(&debug_frame);
	return status;
}

static int verify_image(struct verify *verify)
{
	const struct image *image = &verify->image;
	int status;

	if (!image->sframe.data)
		return complain_as(CLI_NOTHING, "%s: no .sframe", verify->file);
	if (!image->eh_frame.data && !image->debug_frame.data)
		return complain_as(CLI_NOTHING,
				   "%s: no .eh_frame to compare .sframe with",
				   verify->file);
	status = read_sframe(verify);
	if (!status)
		status = read_cfi(verify);
	if (status)
		return status;
	verify->symbols = symbols_read(image->elf);
	if (!verify->symbols)
		return complain("no memory");
	compare_all(verify);
	if (!verify->is_quiet)
		print_line(stdout, "%s: %lu disagreements; %" PRIu64 " bytes of code agree, %" PRIu64 " have no rule in .sframe",
		       verify->file, verify->disagreements, verify->agreed,
		       verify->missing);
	symbols_free(verify->symbols);
	return verify->disagreements ? CLI_DEFECT : CLI_OK;
}

static int verify_file(const char *file, bool is_complete, bool is_quiet)
{
	struct verify verify = {
		.file = file,
		.is_complete = is_complete,
		.is_quiet = is_quiet,
	};
	struct stat stat;
	const int fd = file_open(file, &stat);
	int status;

	if (fd < 0)
		return -fd;
	sfu_message_begin(file);
	status = sfu_image_open_fd(&verify.image, fd);
	if (status) {
		close(fd);
		return complain_as(convert_status(status), "%s",
				   sframe_unwind_convert_error());
	}
	status = verify_image(&verify);
	buffer_free(&verify.cfi);
	buffer_free(&verify.sframe);
	buffer_free(&verify.firsts);
	sfu_image_close(&verify.image);
	close(fd);
	return status;
}

int verify_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "complete", no_argument, NULL, 'c' },
		{ "quiet", no_argument, NULL, 'q' },
		OPTIONS_LONG
	};
	static const struct options known = {
		"verify", verify_help, OPTIONS_SHORT "q", longs,
	};
	bool is_complete = false, is_quiet = false;
	int worst = CLI_OK;
	int option;

	while ((option = options_next(&known, argc, argv)) != -1) {
		switch (option) {
		case 'c':
			is_complete = true;
			break;
		case 'q':
			is_quiet = true;
			break;
		default:
			return usage_error("verify", NULL);
		}
	}
	if (optind == argc)
		return usage_error("verify", "no file given");
	for (int i = optind; i < argc; i++) {
		const int status = verify_file(argv[i], is_complete, is_quiet);

		if (status > worst)
			worst = status;
	}
	return worst;
}
