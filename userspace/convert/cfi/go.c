// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Up to Go 1.25, the header has the address of the code's start. Since then it is in a
 * structure of the runtime; in position-independent programs it is nowhere in the file.
 * Then it is searched for: only with the right one, instructions agree with the table.
 */
#include <sframe_unwind_convert.h>

#include "convert/base/message.h"
#include "go.h"
#include "go_spans.h"
#include "module/decode/bytes.h"
#include "scan.h"

/* Offset of the address of the code's start in the runtime's structure. */
#define MODULE_TEXT		176

/* Distance between the addresses where the code's start is searched for, and number. */
#define SEARCH_STEP		16
#define MAX_SEARCH		65536

/* Functions that have to agree at the code's start. */
#define NR_SAMPLES		64

/* Functions and changes that are looked at in the whole search. */
#define MAX_SEARCH_STEPS	(4 << 20)

static int add_function(struct go *go, const struct go_function *function)
{
	struct cfi *cfi = go->cfi;
	struct cfi_fde fde = {
		.start = function->start,
		.end = function->end,
		.first = nr_spans(&cfi->spans),
		.order = nr_fdes(cfi),
	};
	int err;

	err = sfu_go_add_spans(go, function, fde.first);
	if (err)
		return err;
	fde.count = nr_spans(&cfi->spans) - fde.first;
	if (!fde.count)
		return 0;
	err = sfu_budget_reserve(&go->image->file.budget, &cfi->fdes,
				 sizeof(fde), ".gopclntab");
	if (!err)
		buffer_put(&cfi->fdes, &fde, sizeof(fde));
	return err;
}

/*
 * Check whether go->text is the code's start: the first functions with a frame are
 * proven. Returns 1, 0, or a negative errno with a message.
 */
static int is_start(struct go *go)
{
	unsigned int nr_proven = 0, nr_failed = 0;

	if (!sfu_image_text(go->image, go->text))
		return 0;
	for (uint64_t i = 0; i < go->nr && nr_proven < NR_SAMPLES; i++) {
		struct go_function function;
		struct go_proof proof;
		int ret;

		if (!go->left || !sfu_go_read_function(go, i, &function))
			return 0;
		go->left--;
		if (!function.has_values)
			continue;
		ret = sfu_go_prove(go, function, &proof);
		if (ret < 0)
			return ret;
		nr_proven += ret && proof.nr_changes;
		nr_failed += !ret;
		if (nr_failed > nr_proven / 16)
			return 0;
	}
	return nr_proven != 0;
}

/* Search for the code's start. Returns 1 with go->text, 0, or a negative errno. */
static int find_start(struct go *go)
{
	const struct image_section *module = &go->image->go_module;
	int ret = 0;

	go->left = MAX_SEARCH_STEPS;
	if (go->text)
		ret = is_start(go);
	if (!ret && module->data && module->data->d_size >= MODULE_TEXT + 8) {
		go->text = get_le64((unsigned char *)module->data->d_buf +
				    MODULE_TEXT);
		ret = is_start(go);
	}
	for (size_t i = 0; !ret && i < go->image->nr_texts; i++) {
		const struct image_text *text = &go->image->texts[i];
		const uint64_t most = text->file_size / SEARCH_STEP;

		for (uint64_t n = 0; !ret && go->left && n < most &&
				     n < MAX_SEARCH; n++) {
			go->text = (text->address + SEARCH_STEP - 1) /
				   SEARCH_STEP * SEARCH_STEP + n * SEARCH_STEP;
			ret = is_start(go);
		}
	}
	return ret;
}

int sfu_go_read(struct cfi *cfi, struct image *image, bool is_extended)
{
	const Elf_Data *data = image->gopclntab.data;
	struct go go = {
		.bytes = data->d_buf,
		.size = data->d_size,
		.image = image,
		.cfi = cfi,
		.is_extended = is_extended,
	};
	uint64_t end = 0;
	int ret;

	if (!sfu_go_read_header(&go))
		return 0;
	ret = find_start(&go);
	if (ret <= 0)
		return ret;
	ret = sfu_scan_has_entry(image);
	if (ret < 0)
		return ret;
	go.entry = ret ? image->headers.ehdr.e_entry : 0;
	go.left = MAX_SEARCH_STEPS + image->file.budget.allocated;
	for (uint64_t i = 0; i < go.nr; i++) {
		struct go_function function;

		/* Functions are in order, so that all tables end. */
		if (!sfu_go_read_function(&go, i, &function) || function.start < end)
			break;
		end = function.end;
		if (function.start == function.end ||
		    sfu_image_filled(image, function.start) <
			    function.end - function.start)
			continue;
		ret = add_function(&go, &function);
		if (ret)
			return ret;
	}
	return 0;
}
