// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/profile/load.h"
#include "cli/profile/record_options.h"

#define FREQUENCY	999u
#define LEVEL		1u	/* of compression, as perf's without a number */
#define LEVEL_UNSET	UINT32_MAX
#define LEVEL_MAX	22u	/* zstd's */

const char record_help[] =
"usage: sframe-unwind record [OPTION]... [--] [COMMAND [ARGUMENT]...]\n\n"
"Record samples with kernel and user stacks, of programs as they are, into a file\n"
"that report, script, flamegraph and diff read, and perf, too.\n\n"
"  sframe-unwind record -- sqlite3 test.db 'select count(*) from t'\n"
"  sframe-unwind record -a --duration 10\n"
"  sframe-unwind record -p 1234 -e page-faults -c 1\n"
"  sframe-unwind record -p 1234 --off-cpu --duration 10; sframe-unwind report\n\n"
"  -a, --all-cpus     everything, until COMMAND ends or Ctrl-C; the default\n"
"                     without COMMAND, -p and -t\n"
"  -p, --pid=PID[,...]  these processes, with all that they start\n"
"  -t, --tid=TID[,...]  these threads\n"
"  -G, --cgroup=CGROUP  the processes that are in this cgroup and those below it\n"
"                     now, with all that they start; can be repeated\n"
"  -C, --cpu=CPU[,...]  only on these CPUs: 0,2-3\n"
"  -e, --event=EVENT[,...]  names of perf list for software and hardware events,\n"
"                     rN, tracepoints (sched:sched_process_fork), PMU/TERM,.../;\n"
"                     :u only user mode, :k only the kernel; can be repeated;\n"
"                     default: cpu-clock\n"
"      --off-cpu      the time that threads are blocked, by stack: as event\n"
"                     offcpu-time; without -e, only that\n"
"  -F, --freq=HZ      samples per second; default: 999\n"
"  -c, --count=N      a sample every N events\n"
"  -g, --call-graph=MODE  accepted, as by perf: stacks are recorded anyway\n"
"      --user-callchains    no stacks of the kernel\n"
"      --kernel-callchains  no stacks of user mode\n"
"  -o, --output=FILE  default: perf.data; an older one becomes FILE.old\n"
"      --list-events  print the names of events, and end\n"
"      --duration=SECONDS  end then\n"
"      --max-size=SIZE  end when the file is so large: 100K, 20M, 1G\n"
"      --switch-output=SIZE|TIME|signal  begin another file when one has SIZE; after\n"
"                     TIME: 30s, 10m, 1h; or when SIGUSR2 comes; FILE is followed\n"
"                     by the time when it was finished\n"
"      --stack-map    for steady loads: equal stacks are collected once; implies -z\n"
"  -z, --compression-level[=N]  compress records by zstd, as perf record -z does, at\n"
"                     level N, 1 to 22; default: 1; 0: not at all; as in -z3\n"
"      --build-id     keep the files that samples are in, by build ID, in ~/.debug, where\n"
"                     report and perf find them when they have been replaced\n"
"      --jit          register code that COMMAND generates, if it announces it to\n"
"                     libgcc: see sframe-unwind(1)\n"
"      --no-jit-names  do not keep, in ~/.debug, the perf maps and jitdumps in which\n"
"                     processes name code that they make at run time\n"
"      --no-attach    do not run 'sframe-unwind attach --all' meanwhile: code\n"
"                     without SFrame data is unwound only if something is attached\n"
"  -q, --quiet        print only errors\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n";

enum {
	OPTION_DURATION = 0x200,
	OPTION_NO_ATTACH,
	OPTION_JIT,
	OPTION_LIST_EVENTS,
	OPTION_OFF_CPU,
	OPTION_MAX_SIZE,
	OPTION_SWITCH_OUTPUT,
	OPTION_USER_CHAINS,
	OPTION_KERNEL_CHAINS,
	OPTION_STACK_MAP,
	OPTION_BUILD_ID,
	OPTION_NO_JIT_NAMES,
	OPTION_CALL_GRAPH,
};

