/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runtimes: programs whose generated code keeps frame pointers. They are known by the
 * names of files that their processes map executable: those of the table in runtimes.c,
 * and those of a configuration file.
 */
#ifndef ATTACH_RUNTIMES_H
#define ATTACH_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>

/* Configuration file of the administrator. */
#define RUNTIMES_PATH "/etc/sframe-unwind/runtimes"

/* Limits of that file: lines with a runtime, bytes of a line, patterns after "unless". */
#define RUNTIMES_MAX		128
#define RUNTIMES_LINE_SIZE	256
#define RUNTIMES_MAX_UNLESS	4

/**
 * struct runtime - one entry
 *
 * @name: pattern of the file's name, without directory: fnmatch(3) without flags.
 * @has_text: code in the file itself that no other rule is for keeps frame pointers, too.
 * @switches: generated code calls other functions on another stack than its own.
 * @is_shared: generated code is only in memory that is shared, and of no file. Other code that
 *	the process generates is none of the runtime's.
 * @is_off: the file does not make a process one of a runtime.
 * @announces: the file announces the code that it generates to debuggers, by the
 *	interface of GDB. It does not make a process one of a runtime.
 * @is_never: the file generates other code: a process of any runtime that maps it
 *	executable is left out. The file itself is of no runtime.
 * @unless: patterns of files that generate other code: a process that maps one of them
 *	executable is left out. NULL where there is none.
 * @option: words of the command line without which the code has no frame pointers,
 *	separated by single spaces; NULL if it always has.
 * @frame: a function of the file, by its dynamic symbol, in whose frame generated code runs:
 *	that keeps the frame pointer if the function does, see frame.h. NULL if it always does.
 *
 * The strings are constant, or exist as long as the process.
 */
struct runtime {
	const char *name;
	bool has_text;
	bool switches;
	bool is_shared;
	bool is_off;
	bool announces;
	bool is_never;
	const char *unless[RUNTIMES_MAX_UNLESS];
	const char *option;
	const char *frame;
};

/**
 * runtimes_parse() - parse a line of the configuration file
 * @line: the line, without its newline; changed, and must exist as long as @runtime.
 * @runtime: set to the entry; its name is NULL if the line has none.
 *
 * Return: NULL, or what is wrong with the line, a constant string.
 */
const char *runtimes_parse(char *line, struct runtime *runtime);

/**
 * runtimes_read() - add the entries of a configuration file before all others
 * @path: the file, no symbolic link; only this process's user, or root, may be able to
 *	write it and its directory.
 * @is_quiet: do not print what is wrong with it.
 *
 * Prints a message for each line that is malformed, which is left out, and for a file
 * that cannot be used. A file that does not exist has no entries. Call it once.
 */
void runtimes_read(const char *path, bool is_quiet);

/**
 * runtimes_find() - the runtime that a file belongs to
 * @path: path of the file, or its name; " (deleted)" at its end is ignored.
 *
 * Return: the first entry that matches, or NULL; also NULL if that is_off.
 */
const struct runtime *runtimes_find(const char *path);

/* Returns whether the file @path announces code. */
bool runtimes_announce(const char *path);

/* Returns whether a process of @runtime that maps the file @path is left out. */
bool runtime_excludes(const struct runtime *runtime, const char *path);

/*
 * Returns whether the process may be one of @runtime, by its command line: @size bytes
 * with a 0 after each word, as in /proc/PID/cmdline.
 */
bool runtime_has_option(const struct runtime *runtime, const char *words,
			size_t size);

#endif /* ATTACH_RUNTIMES_H */
