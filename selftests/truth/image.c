// SPDX-License-Identifier: GPL-2.0
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

/* Not needed, because the programs contain their debug information. */
static int no_debuginfo(Dwfl_Module *module, void **data, const char *name,
			Dwarf_Addr base, const char *file, const char *link,
			GElf_Word crc, char **found)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = no_debuginfo,
};

/*
 * Callbacks of libdw about the process
 */

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread)
{
	const struct image *image = data;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = data;
	return image->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *data, void **thread)
{
	const struct image *image = data;

	(void)dwfl;
	*thread = data;
	return tid == image->pid;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word,
		      void *data)
{
	const struct image *image = data;

	(void)dwfl;
	return memory_word(image->memory, address, word);
}

static bool set_registers(Dwfl_Thread *thread, void *data)
{
	const struct user_regs_struct *r = &((struct image *)data)->regs;
	const Dwarf_Word words[] = {
		r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp,
		r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15,
		r->rip
	};

	return dwfl_thread_state_registers(thread, 0, 17, words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

/*
 * Objects
 */

static bool find_code(struct object *object, Elf *elf)
{
	size_t count;
	GElf_Phdr segment;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, i, &segment) ||
		    segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		object->start = object->bias + segment.p_vaddr;
		object->end = object->start + segment.p_memsz;
		return true;
	}
	return false;
}

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *this;

		if (!gelf_getshdr(section, header))
			continue;
		this = elf_strptr(elf, names, header->sh_name);
		if (this && !strcmp(this, name))
			return section;
	}
	return NULL;
}

static int add_object(Dwfl_Module *module, void **data, const char *name,
		      Dwarf_Addr start, void *arg)
{
	struct image *image = arg;
	const char *slash = strrchr(name, '/');
	struct object *object;
	Elf_Data *bytes;
	GElf_Addr bias;
	Elf_Scn *section;
	GElf_Shdr header;
	Elf *elf;

	(void)data;
	(void)start;
	elf = dwfl_module_getelf(module, &bias);
	section = elf ? find_section(elf, ".sframe", &header) : NULL;
	bytes = section ? elf_rawdata(section, NULL) : NULL;
	if (!bytes || !bytes->d_size)
		return DWARF_CB_OK;
	if (image->nr_objects == MAX_OBJECTS) {
		fprintf(stderr, "truth: more than %d objects\n", MAX_OBJECTS);
		return DWARF_CB_ABORT;
	}

	object = calloc(1, sizeof(*object));
	if (!object)
		return DWARF_CB_ABORT;
	image->objects[image->nr_objects++] = object;
	object->name = strdup(slash ? slash + 1 : name);
	object->module = module;
	object->bias = bias;
	object->sframe.bytes = bytes->d_buf;
	object->sframe.size = bytes->d_size;
	object->sframe.address = bias + header.sh_addr;
	if (!find_code(object, elf) || !ref_is_sound(&object->sframe)) {
		fprintf(stderr, "truth: cannot make sense of %s\n", name);
		return DWARF_CB_ABORT;
	}
	return DWARF_CB_OK;
}

bool image_load(struct image *image, pid_t pid, struct memory *memory)
{
	image->pid = pid;
	image->memory = memory;
	image->nr_objects = 0;
	image->dwfl = dwfl_begin(&callbacks);
	if (!image->dwfl || dwfl_linux_proc_report(image->dwfl, pid) ||
	    dwfl_report_end(image->dwfl, NULL, NULL) ||
	    (!image->whole &&
	     dwfl_getmodules(image->dwfl, add_object, image, 0)) ||
	    !dwfl_attach_state(image->dwfl, NULL, pid, &thread_callbacks,
			       image)) {
		fprintf(stderr, "truth: libdwfl: %s\n", dwfl_errmsg(-1));
		image_unload(image);
		return false;
	}
	return true;
}

void image_unload(struct image *image)
{
	for (unsigned int i = 0; i < image->nr_objects; i++) {
		free(image->objects[i]->name);
		free(image->objects[i]);
	}
	image->nr_objects = 0;
	if (image->dwfl)
		dwfl_end(image->dwfl);
	image->dwfl = NULL;
}

