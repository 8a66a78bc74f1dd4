// SPDX-License-Identifier: GPL-2.0
/*
 * Read an ELF file by libdwfl: in this process if it is ours, else in a child; see
 * object_reader.h.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/profile/object_parts.h"
#include "cli/profile/object_child.h"
#include "cli/profile/plt.h"

static char *debuginfo_path;

/* Whether there is a file @name in a folder of @root: the first @length bytes of @folder, and @below. */
static bool is_there(const char *root, const char *folder, size_t length,
		     const char *below, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s%.*s%s%s", root, (int)length,
			folder, below, name) < (int)sizeof(path) &&
	       !access(path, F_OK);
}

/* Whether there is a debug file @link where libdw looks for that of the object @file. */
static bool is_near(const char *file, const char *link)
{
	const char *slash = strrchr(file, '/');
	char name[PATH_MAX];

	if (!slash || file[0] != '/')
		return true;
	/* Without a link, libdw looks for this name. */
	if (!link) {
		snprintf(name, sizeof(name), "%s.debug", slash + 1);
		link = name;
	}
	if (is_there("", file, slash + 1 - file, "", link) ||
	    is_there("", file, slash + 1 - file, ".debug/", link))
		return true;
	/* Below this folder, leading folders of the object may be missing. */
	for (; file; file = strchr(file + 1, '/'))
		if (is_there("/usr/lib/debug", file, slash + 1 - file, "",
			     link))
			return true;
	return false;
}

/*
 * Whether libdw may find a debug file that is not known by its build ID: near @file, also
 * as its name without links, or by debuginfod. For the latter it loads a library with
 * thirty others, also if no server is configured, which takes longer than to read the
 * symbols.
 */
static bool may_be_found(const char *file, const char *link)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	char resolved[PATH_MAX];

	return (urls && *urls) || !file || is_near(file, link) ||
	       (realpath(file, resolved) && is_near(resolved, link));
}

/*
 * The names of debug files in a file that is not ours may lead to a FIFO, or to what its
 * author may not read: look only for its build ID.
 */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name,
			  Dwarf_Addr base, const char *file, const char *link,
			  GElf_Word crc, char **found)
{
	const struct object *object = *data;
	int fd;

	fd = dwfl_build_id_find_debuginfo(module, data, name, base, file, link,
					  crc, found);
	if (object && !object->is_ours && fd >= 0)
		object_child_allow(fd);
	if (fd >= 0 || *found || !object || !object->is_ours ||
	    !may_be_found(file, link))
		return fd;
	return dwfl_standard_find_debuginfo(module, data, name, base, file,
					    link, crc, found);
}

const Dwfl_Callbacks object_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

static void note_build_id(struct object *object)
{
	const unsigned char *bits;
	GElf_Addr address;
	const int size = dwfl_module_build_id(object->module, &bits, &address);

	object->build_id_size = size > 0 ? size : 0;
	if (object->build_id_size <= sizeof(object->build_id))
		memcpy(object->build_id, bits, object->build_id_size);
}

bool object_begin(struct object *object, const char *path, int fd)
{
	void **data;

	object->dwfl = dwfl_begin(&object_callbacks);
	if (!object->dwfl) {
		close(fd);
		return false;
	}
	dwfl_report_begin(object->dwfl);
	/* At the addresses that the file itself has. */
	object->module = dwfl_report_elf(object->dwfl, path, path, fd, 0, true);
	dwfl_report_end(object->dwfl, NULL, NULL);
	if (object->module) {
		dwfl_module_info(object->module, &data, NULL, NULL, NULL, NULL,
				 NULL, NULL);
		*data = object;
		note_build_id(object);
		return true;
	}
	close(fd);
	dwfl_end(object->dwfl);
	object->dwfl = NULL;
	return false;
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

static void read_symbols(struct object *object)
{
	const int nr = dwfl_module_getsymtab(object->module);
	GElf_Word shndx;
	GElf_Addr address, bias;
	GElf_Sym symbol;
	Elf *elf;

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
	if (!object->symbols.nr)
		object->why = "has no symbols";
	elf = dwfl_module_getelf(object->module, &bias);
	if (elf && !plt_read(&object->symbols, &object->stubs, elf))
		object->why = "has more stubs than a file of its size can have";
	symtab_sort(&object->symbols);
}

/* Returns whether libdw might open another file, which a section of this one names. */
static bool names_files(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return true;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header) ?
				   elf_strptr(elf, names, header.sh_name) : NULL;

		if (!name || !strcmp(name, ".gnu_debugaltlink"))
			return true;
	}
	return false;
}

void object_read(struct object *object)
{
	GElf_Addr bias;

	read_segments(object);
	read_symbols(object);
	object->has_dwarf = object->is_ours ||
			    !names_files(dwfl_module_getelf(object->module,
							    &bias));
}
