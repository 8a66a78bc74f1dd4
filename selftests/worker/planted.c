// SPDX-License-Identifier: GPL-2.0
/*
 * Replaces the converter: jumps into its input, as a buggy converter might. The
 * rest of the worker is unchanged, except that it maps its input executable.
 */
#include <errno.h>

#include "userspace/convert/output/packed.h"

int sframe_unwind_convert_memory(const void *image, size_t size,
				 const char *name,
				 const struct sframe_unwind_convert_options *options,
				 struct sframe_unwind_converted **converted)
{
	(void)size;
	(void)name;
	(void)options;
	*converted = NULL;
	((void (*)(const void *))(uintptr_t)image)(image);
	return -EINVAL;
}

const char *sframe_unwind_convert_error(void)
{
	return "file: came back";
}

void sframe_unwind_converted_free(struct sframe_unwind_converted *converted)
{
	(void)converted;
}

int sfu_packed_write(struct buffer *to,
		     const struct sframe_unwind_converted *converted)
{
	(void)to;
	(void)converted;
	return -ENOMEM;
}
