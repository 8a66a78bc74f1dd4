// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind stack: the stack of each thread, now.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/profile/stack.h"

#define MAX_DEPTH	256u	/* as eu-stack */

const char stack_help[] =
"usage: sframe-unwind stack [OPTION]... -p PID[,...] | -t TID[,...] | -a\n\n"
"Print the stack that each thread has now: address, function and offset, object,\n"
"source line; with functions that the compiler inlined. Threads are not stopped.\n\n"
"  sframe-unwind stack -p 1234       all threads of a process\n"
"  sframe-unwind stack -t 1240 -k    one thread, also in the kernel\n"
"  sframe-unwind stack -a            all threads of all processes\n\n"
"  -p, --pid=PID[,...]  the threads of these processes\n"
"  -t, --tid=TID[,...]  these threads\n"
"  -a, --all          all threads of all processes\n"
"  -n NUMBER          print at most so many frames; default: 256; 0: no limit\n"
"  -k, --kernel       print also the kernel's part of the stacks\n"
"  -b, --build-id     print also the build IDs of objects\n"
"  -q, --quiet        print only addresses\n"
"  -r, --raw          leave names of C++ and Rust as they are\n"
"  -i, -m, -s, -v     accepted, as by eu-stack: inlined functions, objects and\n"
"                     source lines are printed anyway\n"
"      --no-interrupt   do not ask threads that sleep in a system call; else\n"
"                     the call is interrupted and restarted\n"
"      --no-attach    attach nothing where there is no SFrame data\n"
"      --no-fallback  never assume frame pointers\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n\n"
"Exit status: 0; 1 if a thread that has not ended has no stack; 2 on wrong\n"
"usage; 5 on failure.\n";

enum {
	OPTION_NO_INTERRUPT = 0x200,
	OPTION_NO_ATTACH,
	OPTION_NO_FALLBACK,
};

static const struct option longs[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "tid", required_argument, NULL, 't' },
	{ "all", no_argument, NULL, 'a' },
	{ "kernel", no_argument, NULL, 'k' },
	{ "build-id", no_argument, NULL, 'b' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "raw", no_argument, NULL, 'r' },
	{ "inlines", no_argument, NULL, 'i' },
	{ "module", no_argument, NULL, 'm' },
	{ "source", no_argument, NULL, 's' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "no-interrupt", no_argument, NULL, OPTION_NO_INTERRUPT },
	{ "no-attach", no_argument, NULL, OPTION_NO_ATTACH },
	{ "no-fallback", no_argument, NULL, OPTION_NO_FALLBACK },
	OPTIONS_LONG
};

static int parse_depth(struct stack_options *options, const char *text)
{
	unsigned long depth;
	char *end;

	errno = 0;
	depth = strtoul(text, &end, 10);
	if (end == text || *end || errno || depth > INT32_MAX || *text == '-')
		return usage_error("stack", "-n: no number");
	options->max_depth = depth;
	return CLI_OK;
}

static int parse_option(struct stack_options *options,
			struct stack_threads *threads, bool *all, int option)
{
	switch (option) {
	case 'p':
	case 't':
		return stack_add_targets(threads, optarg, option == 't');
	case 'a':
		*all = true;
		return CLI_OK;
	case 'n':
		return parse_depth(options, optarg);
	case 'k':
		options->kernel = true;
		return CLI_OK;
	case 'b':
		options->build_ids = true;
		return CLI_OK;
	case 'q':
		options->no_names = true;
		return CLI_OK;
	case 'r':
		options->no_demangle = true;
		return CLI_OK;
	case 'i':
	case 'm':
	case 's':
	case 'v':
		return CLI_OK;
	case OPTION_NO_INTERRUPT:
		options->no_interrupt = true;
		return CLI_OK;
	case OPTION_NO_ATTACH:
		options->no_attach = true;
		return CLI_OK;
	case OPTION_NO_FALLBACK:
		options->no_fallback = true;
		return CLI_OK;
	default:
		return usage_error("stack", NULL);
	}
}

/* Threads may end while others are asked. Returns an exit status. */
static int result(const struct stack_threads *threads)
{
	bool is_any = false;

	for (uint32_t i = 0; i < threads->nr; i++) {
		const struct stack_thread *thread = &threads->list[i];

		if (!thread->stack && !thread->has_ended)
			return CLI_DEFECT;
		is_any |= !!thread->stack;
	}
	return is_any ? CLI_OK : CLI_DEFECT;
}

static int print_stacks(struct stack_threads *threads,
			const struct stack_options *options)
{
	struct stack_names *names = stack_names_create(options);
	int status = stack_ask(threads, names, options);

	if (!status) {
		stack_show(threads, names);
		status = result(threads);
	}
	stack_names_free(names);
	return status;
}

int stack_main(int argc, char **argv)
{
	static const struct options known = {
		.command = "stack",
		.help = stack_help,
		.shorts = OPTIONS_SHORT "p:t:an:kbqrimsv",
		.longs = longs,
	};
	struct stack_options options = { .max_depth = MAX_DEPTH };
	struct stack_threads threads = { 0 };
	int option, status = CLI_OK;
	bool all = false;

	while (!status && (option = options_next(&known, argc, argv)) != -1)
		status = parse_option(&options, &threads, &all, option);
	if (!status && optind < argc)
		status = usage_error("stack", "takes no argument but options");
	if (!status && all == (threads.nr > 0))
		status = usage_error("stack", "give -p, -t or -a");
	if (!status && all)
		stack_add_all(&threads);
	if (!status)
		status = print_stacks(&threads, &options);
	stack_free_threads(&threads);
	return status;
}
