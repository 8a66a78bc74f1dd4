/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Result: the result of a conversion.
 */
#ifndef SFRAME_UNWIND_RESULT_H
#define SFRAME_UNWIND_RESULT_H

#include <sframe_unwind_convert.h>

/* Default of sframe_unwind_convert_options.max_rows. */
#define DEFAULT_MAX_ROWS 32

/**
 * struct result - the public structure, and its pointers without const
 *
 * @out: the structure that callers see.
 * @bytes, @build_id, @left_out, @cache_file, @cache_problem: its pointers, to memory
 *	that is freed with the result.
 */
struct result {
	struct sframe_unwind_converted out;
	unsigned char *bytes;
	unsigned char *build_id;
	struct sframe_unwind_left_out *left_out;
	char *cache_file;
	char *cache_problem;
};

static inline struct result *
result_of(struct sframe_unwind_converted *converted)
{
	return (struct result *)converted;
}

/*
 * Returns a result with this build ID and room for @size bytes of section and
 * @nr_left_out ranges, or NULL without memory.
 */
struct result *sfu_result_create(const void *build_id, size_t build_id_size,
				 size_t size, size_t nr_left_out);

/* Copy @given, or NULL, with defaults filled in. Returns 0, or -EINVAL with a message. */
int sfu_options_complete(const struct sframe_unwind_convert_options *given,
			 struct sframe_unwind_convert_options *options);

#endif /* SFRAME_UNWIND_RESULT_H */
