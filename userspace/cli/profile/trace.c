// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind trace: a stack at each event, as it happens.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/escape.h"
#include "cli/options.h"
#include "cli/profile/live.h"
#include "cli/profile/outputs.h"
#include "cli/profile/trace_buffer.h"

#define ROUND_MS	100	/* between two readings */
#define LATER_MS	1000	/* to wait for user stacks at the end */

const char trace_help[] =
"usage: sframe-unwind trace [OPTION]... -e EVENT [--] [COMMAND [ARGUMENT]...]\n\n"
"Print a stack at each event, as it happens, until COMMAND ends or Ctrl-C.\n\n"
"  sframe-unwind trace -e sched:sched_process_fork -a\n"
"  sframe-unwind trace -e page-faults -c 100 -p 1234\n"
"  sframe-unwind trace -e syscalls:sys_enter_openat --lines -- ls\n"
"  sframe-unwind trace -e faults --folded -- CMD | flamegraph.pl >f.svg\n"
"  sframe-unwind trace --buffer -e sched:sched_process_fork -- sh script\n\n"
"  -e, --event=EVENT  as for record: software and hardware events, tracepoints;\n"
"                     can be repeated\n"
"  -c, --count=N      a stack every N events; default: 1, or for clocks and\n"
"                     hardware events 99 stacks per second\n"
"  -F, --freq=HZ      so many stacks per second, of events that are no tracepoints\n"
"  -a, --all-cpus     everything; the default without COMMAND, -p and -t\n"
"  -p, --pid=PID[,...]  these processes, with all that they start\n"
"  -t, --tid=TID[,...]  these threads\n"
"  -G, --cgroup=CGROUP  the processes that are in this cgroup now: as for record\n"
"  -C, --cpu=CPU[,...]  only on these CPUs: 0,2-3\n"
"  -b, --buffer       let ftrace record: print each tracepoint with all its fields,\n"
"                     as tracefs does, and the user stack as OBJECT[+OFFSET]\n"
"      --lines        one line for each stack: functions, the innermost first\n"
"      --folded       one line for each: command, functions from the outermost,\n"
"                     and 1, as flamegraph.pl reads it\n"
"      --limit=N      end after N stacks\n"
"      --duration=SECONDS  end then\n"
"      --inline       show functions that the compiler inlined\n"
"      --no-demangle  leave names of C++ and Rust as they are\n"
"      --no-attach    do not run 'sframe-unwind attach --all' meanwhile: code\n"
"                     without SFrame data is unwound only if something is attached\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n\n"
"Exit status: 0, also after Ctrl-C; 2 on wrong usage; 5 on failure.\n";

enum form { TEXT, LINES, FOLDED, BUFFER };

enum {
	OPTION_LINES = LIVE_NO_ATTACH + 1,
	OPTION_FOLDED,
	OPTION_LIMIT,
	OPTION_DURATION,
	OPTION_INLINE,
	OPTION_NO_DEMANGLE,
};

static const struct option longs[] = {
	{ "buffer", no_argument, NULL, 'b' },
	{ "lines", no_argument, NULL, OPTION_LINES },
	{ "folded", no_argument, NULL, OPTION_FOLDED },
	{ "limit", required_argument, NULL, OPTION_LIMIT },
	{ "duration", required_argument, NULL, OPTION_DURATION },
	{ "inline", no_argument, NULL, OPTION_INLINE },
	{ "no-demangle", no_argument, NULL, OPTION_NO_DEMANGLE },
	LIVE_LONG,
	OPTIONS_LONG
};

/**
 * struct trace - what to print
 *
 * @live: the session.
 * @what: what to sample.
 * @form: how to print stacks.
 * @limit: number of stacks, or UINT64_MAX.
 * @printed: number of those printed.
 * @buffer: what ftrace records, or NULL.
 */
struct trace {
	struct live live;
	struct record_options what;
	enum form form;
	uint64_t limit;
	uint64_t printed;
	struct trace_buffer *buffer;
};

static int parse_option(struct trace *trace, int option)
{
	char *end;

	switch (option) {
	case 'b':
	case OPTION_LINES:
	case OPTION_FOLDED:
		if (trace->form != TEXT)
			return usage_error("trace", "one of --buffer, --lines and --folded");
		trace->form = option == 'b' ? BUFFER :
			      option == OPTION_LINES ? LINES : FOLDED;
		return CLI_OK;
	case OPTION_LIMIT:
		return live_parse_number(optarg, UINT64_MAX, &trace->limit) ?
		       CLI_OK : usage_error("trace", "--limit: no number");
	case OPTION_DURATION:
		trace->what.duration = strtod(optarg, &end);
		return end != optarg && !*end && trace->what.duration > 0 ?
		       CLI_OK : usage_error("trace", "--duration: no number of seconds");
	case OPTION_INLINE:
		trace->live.names.no_inlined = false;
		return CLI_OK;
	case OPTION_NO_DEMANGLE:
		trace->live.names.no_demangle = true;
		return CLI_OK;
	default:
		return usage_error("trace", NULL);
	}
}

/* --- printing */

static const char *function_name(const struct load *load,
				 const struct place *place, uint32_t i)
{
	return names_function(load->names,
			      names_number(load->names, place, i))->name;
}

