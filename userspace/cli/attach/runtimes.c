// SPDX-License-Identifier: GPL-2.0
/*
 * Runtimes: programs whose generated code keeps frame pointers.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "runtimes.h"
#include "symbol.h"

/* Longest name of a file. */
#define MAX_NAME 255

#define PHP .is_shared = true, .frame = "execute_ex"

/*
 * V8: all of its compilers, and the builtins in the file, which have no .eh_frame.
 *
 * CPython's JIT keeps rbp since 3.15 (on x86-64).
 *
 * The JVM and Erlang's JIT do if they are told to. Erlang processes have stacks of their
 * own, in the heap; functions in C run on that of the thread.
 *
 * .NET always does on x86-64 Linux.
 *
 * PHP's JIT, in opcache, does not use rbp since 8.4 in code that runs in the frame of the
 * interpreter, as the compiler may keep it there. PCRE generates code in the same processes,
 * in memory that is not shared.
 */
static const struct runtime built_in[] = {
	{ .name = "node", .has_text = true },
	{ .name = "nodejs", .has_text = true },
	{ .name = "libnode.so.*", .has_text = true },
	{ .name = "python3.1[5-9]*" },
	{ .name = "libpython3.1[5-9]*.so*" },
	{ .name = "libjvm.so", .option = "-XX:+PreserveFramePointer" },
	{ .name = "beam.smp", .switches = true, .option = "-JPperf true" },
	{ .name = "libcoreclr.so" },
	{ .name = "php8.[4-9]*", PHP },
	{ .name = "php-cgi8.[4-9]*", PHP },
	{ .name = "php-fpm8.[4-9]*", PHP },
	{ .name = "libphp8.[4-9]*.so*", PHP },
};

/*
 * Generate code that keeps no frame pointers, in any process. Which code a process has of
 * them cannot be seen.
 */
static const struct runtime never[] = {
	{ .name = "libLLVM*" },
	{ .name = "libllvmlite*" },
	{ .name = "libluajit*" },
	{ .name = "libdnnl*" },
	{ .name = "libonnxruntime*" },
	{ .name = "libtorch_cpu*" },
	{ .name = "libfbgemm*" },
	{ .name = "libtensorflow*" },
	{ .name = "_pywrap_tensorflow*" },
	{ .name = "xla_extension*" },
	{ .name = "libexla*" },
	{ .name = "libgandiva*" },
};

/* Announce code to debuggers. */
static const struct runtime announcers[] = {
	{ .name = "libLLVM*", .announces = true },
	{ .name = "libllvmlite*", .announces = true },
};

static struct runtime *configured;
static size_t nr_configured;

/* --- the configuration file */

/*
 * Take the next word of the line at *@at. Returns NULL if there is none.
 */
static char *take_word(char **at)
{
	char *word = *at + strspn(*at, " \t");
	size_t length = strcspn(word, " \t");

	*at = word + length;
	if (**at)
		*(*at)++ = '\0';
	return length ? word : NULL;
}

/*
 * Returns whether @pattern is one of a file's name, and takes no long time: the time
 * of fnmatch(3) grows with a power of the number of stars.
 */
static bool is_pattern(const char *pattern)
{
	size_t stars = 0;

	for (const char *at = pattern; *at; at++) {
		if (*at == '/' || (unsigned char)*at < ' ')
			return false;
		stars += *at == '*';
	}
	return stars <= 2;
}

/* Make the words in @text be separated by single spaces, with none at the ends. */
static void join_words(char *text)
{
	char *const begin = text, *to = text, *word;

	while ((word = take_word(&text))) {
		const size_t length = strlen(word);

		if (to != begin)
			*to++ = ' ';
		memmove(to, word, length);
		to += length;
	}
	*to = '\0';
}

static const char *parse_unless(char **at, struct runtime *runtime)
{
	char *pattern = take_word(at);
	size_t i = 0;

	if (!pattern || !is_pattern(pattern))
		return "no pattern of a file name after \"unless\"";
	while (i < RUNTIMES_MAX_UNLESS && runtime->unless[i])
		i++;
	if (i == RUNTIMES_MAX_UNLESS)
		return "too many patterns after \"unless\"";
	runtime->unless[i] = pattern;
	return NULL;
}

static const char *parse_frame(char **at, struct runtime *runtime)
{
	const char *function = take_word(at);

	if (!function || strlen(function) > SYMBOL_MAX_NAME)
		return "no name of a function after \"frame\"";
	runtime->frame = function;
	return NULL;
}

