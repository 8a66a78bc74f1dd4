// SPDX-License-Identifier: GPL-2.0
/*
 * Parse what a process has announced: symbols of ELF objects, which become functions with
 * their lives. This is for the sandboxed child: see jit_child.h.
 *
 * A look tells that code was taken back, or was made, since the look before. If memory was
 * used again in between, nobody knows for which time it had the old code, and for which the
 * new one: then it has no function in that time. The same is so if a look is not sure of that.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attach/announced.h"
#include "cli/profile/jit_objects.h"
#include "cli/profile/jit_parse.h"
#include "cli/profile/table.h"

/**
 * struct range - addresses of functions
 *
 * @start: the first one.
 * @end: the one behind the last one.
 * @is_reused: of those that were taken back: others were made there in the same look.
 */
struct range {
	uint64_t start;
	uint64_t end;
	bool is_reused;
};

/**
 * struct known - an object
 *
 * @first: number of its first function.
 * @nr: number of those.
 * @is_gone: it was taken back.
 */
struct known {
	uint32_t first;
	uint32_t nr;
	bool is_gone;
};

/**
 * struct parsing - a file that is being parsed
 *
 * @fd: the file.
 * @size: bytes of it.
 * @ops, @data: what to call.
 * @result: how it ends.
 * @at: where the record is that is being parsed.
 * @functions: addresses of all functions.
 * @nr: number of those.
 * @room: room for those.
 * @objects: the objects.
 * @nr_objects: number of those.
 * @objects_room: room for those.
 * @nr_ended: the first ones, all of which are gone.
 * @before, @time: of the look.
 * @is_partial: it has JIT_OBJECTS_PARTIAL.
 * @is_full: others may have been made anywhere.
 * @gone: numbers of the objects that it has found to be gone.
 * @nr_gone: number of those.
 * @gone_room: room for those.
 * @ranges: addresses of their functions, ascending, and none in two of these.
 * @nr_ranges: number of those.
 * @has_ranges: @ranges are of this look.
 */
struct parsing {
	int fd;
	uint64_t size;
	const struct jit_ops *ops;
	void *data;
	struct jit_result *result;
	uint64_t at;
	struct range *functions;
	uint32_t nr;
	uint32_t room;
	struct known *objects;
	uint32_t nr_objects;
	uint32_t objects_room;
	uint32_t nr_ended;
	uint64_t before;
	uint64_t time;
	bool is_partial;
	bool is_full;
	uint32_t *gone;
	uint32_t nr_gone;
	uint32_t gone_room;
	struct range *ranges;
	uint32_t nr_ranges;
	bool has_ranges;
};

/* Note a fault. Returns whether to go on. */
static bool note(struct parsing *parsing, enum jit_fault fault)
{
	struct jit_result *result = parsing->result;

	if (!result->nr_faults++) {
		result->fault = fault;
		result->offset = parsing->at;
	}
	return result->nr_faults < JIT_FAULTS_MAX;
}

/* The same where nothing follows. */
static bool give_up(struct parsing *parsing, enum jit_fault fault)
{
	note(parsing, fault);
	return false;
}

/* Returns whether all could be read. */
static bool read_all(const struct parsing *parsing, void *bytes, size_t size,
		     uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t got = pread(parsing->fd, (char *)bytes + done,
					  size - done, offset + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += got;
	}
	return true;
}

/* --- what was taken back */

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

/* Join those that overlap. Returns the number that is left. */
static uint32_t join_ranges(struct range *ranges, uint32_t nr)
{
	uint32_t kept = 0;

	qsort(ranges, nr, sizeof(*ranges), compare_ranges);
	for (uint32_t i = 0; i < nr; i++) {
		if (!kept || ranges[i].start >= ranges[kept - 1].end)
			ranges[kept++] = ranges[i];
		else if (ranges[i].end > ranges[kept - 1].end)
			ranges[kept - 1].end = ranges[i].end;
	}
	return kept;
}

