// SPDX-License-Identifier: GPL-2.0
/*
 * Elfutils' libdwfl, reading recorded stacks by its callbacks.
 */
#include <elfutils/libdwfl.h>
#include <err.h>
#include <stdbool.h>
#include <stddef.h>

#include "walkers.h"

/* Any number will do, because no such process is accessed. */
#define PID	1

static Dwfl *dwfl;
static const struct image *program;
static const struct stack *current;

struct found {
	uint64_t *ip;
	unsigned int nr;
	unsigned int max;
	bool first;
};

static pid_t next_thread(Dwfl *d, void *arg, void **thread_arg)
{
	(void)d;
	(void)arg;
	if (*thread_arg)
		return 0;
	*thread_arg = (void *)&current;
	return PID;
}

static bool get_thread(Dwfl *d, pid_t tid, void *arg, void **thread_arg)
{
	(void)d;
	(void)arg;
	*thread_arg = (void *)&current;
	return tid == PID;
}

static bool read_memory(Dwfl *d, Dwarf_Addr address, Dwarf_Word *word,
			void *arg)
{
	const unsigned char *bytes;

	(void)d;
	(void)arg;
	if (!stack_word(current, address, word))
		return true;
	bytes = image_at(program, address, sizeof(*word));
	if (bytes)
		__builtin_memcpy(word, bytes, sizeof(*word));
	return bytes;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	(void)arg;
	return dwfl_thread_state_registers(thread, 0, NR_REGISTERS,
					   current->reg);
}

static int note_frame(Dwfl_Frame *frame, void *arg)
{
	struct found *found = arg;
	bool exact;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	if (!found->first)
		found->ip[found->nr++] = pc;
	found->first = false;
	if (found->nr == found->max || pc < program->start ||
	    pc >= program->end)
		return DWARF_CB_ABORT;
	return DWARF_CB_OK;
}

void dwfl_open(const struct stacks *stacks, const struct image *image)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	static const Dwfl_Thread_Callbacks threads = {
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers,
	};

	program = image;
	dwfl = dwfl_begin(&callbacks);
	if (!dwfl)
		errx(1, "libdwfl: %s", dwfl_errmsg(-1));
	dwfl_report_begin(dwfl);
	if (!dwfl_report_elf(dwfl, "program", stacks->head.path, -1,
			     image->base, false) ||
	    dwfl_report_end(dwfl, NULL, NULL) ||
	    !dwfl_attach_state(dwfl, NULL, PID, &threads, NULL))
		errx(1, "libdwfl: %s", dwfl_errmsg(-1));
}

unsigned int dwfl_walk(const struct stack *stack, uint64_t *ip,
		       unsigned int max)
{
	struct found found = { .ip = ip, .max = max, .first = true };

	current = stack;
	dwfl_getthread_frames(dwfl, PID, note_frame, &found);
	return found.nr;
}

void dwfl_close(void)
{
	dwfl_end(dwfl);
}
