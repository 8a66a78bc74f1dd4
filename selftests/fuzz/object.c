// SPDX-License-Identifier: GPL-2.0
/*
 * object: an object of arbitrary bytes, as a program announces it to debuggers. The linked
 * file that is made from it must be one that the converter can read, and the functions of
 * its section be where the code is said to be.
 */
#include <string.h>

#include <sframe_unwind_convert.h>

#include "decode/sframe.h"
#include "fuzz.h"
#include "userspace/worker/object.h"

/* As in cli/attach/following_convert.c. */
#define MAX_ROWS	256

static void check_section(const struct sframe_unwind_converted *converted,
			  const struct object *object)
{
	const struct sfu_bytes bytes = {
		.size = converted->size,
		.copy = converted->bytes,
	};
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_fde fde;

	FUZZ_CHECK(!sfu_table_open(&table, &bytes, &defect), "not opened");
	FUZZ_CHECK(!sfu_table_check(&table, &defect), "%s",
		   sfu_defect_text(defect.kind));
	for (u32 i = 0; i < table.num_fdes; i++) {
		FUZZ_CHECK(!sfu_table_read_fde(&table, i, &fde, &defect), "FDE");
		FUZZ_CHECK((u64)fde.start <= object->code_size &&
			   fde.size <= object->code_size - (u64)fde.start,
			   "function at %#llx", (unsigned long long)fde.start);
	}
}

void fuzz_object(const u8 *data, size_t size)
{
	const struct sframe_unwind_convert_options options = {
		.max_rows = MAX_ROWS,
		.sources = SFRAME_UNWIND_FROM_EH_FRAME,
		.flags = SFRAME_UNWIND_CONVERT_BY_FUNCTION,
	};
	struct sframe_unwind_converted *converted;
	struct object object;
	size_t left = size;
	int err;

	if (object_make(data, size, &object))
		return;
	FUZZ_CHECK(object.code_size && object.code_size <= OBJECT_MAX_CODE &&
		   object.start + object.code_size > object.start, "code");
	for (u32 i = 0; i < object.nr_same; i++) {
		const struct worker_same *same = &object.same[i];

		FUZZ_CHECK(same->size && same->size <= left &&
			   same->object <= size - same->size &&
			   same->code <= object.code_size - same->size,
			   "part %u", i);
		left -= same->size;
	}
	FUZZ_CHECK(left < size, "no parts");
	err = sframe_unwind_convert_memory(object.bytes, object.size, "object",
					   &options, &converted);
	/* Its headers are sound, whatever its .eh_frame is. */
	FUZZ_CHECK(err != -EOPNOTSUPP, "%s", sframe_unwind_convert_error());
	if (!err) {
		check_section(converted, &object);
		sframe_unwind_converted_free(converted);
	}
	object_free(&object);
}
