// SPDX-License-Identifier: GPL-2.0
/*
 * Print stacks with the names of functions and objects: of the user's own programs by
 * libdwfl, which takes the files by their names and reads them here; of others as profiles
 * do, see profile/object.h.
 */
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "exec_maps.h"
#include "profile/inspect.h"
#include "profile/object.h"
#include "stack_print.h"

/**
 * struct place - what is mapped at an address of a stack
 *
 * @known: the object; its name is NULL if there is none.
 * @offset: offset in the file of its start.
 * @object: its file, as soon as that is needed.
 */
struct place {
	struct history_object known;
	uint64_t offset;
	struct object *object;
};

/**
 * struct stack_printer - output, and the objects of a process
 *
 * @out: the output.
 * @dwfl: objects of process @pid, kept for further stacks of the same process; NULL if
 *	they have not been read, or the process is not ours.
 * @pid: the process.
 * @stack: the stack, of a process that is not ours.
 * @places: what is mapped where, by the number of its frame.
 * @objects: objects of processes that are not ours.
 */
struct stack_printer {
	FILE *out;
	Dwfl *dwfl;
	pid_t pid;
	const struct sframe_unwind_stack *stack;
	struct place *places;
	struct objects objects;
};

static char *debuginfo_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debuginfo_path,
};

struct stack_printer *stack_printer_create(FILE *out)
{
	struct stack_printer *printer = calloc(1, sizeof(*printer));

	if (printer)
		printer->out = out;
	return printer;
}

void stack_printer_free(struct stack_printer *printer)
{
	if (!printer)
		return;
	dwfl_end(printer->dwfl);
	objects_free(&printer->objects);
	free(printer);
}

/* Read the process's objects to printer->dwfl; on failure that is NULL. */
static void read_objects(struct stack_printer *printer, pid_t pid)
{
	if (printer->pid != pid) {
		dwfl_end(printer->dwfl);
		printer->dwfl = NULL;
		printer->pid = pid;
	}
	if (!pid || !exec_maps_are_ours(pid)) {
		dwfl_end(printer->dwfl);
		printer->dwfl = NULL;
		return;
	}
	if (!printer->dwfl)
		printer->dwfl = dwfl_begin(&callbacks);
	if (!printer->dwfl)
		return;

	/* Update the list: objects that are still loaded are kept. */
	dwfl_report_begin(printer->dwfl);
	if (dwfl_linux_proc_report(printer->dwfl, pid) ||
	    dwfl_report_end(printer->dwfl, NULL, NULL)) {
		dwfl_end(printer->dwfl);
		printer->dwfl = NULL;
	}
}

/* Returns the module that @address is in. libdwfl itself may return the nearest one. */
static Dwfl_Module *find_module(const struct stack_printer *printer,
				uint64_t address)
{
	Dwfl_Module *module;
	Dwarf_Addr start, end;

	if (!printer->dwfl)
		return NULL;
	module = dwfl_addrmodule(printer->dwfl, address);
	if (!module)
		return NULL;
	dwfl_module_info(module, NULL, &start, &end, NULL, NULL, NULL, NULL);
	return address >= start && address < end ? module : NULL;
}

static void print_name(const struct stack_printer *printer,
		       const char *function, uint64_t offset, const char *object)
{
	putc(' ', printer->out);
	print_escaped(printer->out, function ? function : "?");
	if (function)
		fprintf(printer->out, "+0x%" PRIx64, offset);
	fputs(" (", printer->out);
	print_escaped(printer->out, object ? object : "?");
	putc(')', printer->out);
}

static void print_symbol(const struct stack_printer *printer,
			 Dwfl_Module *module, uint64_t ip, uint64_t lookup)
{
	const char *object, *function;
	GElf_Off offset;
	GElf_Sym symbol;

	function = dwfl_module_addrinfo(module, lookup, &offset, &symbol, NULL,
					NULL, NULL);
	object = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL,
				  NULL);
	print_name(printer, function, function ? offset + (ip - lookup) : 0,
		   object);
}

/* --- processes that are not ours */

