// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * oracle: answers questions by binutils' libsframe through pipes (oracle.h). It
 * is a separate process because libsframe is GPL-3.0-or-later; the module's
 * sources compiled into it are used under the MIT licence.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sframe-api.h>

#include "oracle.h"

static char answer[1 << 20];
static size_t filled;

static void transfer(ssize_t (*move)(int, void *, size_t), int fd, void *bytes,
		     size_t size)
{
	ssize_t ret;

	for (; size; size -= ret, bytes = (char *)bytes + ret) {
		ret = move(fd, bytes, size);
		if (ret <= 0)
			exit(ret < 0);
	}
}

static ssize_t write_some(int fd, void *bytes, size_t size)
{
	return write(fd, bytes, size);
}

static void *put(const void *bytes, size_t size)
{
	void *at = answer + filled;

	if (size > sizeof(answer) - filled)
		abort();
	memcpy(at, bytes, size);
	filled += size;
	return at;
}

/*
 * Reports the values of a default row for any row; compare knows the row's
 * type.
 */
static void put_row(const sframe_decoder_ctx *section,
		    const sframe_frame_row_entry *row, int error)
{
	struct oracle_row out = { .error = error };
	const uint32_t type = SFRAME_FDE_TYPE_DEFAULT;
	unsigned int i, count;
	int err;

	if (!error) {
		out.start = row->fre_start_addr;
		out.info = row->fre_info;
		count = SFRAME_V3_FRE_DATAWORD_COUNT(row->fre_info);
		out.outermost = sframe_fre_get_ra_undefined_p(section, row, &err);
		for (i = 0; i < count && i < ORACLE_MAX_WORDS && !out.error; i++)
			out.word[i] = sframe_get_fre_udata(row, i, &out.error);
		if (count) {
			out.base = sframe_fre_get_base_reg_id(row, &err);
			out.cfa = sframe_fre_get_cfa_offset(section, row, type,
							    &err);
			out.fp = sframe_fre_get_fp_offset(section, row, type,
							  &err);
			out.has_fp = !err;
		}
	}
	put(&out, sizeof(out));
}

/* Report FDE number @i with its rows, as far as there is room. */
static void put_fde(const sframe_decoder_ctx *section, unsigned int i)
{
	const size_t reserve = sizeof(answer) / 2;
	sframe_frame_row_entry row;
	struct oracle_fde fde = { 0 };
	unsigned int n;

	fde.error = sframe_decoder_get_funcdesc_v3(section, i, &fde.num_rows,
						   &fde.size, &fde.start,
						   &fde.info, &fde.info2,
						   &fde.rep_size);
	if (!fde.error)
		fde.nr_rows = fde.num_rows;
	if (fde.nr_rows > reserve / sizeof(struct oracle_row) ||
	    filled + sizeof(fde) + fde.nr_rows * sizeof(struct oracle_row) > reserve)
		fde.nr_rows = 0;
	put(&fde, sizeof(fde));
	for (n = 0; n < fde.nr_rows; n++) {
		int error = sframe_decoder_get_fre(section, i, n, &row);

		put_row(section, &row, error);
	}
}

static void reply(const char *bytes, const struct oracle_question *question,
		  const int64_t *pcs)
{
	struct oracle_answer head = { 0 };
	sframe_decoder_ctx *section;
	uint32_t i;

	filled = 0;
	section = sframe_decode(bytes, question->size, &head.error);
	if (section) {
		head.error = 0;
		head.num_fdes = sframe_decoder_get_num_fidx(section);
	}
	put(&head, sizeof(head));
	if (!section)
		return;
	for (i = 0; i < head.num_fdes; i++)
		put_fde(section, i);
	for (i = 0; i < question->nr_pcs; i++) {
		sframe_frame_row_entry row;
		int error = sframe_find_fre(section, pcs[i], &row);

		put_row(section, &row, error);
	}
	sframe_decoder_free(&section);
}

int main(void)
{
	struct oracle_question question;

	for (;;) {
		uint32_t size;
		int64_t *pcs;
		char *bytes;

		transfer(read, STDIN_FILENO, &question, sizeof(question));
		bytes = malloc(question.size + 1);
		pcs = calloc(question.nr_pcs + 1, sizeof(*pcs));
		if (!bytes || !pcs)
			return 1;
		transfer(read, STDIN_FILENO, bytes, question.size);
		transfer(read, STDIN_FILENO, pcs, question.nr_pcs * sizeof(*pcs));
		reply(bytes, &question, pcs);
		size = filled;
		transfer(write_some, STDOUT_FILENO, &size, sizeof(size));
		transfer(write_some, STDOUT_FILENO, answer, filled);
		free(bytes);
		free(pcs);
	}
}