struct object *image_object(const struct image *image, uint64_t pc)
{
	for (unsigned int i = 0; i < image->nr_objects; i++) {
		if (pc >= image->objects[i]->start &&
		    pc < image->objects[i]->end)
			return image->objects[i];
	}
	return NULL;
}

bool image_is_code(const struct image *image, uint64_t pc)
{
	unsigned long start, end;
	char path[32], line[512], execute;
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", image->pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx %*c%*c%c", &start, &end,
			       &execute) == 3 && execute == 'x' &&
			pc + 1 >= start && pc < end;
	fclose(maps);
	return found;
}

bool image_is_restorer(const struct image *image, uint64_t pc)
{
	/* mov $15,%rax; syscall */
	static const uint8_t restorer[] = {
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05
	};
	uint8_t code[sizeof(restorer)];

	return memory_read(image->memory, pc, code, sizeof(code)) &&
	       !memcmp(code, restorer, sizeof(code));
}

/*
 * Unwinding
 */

/* As libdw's unwinder: .eh_frame first. */
static Dwarf_Frame *find_frame(Dwfl_Module *module, uint64_t pc,
			       Dwarf_Addr *bias)
{
	Dwarf_Frame *frame;
	Dwarf_CFI *cfi;

	if (!module)
		return NULL;
	cfi = dwfl_module_eh_cfi(module, bias);
	if (cfi && !dwarf_cfi_addrframe(cfi, pc - *bias, &frame))
		return frame;
	cfi = dwfl_module_dwarf_cfi(module, bias);
	if (cfi && !dwarf_cfi_addrframe(cfi, pc - *bias, &frame))
		return frame;
	return NULL;
}

/* Whether the code of the frame is marked as a signal frame. */
static bool is_signal_frame(const struct image *image,
			    const struct truth_frame *frame)
{
	const uint64_t pc = frame->pc - !frame->exact;
	Dwarf_Addr bias;
	Dwarf_Frame *cfi = find_frame(dwfl_addrmodule(image->dwfl, pc), pc,
				      &bias);
	bool is_signal = false;

	if (cfi)
		dwarf_frame_info(cfi, NULL, NULL, &is_signal);
	free(cfi);
	return is_signal;
}

struct unwinding {
	const struct image *image;
	struct truth_stack *stack;
};

static int add_frame(Dwfl_Frame *state, void *data)
{
	const struct unwinding *unwinding = data;
	struct truth_stack *stack = unwinding->stack;
	struct truth_frame *frame = &stack->frames[stack->nr];

	if (!dwfl_frame_pc(state, &frame->pc, &frame->exact))
		return DWARF_CB_ABORT;
	/*
	 * For libdw return addresses to code that is marked as a signal frame
	 * are exact, too: to the restorer, and to what switches stacks.
	 */
	frame->exact &= !stack->nr ||
			is_signal_frame(unwinding->image, frame - 1);
	frame->sp_known = !dwfl_frame_reg(state, 7, &frame->sp);
	frame->fp_known = !dwfl_frame_reg(state, 6, &frame->fp);
	stack->nr++;
	if (stack->nr > MAX_DEPTH)
		return DWARF_CB_ABORT;
	if (!unwinding->image->whole &&
	    !image_object(unwinding->image, frame->pc - !frame->exact) &&
	    !image_is_restorer(unwinding->image, frame->pc))
		return DWARF_CB_ABORT;
	return DWARF_CB_OK;
}

void image_unwind(struct image *image, const struct user_regs_struct *regs,
		  struct truth_stack *stack)
{
	struct unwinding unwinding = { image, stack };

	image->regs = *regs;
	stack->nr = 0;
	stack->ended = !dwfl_getthread_frames(image->dwfl, image->pid,
					      add_frame, &unwinding);
}

/*
 * Contents of the tables
 */

const struct ref_rule *object_rule(struct object *object, uint64_t pc)
{
	struct rule_slot *slot = &object->rules[pc % RULE_SLOTS];

	if (slot->pc != pc) {
		slot->pc = pc;
		slot->rule = ref_lookup(&object->sframe, pc);
	}
	return &slot->rule;
}

