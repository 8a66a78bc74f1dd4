// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind: what to do with SFrame sections from a shell.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const struct command {
	const char *name;
	const char *summary;
	int (*main)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "attach", "give running programs SFrame data", attach_main,
	  attach_help },
	{ "check", "find defects in .sframe sections", check_main, check_help },
	{ "convert", "make .sframe sections of .eh_frame", convert_main,
	  convert_help },
	{ "dump", "show a .sframe section", dump_main, dump_help },
	{ "exec", "run a program and print its stacks", exec_main, exec_help },
	{ "verify", "compare .sframe with .eh_frame", verify_main, verify_help },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *to)
{
	fputs("usage: sframe-unwind COMMAND [OPTION]... [ARGUMENT]...\n"
	      "       sframe-unwind --help | --version\n\n"
	      "Commands:\n", to);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-8s%s\n", commands[i].name,
			commands[i].summary);
	fputs("\n'sframe-unwind COMMAND --help' tells more of one.\n", to);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* Is --help among the options? What follows "--" belongs to somebody else. */
static int wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--"))
			break;
		if (!strcmp(argv[i], "--help"))
			return 1;
	}
	return 0;
}

/* Output that could not be written is trouble, whatever was found. */
static int finish(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return complain("cannot write to standard output");
	return status;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_help(stderr);
		return CLI_TROUBLE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(stdout);
		return finish(CLI_OK);
	}
	if (!strcmp(argv[1], "--version")) {
		puts("sframe-unwind " SFRAME_UNWIND_VERSION);
		return finish(CLI_OK);
	}
	command = find_command(argv[1]);
	if (!command) {
		complain("no command '%s'", argv[1]);
		fputs("Try 'sframe-unwind --help'.\n", stderr);
		return CLI_TROUBLE;
	}
	if (wants_help(argc - 1, argv + 1)) {
		fputs(command->help, stdout);
		return finish(CLI_OK);
	}
	return finish(command->main(argc - 1, argv + 1));
}
