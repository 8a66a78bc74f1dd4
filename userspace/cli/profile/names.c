// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/profile/demangle.h"
#include "cli/profile/inspect.h"
#include "cli/profile/jits.h"
#include "cli/profile/kernel.h"
#include "cli/profile/names.h"
#include "cli/profile/object.h"

#define KERNEL_OBJECT	"[kernel.kallsyms]"

/* Owners of places: objects by number, then these. */
#define OWNER_KERNEL	0x80000000u
#define OWNER_PROCESS	0x80000001u	/* plus number of the process */

/* Longer names are cut: files can have very long ones, which take time. */
#define NAME_SIZE	16384u

/* Entries of the cache of addresses, a power of two. */
#define RECENT		65536u

/* Bytes that are counted for a function beside its name, and for a place. */
#define FUNCTION_SIZE	(2 * (sizeof(struct function) + 2 * sizeof(struct pair)) + 128)
#define PLACE_SIZE	(2 * (sizeof(struct place) + sizeof(struct pair)) + 64)

/**
 * struct recent - an address that was found recently
 *
 * @address: the address in the process, with the lowest bit of a return address
 *	inverted in the highest one.
 * @version: of the process; see history_process().
 * @place: number of the place.
 */
struct recent {
	uint64_t address;
	uint64_t version;
	uint32_t place;
};

/**
 * struct loaded - symbols of an object
 *
 * @object: the object, or NULL.
 * @why: why names are missing, or NULL.
 * @nameless: places without a name.
 */
struct loaded {
	struct object *object;
	const char *why;
	uint64_t nameless;
};

/**
 * struct source_line - of a function of a place
 *
 * @file: its name, or NULL.
 * @line: 0 if there is none.
 */
struct source_line {
	const char *file;
	int line;
};

/**
 * struct names - all names
 *
 * @history: what was mapped.
 * @options: what to do.
 * @kernel: the kernel's symbols.
 * @release: the profile's kernel.
 * @objects: symbols by number of the object.
 * @objects_room: room for those.
 * @files: their files.
 * @pids: numbers of processes with code of their own.
 * @jits: names of that.
 * @keys: numbers of places, by owner and address.
 * @places: the places.
 * @places_room: room for those.
 * @chain: functions of places.
 * @chain_nr: number of those.
 * @chain_room: room for those.
 * @texts: strings.
 * @line_keys: numbers of source lines that were found, by place and function of it.
 * @lines: those.
 * @lines_room: room for those.
 * @functions: numbers of functions, by object and name.
 * @list: the functions.
 * @list_room: room for those.
 * @frames: places of the current sample.
 * @recent: places that were found recently.
 * @kernel_nameless: number of kernel addresses without a name.
 * @cut: a name that was cut.
 */
struct names {
	struct history *history;
	struct names_options options;
	struct kernel *kernel;
	char *release;
	struct loaded *objects;
	uint32_t objects_room;
	struct objects files;
	struct pairs pids;
	struct jits jits;
	struct pairs keys;
	struct place *places;
	uint32_t places_room;
	uint32_t *chain;
	uint32_t chain_nr;
	uint32_t chain_room;
	struct strings texts;
	struct pairs line_keys;
	struct source_line *lines;
	uint32_t lines_room;
	struct pairs functions;
	struct function *list;
	uint32_t list_room;
	uint32_t frames[SFRAME_UNWIND_PROFILE_FRAMES];
	struct recent recent[RECENT];
	uint64_t kernel_nameless;
	char cut[NAME_SIZE];
};

struct names *names_create(struct history *history,
			   const struct names_options *options,
			   const char *release)
{
	struct names *names = table_allocate(sizeof(*names));

	names->history = history;
	names->options = *options;
	names->release = release ? table_copy(release) : NULL;
	names->jits.history = history;
	for (uint32_t i = 0; i < RECENT; i++)
		names->recent[i].version = UINT64_MAX;
	return names;
}

void names_set_clock(struct names *names, int clock)
{
	names->jits.is_other_clock = clock != CLOCK_MONOTONIC;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	jits_free(&names->jits);
	objects_free(&names->files);
	for (uint32_t i = 0; i < names->functions.nr; i++)
		free(names->list[i].name);
	kernel_close(names->kernel);
	free(names->release);
	free(names->objects);
	pairs_free(&names->pids);
	pairs_free(&names->keys);
	free(names->places);
	free(names->chain);
	strings_free(&names->texts);
	pairs_free(&names->line_keys);
	free(names->lines);
	pairs_free(&names->functions);
	free(names->list);
	free(names);
}