static void print_folded(struct load *load,
			 const struct sframe_unwind_profile_record *record)
{
	const char *cut = load_cut(&record->sample);
	const uint32_t *places;
	uint32_t nr;

	output_folded_name(stdout, history_comm(load->history, record->pid,
						record->tid, record->time));
	if (cut)
		printf(";%s", cut);
	places = names_of_sample(load->names, record, &nr);
	for (uint32_t i = nr; i--;) {
		const struct place *place = names_place(load->names, places[i]);

		for (uint32_t j = place->nr; j--;) {
			putchar(';');
			output_folded_name(stdout,
					   function_name(load, place, j));
		}
	}
	printf(" 1\n");
}

static void print_line_of(struct load *load,
			  const struct sframe_unwind_profile_record *record)
{
	const char *cut = load_cut(&record->sample);
	const uint32_t *places;
	const char *between = "";
	uint32_t nr;

	output_head(stdout, load, record, true);
	places = names_of_sample(load->names, record, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		const struct place *place = names_place(load->names, places[i]);

		for (uint32_t j = 0; j < place->nr; j++) {
			fputs(between, stdout);
			print_escaped(stdout, function_name(load, place, j));
			between = " < ";
		}
	}
	if (cut)
		printf("%s%s", between, cut);
	putchar('\n');
}

/* Print what has been sampled. Returns whether the limit is reached. */
static bool print_round(struct trace *trace)
{
	const struct sframe_unwind_profile_record *record;
	struct load *load = &trace->live.load;
	struct output_texts texts = { 0 };

	while (trace->printed < trace->limit && (record = load_next(load))) {
		trace->printed++;
		if (trace->form == FOLDED)
			print_folded(load, record);
		else if (trace->form == LINES)
			print_line_of(load, record);
		else
			output_sample(stdout, load, record, &texts);
	}
	output_free_texts(&texts);
	fflush(stdout);
	return trace->printed >= trace->limit || ferror(stdout);
}

static int open_buffer(struct live *live)
{
	struct trace *trace = (struct trace *)((char *)live -
					       offsetof(struct trace, live));

	return trace_buffer_open(&trace->buffer, live);
}

/* Read and print what has happened. Returns 0 or -errno. */
static int do_round(struct trace *trace, bool *is_over)
{
	int ret;

	if (trace->form == BUFFER) {
		ret = trace_buffer_round(trace->buffer, trace->limit,
					 &trace->printed);
		*is_over = trace->printed >= trace->limit || ferror(stdout);
		return ret;
	}
	ret = live_round(&trace->live);
	if (!ret)
		*is_over = print_round(trace);
	return ret;
}

/* Whether user stacks are to follow. */
static bool has_waiting(struct trace *trace)
{
	return trace->form == BUFFER ? trace_buffer_waits(trace->buffer) :
				       live_counts(&trace->live)->waiting;
}

static int run(struct trace *trace)
{
	const double start = live_now();
	struct live *live = &trace->live;
	bool goes_on = true, is_over = false;
	uint64_t lost;
	double end;
	int ret = 0;

	while (goes_on && !is_over && !ret) {
		goes_on = live_wait(live, NULL, ROUND_MS);
		ret = do_round(trace, &is_over);
		if (trace->what.duration > 0 &&
		    live_now() - start >= trace->what.duration)
			goes_on = false;
	}
	live_stop(live);
	if (trace->form == BUFFER) {
		trace_buffer_stop(trace->buffer);
		/* What was recorded during the last round. */
		if (!ret && !is_over)
			ret = do_round(trace, &is_over);
	}
	/* User stacks of the last ones follow. */
	end = live_now() + LATER_MS / 1000.0;
	while (!ret && !is_over && has_waiting(trace) && live_now() < end) {
		live_wait(live, NULL, 10);
		ret = do_round(trace, &is_over);
	}
	if (trace->form == BUFFER)
		trace_buffer_finish(trace->buffer, trace->limit, &trace->printed);
	if (ret)
		return complain("trace: %s", strerror(-ret));
	lost = live_lost(live);
	if (lost)
		complain("trace: %" PRIu64 " events were lost: they are too many to be printed; try -c",
			 lost);
	names_complain(live->load.names);
	return live_status(live);
}

int trace_main(int argc, char **argv)
{
	static const struct options options = {
		.command = "trace",
		.help = trace_help,
		.shorts = "+" OPTIONS_SHORT LIVE_SHORT "b",
		.longs = longs,
	};
	static struct trace trace = {
		.live.command = "trace",
		.live.fd = -1,
		.live.options = &trace.what,
		.live.names.no_inlined = true,
		.limit = UINT64_MAX,
	};
	int option, status;

	while ((option = options_next(&options, argc, argv)) != -1) {
		bool is_other = false;

		status = live_option(&trace.live, option, &is_other);
		if (is_other)
			status = parse_option(&trace, option);
		if (status)
			return status;
	}
	if (optind < argc)
		trace.what.command = argv + optind;
	status = record_check_places(&trace.what, "trace");
	if (status)
		return status;
	if (!trace.what.nr_events)
		return usage_error("trace", "give an event with -e");
	if (trace.form == BUFFER) {
		if (trace.what.period || trace.what.frequency)
			return usage_error("trace", "--buffer prints each event: no -c, -F");
		status = trace_buffer_check(&trace.what);
		trace.live.ready = open_buffer;
		trace.what.chains = RECORD_USER_CHAINS;
	}
	if (!status)
		status = live_open(&trace.live);
	if (!status)
		status = run(&trace);
	trace_buffer_close(trace.buffer);
	live_close(&trace.live);
	return status;
}
