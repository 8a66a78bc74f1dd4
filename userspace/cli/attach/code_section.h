/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code section: an SFrame section that says only that code keeps frame pointers.
 */
#ifndef ATTACH_CODE_SECTION_H
#define ATTACH_CODE_SECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes that are enough for one. */
#define CODE_SECTION_SIZE 256

/**
 * code_section_make() - make one
 * @size: bytes of code, at most 2^30.
 * @switches: code may call functions on another stack than its own. It is an extended
 *	section then.
 * @section: filled; for a range that begins with the code.
 *
 * Return: the bytes of the section, or a negative errno.
 */
ssize_t code_section_make(uint64_t size, bool switches,
			  unsigned char section[CODE_SECTION_SIZE]);

#endif /* ATTACH_CODE_SECTION_H */