static const struct option longs[] = {
	{ "all-cpus", no_argument, NULL, 'a' },
	{ "pid", required_argument, NULL, 'p' },
	{ "tid", required_argument, NULL, 't' },
	{ "cgroup", required_argument, NULL, 'G' },
	{ "cpu", required_argument, NULL, 'C' },
	{ "user-callchains", no_argument, NULL, OPTION_USER_CHAINS },
	{ "kernel-callchains", no_argument, NULL, OPTION_KERNEL_CHAINS },
	{ "event", required_argument, NULL, 'e' },
	{ "freq", required_argument, NULL, 'F' },
	{ "count", required_argument, NULL, 'c' },
	{ "output", required_argument, NULL, 'o' },
	{ "duration", required_argument, NULL, OPTION_DURATION },
	{ "jit", no_argument, NULL, OPTION_JIT },
	{ "no-attach", no_argument, NULL, OPTION_NO_ATTACH },
	{ "list-events", no_argument, NULL, OPTION_LIST_EVENTS },
	{ "off-cpu", no_argument, NULL, OPTION_OFF_CPU },
	{ "max-size", required_argument, NULL, OPTION_MAX_SIZE },
	{ "switch-output", required_argument, NULL, OPTION_SWITCH_OUTPUT },
	{ "compression-level", optional_argument, NULL, 'z' },
	{ "build-id", no_argument, NULL, OPTION_BUILD_ID },
	{ "no-jit-names", no_argument, NULL, OPTION_NO_JIT_NAMES },
	{ "call-graph", required_argument, NULL, OPTION_CALL_GRAPH },
	{ "stack-map", no_argument, NULL, OPTION_STACK_MAP },
	{ "quiet", no_argument, NULL, 'q' },
	OPTIONS_LONG
};

static bool parse_number(const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	return end != text && !*end && !errno && *number && *number <= most &&
	       text[0] != '-';
}

/* A number with a unit of @units; each is @factors[] of the first one. */
static bool parse_with_unit(const char *text, const char *units,
			    const uint64_t *factors, double *value)
{
	const char *unit;
	char *end;

	*value = strtod(text, &end);
	unit = *end ? strchr(units, *end) : NULL;
	if (end == text || !unit || end[1] || !(*value > 0) || *value > 1e15)
		return false;
	*value *= factors[unit - units];
	return true;
}

static bool parse_size(const char *text, uint64_t *size)
{
	static const uint64_t factors[] = { 1, 1 << 10, 1 << 20, 1 << 30 };
	double value;

	if (!parse_with_unit(text, "BKMG", factors, &value))
		return false;
	*size = value;
	return *size;
}

static bool parse_time(const char *text, double *seconds)
{
	static const uint64_t factors[] = { 1, 60, 3600, 86400 };

	return parse_with_unit(text, "smhd", factors, seconds);
}

static int parse_switch(struct record_options *options, const char *text)
{
	options->switch_size = 0;
	options->switch_seconds = 0;
	options->switch_signal = !strcmp(text, "signal");
	if (options->switch_signal || parse_size(text, &options->switch_size) ||
	    parse_time(text, &options->switch_seconds))
		return CLI_OK;
	return usage_error("record",
			   "--switch-output: SIZE (B, K, M or G), TIME (s, m, h or d) or signal");
}

static int add_off_cpu(struct record_options *options)
{
	if (record_has_off_cpu(options))
		return CLI_OK;
	if (options->nr_events == RECORD_EVENTS_MAX)
		return usage_error("record", "at most 64 events");
	record_off_cpu_event(&options->events[options->nr_events++]);
	return CLI_OK;
}

bool record_has_off_cpu(const struct record_options *options)
{
	for (uint32_t i = 0; i < options->nr_events; i++)
		if (options->events[i].is_off_cpu)
			return true;
	return false;
}

int record_add_place(struct record_options *options, const char *command,
		     int option, const char *value)
{
	switch (option) {
	case 'G':
		options->by_cgroup = true;
		return record_add_cgroup(&options->targets, command, value);
	case 'C':
		return record_add_cpus(&options->targets, command, value);
	default:
		options->by_number = true;
		return record_add_targets(&options->targets, command, value,
					  option == 't');
	}
}

int record_check_places(struct record_options *options, const char *command)
{
	if (options->by_number &&
	    (options->all || options->by_cgroup || options->command))
		return usage_error(command,
				   "-p and -t exclude -a, -G and a command");
	/* As perf does: everything that runs there, until the command ends. */
	if (options->targets.nr_cpus && !options->targets.nr)
		options->all = true;
	return CLI_OK;
}

