/* SPDX-License-Identifier: GPL-2.0 */
/* Describe the rule of a range of code. */
#ifndef VERIFY_DESCRIBE_H
#define VERIFY_DESCRIBE_H

#include <stddef.h>

#include "convert/base/span.h"

/* Write a description of the rule of @span, which may be NULL, to @text. */
void verify_describe(const struct span *span, char *text, size_t size);

#endif /* VERIFY_DESCRIBE_H */
