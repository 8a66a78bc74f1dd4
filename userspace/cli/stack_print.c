// SPDX-License-Identifier: GPL-2.0
/*
 * Print stacks with the names of functions and objects, by libdwfl.
 */
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "escape.h"
#include "stack_print.h"

/**
 * struct stack_printer - output, and the objects of a process
 *
 * @out: the output.
 * @dwfl: objects of process @pid, kept for further stacks of the same process; NULL if
 *	they have not been read.
 * @pid: the process.
 */
struct stack_printer {
	FILE *out;
	Dwfl *dwfl;
	pid_t pid;
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
	if (!printer->dwfl)
		printer->dwfl = dwfl_begin(&callbacks);
	if (!printer->dwfl)
		return;

	/* Update the list: objects that are still loaded are kept. */
	dwfl_report_begin(printer->dwfl);
	if (!pid || dwfl_linux_proc_report(printer->dwfl, pid) ||
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
	putc(' ', printer->out);
	print_escaped(printer->out, function ? function : "?");
	if (function)
		fprintf(printer->out, "+0x%" PRIx64, offset + (ip - lookup));
	fputs(" (", printer->out);
	print_escaped(printer->out, object ? object : "?");
	putc(')', printer->out);
}

static void print_frame(const struct stack_printer *printer,
			const struct sframe_unwind_stack *stack, unsigned int i)
{
	const uint64_t ip = sframe_unwind_stack_ip(stack, i);
	const uint64_t lookup = sframe_unwind_stack_lookup(stack, i);
	Dwfl_Module *module = find_module(printer, lookup);

	fprintf(printer->out, "  #%-3u 0x%016" PRIx64, i, ip);
	if (module)
		print_symbol(printer, module, ip, lookup);
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
	for (unsigned int i = 0; i < sframe_unwind_stack_frames(stack); i++)
		print_frame(printer, stack, i);
	fprintf(printer->out, "  end: %s\n",
		sframe_unwind_stop_name(stack->stop));
	if (missing)
		print_line(printer->out, "  missing: %s", missing);
	putc('\n', printer->out);
	fflush(printer->out);
}