/* As with perf, the number follows directly: -z3. */
static int parse_level(struct record_options *options, const char *text)
{
	uint64_t level = LEVEL;

	if (text && !strcmp(text, "0"))
		level = 0;
	else if (text && !parse_number(text, LEVEL_MAX, &level))
		return usage_error("record", "-z: a level is 0 to 22, as in -z3");
	options->level = level;
	return CLI_OK;
}

static int set_chains(struct record_options *options, enum record_chains chains)
{
	if (options->chains && options->chains != chains)
		return usage_error("record",
				   "--user-callchains and --kernel-callchains exclude each other");
	options->chains = chains;
	return CLI_OK;
}

static int parse_option(struct record_options *options, int option)
{
	char *end;

	switch (option) {
	case 'a':
		options->all = true;
		return CLI_OK;
	case 'p':
	case 't':
	case 'G':
	case 'C':
		return record_add_place(options, "record", option, optarg);
	case 'e':
		return record_add_events(options, "record", optarg);
	case 'F':
		options->period = 0;
		return parse_number(optarg, 1000000, &options->frequency) ?
		       CLI_OK : usage_error("record", "-F: no frequency");
	case 'c':
		options->frequency = 0;
		return parse_number(optarg, INT64_MAX, &options->period) ?
		       CLI_OK : usage_error("record", "-c: no number");
	case 'o':
		options->output = optarg;
		return CLI_OK;
	case OPTION_DURATION:
		options->duration = strtod(optarg, &end);
		return end != optarg && !*end && options->duration > 0 ?
		       CLI_OK : usage_error("record", "--duration: no number of seconds");
	case OPTION_NO_ATTACH:
		options->no_attach = true;
		return CLI_OK;
	case OPTION_NO_JIT_NAMES:
		options->no_jit_names = true;
		return CLI_OK;
	case OPTION_JIT:
		options->jit = true;
		return CLI_OK;
	case OPTION_STACK_MAP:
		options->stack_map = true;
		return CLI_OK;
	case 'z':
		return parse_level(options, optarg);
	case OPTION_BUILD_ID:
		options->build_id = true;
		return CLI_OK;
	case OPTION_LIST_EVENTS:
		record_list_events();
		exit(finish_output(CLI_OK));
	case OPTION_OFF_CPU:
		return add_off_cpu(options);
	case OPTION_MAX_SIZE:
		return parse_size(optarg, &options->max_size) ? CLI_OK :
		       usage_error("record", "--max-size: a number and B, K, M or G");
	case OPTION_SWITCH_OUTPUT:
		return parse_switch(options, optarg);
	case OPTION_USER_CHAINS:
		return set_chains(options, RECORD_USER_CHAINS);
	case OPTION_KERNEL_CHAINS:
		return set_chains(options, RECORD_KERNEL_CHAINS);
	case 'q':
		options->quiet = true;
		return CLI_OK;
	case 'g':
	case OPTION_CALL_GRAPH:
		return CLI_OK;
	default:
		return usage_error("record", NULL);
	}
}

int record_parse_options(struct record_options *options, int argc, char **argv)
{
	static const struct options known = {
		.command = "record",
		.help = record_help,
		.shorts = "+" OPTIONS_SHORT "agp:t:G:C:e:F:c:o:qz::",
		.longs = longs,
	};
	int option, status;

	*options = (struct record_options){
		.frequency = FREQUENCY,
		.output = LOAD_DEFAULT,
		.level = LEVEL_UNSET,
	};
	while ((option = options_next(&known, argc, argv)) != -1) {
		status = parse_option(options, option);
		if (status)
			return status;
	}
	if (optind < argc)
		options->command = argv + optind;
	if (options->level == LEVEL_UNSET)
		options->level = options->stack_map ? LEVEL : 0;
	status = record_check_places(options, "record");
	if (status)
		return status;
	if (options->jit && !options->command)
		return usage_error("record", "--jit: only with COMMAND");
	if (!options->nr_events)
		record_parse_event(&options->events[options->nr_events++],
				   "record", "cpu-clock");
	return CLI_OK;
}