static void make_ranges(struct parsing *parsing)
{
	uint64_t nr = 0;

	parsing->has_ranges = true;
	for (uint32_t i = 0; i < parsing->nr_gone; i++)
		nr += parsing->objects[parsing->gone[i]].nr;
	parsing->ranges = table_allocate((nr + 1) * sizeof(struct range));
	nr = 0;
	for (uint32_t i = 0; i < parsing->nr_gone; i++) {
		const struct known *object = &parsing->objects[parsing->gone[i]];

		for (uint32_t j = 0; j < object->nr; j++)
			parsing->ranges[nr++] =
				parsing->functions[object->first + j];
	}
	parsing->nr_ranges = join_ranges(parsing->ranges, nr);
}

/* Returns the number of the first range that ends behind @address. */
static uint32_t find_range(const struct parsing *parsing, uint64_t address)
{
	uint32_t low = 0, high = parsing->nr_ranges;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (parsing->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns whether a new function is where others were taken back. Marks these. */
static bool is_reused(struct parsing *parsing, const struct range *function)
{
	bool is_found = false;

	for (uint32_t i = find_range(parsing, function->start);
	     i < parsing->nr_ranges &&
	     parsing->ranges[i].start < function->end; i++) {
		parsing->ranges[i].is_reused = true;
		is_found = true;
	}
	return is_found;
}

/* Tell the end of all that one look has found to be gone. Returns whether to go on. */
static bool end_look(struct parsing *parsing)
{
	bool go_on = true;

	if (!parsing->has_ranges)
		make_ranges(parsing);
	for (uint32_t i = 0; i < parsing->nr_gone && go_on; i++) {
		const struct known *object = &parsing->objects[parsing->gone[i]];

		for (uint32_t j = object->first;
		     j < object->first + object->nr && go_on; j++) {
			const uint32_t range = find_range(parsing,
					parsing->functions[j].start);

			go_on = parsing->ops->end(parsing->data, j,
					parsing->is_full || parsing->is_partial ||
					parsing->ranges[range].is_reused ?
						parsing->before : parsing->time);
		}
	}
	free(parsing->ranges);
	parsing->ranges = NULL;
	parsing->nr_ranges = 0;
	parsing->nr_gone = 0;
	parsing->has_ranges = false;
	return go_on;
}

static bool take_gone(struct parsing *parsing, uint32_t number)
{
	if (number >= parsing->nr_objects || parsing->objects[number].is_gone ||
	    parsing->has_ranges)
		return give_up(parsing, JIT_OBJECTS_NUMBER);
	parsing->objects[number].is_gone = true;
	parsing->gone = table_grow(parsing->gone, &parsing->gone_room,
				   parsing->nr_gone, sizeof(*parsing->gone));
	parsing->gone[parsing->nr_gone++] = number;
	return true;
}

/* End all that is there. Returns whether to go on. */
static bool take_end(struct parsing *parsing, uint64_t time)
{
	if (!end_look(parsing))
		return false;
	parsing->before = time;
	parsing->time = time;
	for (; parsing->nr_ended < parsing->nr_objects; parsing->nr_ended++)
		if (!parsing->objects[parsing->nr_ended].is_gone)
			take_gone(parsing, parsing->nr_ended);
	return true;
}

/* --- an object */

/**
 * struct object - an object that is read
 *
 * @elf: it.
 * @is_placed: symbols are relative to sections, which have their addresses.
 * @strings: number of the section with the names.
 */
struct object {
	Elf *elf;
	bool is_placed;
	size_t strings;
};

/* Find the address of a symbol. Returns what is wrong, or JIT_SOUND. */
static enum jit_fault find_start(const struct object *object,
				 const GElf_Sym *symbol, uint64_t *start)
{
	GElf_Shdr section;

	*start = symbol->st_value;
	if (!object->is_placed || symbol->st_shndx == SHN_ABS)
		return JIT_SOUND;
	if (symbol->st_shndx >= SHN_LORESERVE ||
	    !gelf_getshdr(elf_getscn(object->elf, symbol->st_shndx), &section))
		return JIT_OBJECT_SECTION;
	if (!section.sh_addr)
		return JIT_OBJECT_PLACE;
	if (symbol->st_value > section.sh_size ||
	    symbol->st_size > section.sh_size - symbol->st_value)
		return JIT_OBJECT_BEYOND;
	if (__builtin_add_overflow(section.sh_addr, symbol->st_value, start))
		return JIT_WRAPS;
	return JIT_SOUND;
}

/* Returns whether to go on. */
static bool make(struct parsing *parsing, const struct object *object,
		 const GElf_Sym *symbol)
{
	struct jit_made made = { .size = symbol->st_size };
	enum jit_fault fault = find_start(object, symbol, &made.start);
	char name[JIT_NAME_SIZE];
	struct range range;

	if (!fault)
		fault = jit_check_range(made.start, made.size);
	if (fault)
		return note(parsing, fault);
	made.name = elf_strptr(object->elf, object->strings, symbol->st_name);
	if (!made.name)
		return note(parsing, JIT_OBJECT_STRING);
	if (!*made.name)
		return note(parsing, JIT_NO_NAME);
	if (strnlen(made.name, sizeof(name)) == sizeof(name)) {
		memcpy(name, made.name, sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		made.name = name;
	}
	if (parsing->nr == JIT_FUNCTIONS_MAX)
		return give_up(parsing, JIT_TOO_MANY);
	range = (struct range){ .start = made.start,
				.end = made.start + made.size };
	made.time = is_reused(parsing, &range) || parsing->is_partial ?
			    parsing->time : parsing->before;
	parsing->functions = table_grow(parsing->functions, &parsing->room,
					parsing->nr, sizeof(range));
	parsing->functions[parsing->nr++] = range;
	return parsing->ops->make(parsing->data, &made);
}

static enum jit_fault check_header(Elf *elf, GElf_Ehdr *header)
{
	size_t nr;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, header))
		return JIT_OBJECT_NO_ELF;
	if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != EM_X86_64)
		return JIT_OBJECT_MACHINE;
	if (header->e_type != ET_REL && header->e_type != ET_EXEC &&
	    header->e_type != ET_DYN)
		return JIT_OBJECT_TYPE;
	/* There are none if their headers are not in the object. */
	return elf_getshdrnum(elf, &nr) || nr < 2 || !elf_nextscn(elf, NULL) ?
	       JIT_OBJECT_SECTIONS : JIT_SOUND;
}