/* Parse what follows the name. */
static const char *parse_rest(char *at, struct runtime *runtime)
{
	const char *problem;
	char *word;

	while ((word = take_word(&at))) {
		if (!strcmp(word, "text")) {
			runtime->has_text = true;
		} else if (!strcmp(word, "switch")) {
			runtime->switches = true;
		} else if (!strcmp(word, "shared")) {
			runtime->is_shared = true;
		} else if (!strcmp(word, "frame")) {
			problem = parse_frame(&at, runtime);
			if (problem)
				return problem;
		} else if (!strcmp(word, "off")) {
			runtime->is_off = true;
		} else if (!strcmp(word, "never")) {
			runtime->is_never = true;
		} else if (!strcmp(word, "announces")) {
			runtime->announces = true;
		} else if (!strcmp(word, "unless")) {
			problem = parse_unless(&at, runtime);
			if (problem)
				return problem;
		} else if (!strcmp(word, "option")) {
			at += strspn(at, " \t");
			if (!*at)
				return "nothing after \"option\"";
			join_words(at);
			runtime->option = at;
			break;
		} else {
			return "only \"text\", \"switch\", \"shared\", \"frame\", \"off\", \"never\", \"announces\", \"unless\" and \"option\" may follow the name";
		}
	}
	if ((runtime->is_off || runtime->is_never || runtime->announces) &&
	    (runtime->has_text || runtime->switches || runtime->option ||
	     runtime->is_shared || runtime->frame || runtime->unless[0] ||
	     runtime->is_off + runtime->is_never + runtime->announces != 1))
		return "\"off\", \"never\" and \"announces\" go with nothing else";
	return NULL;
}

const char *runtimes_parse(char *line, struct runtime *runtime)
{
	char *at = line, *name = take_word(&at);
	const char *problem = NULL;

	*runtime = (struct runtime) { 0 };
	if (!name || *name == '#')
		return NULL;
	if (!is_pattern(name))
		problem = "not the name of a file, with at most two *";
	else
		problem = parse_rest(at, runtime);
	if (problem)
		*runtime = (struct runtime) { 0 };
	else
		runtime->name = name;
	return problem;
}

/* Returns whether the file could be changed by others than root and this user. */
static bool is_of_others(const struct stat *stat)
{
	return stat->st_mode & (S_IWGRP | S_IWOTH) ||
	       (stat->st_uid && stat->st_uid != geteuid());
}

/*
 * Open the directory of the file @path, and set *@name to its name there. Who can write
 * the directory can put another file of root's in the place of that one. Returns -1 with
 * *@problem, which is NULL if there is no such directory.
 */
static int open_directory(const char *path, const char **name,
			  const char **problem)
{
	const char *slash = strrchr(path, '/');
	char *directory = strndup(path, slash ? slash + 1 - path : 0);
	struct stat stat;
	int fd = -1;

	*name = slash ? slash + 1 : path;
	*problem = NULL;
	if (directory)
		fd = open(*directory ? directory : ".",
			  O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && (!directory || (errno != ENOENT && errno != ENOTDIR)))
		*problem = strerror(errno);
	free(directory);
	if (fd < 0)
		return -1;
	if (fstat(fd, &stat))
		*problem = strerror(errno);
	else if (is_of_others(&stat))
		*problem = "others than root can write its directory";
	if (!*problem)
		return fd;
	close(fd);
	return -1;
}

/* Open the file @path. Returns -1 with *@problem, which is NULL if there is none. */
static int open_configuration(const char *path, const char **problem)
{
	const char *name;
	struct stat stat;
	int directory, fd;

	directory = open_directory(path, &name, problem);
	if (directory < 0)
		return -1;
	/* It may be a FIFO, for which nothing must wait. */
	fd = openat(directory, name,
		    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno != ENOENT)
		*problem = errno == ELOOP ? "it is a symbolic link" :
					    strerror(errno);
	close(directory);
	if (fd < 0)
		return -1;
	if (fstat(fd, &stat))
		*problem = strerror(errno);
	else if (!S_ISREG(stat.st_mode))
		*problem = "it is no regular file";
	else if (is_of_others(&stat))
		*problem = "others than root can write it";
	if (!*problem)
		return fd;
	close(fd);
	return -1;
}

/* Returns NULL, or what is wrong with the line. */
static const char *add_line(char *line, ssize_t length)
{
	struct runtime runtime;
	const char *problem;
	char *copy;

	if (length > RUNTIMES_LINE_SIZE)
		return "too long";
	if (strlen(line) != (size_t)length)
		return "has a byte 0";
	line[strcspn(line, "\r\n")] = '\0';
	copy = strdup(line);
	problem = copy ? runtimes_parse(copy, &runtime) : "no memory";
	if (!problem && runtime.name && nr_configured == RUNTIMES_MAX)
		problem = "too many lines";
	if (problem || !runtime.name)
		free(copy);
	else
		configured[nr_configured++] = runtime;
	return problem;
}

