// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/profile/load.h"
#include "cli/profile/record_options.h"

#define FREQUENCY	999u

const char record_help[] =
"usage: sframe-unwind record [OPTION]... [--] [COMMAND [ARGUMENT]...]\n\n"
"Record samples with kernel and user stacks, of programs as they are, into a file\n"
"that report, script, flamegraph and diff read, and perf, too.\n\n"
"  sframe-unwind record -- sqlite3 test.db 'select count(*) from t'\n"
"  sframe-unwind record -a --duration 10\n"
"  sframe-unwind record -p 1234 -e page-faults -c 1\n\n"
"  -a, --all-cpus     everything, until COMMAND ends or Ctrl-C; the default\n"
"                     without COMMAND, -p and -t\n"
"  -p, --pid=PID[,...]  these processes, with all that they start\n"
"  -t, --tid=TID[,...]  these threads\n"
"  -e, --event=EVENT  names of perf list for software and hardware events, rN,\n"
"                     tracepoints (sched:sched_process_fork); :u only user mode,\n"
"                     :k only the kernel; can be repeated; default: cpu-clock\n"
"  -F, --freq=HZ      samples per second; default: 999\n"
"  -c, --count=N      a sample every N events\n"
"  -o, --output=FILE  default: perf.data; an older one becomes FILE.old\n"
"      --duration=SECONDS  end then\n"
"      --no-attach    do not run 'sframe-unwind attach --all' meanwhile: code\n"
"                     without SFrame data is unwound only if something is attached\n"
"  -q, --quiet        print only errors\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n";

enum {
	OPTION_DURATION = 0x200,
	OPTION_NO_ATTACH,
};

static const struct option longs[] = {
	{ "all-cpus", no_argument, NULL, 'a' },
	{ "pid", required_argument, NULL, 'p' },
	{ "tid", required_argument, NULL, 't' },
	{ "event", required_argument, NULL, 'e' },
	{ "freq", required_argument, NULL, 'F' },
	{ "count", required_argument, NULL, 'c' },
	{ "output", required_argument, NULL, 'o' },
	{ "duration", required_argument, NULL, OPTION_DURATION },
	{ "no-attach", no_argument, NULL, OPTION_NO_ATTACH },
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

static int parse_option(struct record_options *options, int option)
{
	char *end;

	switch (option) {
	case 'a':
		options->all = true;
		return CLI_OK;
	case 'p':
	case 't':
		return record_add_targets(&options->targets, optarg,
					  option == 't');
	case 'e':
		if (options->nr_events == RECORD_EVENTS_MAX)
			return usage_error("record", "at most 64 events");
		return record_parse_event(&options->events[options->nr_events++],
					  optarg);
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
	case 'q':
		options->quiet = true;
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
		.shorts = "+" OPTIONS_SHORT "ap:t:e:F:c:o:q",
		.longs = longs,
	};
	int option, status;

	*options = (struct record_options){
		.frequency = FREQUENCY,
		.output = LOAD_DEFAULT,
	};
	while ((option = options_next(&known, argc, argv)) != -1) {
		status = parse_option(options, option);
		if (status)
			return status;
	}
	if (optind < argc)
		options->command = argv + optind;
	if (options->targets.nr && (options->all || options->command))
		return usage_error("record",
				   "-p and -t exclude -a and a command");
	if (!options->nr_events)
		record_parse_event(&options->events[options->nr_events++],
				   "cpu-clock");
	return CLI_OK;
}
