// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/profile/inspect.h"
#include "cli/profile/object_parts.h"
#include "cli/profile/plt.h"

static char *debuginfo_path;

/*
 * The names of debug files in a file of another user may lead to a FIFO, or to what
 * the user may not read: look only for its build ID.
 */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name,
			  Dwarf_Addr base, const char *file, const char *link,
			  GElf_Word crc, char **found)
{
	const struct object *object = *data;

	if (!object || !object->is_ours)
		return dwfl_build_id_find_debuginfo(module, data, name, base,
						    file, link, crc, found);
	return dwfl_standard_find_debuginfo(module, data, name, base, file,
					    link, crc, found);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

/* Let libdwfl read a file, which becomes its own. */
static bool report(struct object *object, const char *path, int fd)
{
	void **data;

	object->dwfl = dwfl_begin(&callbacks);
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
		return true;
	}
	close(fd);
	dwfl_end(object->dwfl);
	object->dwfl = NULL;
	return false;
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

/**
 * struct finding - the file of an object that is looked for
 *
 * @objects: those that are open.
 * @known: the object.
 * @found: the result, or NULL.
 * @why: why a file was not used, or NULL.
 */
struct finding {
	struct objects *objects;
	const struct history_object *known;
	struct object *found;
	const char *why;
};

static void read_object(struct object *object);
static uint64_t size_of(const struct object *object);

static void close_object(struct object *object)
{
	if (!object)
		return;
	if (object->dwfl)
		dwfl_end(object->dwfl);
	symtab_free(&object->symbols);
	strings_free(&object->stubs);
	starts_free(&object->starts);
	free(object);
}

/* Returns whether @object, which was open before, is the one that is looked for. */
static bool use_known(struct finding *finding, struct object *object)
{
	if (!has_build_id(object, finding->known)) {
		finding->why = "has another build ID than when it was recorded";
		return false;
	}
	finding->found = object;
	return true;
}

/* Returns whether the file is used. It is closed, or libdwfl's. */
static bool use_file(struct finding *finding, struct object_file *file,
		     const char *path)
{
	struct objects *objects = finding->objects;
	const uint64_t copied = file->is_ours ? 0 : file->size;
	uint32_t number = pairs_find(&objects->keys, file->device, file->inode);
	struct object *object;

	if (number != TABLE_NONE) {
		object_file_close(file);
		return use_known(finding, objects->list[number]);
	}
	if (objects->bytes + copied > OBJECTS_MAX) {
		finding->why = "was not read: symbols may take 1 GiB of memory";
		object_file_close(file);
		return false;
	}
	if (!file->is_ours && !object_file_copy(file)) {
		object_file_close(file);
		return false;
	}
	object = table_allocate(sizeof(*object));
	object->is_ours = file->is_ours;
	if (!report(object, path, file->fd)) {
		close_object(object);
		return false;
	}
	if (!use_known(finding, object)) {
		close_object(object);
		return false;
	}
	read_object(object);
	objects->bytes += copied + size_of(object);
	number = pairs_add(&objects->keys, file->device, file->inode);
	objects->list = table_grow(objects->list, &objects->room, number,
				   sizeof(struct object *));
	objects->list[number] = object;
	return true;
}

static bool try_file(struct finding *finding, const char *path)
{
	struct object_file file;

	return inspect_open(&file, path) && use_file(finding, &file, path);
}

/* The same for a file of this process, which has a name only here. */
static bool try_own_file(struct finding *finding, int fd)
{
	struct object_file file;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return object_file_open(&file, path) && use_file(finding, &file, path);
}

/*
 * perf's own cache, of files whose build ID was recorded. They are of all users whose
 * programs were, whoever owns the copy.
 */
static bool try_cache(struct finding *finding)
{
	struct object_file file;
	const struct history_object *known = finding->known;
	char id[2 * SFRAME_UNWIND_PROFILE_BUILD_ID + 1], *path;
	const char *home = getenv("HOME");
	bool is_good;

	for (uint32_t i = 0; i < known->build_id_size; i++)
		snprintf(id + 2 * i, 3, "%02x", known->build_id[i]);
	if (!home || known->build_id_size < 2 ||
	    asprintf(&path, "%s/.debug/.build-id/%.2s/%s/elf", home, id,
		     id + 2) < 0)
		return false;
	is_good = inspect_open(&file, path);
	file.is_ours = false;
	is_good = is_good && use_file(finding, &file, path);
	free(path);
	return is_good;
}

/* Returns a file that libdwfl finds, or -1. */
static int find_by_build_id(const struct history_object *known)
{
	struct object object = { 0 };
	char *path = NULL;
	Elf *elf = NULL;
	int fd = -1;

	object.dwfl = dwfl_begin(&callbacks);
	if (!object.dwfl)
		return -1;
	dwfl_report_begin(object.dwfl);
	object.module = dwfl_report_module(object.dwfl, known->name, 0, 4096);
	dwfl_report_end(object.dwfl, NULL, NULL);
	if (object.module &&
	    !dwfl_module_report_build_id(object.module, known->build_id,
					 known->build_id_size, 0))
		fd = dwfl_build_id_find_elf(object.module, NULL, known->name,
					    0, &path, &elf);
	if (elf)
		elf_end(elf);
	dwfl_end(object.dwfl);
	free(path);
	return fd;
}

/* Directories of libdwfl, by build ID, and debuginfod. */
static bool try_build_id(struct finding *finding)
{
	const int fd = finding->known->build_id_size ?
		       find_by_build_id(finding->known) : -1;
	bool is_good;

	if (fd < 0)
		return false;
	is_good = try_own_file(finding, fd);
	close(fd);
	return is_good;
}

/* The vDSO is not in a file; our own may be the same. */
static bool try_vdso(struct finding *finding)
{
	const unsigned char *image = (void *)getauxval(AT_SYSINFO_EHDR);
	const GElf_Ehdr *header = (const void *)image;
	bool is_good = false;
	size_t size;
	int fd;

	if (!image || strcmp(finding->known->name, "[vdso]"))
		return false;
	size = header->e_shoff + header->e_shnum * header->e_shentsize;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, image, size) == (ssize_t)size)
		is_good = try_own_file(finding, fd);
	if (fd >= 0)
		close(fd);
	return is_good;
}

