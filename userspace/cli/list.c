// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind list: the sections that walks use, of processes.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "cli.h"
#include "escape.h"
#include "exec_maps.h"
#include "options.h"
#include "profile/common.h"
#include "profile/inspect.h"

const char list_help[] =
"usage: sframe-unwind list [OPTION]...\n\n"
"List which processes have SFrame sections in use, or the sections of processes:\n"
"what they are for, how large they are, how often rules were found in them, and\n"
"where they come from.\n\n"
"  sframe-unwind list                all processes whose stacks were unwound lately\n"
"  sframe-unwind list -p 1234        each section of a process\n"
"  sframe-unwind list -p 1234 --json | jq '.[].sections[] | select(.hits > 0)'\n\n"
"  -p, --pid=PID[,...]  these processes\n"
"      --json         print JSON\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n\n"
"Exit status: 0; 2 on wrong usage; 3 if no process has any section; 5 on failure.\n";

enum { OPTION_JSON = 0x200 };

#define SECTIONS_MAX	65536u	/* of a process that are listed */
#define SECTIONS_ONCE	64u	/* of one call */

/**
 * struct list - what to print, and what is known
 *
 * @handle: the device.
 * @json: whether to print JSON.
 * @printed: processes that have been printed.
 */
struct list {
	struct sframe_unwind *handle;
	bool json;
	unsigned int printed;
};

/**
 * struct listed - a process
 *
 * @pid: the process.
 * @comm: its name.
 * @sections: its sections, @nr of them.
 * @maps: its executable mappings; none if they could not be looked at.
 * @room: room for those.
 */
struct listed {
	pid_t pid;
	char comm[32];
	struct sframe_unwind_section *sections;
	unsigned int nr;
	struct exec_maps maps;
	uint32_t room;
};

/* Read what the device tells of listed->pid. Returns 0 or -errno. */
static int read_sections(struct list *list, struct listed *listed)
{
	struct sframe_unwind_list arg = {
		.size = sizeof(arg),
		.pid = listed->pid,
	};
	uint32_t room = 0;

	do {
		listed->sections = table_grow(listed->sections, &room,
					      listed->nr + SECTIONS_ONCE,
					      sizeof(*listed->sections));
		arg.sections = (uintptr_t)(listed->sections + listed->nr);
		arg.nr = SECTIONS_ONCE;
		if (ioctl(sframe_unwind_fd(list->handle),
			  SFRAME_UNWIND_IOC_LIST, &arg))
			return -errno;
		listed->nr += arg.nr;
		if (arg.nr) {
			const struct sframe_unwind_section *last =
				&listed->sections[listed->nr - 1];

			arg.from = last->text_start + last->text_size;
		}
	} while (arg.nr && listed->nr < SECTIONS_MAX);
	return 0;
}

static void read_comm(struct listed *listed)
{
	char path[64];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", listed->pid);
	file = fopen(path, "re");
	if (!file)
		return;
	length = fread(listed->comm, 1, sizeof(listed->comm) - 1, file);
	fclose(file);
	if (length)
		listed->comm[length - 1] = '\0';
}

/* Memory without a file has a name of perf's. */
static void add_mapping(void *data,
			const struct sframe_unwind_profile_record *record)
{
	const struct sframe_unwind_profile_map *map = &record->map;
	struct listed *listed = data;
	struct exec_maps *maps = &listed->maps;

	maps->mappings = table_grow(maps->mappings, &listed->room, maps->nr,
				    sizeof(*maps->mappings));
	maps->mappings[maps->nr++] = (struct exec_mapping){
		.start = map->start,
		.end = map->start + map->size,
		.name = table_copy(strcmp(map->name, "//anon") ? map->name :
								 "[anonymous]"),
	};
}

static void free_listed(struct listed *listed)
{
	exec_maps_free(&listed->maps);
	free(listed->sections);
}

static const char *source_name(const struct sframe_unwind_section *section)
{
	switch (section->source) {
	case SFRAME_UNWIND_SECTION_REGISTERED:
		return "registered";
	case SFRAME_UNWIND_SECTION_FOUND:
		return "own";
	case SFRAME_UNWIND_SECTION_ATTACHED:
		return "attached";
	case SFRAME_UNWIND_SECTION_TABLE:
		return "table";
	default:
		return "unknown";
	}
}

