// SPDX-License-Identifier: GPL-2.0
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/profile/object.h"
#include "cli/profile/plt.h"
#include "cli/profile/starts.h"

#define SEGMENTS_MAX	64u

/**
 * struct segment - a PT_LOAD
 *
 * @offset: p_offset.
 * @size: p_filesz.
 * @address: p_vaddr.
 */
struct segment {
	uint64_t offset;
	uint64_t size;
	uint64_t address;
};

/**
 * struct object - an ELF file
 *
 * @dwfl: libdwfl's, or NULL if there is no file.
 * @module: the file.
 * @symbols: its symbols, and names of stubs.
 * @stubs: texts of the latter.
 * @starts: where its functions begin.
 * @segments: where its contents are in memory.
 * @nr_segments: number of those.
 * @has_dwarf: whether there is information about inlined functions.
 */
struct object {
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct symbols symbols;
	struct strings stubs;
	struct starts starts;
	struct segment segments[SEGMENTS_MAX];
	uint32_t nr_segments;
	bool has_dwarf;
};

static char *debuginfo_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

/* Returns a regular file, or -1. */
static int open_regular(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	return -1;
}

/* Let libdwfl read a file, which becomes its own. */
static bool report(struct object *object, const char *path, int fd)
{
	object->dwfl = dwfl_begin(&callbacks);
	if (!object->dwfl) {
		close(fd);
		return false;
	}
	dwfl_report_begin(object->dwfl);
	/* At the addresses that the file itself has. */
	object->module = dwfl_report_elf(object->dwfl, path, path, fd, 0, true);
	dwfl_report_end(object->dwfl, NULL, NULL);
	if (object->module)
		return true;
	close(fd);
	dwfl_end(object->dwfl);
	object->dwfl = NULL;
	return false;
}

static void forget(struct object *object)
{
	if (object->dwfl)
		dwfl_end(object->dwfl);
	object->dwfl = NULL;
	object->module = NULL;
}

static bool has_build_id(const struct object *object,
			 const struct history_object *known)
{
	const unsigned char *bits;
	GElf_Addr address;
	int size;

	if (!known->build_id_size)
		return true;
	size = dwfl_module_build_id(object->module, &bits, &address);
	/* perf pads short ones with zeroes. */
	return size > 0 && (uint32_t)size <= known->build_id_size &&
	       !memcmp(bits, known->build_id, size);
}

/* Returns whether the file is used; *@is_other if it is another one. */
static bool try_file(struct object *object, const struct history_object *known,
		     const char *path, bool *is_other)
{
	const int fd = open_regular(path);

	if (fd < 0 || !report(object, path, fd))
		return false;
	if (has_build_id(object, known))
		return true;
	*is_other = true;
	forget(object);
	return false;
}

/* perf's own cache, of files whose build ID was recorded. */
static bool try_cache(struct object *object, const struct history_object *known)
{
	const char *home = getenv("HOME");
	char id[2 * SFRAME_UNWIND_PROFILE_BUILD_ID + 1], *path;
	bool is_other, is_good;

	for (uint32_t i = 0; i < known->build_id_size; i++)
		snprintf(id + 2 * i, 3, "%02x", known->build_id[i]);
	if (!home || known->build_id_size < 2 ||
	    asprintf(&path, "%s/.debug/.build-id/%.2s/%s/elf", home, id,
		     id + 2) < 0)
		return false;
	is_good = try_file(object, known, path, &is_other);
	free(path);
	return is_good;
}

/* Directories of libdwfl, by build ID, and debuginfod. */
static bool try_build_id(struct object *object,
			 const struct history_object *known)
{
	char *path = NULL;
	Elf *elf = NULL;
	int fd = -1;

	if (!known->build_id_size)
		return false;
	object->dwfl = dwfl_begin(&callbacks);
	if (!object->dwfl)
		return false;
	dwfl_report_begin(object->dwfl);
	object->module = dwfl_report_module(object->dwfl, known->name, 0, 4096);
	dwfl_report_end(object->dwfl, NULL, NULL);
	if (object->module &&
	    !dwfl_module_report_build_id(object->module, known->build_id,
					 known->build_id_size, 0))
		fd = dwfl_build_id_find_elf(object->module, NULL, known->name,
					    0, &path, &elf);
	if (elf)
		elf_end(elf);
	forget(object);
	return fd >= 0 && report(object, path ? path : known->name, fd);
}