/*
 * What a running process has mapped; then files by their names. Without a build ID,
 * the name may lead to a file that another user has put there meanwhile.
 */
static bool try_live(struct finding *finding)
{
	const struct history_object *known = finding->known;
	struct object_file file;

	if (inspect_open_mapped(&file, known) &&
	    use_file(finding, &file, known->name))
		return true;
	if (!inspect_open_in_root(&file, known) &&
	    !inspect_open(&file, known->name))
		return false;
	if (known->build_id_size || file.is_ours)
		return use_file(finding, &file, known->name);
	finding->why = "belongs to another user, and may have been replaced";
	object_file_close(&file);
	return false;
}

/* Returns the length of a name without what the kernel puts behind those of deleted files. */
static size_t name_length(const char *name)
{
	static const char deleted[] = " (deleted)";
	const size_t length = strlen(name);

	return length > strlen(deleted) &&
	       !strcmp(name + length - strlen(deleted), deleted) ?
	       length - strlen(deleted) : length;
}

static bool is_deleted(const char *name)
{
	return name[name_length(name)];
}

/* Note the first mapping with the build ID that is looked for. */
static void find_mapping(void *data,
			 const struct sframe_unwind_profile_record *record)
{
	const struct sframe_unwind_profile_map *map = &record->map;
	struct history_object *at = data;

	if (at->is_live || !map->build_id_size ||
	    map->build_id_size > at->build_id_size ||
	    memcmp(map->build_id, at->build_id, map->build_id_size) != 0)
		return;
	at->start = map->start;
	at->end = map->start + map->size;
	at->is_live = true;
}

/*
 * What the process of a profile has mapped, if it still runs: a file that was deleted,
 * or whose name another one has got. Another process may have its number; the build ID
 * tells.
 */
static bool try_mapped(struct finding *finding)
{
	struct history_object at = *finding->known;
	struct object_file file;

	if (at.is_live || at.name[0] != '/' || !at.build_id_size)
		return false;
	inspect_process(at.pid, false, find_mapping, &at);
	return inspect_open_mapped(&file, &at) &&
	       use_file(finding, &file, at.name);
}

static bool try_path(struct finding *finding)
{
	const struct history_object *known = finding->known;
	struct object_file file;

	if (known->name[0] != '/' || !strncmp(known->name, "//", 2))
		return false;
	if (known->is_live)
		return try_live(finding);
	/* Without a build ID, a deleted file may have been another one. */
	if (is_deleted(known->name))
		return false;
	return try_file(finding, known->name) ||
	       (known->build_id_size &&
		inspect_open_in_root(&file, known) &&
		use_file(finding, &file, known->name));
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

/* Files in which hostile DWARF could make libdw open what its name leads to. */
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

static void read_object(struct object *object)
{
	GElf_Addr bias;

	read_segments(object);
	read_symbols(object);
	object->has_dwarf = object->is_ours ||
			    !names_files(dwfl_module_getelf(object->module,
							    &bias));
}

static uint64_t size_of(const struct object *object)
{
	return object->symbols.room * sizeof(*object->symbols.list) +
	       object->stubs.pairs.nr * 64ULL +
	       object->starts.nr * sizeof(*object->starts.list);
}

static const char *why_not_found(const struct history_object *known)
{
	if (!is_deleted(known->name))
		return "was not found";
	return known->build_id_size ?
	       "was not found by its build ID" :
	       "was not found by its build ID, which is not known";
}

struct object *object_open(struct objects *objects,
			   const struct history_object *known,
			   const char **why)
{
	struct finding finding = { .objects = objects, .known = known };

	if (try_path(&finding) || try_vdso(&finding) || try_mapped(&finding) ||
	    try_cache(&finding) || try_build_id(&finding)) {
		*why = finding.found->why;
		return finding.found;
	}
	*why = finding.why ? finding.why : why_not_found(known);
	if (!objects->none)
		objects->none = table_allocate(sizeof(*objects->none));
	return objects->none;
}

void objects_free(struct objects *objects)
{
	for (uint32_t i = 0; i < objects->keys.nr; i++)
		close_object(objects->list[i]);
	close_object(objects->none);
	free(objects->list);
	pairs_free(&objects->keys);
	*objects = (struct objects){ 0 };
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

uint64_t object_start(const struct object *object, uint64_t address)
{
	return starts_find(&object->starts, address);
}