/* Returns whether a section is for code of the mapping. */
static bool is_covered(const struct listed *listed,
		       const struct exec_mapping *mapping)
{
	for (unsigned int i = 0; i < listed->nr; i++) {
		const struct sframe_unwind_section *section =
			&listed->sections[i];

		if (section->text_start < mapping->end &&
		    section->text_start + section->text_size > mapping->start)
			return true;
	}
	return false;
}

/*
 * The file that a section is for. Escape before printing. A process that has nothing
 * mapped could not be looked at.
 */
static const char *object_name(const struct listed *listed, uint64_t address)
{
	const struct exec_mapping *mapping = exec_maps_find(&listed->maps,
							    address);

	if (!mapping)
		return listed->maps.nr ? "[not mapped]" : "[unknown]";
	return mapping->name;
}

/* --- tables */

static void print_row(uint64_t start, uint64_t end, const char *numbers,
		      const char *source, const char *object)
{
	printf("%12" PRIx64 "-%-12" PRIx64 " %s %-10s ", start, end, numbers,
	       source);
	print_escaped(stdout, object);
	putchar('\n');
}

static void print_table(const struct listed *listed)
{
	uint64_t bytes = 0, hits = 0;
	char numbers[96];

	for (unsigned int i = 0; i < listed->nr; i++) {
		bytes += listed->sections[i].sframe_size;
		hits += listed->sections[i].hits;
	}
	print_line(stdout, "process %d (%s): %u sections, %" PRIu64 " bytes, %" PRIu64 " rules found",
		   listed->pid, listed->comm, listed->nr, bytes, hits);
	printf("%-25s %10s %9s %9s %-10s %s\n", "ADDRESSES", "BYTES",
	       "FUNCTIONS", "FOUND", "SOURCE", "OBJECT");
	for (unsigned int i = 0; i < listed->nr; i++) {
		const struct sframe_unwind_section *section =
			&listed->sections[i];

		snprintf(numbers, sizeof(numbers), "%10" PRIu64 " %9u %9" PRIu64,
			 (uint64_t)section->sframe_size, section->num_fdes,
			 (uint64_t)section->hits);
		print_row(section->text_start,
			  section->text_start + section->text_size, numbers,
			  source_name(section),
			  object_name(listed, section->text_start));
	}
	snprintf(numbers, sizeof(numbers), "%10s %9s %9s", "-", "-", "-");
	for (size_t i = 0; i < listed->maps.nr; i++) {
		const struct exec_mapping *mapping = &listed->maps.mappings[i];

		if (!is_covered(listed, mapping))
			print_row(mapping->start, mapping->end, numbers, "none",
				  mapping->name);
	}
	putchar('\n');
}

static void print_summary(struct list *list, const struct listed *listed)
{
	char *comm = common_escape(listed->comm);
	const int width = common_width(comm);
	uint64_t bytes = 0, hits = 0;

	if (!list->printed)
		printf("%8s %-16s %9s %12s %12s\n", "PID", "COMMAND",
		       "SECTIONS", "BYTES", "FOUND");
	for (unsigned int i = 0; i < listed->nr; i++) {
		bytes += listed->sections[i].sframe_size;
		hits += listed->sections[i].hits;
	}
	printf("%8d %s%*s %9u %12" PRIu64 " %12" PRIu64 "\n", listed->pid,
	       comm, width < 16 ? 16 - width : 0, "", listed->nr, bytes, hits);
	free(comm);
}

/* --- JSON */

static void print_json_section(const struct listed *listed,
			       const struct sframe_unwind_section *section)
{
	printf("    { \"start\": %" PRIu64 ", \"end\": %" PRIu64
	       ", \"bytes\": %" PRIu64 ", \"functions\": %u, \"hits\": %" PRIu64
	       ", \"source\": \"%s\", \"object\": ",
	       (uint64_t)section->text_start,
	       (uint64_t)(section->text_start + section->text_size),
	       (uint64_t)section->sframe_size, section->num_fdes,
	       (uint64_t)section->hits, source_name(section));
	common_json(stdout, object_name(listed, section->text_start));
	printf(" }");
}

