/* SPDX-License-Identifier: GPL-2.0 */
/* Write to files of /proc, such as the maps of a user namespace. */
#ifndef SFU_WRITE_TEXT_H
#define SFU_WRITE_TEXT_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static inline bool write_text(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool is_written = fd >= 0 &&
				write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return is_written;
}

#endif /* SFU_WRITE_TEXT_H */
