// SPDX-License-Identifier: GPL-2.0
/* Generate: create new programs, and mutate known ones. */
#include <string.h>

#include "args.h"
#include "generate.h"

/* How often a program's threads may execute it. */
#define ROUNDS		1, 4, 16, 64

static struct about choose(uint64_t *random)
{
	return (struct about) {
		.random = random,
		.slot = random_below(random, SLOT_STRUCTS),
		.fd = random_below(random, FIRST_FILE_FD),
	};
}

static void make_call(struct call *call, const char *name,
		      const struct about *about)
{
	const struct call_type *type;
	unsigned int i, total = 0, left;

	for (i = 0; i < nr_call_types; i++)
		total += call_types[i].weight;
	left = random_below(about->random, total);
	for (i = 0; name ? strcmp(call_types[i].name, name) :
			   left >= call_types[i].weight; i++)
		left -= call_types[i].weight;
	type = &call_types[i];
	memset(call, 0, sizeof(*call));
	call->type = i;
	if (is_odd(about, 4))
		call->fail = 1 + random_below(about->random, 12);
	for (i = 0; i < MAX_ARGS && type->arg[i].name; i++)
		call->arg[i] = args_make(type, i, about);
}

void generate_program(struct program *program, uint64_t *random)
{
	static const char * const ways[][6] = {
		{ "open", "make", "register", "request" },
		{ "open", "make", "register", "stack" },
		{ "open", "make", "entries", "register_batch", "request" },
		{ "open", "make_table", "register_table", "request", "publish", "request" },
		{ "open", "elf", "sframe", "attach", "map_elf", "request" },
		{ "open", "events", "make", "register", "request", "read" },
	};
	struct about about = choose(random);
	const char * const *way = ways[random_below(random, COUNT(ways))];
	const unsigned int threads = random_percent(random, 35) ?
		2 + random_below(random, MAX_THREADS - 1) : 1;
	unsigned int i, nr = 6 + random_below(random, MAX_CALLS - 6 + 1);

	memset(program, 0, sizeof(*program));
	program->nr = nr;
	program->rounds = ONE_OF(random, ROUNDS);
	for (i = 0; i < nr; i++) {
		const char *name = i < COUNT(ways[0]) ? way[i] : NULL;

		about.sane = name;
		make_call(&program->call[i], name, &about);
		if (!name)
			program->call[i].thread = random_below(random, threads);
	}
}

static void remove_call(struct program *program, unsigned int i)
{
	program->nr--;
	memmove(&program->call[i], &program->call[i + 1],
		(program->nr - i) * sizeof(program->call[0]));
}

static void insert_call(struct program *program, unsigned int i,
			const struct call *call)
{
	if (program->nr == MAX_CALLS)
		remove_call(program, MAX_CALLS - 1);
	if (i > program->nr)
		i = program->nr;
	memmove(&program->call[i + 1], &program->call[i],
		(program->nr - i) * sizeof(program->call[0]));
	program->call[i] = *call;
	program->nr++;
}

static void change_arg(struct call *call, const struct about *about)
{
	const struct call_type *type = &call_types[call->type];
	unsigned int i, nr = 0;

	while (nr < MAX_ARGS && type->arg[nr].name)
		nr++;
	if (!nr)
		return;
	i = random_below(about->random, nr);
	if (random_percent(about->random, 75))
		call->arg[i] = args_make(type, i, about);
	else
		call->arg[i].value += (int64_t)ONE_OF(about->random, 1, -1, 8,
						      -8, 4096, -4096);
}

void generate_mutation(struct program *program, const struct program *other,
		       uint64_t *random)
{
	unsigned int times = 1 + random_below(random, 4);
	const struct about about = choose(random);
	struct call call;
	unsigned int i;

	while (times--) {
		i = random_below(random, program->nr);
		switch (random_below(random, 12)) {
		case 0 ... 2:
			make_call(&call, NULL, &about);
			call.thread = program->call[i].thread;
			insert_call(program, i, &call);
			break;
		case 3:
			if (program->nr > 1)
				remove_call(program, i);
			break;
		case 4 ... 7:
			change_arg(&program->call[i], &about);
			break;
		case 8:
			insert_call(program,
				    random_below(random, program->nr + 1),
				    &other->call[random_below(random,
							      other->nr)]);
			break;
		case 9:
			call = program->call[i];
			insert_call(program,
				    random_below(random, program->nr + 1),
				    &call);
			break;
		case 10:
			program->call[i].thread =
				random_below(random, MAX_THREADS);
			break;
		default:
			program->call[i].fail =
				random_percent(random, 80) ?
					1 + random_below(random, 16) : 0;
		}
	}
	program->rounds = ONE_OF(random, program->rounds, ROUNDS);
}