static void print_json(struct list *list, const struct listed *listed)
{
	const char *between = "\n";

	printf("%s  { \"pid\": %d, \"command\": ", list->printed ? ",\n" : "",
	       listed->pid);
	common_json(stdout, listed->comm);
	printf(", \"sections\": [");
	for (unsigned int i = 0; i < listed->nr; i++) {
		fputs(between, stdout);
		print_json_section(listed, &listed->sections[i]);
		between = ",\n";
	}
	printf(" ],\n    \"without\": [");
	between = "\n";
	for (size_t i = 0; i < listed->maps.nr; i++) {
		const struct exec_mapping *mapping = &listed->maps.mappings[i];

		if (is_covered(listed, mapping))
			continue;
		printf("%s    { \"start\": %" PRIu64 ", \"end\": %" PRIu64
		       ", \"object\": ", between, mapping->start, mapping->end);
		common_json(stdout, mapping->name);
		printf(" }");
		between = ",\n";
	}
	printf(" ] }");
}

/* --- processes */

/* Print a process; if not @is_wanted, only if it has sections. */
static int list_process(struct list *list, pid_t pid, bool is_wanted)
{
	struct listed listed = { .pid = pid };
	const int ret = read_sections(list, &listed);

	if (ret || (!listed.nr && !is_wanted)) {
		free_listed(&listed);
		return ret;
	}
	read_comm(&listed);
	/* The process may keep others from looking at what it has mapped. */
	if ((list->json || is_wanted) &&
	    !inspect_process(pid, false, add_mapping, &listed))
		exec_maps_free(&listed.maps);
	if (list->json)
		print_json(list, &listed);
	else if (is_wanted)
		print_table(&listed);
	else
		print_summary(list, &listed);
	list->printed++;
	free_listed(&listed);
	return 0;
}

static int complain_of(pid_t pid, int error)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (error == -ESRCH && !access(path, F_OK))
		return complain("list: process %d: not permitted: the sections of other processes need CAP_PERFMON: run as root",
				pid);
	if (error == -ESRCH)
		return complain("list: no process %d", pid);
	if (error == -E2BIG)
		return complain("list: the module is too old: it lists only the sections of the process that asks");
	return complain("list: process %d: %s", pid, strerror(-error));
}

/* Returns whether @pids are numbers with commas. */
static bool are_numbers(const char *pids)
{
	for (;;) {
		char *end;
		const long pid = strtol(pids, &end, 10);

		if (end == pids || pid <= 0 || pid > INT32_MAX ||
		    (*end && *end != ','))
			return false;
		if (!*end)
			return true;
		pids = end + 1;
	}
}

static int list_wanted(struct list *list, const char *pids)
{
	for (;;) {
		char *end;
		const pid_t pid = strtol(pids, &end, 10);
		const int ret = list_process(list, pid, true);

		if (ret)
			return complain_of(pid, ret);
		if (!*end)
			return CLI_OK;
		pids = end + 1;
	}
}

static int list_all(struct list *list)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	while (!ret && processes && (entry = readdir(processes))) {
		const pid_t pid = atoi(entry->d_name);

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		ret = list_process(list, pid, false);
		/* It has ended, or is somebody else's. */
		if (ret == -ESRCH)
			ret = 0;
		if (ret)
			complain_of(pid, ret);
	}
	if (processes)
		closedir(processes);
	return ret ? CLI_TROUBLE : CLI_OK;
}

static int run(struct list *list, const char *pids)
{
	const int ret = sframe_unwind_open(&list->handle, 0);
	int status;

	if (ret == -ENOENT)
		return complain("list: %s does not exist: load the module (modprobe sframe_unwind)",
				SFRAME_UNWIND_DEVICE);
	if (ret)
		return complain("list: %s", sframe_unwind_error(NULL));
	if (list->json)
		putchar('[');
	status = pids ? list_wanted(list, pids) : list_all(list);
	if (list->json)
		printf("\n]\n");
	sframe_unwind_close(list->handle);
	inspect_complain();
	if (status || list->printed)
		return status;
	return complain_as(CLI_NOTHING,
			   "list: no process has sections in use: they are found when stacks are unwound, and dropped when no program is left that asks for any; those of others need CAP_PERFMON to be seen");
}

int list_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, OPTION_JSON },
		OPTIONS_LONG
	};
	static const struct options known = {
		.command = "list",
		.help = list_help,
		.shorts = OPTIONS_SHORT "p:",
		.longs = longs,
	};
	struct list list = { 0 };
	const char *pids = NULL;
	int option;

	while ((option = options_next(&known, argc, argv)) != -1) {
		if (option == 'p')
			pids = optarg;
		else if (option == OPTION_JSON)
			list.json = true;
		else
			return usage_error("list", NULL);
	}
	if (optind < argc)
		return usage_error("list", "takes no argument but options");
	if (pids && !are_numbers(pids))
		return usage_error("list", "no number of a process");
	return run(&list, pids);
}