/* Returns whether all could be read; if not, nothing is used. */
static bool read_lines(FILE *file, const char *path, bool is_quiet)
{
	const char *problem;
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	configured = calloc(RUNTIMES_MAX, sizeof(*configured));
	if (!configured)
		return false;
	while ((length = getline(&line, &size, file)) > 0) {
		number++;
		problem = add_line(line, length);
		if (problem && !is_quiet)
			complain("%s, line %u, is left out: %s", path, number,
				 problem);
	}
	free(line);
	if (!ferror(file))
		return true;
	nr_configured = 0;
	return false;
}

void runtimes_read(const char *path, bool is_quiet)
{
	const char *problem;
	const int fd = open_configuration(path, &problem);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (file) {
		if (!read_lines(file, path, is_quiet))
			problem = "it cannot be read completely";
		fclose(file);
	} else if (fd >= 0) {
		problem = strerror(errno);
		close(fd);
	}
	if (problem && !is_quiet)
		complain("%s is not used: %s", path, problem);
}

/* --- looking things up */

/* Copy the name of the file @path to @name. */
static void copy_name(const char *path, char name[MAX_NAME + 1])
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/');
	size_t length;

	path = slash ? slash + 1 : path;
	length = strnlen(path, MAX_NAME);
	if (length >= strlen(deleted) &&
	    !strcmp(path + length - strlen(deleted), deleted))
		length -= strlen(deleted);
	memcpy(name, path, length);
	name[length] = '\0';
}

/* Returns whether @pattern matches. It is called for each new mapping: few of them do. */
static bool is_match(const char *pattern, const char *name)
{
	return (*pattern == *name || strchr("*?[\\", *pattern)) &&
	       !fnmatch(pattern, name, 0);
}

/* What an entry says about a file. */
enum kind {
	KIND_RUNTIME,
	KIND_NEVER,
	KIND_ANNOUNCES,
};

static enum kind kind_of(const struct runtime *runtime)
{
	if (runtime->announces)
		return KIND_ANNOUNCES;
	return runtime->is_never ? KIND_NEVER : KIND_RUNTIME;
}

/* Find the first entry of @kind that matches. */
static const struct runtime *find_in(const struct runtime *runtimes, size_t nr,
				     const char *name, enum kind kind)
{
	for (size_t i = 0; i < nr; i++)
		if (kind_of(&runtimes[i]) == kind &&
		    is_match(runtimes[i].name, name))
			return &runtimes[i];
	return NULL;
}

const struct runtime *runtimes_find(const char *path)
{
	const struct runtime *found;
	char name[MAX_NAME + 1];

	copy_name(path, name);
	found = find_in(configured, nr_configured, name, KIND_RUNTIME);
	if (!found)
		found = find_in(built_in, sizeof(built_in) / sizeof(built_in[0]),
				name, KIND_RUNTIME);
	return found && !found->is_off ? found : NULL;
}

bool runtimes_announce(const char *path)
{
	const struct runtime *found;
	char name[MAX_NAME + 1];

	copy_name(path, name);
	/* An entry that is_off is for both. */
	found = find_in(configured, nr_configured, name, KIND_RUNTIME);
	if (found && found->is_off)
		return false;
	return find_in(configured, nr_configured, name, KIND_ANNOUNCES) ||
	       find_in(announcers, sizeof(announcers) / sizeof(announcers[0]),
		       name, KIND_ANNOUNCES);
}

bool runtime_excludes(const struct runtime *runtime, const char *path)
{
	char name[MAX_NAME + 1];

	copy_name(path, name);
	for (size_t i = 0; i < RUNTIMES_MAX_UNLESS && runtime->unless[i]; i++)
		if (is_match(runtime->unless[i], name))
			return true;
	return find_in(configured, nr_configured, name, KIND_NEVER) ||
	       find_in(never, sizeof(never) / sizeof(never[0]), name,
		       KIND_RUNTIME);
}

/* Returns whether the words at @words, with 0 after each, begin with those of @option. */
static bool has_words(const char *words, size_t size, const char *option)
{
	const size_t length = strlen(option);

	if (size <= length || words[length])
		return false;
	for (size_t i = 0; i < length; i++)
		if (words[i] != option[i] && (words[i] || option[i] != ' '))
			return false;
	return true;
}

bool runtime_has_option(const struct runtime *runtime, const char *words,
			size_t size)
{
	if (!runtime->option)
		return true;
	for (size_t i = 0; i < size; i++)
		if ((!i || !words[i - 1]) &&
		    has_words(words + i, size - i, runtime->option))
			return true;
	return false;
}