const char *object_section(const struct object *object, uint64_t pc)
{
	const uint64_t address = pc - object->bias;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Addr bias;
	size_t names;
	Elf *elf;

	elf = dwfl_module_getelf(object->module, &bias);
	if (elf_getshdrstrndx(elf, &names))
		return "?";
	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) &&
		    header.sh_flags & SHF_ALLOC && address >= header.sh_addr &&
		    address - header.sh_addr < header.sh_size)
			return elf_strptr(elf, names, header.sh_name);
	}
	return "?";
}

const char *object_function(const struct object *object, uint64_t pc)
{
	const char *name = dwfl_module_addrname(object->module, pc);

	return name ? name : "?";
}

static struct ref_place place_of(long base, bool in_memory, long offset)
{
	return (struct ref_place){ .base = base, .in_memory = in_memory, .offset = offset };
}

/* The register that @op uses, with its offset, or -1. */
static long register_of(const Dwarf_Op *op, long *offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*offset = op->number;
		return op->atom - DW_OP_breg0;
	}
	if (op->atom == DW_OP_bregx) {
		*offset = op->number2;
		return op->number;
	}
	return -1;
}

/* The CFA is a value: a register and an offset, or the word there. */
static enum cfi_answer cfa_place(const Dwarf_Op *ops, size_t count,
				 struct ref_place *place)
{
	long base, offset = 0;

	if (!count || count > 2 ||
	    (count == 2 && ops[1].atom != DW_OP_deref))
		return CFI_NOTHING;
	base = register_of(ops, &offset);
	*place = place_of(base, count == 2, offset);
	return base < 0 ? CFI_NOTHING : CFI_PLACE;
}

/* A register has a location, usually in memory. */
static enum cfi_answer register_place(const Dwarf_Op *ops, size_t count,
				      struct ref_place *place)
{
	long base, offset = 0;

	if (!count) {
		*place = place_of(REF_SAME, false, 0);
		return ops ? CFI_UNDEFINED : CFI_PLACE;
	}
	if (ops[0].atom == DW_OP_call_frame_cfa &&
	    (count == 1 ||
	     (count == 2 && ops[1].atom == DW_OP_plus_uconst))) {
		if (count == 2)
			offset = ops[1].number;
		*place = place_of(REF_CFA, true, offset);
		return CFI_PLACE;
	}
	/* The CFA is pushed on the expression's stack at its start. */
	if (ops[0].atom == DW_OP_call_frame_cfa) {
		ops++;
		count--;
	}
	if (count != 1)
		return CFI_NOTHING;
	if (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31) {
		*place = place_of(ops->atom - DW_OP_reg0, false, 0);
		return CFI_PLACE;
	}
	base = register_of(ops, &offset);
	*place = place_of(base, true, offset);
	return base < 0 ? CFI_NOTHING : CFI_PLACE;
}

uint64_t module_row_start(Dwfl_Module *module, uint64_t pc)
{
	Dwarf_Addr bias, start;
	Dwarf_Frame *frame = find_frame(module, pc, &bias);

	if (!frame)
		return 0;
	dwarf_frame_info(frame, &start, NULL, NULL);
	free(frame);
	return start + bias;
}

bool module_has_cfi(Dwfl_Module *module, uint64_t pc)
{
	Dwarf_Addr bias;
	Dwarf_Frame *frame = find_frame(module, pc, &bias);
	const bool has = frame;

	free(frame);
	return has;
}

enum cfi_answer module_cfi(Dwfl_Module *module, uint64_t pc, int number,
			   struct ref_place *place)
{
	Dwarf_Addr bias;
	Dwarf_Frame *frame = find_frame(module, pc, &bias);
	enum cfi_answer answer = CFI_NOTHING;
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (!frame)
		return CFI_NOTHING;
	if (number == CFI_CFA) {
		if (!dwarf_frame_cfa(frame, &ops, &count))
			answer = cfa_place(ops, count, place);
	} else if (!dwarf_frame_register(frame, number, memory, &ops, &count)) {
		answer = register_place(ops, count, place);
	}
	free(frame);
	return answer;
}

enum cfi_answer object_cfi(const struct object *object, uint64_t pc, int number,
			   struct ref_place *place)
{
	return module_cfi(object->module, pc, number, place);
}
