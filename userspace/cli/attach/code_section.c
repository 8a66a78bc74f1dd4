// SPDX-License-Identifier: GPL-2.0
/*
 * Code section: an SFrame section that says only that code keeps frame pointers.
 */
#include <sframe_unwind.h>

#include "code_section.h"
#include "lib/writer.h"
#include "module/decode/sframe_format.h"

/* The auxiliary header of an extended section without tables. */
static const unsigned char no_tables[SFRAME_EXT_SIZE] = {
	'S', 'F', 'U', 'X', SFRAME_EXT_VERSION_VALUE
};

ssize_t code_section_make(uint64_t size, bool switches,
			  unsigned char section[CODE_SECTION_SIZE])
{
	struct sframe_unwind_row row = SFRAME_UNWIND_ROW_KEEPS_FP;
	const struct sframe_unwind_function function = {
		.start = CODE_SECTION_SIZE,
		.size = size,
		.rows = &row,
		.nr_rows = 1,
	};
	struct sframe_unwind_writer *writer;
	ssize_t written;
	int err;

	err = sframe_unwind_writer_create(&writer);
	if (err)
		return err;
	if (switches) {
		row.cfa.base = SFRAME_EXT_REG_FP_SWITCH;
		sfu_writer_extend(writer);
		err = sfu_writer_set_extension(writer, no_tables,
					       sizeof(no_tables));
	}
	err = err ? err : sframe_unwind_writer_add(writer, &function);
	/* The code begins at 0, from the section CODE_SECTION_SIZE bytes backwards. */
	written = err ? err : sframe_unwind_writer_write(writer, section,
							 CODE_SECTION_SIZE,
							 CODE_SECTION_SIZE);
	sframe_unwind_writer_free(writer);
	return written;
}