/* Find the symbols. Returns what is wrong, or JIT_SOUND. */
static enum jit_fault find_symbols(struct object *object, Elf_Data **symbols,
				   size_t *nr)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(object->elf, section)))
		if (gelf_getshdr(section, &header) &&
		    header.sh_type == SHT_SYMTAB)
			break;
	if (!section)
		return JIT_OBJECT_NO_SYMBOLS;
	if (header.sh_entsize != sizeof(Elf64_Sym) ||
	    header.sh_size % sizeof(Elf64_Sym))
		return JIT_OBJECT_SYMBOL_SIZE;
	*symbols = elf_getdata(section, NULL);
	if (!*symbols || !(*symbols)->d_buf ||
	    (*symbols)->d_size != header.sh_size)
		return JIT_OBJECT_SYMBOLS;
	object->strings = header.sh_link;
	*nr = header.sh_size / sizeof(Elf64_Sym);
	return JIT_SOUND;
}

/* Returns whether to go on. */
static bool read_elf(struct parsing *parsing, Elf *elf)
{
	struct object object = { .elf = elf };
	enum jit_fault fault;
	Elf_Data *symbols;
	GElf_Ehdr header;
	GElf_Sym symbol;
	bool go_on = true;
	size_t nr;

	fault = check_header(elf, &header);
	if (!fault)
		fault = find_symbols(&object, &symbols, &nr);
	if (fault)
		return note(parsing, fault);
	object.is_placed = header.e_type == ET_REL;
	for (size_t i = 0; i < nr && go_on; i++)
		if (gelf_getsym(symbols, i, &symbol) &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
		    symbol.st_shndx != SHN_UNDEF)
			go_on = make(parsing, &object, &symbol);
	return go_on;
}

