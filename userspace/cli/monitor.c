// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind monitor: print the messages of the module's netlink family.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "monitor.h"
#include "options.h"

const char monitor_help[] =
"usage: sframe-unwind monitor [OPTION]...\n\n"
"Print which sections and clients there come to be and are removed in the whole\n"
"system, and what is lost, as it happens. Needs root.\n\n"
"  sframe-unwind monitor\n"
"  sframe-unwind monitor -g sections --json | jq 'select(.event == \"section corrupt\")'\n\n"
"  -g, --group=GROUP[,...]  only these: sections, clients, losses\n"
"      --json         print JSON, an object in each line\n"
"      --limit=N      end after N lines\n"
"      --duration=SECONDS  end then\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n\n"
"Exit status: 0; 2 on wrong usage; 5 on failure.\n";

enum {
	OPTION_JSON = 0x200,
	OPTION_LIMIT,
	OPTION_DURATION,
};

static const char * const group_names[MONITOR_NR_GROUPS] = {
	[MONITOR_SECTIONS] = SFRAME_UNWIND_GROUP_SECTIONS,
	[MONITOR_CLIENTS] = SFRAME_UNWIND_GROUP_CLIENTS,
	[MONITOR_LOSSES] = SFRAME_UNWIND_GROUP_LOSSES,
};

const char *monitor_group_name(unsigned int group)
{
	return group_names[group];
}

/* Set the bits of the groups in @list. Returns false if there is none of a name. */
static bool parse_groups(const char *list, unsigned int *groups)
{
	for (;;) {
		const size_t length = strcspn(list, ",");
		unsigned int group;

		for (group = 0; group < MONITOR_NR_GROUPS; group++)
			if (strlen(group_names[group]) == length &&
			    !strncmp(list, group_names[group], length))
				break;
		if (group == MONITOR_NR_GROUPS)
			return false;
		*groups |= 1U << group;
		if (!list[length])
			return true;
		list += length + 1;
	}
}

/* Parse a number from 1 on. Returns 0 if it is none. */
static uint64_t parse_number(const char *text)
{
	unsigned long long number;
	char *end;

	/* strtoull() takes blanks and signs, too. */
	if (!isdigit((unsigned char)*text))
		return 0;
	number = strtoull(text, &end, 10);
	return *end || number > UINT32_MAX ? 0 : number;
}

int monitor_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "group", required_argument, NULL, 'g' },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "limit", required_argument, NULL, OPTION_LIMIT },
		{ "duration", required_argument, NULL, OPTION_DURATION },
		OPTIONS_LONG
	};
	static const struct options known = {
		.command = "monitor",
		.help = monitor_help,
		.shorts = OPTIONS_SHORT "g:",
		.longs = longs,
	};
	struct monitor monitor = { 0 };
	int option;

	while ((option = options_next(&known, argc, argv)) != -1) {
		switch (option) {
		case 'g':
			if (!parse_groups(optarg, &monitor.groups))
				return usage_error("monitor", "the groups are sections, clients and losses");
			break;
		case OPTION_JSON:
			monitor.json = true;
			break;
		case OPTION_LIMIT:
			monitor.limit = parse_number(optarg);
			if (!monitor.limit)
				return usage_error("monitor", "--limit is a number from 1 on");
			break;
		case OPTION_DURATION:
			monitor.seconds = parse_number(optarg);
			if (!monitor.seconds)
				return usage_error("monitor", "--duration is a number of seconds from 1 on");
			break;
		default:
			return usage_error("monitor", NULL);
		}
	}
	if (optind < argc)
		return usage_error("monitor", "takes no argument but options");
	if (!monitor.groups)
		monitor.groups = (1U << MONITOR_NR_GROUPS) - 1;
	return monitor_listen(&monitor);
}
