// SPDX-License-Identifier: GPL-2.0
/*
 * The files that a program begins with.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/profile/command.h"

#define SCRIPTS_MAX	5u	/* an interpreter may be a script: as the kernel */
#define SCRIPT_MAX	256u	/* bytes of its first line: likewise */
#define HEADERS_MAX	4096u

/* Find a program as execvp(3) does. Returns whether @path, PATH_MAX bytes, is one. */
static bool find_program(const char *name, char *path)
{
	const char *at = getenv("PATH");
	struct stat stat_of;

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	for (at = at ? at : _PATH_DEFPATH; ; at++) {
		const int length = strcspn(at, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", length ? length : 1,
			     length ? at : ".", name) < PATH_MAX &&
		    !stat(path, &stat_of) && S_ISREG(stat_of.st_mode) &&
		    !access(path, X_OK))
			return true;
		at += length;
		if (!*at)
			return false;
	}
}

/*
 * Map the beginning of a file, until this process executes another one. Returns the
 * size of that, with a copy in @bytes and a 0 behind it; 0 if the file cannot be mapped.
 */
static size_t map_file(const char *path, char bytes[HEADERS_MAX + 1])
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat stat_of;
	ssize_t size = 0;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &stat_of) && S_ISREG(stat_of.st_mode) &&
	    mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) !=
	    MAP_FAILED)
		size = pread(fd, bytes, HEADERS_MAX, 0);
	close(fd);
	size = size < 0 ? 0 : size;
	bytes[size] = '\0';
	return size;
}

/* Returns the next word of a script's first line, and moves *@line behind it; or NULL. */
static char *next_word(char **line)
{
	char *word = *line + strspn(*line, " \t");
	char *end = word + strcspn(word, " \t");

	*line = *end ? end + 1 : end;
	*end = '\0';
	return *word ? word : NULL;
}

/* Returns the name of the ELF interpreter, which is in @bytes; or NULL. */
static const char *find_interpreter(const char *bytes, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (size < sizeof(header))
		return NULL;
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(segment) || header.e_phoff > size)
		return NULL;
	for (size_t i = 0; i < header.e_phnum &&
	     (i + 1) * sizeof(segment) <= size - header.e_phoff; i++) {
		memcpy(&segment, bytes + header.e_phoff + i * sizeof(segment),
		       sizeof(segment));
		if (segment.p_type == PT_INTERP)
			return segment.p_offset < size ?
			       bytes + segment.p_offset : NULL;
	}
	return NULL;
}

__attribute__((noreturn))
static void list(const char *interpreter, const char *path, int output)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
	    dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(null, STDERR_FILENO) >= 0)
		execl(interpreter, interpreter, "--list", path, NULL);
	_exit(127);
}

/* Map what the dynamic linker lists, in lines as "	NAME => PATH (ADDRESS)". */
static void map_libraries(const char *interpreter, const char *path)
{
	char line[PATH_MAX + 512], bytes[HEADERS_MAX + 1];
	int pipes[2];
	FILE *lines;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid)
		list(interpreter, path, pipes[1]);
	close(pipes[1]);
	lines = fdopen(pipes[0], "re");
	while (pid > 0 && lines && fgets(line, sizeof(line), lines)) {
		char *name = strstr(line, " => "), *end;

		name = name ? name + 4 : line + strspn(line, "\t");
		end = strstr(name, " (0x");
		if (*name != '/' || !end)
			continue;
		*end = '\0';
		map_file(name, bytes);
	}
	if (lines)
		fclose(lines);
	else
		close(pipes[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void map_program(const char *name, unsigned int scripts);

/* Map the interpreter of a script; env(1) executes another one. */
static void map_script(char *line, unsigned int scripts)
{
	char *word, *base;

	line[strcspn(line, "\n")] = '\0';
	word = next_word(&line);
	if (!word)
		return;
	base = strrchr(word, '/');
	map_program(word, scripts);
	if (base && !strcmp(base, "/env"))
		do
			word = next_word(&line);
		while (word && (*word == '-' || strchr(word, '=')));
	else
		word = NULL;
	if (word)
		map_program(word, scripts);
}

static void map_program(const char *name, unsigned int scripts)
{
	char path[PATH_MAX], bytes[HEADERS_MAX + 1], unused[HEADERS_MAX + 1];
	const char *interpreter, *base;
	size_t size;

	if (!find_program(name, path))
		return;
	size = map_file(path, bytes);
	if (size > 2 && bytes[0] == '#' && bytes[1] == '!') {
		bytes[size < SCRIPT_MAX ? size : SCRIPT_MAX] = '\0';
		if (scripts)
			map_script(bytes + 2, scripts - 1);
		return;
	}
	interpreter = find_interpreter(bytes, size);
	if (!interpreter || !map_file(interpreter, unused))
		return;
	/* Those of glibc and of musl can list; what else there may be is not executed. */
	base = strrchr(interpreter, '/');
	if (base && !strncmp(base, "/ld-", 4))
		map_libraries(interpreter, path);
}

void command_map_files(const char *name)
{
	map_program(name, SCRIPTS_MAX);
}
