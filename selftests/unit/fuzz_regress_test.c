// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_regress_test DIRECTORY: run each kept fuzzing input in its target.
 * DIRECTORY/index has a line for each: its path in the directory, which starts
 * with the target's name, a tab, and a description.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftests/fuzz/fuzz.h"
#include "tap.h"

#define MAX_BYTES	65536

static const struct target {
	const char *name;
	void (*run)(const u8 *data, size_t size);
} targets[] = {
	{ "cache", fuzz_cache },
	{ "convert", fuzz_convert },
	{ "decode", fuzz_decode },
	{ "elf", fuzz_elf },
	{ "functions", fuzz_functions },
	{ "jit", fuzz_jit },
	{ "object", fuzz_object },
	{ "profile", fuzz_profile },
	{ "snapshot", fuzz_snapshot },
	{ "validate", fuzz_validate },
};

#define NR_TARGETS	(sizeof(targets) / sizeof(targets[0]))

static unsigned int listed[NR_TARGETS];

/* Run in a process of its own, with memory that ends where the input ends. */
static void run(const struct target *target, const char *path)
{
	static u8 bytes[MAX_BYTES];
	FILE *file = fopen(path, "r");
	int status = 0;
	size_t size;
	pid_t pid;
	u8 *copy;

	if (!file) {
		tap_fail("cannot be read");
		return;
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		copy = malloc(size ? size : 1);
		memcpy(copy, bytes, size);
		alarm(60);
		target->run(copy, size);
		free(copy);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		tap_fail("no process");
	else if (WIFSIGNALED(status))
		tap_fail("signal %d", WTERMSIG(status));
	else if (status)
		tap_fail("exit status %d", WEXITSTATUS(status));
}

static void run_line(const char *directory, char *line)
{
	char *tab = strchr(line, '\t'), path[4096];
	const char *slash = strchr(line, '/');
	unsigned int i;

	line[strcspn(line, "\n")] = '\0';
	if (!tab || !slash) {
		tap_fail("no such line");
		tap_case("%s", line);
		return;
	}
	*tab = '\0';
	snprintf(path, sizeof(path), "%s/%s", directory, line);
	for (i = 0; i < NR_TARGETS; i++) {
		if (strlen(targets[i].name) == (size_t)(slash - line) &&
		    !strncmp(targets[i].name, line, slash - line))
			break;
	}
	if (i == NR_TARGETS) {
		tap_fail("no such target");
	} else {
		listed[i]++;
		run(&targets[i], path);
	}
	tap_case("%s: %s", line, tab + 1);
}

/* The index lists each file: as many lines as files, and none twice. */
static void expect_all_listed(const char *directory)
{
	unsigned int i, files;
	struct dirent *entry;
	char path[4096];
	DIR *dir;

	for (i = 0; i < NR_TARGETS; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory,
			 targets[i].name);
		files = 0;
		dir = opendir(path);
		while (dir && (entry = readdir(dir)))
			files += entry->d_name[0] != '.';
		if (dir)
			closedir(dir);
		if (files != listed[i])
			tap_fail("%s has %u files, %u in the index", path,
				 files, listed[i]);
	}
	tap_case("all inputs are in the index");
}

int main(int argc, char **argv)
{
	char path[4096], line[1000];
	FILE *index;

	if (argc != 2) {
		fprintf(stderr, "usage: fuzz_regress_test DIRECTORY\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/index", argv[1]);
	index = fopen(path, "r");
	if (!index) {
		perror(path);
		return 2;
	}
	/*
	 * Unbuffered: an exiting child would otherwise move the shared file
	 * offset back.
	 */
	setvbuf(index, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), index)) {
		if (line[0] != '#' && line[0] != '\n')
			run_line(argv[1], line);
	}
	fclose(index);
	expect_all_listed(argv[1]);
	return tap_done();
}