/* The vDSO is not in a file; our own may be the same. */
static bool try_vdso(struct object *object, const struct history_object *known)
{
	const unsigned char *image = (void *)getauxval(AT_SYSINFO_EHDR);
	const GElf_Ehdr *header = (const void *)image;
	char path[32];
	size_t size;
	bool is_other;
	int fd;

	if (!image || strcmp(known->name, "[vdso]"))
		return false;
	size = header->e_shoff + header->e_shnum * header->e_shentsize;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, image, size) == (ssize_t)size &&
	    try_file(object, known, path, &is_other)) {
		close(fd);
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

static bool try_path(struct object *object, const struct history_object *known,
		     bool *is_other)
{
	static const char deleted[] = " (deleted)";
	const size_t length = strlen(known->name);
	bool is_good = false;
	char *path;

	if (known->name[0] != '/' || !strncmp(known->name, "//", 2))
		return false;
	/* Without a build ID, a deleted file may have been another one. */
	if (length > strlen(deleted) &&
	    !strcmp(known->name + length - strlen(deleted), deleted))
		return false;
	if (try_file(object, known, known->name, is_other))
		return true;
	if (known->build_id_size &&
	    asprintf(&path, "/proc/%u/root%s", known->pid, known->name) >= 0) {
		is_good = try_file(object, known, path, is_other);
		free(path);
	}
	return is_good;
}

static void read_segments(struct object *object)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(object->module, &bias);
	size_t nr;

	if (!elf || elf_getphdrnum(elf, &nr))
		return;
	starts_read(&object->starts, elf);
	for (size_t i = 0; i < nr && object->nr_segments < SEGMENTS_MAX; i++) {
		struct segment *segment =
			&object->segments[object->nr_segments];
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		*segment = (struct segment){ phdr.p_offset, phdr.p_filesz,
					     phdr.p_vaddr };
		object->nr_segments++;
	}
}

static uint32_t rank(const GElf_Sym *symbol)
{
	const uint32_t type = GELF_ST_TYPE(symbol->st_info);
	const uint32_t bind = GELF_ST_BIND(symbol->st_info);

	return (type != STT_NOTYPE) * 4 +
	       (bind == STB_GLOBAL ? 2 : bind == STB_WEAK ? 1 : 0);
}

/* Symbols without a type are functions in assembly, if the section is code. */
static bool is_function(Elf *elf, GElf_Word index, const GElf_Sym *symbol)
{
	const unsigned int type = GELF_ST_TYPE(symbol->st_info);
	Elf_Scn *section;
	GElf_Shdr header;

	if (symbol->st_shndx == SHN_UNDEF)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	section = type == STT_NOTYPE && elf ? elf_getscn(elf, index) : NULL;
	return section && gelf_getshdr(section, &header) &&
	       header.sh_flags & SHF_EXECINSTR;
}

/* Where a symbol without a size ends at the latest. */
static uint64_t section_end(Elf *elf, GElf_Word index, uint64_t address)
{
	Elf_Scn *section = elf ? elf_getscn(elf, index) : NULL;
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) ||
	    address < header.sh_addr ||
	    address - header.sh_addr >= header.sh_size)
		return address;
	return header.sh_addr + header.sh_size;
}

/* Returns whether there are any but for stubs. */
static bool read_symbols(struct object *object)
{
	const int nr = dwfl_module_getsymtab(object->module);
	GElf_Word shndx;
	GElf_Addr address, bias;
	GElf_Sym symbol;
	Elf *elf;
	bool is_any;

	for (int i = 1; i < nr; i++) {
		const char *name = dwfl_module_getsym_info(object->module, i,
							   &symbol, &address,
							   &shndx, &elf, &bias);

		if (name && name[0] && is_function(elf, shndx, &symbol))
			symtab_add(&object->symbols, address,
				   symbol.st_size ? address + symbol.st_size :
				   section_end(elf, shndx, address),
				   !symbol.st_size, name, rank(&symbol));
	}
	is_any = object->symbols.nr;
	elf = dwfl_module_getelf(object->module, &bias);
	if (elf)
		plt_read(&object->symbols, &object->stubs, elf);
	symtab_sort(&object->symbols);
	return is_any;
}

struct object *object_open(const struct history_object *known,
			   const char **why)
{
	struct object *object = table_allocate(sizeof(*object));
	bool is_other = false;

	*why = NULL;
	if (try_path(object, known, &is_other) || try_vdso(object, known) ||
	    try_cache(object, known) || try_build_id(object, known)) {
		read_segments(object);
		object->has_dwarf = true;
		if (!read_symbols(object))
			*why = "has no symbols";
	} else if (is_other) {
		*why = "has another build ID than when it was recorded";
	} else {
		*why = "was not found";
	}
	return object;
}

