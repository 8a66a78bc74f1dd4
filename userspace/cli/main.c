// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind: the command for SFrame sections.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "options.h"

static const struct command {
	const char *name;
	const char *summary;
	int (*main)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "attach", "give running programs SFrame data", attach_main,
	  attach_help },
	{ "cache", "manage the converted sections", cache_main, cache_help },
	{ "check", "find defects in .sframe sections", check_main, check_help },
	{ "convert", "make .sframe sections from .eh_frame", convert_main,
	  convert_help },
	{ "diff", "compare two profiles", diff_main, diff_help },
	{ "dump", "show a .sframe section", dump_main, dump_help },
	{ "exec", "run a program and print its stacks", exec_main, exec_help },
	{ "flamegraph", "draw a profile as a flame graph", flamegraph_main,
	  flamegraph_help },
	{ "list", "list the SFrame sections that processes have in use",
	  list_main, list_help },
	{ "monitor", "print which sections and clients come and go, as it happens",
	  monitor_main, monitor_help },
	{ "record", "take samples of programs, with whole stacks", record_main,
	  record_help },
	{ "report", "show which functions the samples of a profile were in",
	  report_main, report_help },
	{ "script", "print the samples of a profile", script_main, script_help },
	{ "stack", "print the stacks that threads have now", stack_main,
	  stack_help },
	{ "top", "show the hottest functions, now", top_main, top_help },
	{ "trace", "print a stack at each event, as it happens", trace_main,
	  trace_help },
	{ "verify", "compare .sframe with .eh_frame", verify_main, verify_help },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *to)
{
	fputs("usage: sframe-unwind COMMAND [OPTION]... [ARGUMENT]...\n"
	      "       sframe-unwind help [COMMAND]\n"
	      "       sframe-unwind -h | --help | -V | --version\n\n"
	      "Commands:\n", to);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-12s%s\n", commands[i].name,
			commands[i].summary);
	fputs("\nRun 'sframe-unwind COMMAND --help' for the options of a command.\n",
	      to);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	complain("no command '%s'", name);
	fputs("Try 'sframe-unwind --help'.\n", stderr);
	return NULL;
}

static bool is_help(const char *option)
{
	return !strcmp(option, "--help") || !strcmp(option, "-h");
}

static bool is_version(const char *option)
{
	return !strcmp(option, "--version") || !strcmp(option, "-V");
}

static int help_main(int argc, char **argv)
{
	const struct command *command;

	if (argc > 2)
		return usage_error("help", "takes one command");
	if (argc < 2 || is_help(argv[1])) {
		print_help(stdout);
		return CLI_OK;
	}
	command = find_command(argv[1]);
	if (!command)
		return CLI_USAGE;
	fputs(command->help, stdout);
	return CLI_OK;
}

/* Handle --help and --version of "attach", which is another program. */
static bool print_attach_help(int argc, char **argv)
{
	for (int i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (is_help(argv[i])) {
			fputs(attach_help, stdout);
			return true;
		}
		if (is_version(argv[i])) {
			options_print_version();
			return true;
		}
	}
	return false;
}

/*
 * If standard files are closed, the next files opened would get their numbers, and
 * output would go there. Open them in the wrong direction, so that accesses fail.
 */
static void fill_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY :
							       O_RDONLY);
}

int main(int argc, char **argv)
{
	const struct command *command;

	fill_standard_files();
	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	argc--;
	argv++;
	if (is_help(argv[0])) {
		print_help(stdout);
		return finish_output(CLI_OK);
	}
	if (is_version(argv[0])) {
		options_print_version();
		return finish_output(CLI_OK);
	}
	if (!strcmp(argv[0], "help"))
		return finish_output(help_main(argc, argv));
	command = find_command(argv[0]);
	if (!command)
		return CLI_USAGE;
	if (command->main == attach_main && print_attach_help(argc, argv))
		return finish_output(CLI_OK);
	return finish_output(command->main(argc, argv));
}
