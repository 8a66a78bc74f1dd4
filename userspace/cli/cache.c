// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind cache: manage the cache of converted sections.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "convert/base/message.h"
#include "convert/cache/cache.h"
#include "convert/cache/cache_room.h"
#include "escape.h"
#include "options.h"

const char cache_help[] =
"usage: sframe-unwind cache [OPTION]... list | clean | limit [SIZE]\n"
"\n"
"Manage the sections that \"convert\" and \"attach\" have cached: for root in\n"
"/var/cache/sframe_unwind/sections, for other users in sframe_unwind/sections in\n"
"$XDG_CACHE_HOME or in ~/.cache.\n"
"\n"
"  list               list the sections, most recently used first\n"
"  clean              remove all sections, and the files of earlier versions\n"
"  limit              print the size of the cache and its limit\n"
"  limit SIZE         set the limit to SIZE bytes, with suffix K, M or G; remove\n"
"                     the least recently used sections that exceed it\n"
"\n"
"  -d, --directory=DIR\n"
"                     use the cache in DIR\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n"
"\n"
"Exit status: 0 done, 1 list found a damaged file, 2 wrong usage, 5 the cache\n"
"cannot be opened, or another error.\n";
/* Print the library's message about the cache. */
static int complain_of_cache(void)
{
	return complain("cache: %s", sfu_message_text());
}

/* --- list */

static void print_build_id(const struct sframe_unwind_converted *converted)
{
	for (size_t i = 0; i < converted->build_id_size; i++)
		printf("%02x", converted->build_id[i]);
	printf("%*s ", (int)(40 - 2 * converted->build_id_size), "");
}

/* Returns an exit status: CLI_DEFECT if the file is damaged. */
static int print_section(const struct sfu_cache *cache,
			 const struct cache_file *file)
{
	struct sframe_unwind_converted *converted;
	char *name;
	int err;

	err = sfu_cache_look(cache, file->name, &name, &converted);
	/* Another process has removed the file meanwhile. */
	if (err == -ENOENT)
		return CLI_OK;
	if (err) {
		printf("%9s  %s: %s\n", "-", file->name,
		       err == -EINVAL ? "damaged" : strerror(-err));
		return CLI_DEFECT;
	}
	printf("%9" PRIu64 "  ", converted->nr_functions);
	print_build_id(converted);
	print_line(stdout, "%s", name);
	free(name);
	sframe_unwind_converted_free(converted);
	return CLI_OK;
}

static int print_file(const struct sfu_cache *cache,
		      const struct cache_file *file)
{
	char used[32] = "-";
	struct tm time;

	if (localtime_r(&file->used.tv_sec, &time))
		strftime(used, sizeof(used), "%Y-%m-%d %H:%M:%S", &time);
	printf("%9" PRIu64 "  %-19s  ", file->size,
	       file->kind == CACHE_OLD ? "-" : used);
	switch (file->kind) {
	case CACHE_SECTION:
		return print_section(cache, file);
	case CACHE_TEMPORARY:
		printf("%9s  %s: being written\n", "-", file->name);
		return CLI_OK;
	default:
		printf("%9s  %s: of an earlier version\n", "-", file->name);
		return CLI_OK;
	}
}

static void print_totals(const struct sfu_cache *cache,
			 const struct cache_file *files, size_t count)
{
	uint64_t sections = 0, size = 0;

	for (size_t i = 0; i < count; i++) {
		sections += files[i].kind == CACHE_SECTION;
		size += files[i].size;
	}
	print_line(stdout, "%s: %" PRIu64 " sections, %" PRIu64
		   " bytes in all, %" PRIu64 " allowed", sfu_cache_path(cache),
		   sections, size, sfu_cache_limit(cache));
}

static int list(struct sfu_cache *cache)
{
	struct cache_file *files;
	int status = CLI_OK;
	size_t count;

	if (sfu_cache_list(cache, &files, &count))
		return complain_of_cache();
	if (count)
		printf("%9s  %-19s  %9s  %-40s %s\n", "SIZE", "USED",
		       "FUNCTIONS", "BUILD-ID", "FILE");
	for (size_t i = 0; i < count; i++)
		/* Stamps have no information for users. */
		if (files[i].kind != CACHE_STAMP &&
		    print_file(cache, &files[i]) != CLI_OK)
			status = CLI_DEFECT;
	print_totals(cache, files, count);
	free(files);
	return status;
}

/* --- clean, limit */

static int clean(struct sfu_cache *cache)
{
	uint64_t count, size;

	if (sfu_cache_clean(cache, &count, &size))
		return complain_of_cache();
	print_line(stdout, "%s: removed %" PRIu64 " files, %" PRIu64 " bytes",
		   sfu_cache_path(cache), count, size);
	return CLI_OK;
}

/* Parse a size in bytes, or with suffix K, M or G. Returns 0, or -1 if it is none. */
static int parse_size(const char *text, uint64_t *size)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 10);
	if (errno || !isdigit((unsigned char)text[0]))
		return -1;
	if (!*end)
		return 0;
	unit = strchr(units, toupper((unsigned char)*end));
	if (!unit || end[1])
		return -1;
	for (; unit >= units; unit--) {
		if (*size > UINT64_MAX / 1024)
			return -1;
		*size *= 1024;
	}
	return 0;
}

static int limit(struct sfu_cache *cache, const char *text)
{
	struct cache_file *files;
	uint64_t size;
	size_t count;

	if (text && parse_size(text, &size))
		return usage_error("cache", "bad size");
	if (text && sfu_cache_set_limit(cache, size))
		return complain_of_cache();
	if (sfu_cache_list(cache, &files, &count))
		return complain_of_cache();
	print_totals(cache, files, count);
	free(files);
	return CLI_OK;
}

static int run(struct sfu_cache *cache, int argc, char **argv)
{
	if (!strcmp(argv[0], "limit") && argc <= 2)
		return limit(cache, argc > 1 ? argv[1] : NULL);
	if (argc > 1)
		return usage_error("cache", "unexpected argument");
	if (!strcmp(argv[0], "list"))
		return list(cache);
	return clean(cache);
}

int cache_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "directory", required_argument, NULL, 'd' },
		OPTIONS_LONG
	};
	static const struct options known = {
		.command = "cache",
		.help = cache_help,
		.shorts = OPTIONS_SHORT "d:",
		.longs = longs,
	};
	const char *directory = NULL;
	struct sfu_cache *cache;
	int option, status;

	while ((option = options_next(&known, argc, argv)) != -1) {
		if (option != 'd')
			return usage_error("cache", NULL);
		directory = optarg;
	}
	argc -= optind;
	argv += optind;
	if (!argc || (strcmp(argv[0], "list") && strcmp(argv[0], "clean") &&
		      strcmp(argv[0], "limit")))
		return usage_error("cache", "give list, clean or limit");
	sfu_message_begin("cache");
	if (sfu_cache_open(directory, &cache))
		return complain_of_cache();
	status = run(cache, argc, argv);
	sfu_cache_close(cache);
	return status;
}