/* Note the mapping at each address of the stack that is in it. */
static void take_mapping(void *data,
			 const struct sframe_unwind_profile_record *record)
{
	const struct sframe_unwind_profile_map *map = &record->map;
	struct stack_printer *printer = data;
	const struct sframe_unwind_stack *stack = printer->stack;

	if (record->kind != SFRAME_UNWIND_PROFILE_MAP)
		return;
	for (unsigned int i = 0; i < sframe_unwind_stack_frames(stack); i++) {
		struct place *place = &printer->places[i];

		if (place->known.name ||
		    sframe_unwind_stack_lookup(stack, i) - map->start >=
		    map->size)
			continue;
		place->offset = map->offset;
		place->known = (struct history_object){
			.name = table_copy(map->name),
			.build_id_size = map->build_id_size,
			.pid = stack->pid,
			.start = map->start,
			.end = map->start + map->size,
			.is_live = true,
		};
		memcpy(place->known.build_id, map->build_id,
		       sizeof(map->build_id));
	}
}

static void find_places(struct stack_printer *printer,
			const struct sframe_unwind_stack *stack)
{
	const unsigned int nr = sframe_unwind_stack_frames(stack);

	printer->stack = stack;
	printer->places = table_allocate((nr + 1) * sizeof(struct place));
	if (!stack->pid)
		return;
	/* What processes may cost is limited for each stack. */
	inspect_begin(NULL, 0);
	inspect_process(stack->pid, false, take_mapping, printer);
}

static void free_places(struct stack_printer *printer)
{
	for (unsigned int i = 0;
	     i < sframe_unwind_stack_frames(printer->stack); i++)
		free(printer->places[i].known.name);
	free(printer->places);
	printer->places = NULL;
}

/* Returns the object of frame @i, looked for once for each mapping. */
static struct object *get_object(struct stack_printer *printer, unsigned int i)
{
	struct place *place = &printer->places[i];
	const char *why;

	for (unsigned int j = 0; j < i && !place->object; j++)
		if (printer->places[j].known.start == place->known.start)
			place->object = printer->places[j].object;
	if (!place->object)
		place->object = object_open(&printer->objects, &place->known,
					    &why);
	return place->object;
}

static void print_place(struct stack_printer *printer, unsigned int i)
{
	const uint64_t lookup = sframe_unwind_stack_lookup(printer->stack, i);
	const struct place *place = &printer->places[i];
	const struct symbol *symbol;
	struct object *object;
	uint64_t address;

	if (!place->known.name) {
		fputs(" ? (?)", printer->out);
		return;
	}
	object = get_object(printer, i);
	address = object_address(object,
				 lookup - place->known.start + place->offset);
	symbol = object_find(object, address);
	print_name(printer, symbol ? symbol->name : NULL,
		   symbol ? address - symbol->start +
		   sframe_unwind_stack_ip(printer->stack, i) - lookup : 0,
		   place->known.name);
}

/* --- stacks */

static void print_frame(struct stack_printer *printer,
			const struct sframe_unwind_stack *stack, unsigned int i)
{
	const uint64_t ip = sframe_unwind_stack_ip(stack, i);
	const uint64_t lookup = sframe_unwind_stack_lookup(stack, i);
	Dwfl_Module *module = find_module(printer, lookup);

	fprintf(printer->out, "  #%-3u 0x%016" PRIx64, i, ip);
	if (module)
		print_symbol(printer, module, ip, lookup);
	else if (printer->places)
		print_place(printer, i);
	else
		fputs(" ? (?)", printer->out);
	fprintf(printer->out, " [%s]\n",
		sframe_unwind_frame_name(sframe_unwind_stack_how(stack, i)));
}

void stack_printer_print(struct stack_printer *printer,
			 const struct sframe_unwind_stack *stack,
			 const char *missing)
{
	read_objects(printer, stack->pid);
	fprintf(printer->out, "stack of process %u, thread %u:\n", stack->pid,
		stack->tid);
	if (!printer->dwfl)
		find_places(printer, stack);
	for (unsigned int i = 0; i < sframe_unwind_stack_frames(stack); i++)
		print_frame(printer, stack, i);
	if (printer->places)
		free_places(printer);
	fprintf(printer->out, "  end: %s\n",
		sframe_unwind_stop_name(stack->stop));
	if (missing)
		print_line(printer->out, "  missing: %s", missing);
	putc('\n', printer->out);
	fflush(printer->out);
}
