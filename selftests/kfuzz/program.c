// SPDX-License-Identifier: GPL-2.0
/* Program: reading and writing its text. */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "program.h"

static unsigned int print_arg(const struct arg *arg, const char *name,
			      char *text, unsigned int size)
{
	if (!arg->base)
		return snprintf(text, size, " %s=%#lx", name, arg->value);
	return snprintf(text, size, " %s=%c%u%+ld", name, arg->base, arg->index,
			(long)arg->value);
}

unsigned int call_print(const struct call *call, char *text, unsigned int size)
{
	const struct call_type *type = &call_types[call->type];
	unsigned int i, used = snprintf(text, size, "%u ", call->thread);

	if (call->fail)
		used += snprintf(text + used, size - used, "fail %u ",
				 call->fail);
	used += snprintf(text + used, size - used, "%s", type->name);
	for (i = 0; i < MAX_ARGS && type->arg[i].name; i++)
		used += print_arg(&call->arg[i], type->arg[i].name, text + used,
				  size - used);
	used += snprintf(text + used, size - used, "\n");
	return used;
}

unsigned int program_print(const struct program *program, char *text)
{
	unsigned int i, used;

	used = snprintf(text, PROGRAM_TEXT, "rounds %u\n", program->rounds);
	for (i = 0; i < program->nr; i++)
		used += call_print(&program->call[i], text + used,
				   PROGRAM_TEXT - used);
	return used;
}

static bool read_arg(struct arg *arg, const char *text)
{
	const char *value = strchr(text, '=');
	char *end;

	if (!value)
		return false;
	memset(arg, 0, sizeof(*arg));
	if (strchr("fitmk", *++value)) {
		arg->base = *value;
		arg->index = strtoul(value + 1, &end, 10);
		value = end;
	}
	arg->value = arg->base ? (uint64_t)strtol(value, &end, 0) :
				 strtoul(value, &end, 0);
	return !*end;
}

/* Parse the call in @line, which is modified. */
static bool read_call(struct call *call, char *line)
{
	const struct call_type *type;
	char *word, *rest;
	unsigned int i;

	memset(call, 0, sizeof(*call));
	call->thread = strtoul(line, &rest, 10) % MAX_THREADS;
	word = strtok_r(rest, " \n", &rest);
	if (word && !strcmp(word, "fail")) {
		call->fail = strtoul(rest, &rest, 10);
		word = strtok_r(rest, " \n", &rest);
	}
	for (i = 0; word && i < nr_call_types; i++) {
		if (!strcmp(call_types[i].name, word))
			break;
	}
	if (!word || i == nr_call_types)
		return false;
	call->type = i;
	type = &call_types[i];
	for (i = 0; i < MAX_ARGS && type->arg[i].name; i++) {
		word = strtok_r(NULL, " \n", &rest);
		if (!word || !read_arg(&call->arg[i], word))
			return false;
	}
	return !strtok_r(NULL, " \n", &rest);
}

void program_read(struct program *program, FILE *from)
{
	unsigned int nr = 0;
	char line[2048];

	memset(program, 0, sizeof(*program));
	program->rounds = 1;
	while (fgets(line, sizeof(line), from)) {
		nr++;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "rounds %u", &program->rounds) == 1)
			continue;
		if (program->nr == MAX_CALLS)
			errx(2, "line %u: too many calls", nr);
		if (!read_call(&program->call[program->nr++], line))
			errx(2, "line %u: not a call", nr);
	}
}

unsigned int program_threads(const struct program *program)
{
	unsigned int i, most = 0;

	for (i = 0; i < program->nr; i++) {
		if (program->call[i].thread > most)
			most = program->call[i].thread;
	}
	return most + 1;
}
