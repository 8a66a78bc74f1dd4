// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert/base/message.h"
#include "result.h"

#define ALL_SOURCES (SFRAME_UNWIND_FROM_EH_FRAME |	\
		     SFRAME_UNWIND_FROM_DEBUG_FRAME |	\
		     SFRAME_UNWIND_FROM_OLD_SFRAME |	\
		     SFRAME_UNWIND_FROM_OWN_SFRAME |	\
		     SFRAME_UNWIND_FROM_GO |		\
		     SFRAME_UNWIND_FROM_CODE)

#define ALL_FLAGS (SFRAME_UNWIND_CONVERT_EXTENDED |	\
		   SFRAME_UNWIND_CONVERT_BY_FUNCTION)

struct result *sfu_result_create(const void *build_id, size_t build_id_size,
				 size_t size, size_t nr_left_out)
{
	struct result *result = calloc(1, sizeof(*result));

	if (!result)
		return NULL;
	result->bytes = malloc(size ? size : 1);
	result->build_id = malloc(build_id_size + 1);
	result->left_out = calloc(nr_left_out + 1, sizeof(*result->left_out));
	if (!result->bytes || !result->build_id || !result->left_out) {
		sframe_unwind_converted_free(&result->out);
		return NULL;
	}
	if (build_id_size)
		memcpy(result->build_id, build_id, build_id_size);
	result->out.bytes = result->bytes;
	result->out.size = size;
	result->out.build_id = result->build_id;
	result->out.build_id_size = build_id_size;
	result->out.left_out = result->left_out;
	result->out.nr_left_out = nr_left_out;
	return result;
}

void sframe_unwind_converted_free(struct sframe_unwind_converted *converted)
{
	struct result *result = result_of(converted);

	if (!result)
		return;
	free(result->bytes);
	free(result->build_id);
	free(result->left_out);
	free(result->cache_file);
	free(result->cache_problem);
	free(result);
}

int sfu_options_complete(const struct sframe_unwind_convert_options *given,
			 struct sframe_unwind_convert_options *options)
{
	memset(options, 0, sizeof(*options));
	if (given)
		*options = *given;
	if (options->sources & ~ALL_SOURCES)
		return sfu_message_fail(EINVAL, "unknown source bit in 0x%x",
					options->sources);
	if (options->flags & ~ALL_FLAGS || options->reserved)
		return sfu_message_fail(EINVAL, "unknown flag in 0x%x",
					options->flags);
	if (!options->sources)
		options->sources = ALL_SOURCES;
	if (!options->max_rows)
		options->max_rows = DEFAULT_MAX_ROWS;
	return 0;
}

const char *sframe_unwind_left_out_text(uint32_t reason)
{
	switch (reason) {
	case SFRAME_UNWIND_LEFT_OUT_CFA_EXPRESSION:
		return "CFA is an expression that has no form in SFrame";
	case SFRAME_UNWIND_LEFT_OUT_CFA_NONE:
		return "no CFA is defined";
	case SFRAME_UNWIND_LEFT_OUT_CFA_OFFSET:
		return "CFA has an offset of more than 32 bits";
	case SFRAME_UNWIND_LEFT_OUT_RA:
		return "return address has no form in SFrame";
	case SFRAME_UNWIND_LEFT_OUT_FP:
		return "frame pointer has no form in SFrame";
	case SFRAME_UNWIND_LEFT_OUT_FP_UNDEFINED:
		return "frame pointer is undefined, which SFrame cannot express";
	case SFRAME_UNWIND_LEFT_OUT_SP:
		return "caller's stack pointer is not the CFA";
	case SFRAME_UNWIND_LEFT_OUT_RA_COLUMN:
		return "return address is not in column 16";
	case SFRAME_UNWIND_LEFT_OUT_MALFORMED:
		return "CFI is malformed";
	case SFRAME_UNWIND_LEFT_OUT_OVERLAP:
		return "functions overlap";
	default:
		return "unknown reason";
	}
}