struct object *object_open_file(const char *path)
{
	const struct history_object known = { .name = (char *)path };
	const char *why;

	return object_open(&known, &why);
}

void object_close(struct object *object)
{
	if (!object)
		return;
	forget(object);
	symtab_free(&object->symbols);
	strings_free(&object->stubs);
	starts_free(&object->starts);
	free(object);
}

uint64_t object_address(const struct object *object, uint64_t offset)
{
	for (uint32_t i = 0; i < object->nr_segments; i++) {
		const struct segment *segment = &object->segments[i];

		if (offset >= segment->offset &&
		    offset - segment->offset < segment->size)
			return offset - segment->offset + segment->address;
	}
	return offset;
}

const struct symbol *object_find(const struct object *object, uint64_t address)
{
	return symtab_find(&object->symbols, address);
}

/* A name in C, or one that has to be demangled. */
static const char *die_name(Dwarf_Die *die)
{
	static const unsigned int names[] = {
		DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
	};
	Dwarf_Attribute attribute;

	for (unsigned int i = 0; i < 2; i++) {
		const char *name = dwarf_formstring(
			dwarf_attr_integrate(die, names[i], &attribute));

		if (name)
			return name;
	}
	return dwarf_diename(die);
}

uint64_t object_start(const struct object *object, uint64_t address)
{
	return starts_find(&object->starts, address);
}

/*
 * Get the scopes of @address, the innermost first, with all functions that were
 * inlined into each other; to be freed. Returns their number, or 0.
 */
static int get_scopes(struct object *object, uint64_t address,
		      Dwarf_Die **scopes)
{
	Dwarf_Die *nearest = NULL, *unit;
	Dwarf_Addr bias;
	int nr = 0;

	*scopes = NULL;
	if (!object->has_dwarf)
		return 0;
	if (!dwfl_module_getdwarf(object->module, &bias)) {
		object->has_dwarf = false;
		return 0;
	}
	unit = dwfl_module_addrdie(object->module, address, &bias);
	/* It leaves an inlined function by its definition, not by its caller. */
	if (unit && dwarf_getscopes(unit, address - bias, &nearest) > 0)
		nr = dwarf_getscopes_die(&nearest[0], scopes);
	free(nearest);
	return nr > 0 ? nr : 0;
}

uint32_t object_inlined(struct object *object, uint64_t address,
			const char **names, uint32_t max)
{
	Dwarf_Die *scopes;
	const int nr_scopes = get_scopes(object, address, &scopes);
	uint32_t nr = 0;

	for (int i = 0; i < nr_scopes && nr < max; i++) {
		const int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag == DW_TAG_inlined_subroutine && die_name(&scopes[i]))
			names[nr++] = die_name(&scopes[i]);
	}
	free(scopes);
	return nr;
}

static const char *call_line(Dwarf_Die *inlined, int *line)
{
	Dwarf_Word file, number;
	Dwarf_Attribute value;
	Dwarf_Files *files;
	Dwarf_Die unit;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &value),
			    &file) ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &value),
			    &number) ||
	    !dwarf_diecu(inlined, &unit, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, NULL))
		return NULL;
	*line = number;
	return dwarf_filesrc(files, file, NULL, NULL);
}

const char *object_call_line(struct object *object, uint64_t address,
			     uint32_t i, int *line)
{
	Dwarf_Die *scopes;
	const int nr = get_scopes(object, address, &scopes);
	const char *file = NULL;

	*line = 0;
	for (int j = 0; j < nr; j++) {
		const int tag = dwarf_tag(&scopes[j]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag != DW_TAG_inlined_subroutine || !die_name(&scopes[j]))
			continue;
		if (!i--) {
			file = call_line(&scopes[j], line);
			break;
		}
	}
	free(scopes);
	return file;
}

const char *object_line(struct object *object, uint64_t address, int *line)
{
	Dwarf_Die *unit;
	Dwarf_Addr bias;
	Dwfl_Line *found;

	*line = 0;
	if (!object->has_dwarf)
		return NULL;
	/* Where nothing is known, it finds the line of what is before. */
	unit = dwfl_module_addrdie(object->module, address, &bias);
	if (!unit || dwarf_haspc(unit, address - bias) <= 0)
		return NULL;
	found = dwfl_module_getsrc(object->module, address);
	return found ? dwfl_lineinfo(found, NULL, line, NULL, NULL, NULL) :
		       NULL;
}