static const char *base_name(const char *path)
{
	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

/* Returns @text, which is freed, with @more behind it. */
static char *append(char *text, const char *more)
{
	const size_t length = strlen(text);
	char *both = table_allocate(length + strlen(more) + 1);

	memcpy(both, text, length);
	strcpy(both + length, more);
	free(text);
	return both;
}

static const char *cut_name(struct names *names, const char *name)
{
	if (strnlen(name, NAME_SIZE) < NAME_SIZE)
		return name;
	memcpy(names->cut, name, NAME_SIZE - 1);
	return names->cut;
}

/* Returns the number of a function. */
static uint32_t add_function(struct names *names, const char *object,
			     const char *name, enum code code, bool is_inlined,
			     bool is_nameless)
{
	const uint32_t object_text = strings_add(&names->texts, object);
	const char *shown = cut_name(names, name);
	const uint32_t name_text = strings_add(&names->texts, shown);
	const uint32_t old = names->functions.nr;
	const uint32_t number = pairs_add(&names->functions,
		(uint64_t)object_text << 32 | name_text,
		code | (is_inlined ? 16 : 0));
	struct function *function;

	if (number < old)
		return number;
	names->list = table_grow(names->list, &names->list_room, number,
				 sizeof(*names->list));
	function = &names->list[number];
	if (!names->options.no_demangle)
		function->name = demangle(shown);
	if (!function->name)
		function->name = table_copy(shown);
	if (is_inlined)
		function->name = append(function->name, " (inlined)");
	function->object = names->texts.texts[object_text];
	function->short_object = base_name(function->object);
	function->code = code;
	function->is_inlined = is_inlined;
	function->is_nameless = is_nameless;
	history_charge(names->history, FUNCTION_SIZE + strlen(shown) +
		       strlen(function->name));
	return number;
}

uint32_t names_mark(struct names *names, const char *text)
{
	return add_function(names, "", text, CODE_MARK, false, false);
}

static void add_to_chain(struct names *names, struct place *place,
			 uint32_t function)
{
	names->chain = table_grow(names->chain, &names->chain_room,
				  names->chain_nr, sizeof(*names->chain));
	names->chain[names->chain_nr++] = function;
	place->nr++;
}

static struct loaded *get_loaded(struct names *names, uint32_t number)
{
	struct loaded *loaded;

	names->objects = table_grow(names->objects, &names->objects_room,
				    number, sizeof(*names->objects));
	loaded = &names->objects[number];
	if (!loaded->object)
		loaded->object = object_open(&names->files,
					     history_object(names->history,
							    number),
					     &loaded->why);
	return loaded;
}

static void name_object(struct names *names, struct place *place,
			uint64_t lookup)
{
	const char *object = history_object(names->history, place->owner)->name;
	struct loaded *loaded = get_loaded(names, place->owner);
	const uint64_t address = object_address(loaded->object, lookup);
	const struct symbol *symbol = object_find(loaded->object, address);
	const char *inlined[NAMES_INLINED];
	uint32_t nr = 0;
	char text[256];

	place->address += address - lookup;
	if (!names->options.no_inlined)
		nr = object_inlined(loaded->object, address, inlined,
				    NAMES_INLINED);
	for (uint32_t i = 0; i < nr; i++)
		add_to_chain(names, place,
			     add_function(names, object, inlined[i], CODE_USER,
					  true, false));
	if (symbol) {
		place->start = symbol->start;
		add_to_chain(names, place,
			     add_function(names, object, symbol->name,
					  CODE_USER, false, false));
		return;
	}
	loaded->nameless++;
	place->start = object_start(loaded->object, address);
	snprintf(text, sizeof(text), "%.200s+0x%" PRIx64, base_name(object),
		 place->start);
	add_to_chain(names, place, add_function(names, object, text, CODE_USER,
						false, true));
}

static void name_kernel(struct names *names, struct place *place,
			uint64_t lookup)
{
	const struct symbol *symbol;
	const char *module;
	char text[64];

	if (!names->kernel)
		names->kernel = kernel_open(names->options.kallsyms,
					    names->release,
					    history_kernel_text(names->history));
	symbol = kernel_find(names->kernel, lookup, &module);
	if (symbol) {
		place->start = symbol->start;
		place->address = kernel_address(names->kernel, place->address);
		snprintf(text, sizeof(text), "[%.50s]", module ? module : "");
		add_to_chain(names, place,
			     add_function(names, module ? text : KERNEL_OBJECT,
					  symbol->name, CODE_KERNEL, false,
					  false));
		return;
	}
	names->kernel_nameless++;
	place->start = place->address;
	snprintf(text, sizeof(text), "[kernel]+0x%" PRIx64, lookup);
	add_to_chain(names, place, add_function(names, KERNEL_OBJECT, text,
						CODE_KERNEL, false, true));
}

/**
 * struct lookup - an address that gets a place
 *
 * @pid: the process.
 * @time: when it was there.
 * @address: the address.
 * @is_exact: whether it is no return address.
 * @object: name of what is mapped there.
 * @jit: name of the function that the process has made there, or NULL.
 * @start: where that begins.
 */
struct lookup {
	uint32_t pid;
	uint64_t time;
	uint64_t address;
	bool is_exact;
	const char *object;
	const char *jit;
	uint64_t start;
};

static void name_process(struct names *names, struct place *place,
			 const struct lookup *lookup)
{
	char text[64];

	if (lookup->jit) {
		place->start = lookup->start;
		snprintf(text, sizeof(text), "[JIT] tid %" PRIu32, lookup->pid);
		add_to_chain(names, place,
			     add_function(names, text, lookup->jit, CODE_JIT,
					  false, false));
		return;
	}
	place->start = place->address;
	snprintf(text, sizeof(text), "0x%" PRIx64,
		 lookup->address - !lookup->is_exact);
	add_to_chain(names, place, add_function(names, lookup->object, text,
						CODE_USER, false, true));
}

/* Whether a mapping has no file with symbols. */
static bool is_anonymous(const char *name)
{
	return name[0] != '/' || !strncmp(name, "//", 2) ||
	       !strncmp(name, "/memfd:", 7) || !strncmp(name, "/SYSV", 5) ||
	       !strncmp(name, "/dev/zero", 9) || !strncmp(name, "/anon_huge", 10);
}

/*
 * Returns the number of a place. @owner, its address, and the name of what a process has made
 * there identify it. Return addresses may be behind the last instruction of a function: look
 * up the byte before.
 */
static uint32_t add_place(struct names *names, uint32_t owner,
			  const struct lookup *lookup)
{
	const uint32_t old = names->keys.nr;
	const uint64_t jit = lookup->jit ?
			     strings_add(&names->texts, lookup->jit) + 1ULL : 0;
	const uint32_t number = pairs_add(&names->keys, lookup->address,
					  jit << 33 | (uint64_t)owner << 1 |
					  lookup->is_exact);
	const uint64_t address = lookup->address - !lookup->is_exact;
	struct place *place;

	if (number < old)
		return number;
	names->places = table_grow(names->places, &names->places_room, number,
				   sizeof(*names->places));
	place = &names->places[number];
	history_charge(names->history, PLACE_SIZE);
	place->address = lookup->address;
	place->owner = owner;
	place->is_exact = lookup->is_exact;
	place->first = names->chain_nr;
	if (owner == OWNER_KERNEL)
		name_kernel(names, place, address);
	else if (owner >= OWNER_PROCESS)
		name_process(names, place, lookup);
	else
		name_object(names, place, address);
	return number;
}

static uint32_t find_user(struct names *names, const struct process *process,
			  struct lookup *lookup)
{
	const uint64_t address = lookup->address - !lookup->is_exact;
	const struct mapping *mapping = process_find(process, address);

	lookup->object = NAMES_NOT_MAPPED;
	if (mapping) {
		lookup->object = history_object(names->history,
						mapping->object)->name;
		if (!is_anonymous(lookup->object) ||
		    !strcmp(lookup->object, "[vdso]")) {
			lookup->address -= mapping->start - mapping->offset;
			return add_place(names, mapping->object, lookup);
		}
	}
	lookup->jit = jits_find(&names->jits, lookup->pid, address,
				lookup->time, &lookup->start);
	return add_place(names, OWNER_PROCESS +
			 pairs_add(&names->pids, lookup->pid, 0), lookup);
}

void names_get_stack(struct stack *stack,
		     const struct sframe_unwind_profile_sample *sample)
{
	const bool is_kernel = sample->flags & SFRAME_UNWIND_PROFILE_KERNEL;

	*stack = (struct stack){ sample->frames, sample->nr_kernel,
				 sample->nr_user };
	if (!sample->nr_kernel && !sample->nr_user && sample->ip)
		*stack = (struct stack){ &sample->ip, is_kernel, !is_kernel };
}

/* Returns the process of a record as it was then; *@version: see names_version(). */
static struct process *find_process(struct names *names,
				    const struct sframe_unwind_profile_record *record,
				    uint64_t *version)
{
	const uint64_t jits = jits_version(&names->jits, record->pid,
					   record->time);
	struct process *process = history_process(names->history, record->pid,
						  record->time, version);

	if (jits)
		*version = table_hash(*version, jits);
	return process;
}

uint64_t names_version(struct names *names,
		       const struct sframe_unwind_profile_record *record)
{
	uint64_t version;

	find_process(names, record, &version);
	return version;
}

const uint32_t *names_of_stack(struct names *names, const struct stack *stack,
			       const struct sframe_unwind_profile_record *record,
			       uint32_t known)
{
	const uint32_t end = stack->nr_kernel + stack->nr_user - known;
	struct process *process;
	uint64_t version;

	for (uint32_t i = 0; i < stack->nr_kernel && i < end; i++) {
		const struct lookup lookup = {
			.address = stack->frames[i],
			.is_exact = !i,
		};

		names->frames[i] = add_place(names, OWNER_KERNEL, &lookup);
	}
	if (end <= stack->nr_kernel)
		return names->frames;
	process = find_process(names, record, &version);
	for (uint32_t i = stack->nr_kernel; i < end; i++) {
		const uint64_t address = stack->frames[i];
		const bool is_exact = i == stack->nr_kernel;
		const uint64_t key = address ^ (uint64_t)is_exact << 63;
		struct recent *recent =
			&names->recent[(address * 0x9e3779b97f4a7c15ULL) >> 48];

		if (recent->address != key || recent->version != version) {
			struct lookup lookup = {
				.pid = record->pid,
				.time = record->time,
				.address = address,
				.is_exact = is_exact,
			};

			recent->place = find_user(names, process, &lookup);
			recent->address = key;
			recent->version = version;
		}
		names->frames[i] = recent->place;
	}
	return names->frames;
}

const uint32_t *names_of_sample(struct names *names,
				const struct sframe_unwind_profile_record *record,
				uint32_t *nr)
{
	struct stack stack;

	names_get_stack(&stack, &record->sample);
	*nr = stack.nr_kernel + stack.nr_user;
	return names_of_stack(names, &stack, record, 0);
}

const struct place *names_place(const struct names *names, uint32_t place)
{
	return &names->places[place];
}

uint32_t names_number(const struct names *names, const struct place *place,
		      uint32_t i)
{
	return names->chain[place->first + i];
}

const struct function *names_function(const struct names *names,
				      uint32_t function)
{
	return &names->list[function];
}

static struct source_line find_line(struct names *names,
				    const struct place *place, uint32_t i)
{
	const uint64_t lookup = place->address - !place->is_exact;
	struct object *object = names->objects[place->owner].object;
	struct source_line found = { 0 };
	uint32_t number;

	found.file = i ? object_call_line(object, lookup, i - 1, &found.line) :
			 object_line(object, lookup, &found.line);
	if (found.file) {
		/* This may move the array. */
		number = strings_add(&names->texts, found.file);
		found.file = names->texts.texts[number];
	}
	return found;
}

const char *names_line(struct names *names, uint32_t number, uint32_t i,
		       int *line)
{
	const struct place *place = &names->places[number];
	uint32_t key;

	*line = 0;
	if (place->owner >= OWNER_KERNEL)
		return NULL;
	/* Threads often wait in the same place. */
	key = pairs_find(&names->line_keys, number, i);
	if (key == TABLE_NONE) {
		key = pairs_add(&names->line_keys, number, i);
		names->lines = table_grow(names->lines, &names->lines_room, key,
					  sizeof(*names->lines));
		names->lines[key] = find_line(names, place, i);
	}
	*line = names->lines[key].line;
	return names->lines[key].file;
}

const struct history_object *names_object(const struct names *names,
					  uint32_t number)
{
	const uint32_t owner = names->places[number].owner;

	return owner < OWNER_KERNEL ? history_object(names->history, owner) :
				      NULL;
}

void names_complain(struct names *names)
{
	const char *why = names->kernel ? kernel_complaint(names->kernel) : NULL;

	if (why && names->kernel_nameless)
		complain("%s", why);
	jits_complain(&names->jits);
	for (uint32_t i = 0; i < names->objects_room; i++) {
		const struct loaded *loaded = &names->objects[i];

		if (loaded->why && loaded->nameless)
			complain("%s %s: its functions have no names",
				 history_object(names->history, i)->name,
				 loaded->why);
	}
	inspect_complain();
}