static bool read_object(struct parsing *parsing, uint64_t offset, size_t size)
{
	char *bytes = table_allocate(size);
	bool go_on = false;
	Elf *elf;

	if (read_all(parsing, bytes, size, offset)) {
		elf = elf_memory(bytes, size);
		go_on = read_elf(parsing, elf);
		elf_end(elf);
	} else {
		note(parsing, JIT_UNREADABLE);
	}
	free(bytes);
	return go_on;
}

static bool take_made(struct parsing *parsing,
		      const struct jit_objects_record *record)
{
	const uint32_t first = parsing->nr, number = parsing->nr_objects;
	bool go_on;

	if (!parsing->has_ranges)
		make_ranges(parsing);
	parsing->objects = table_grow(parsing->objects, &parsing->objects_room,
				      number, sizeof(*parsing->objects));
	parsing->nr_objects++;
	if (record->stored)
		go_on = read_object(parsing, parsing->at + sizeof(*record),
				    record->stored);
	else
		go_on = note(parsing, record->bytes ? JIT_OBJECT_LARGE :
						      JIT_OBJECT_NO_ELF);
	parsing->objects[number] = (struct known){
		.first = first,
		.nr = parsing->nr - first,
	};
	return go_on;
}

/* --- records */

/* Returns whether to go on. */
static bool take_record(struct parsing *parsing,
			const struct jit_objects_record *record)
{
	switch (record->kind) {
	case JIT_OBJECTS_LOOK:
		if (!end_look(parsing))
			return false;
		parsing->before = record->before;
		parsing->time = record->time;
		parsing->is_partial = record->number & JIT_OBJECTS_PARTIAL;
		return true;
	case JIT_OBJECTS_GONE:
		return take_gone(parsing, record->number);
	case JIT_OBJECTS_MADE:
		return take_made(parsing, record);
	case JIT_OBJECTS_FULL:
		parsing->is_full = true;
		return note(parsing, JIT_OBJECTS_LEFT);
	case JIT_OBJECTS_END:
		return take_end(parsing, record->time);
	default:
		return give_up(parsing, JIT_UNKNOWN_RECORD);
	}
}

static void take_records(struct parsing *parsing)
{
	struct jit_objects_record record;
	bool go_on = true;

	while (go_on && parsing->at < parsing->size) {
		const uint64_t left = parsing->size - parsing->at;
		uint64_t size = sizeof(record);

		if (left < size || !read_all(parsing, &record, size, parsing->at)) {
			give_up(parsing, JIT_CUT);
			break;
		}
		if (record.stored > ANNOUNCED_MAX_SIZE ||
		    (record.stored && record.kind != JIT_OBJECTS_MADE)) {
			give_up(parsing, JIT_RECORD_SIZE);
			break;
		}
		size += jit_objects_padded(record.stored);
		if (size > left) {
			give_up(parsing, JIT_CUT);
			break;
		}
		go_on = take_record(parsing, &record);
		parsing->at += size;
	}
}

void jit_parse_objects(int fd, uint64_t size, const struct jit_ops *ops,
		       void *data, struct jit_result *result)
{
	struct parsing parsing = {
		.fd = fd,
		.size = size,
		.ops = ops,
		.data = data,
		.result = result,
	};
	uint64_t magic;

	*result = (struct jit_result){ .fault = JIT_SOUND };
	if (size < sizeof(magic) || !read_all(&parsing, &magic, sizeof(magic), 0) ||
	    magic != JIT_OBJECTS_MAGIC || elf_version(EV_CURRENT) == EV_NONE) {
		note(&parsing, JIT_OBJECTS_HEADER);
		return;
	}
	parsing.at = sizeof(magic);
	take_records(&parsing);
	end_look(&parsing);
	free(parsing.functions);
	free(parsing.objects);
	free(parsing.gone);
}
