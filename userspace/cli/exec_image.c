// SPDX-License-Identifier: GPL-2.0
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exec_image.h"

#define SECURE "it has more privileges than its caller, like set-user-ID programs"

static int open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Returns whether the program has a PT_INTERP, so is dynamically linked. */
static bool has_linker(int fd, const Elf64_Ehdr *header)
{
	Elf64_Phdr segment;

	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (pread(fd, &segment, sizeof(segment), header->e_phoff +
			  (uint64_t)i * sizeof(segment)) != sizeof(segment))
			break;
		if (segment.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* Returns whether the program is the dynamic linker itself. */
static bool is_linker(int fd)
{
	char link[64], path[PATH_MAX];
	const char *slash;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	return slash && !strncmp(slash, "/ld", 3);
}

static const char *refuses(int fd)
{
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return NULL;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_machine != EM_X86_64)
		return "it is not for x86-64";
	return has_linker(fd, &header) || is_linker(fd) ?
	       NULL : "it is statically linked";
}

static bool is_secure(pid_t pid)
{
	const int fd = open_proc(pid, "auxv");
	Elf64_auxv_t entry;
	bool found = false;

	if (fd < 0)
		return false;
	while (!found && read(fd, &entry, sizeof(entry)) == sizeof(entry))
		found = entry.a_type == AT_SECURE && entry.a_un.a_val;
	close(fd);
	return found;
}

const char *exec_image_refuses(pid_t pid)
{
	const int fd = open_proc(pid, "exe");
	const char *why;

	if (fd < 0)
		return errno == EACCES || errno == EPERM ? SECURE : NULL;
	why = refuses(fd);
	close(fd);
	if (!why && is_secure(pid))
		why = SECURE;
	return why;
}
