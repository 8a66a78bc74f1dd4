// SPDX-License-Identifier: GPL-2.0
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/profile/inspect.h"
#include "cli/profile/object_parts.h"
#include "cli/profile/object_reader.h"
#include "convert/snapshot/snapshot.h"

static bool has_build_id(const struct object *object,
			 const struct history_object *known)
{
	/* perf pads short ones with zeroes. */
	return !known->build_id_size ||
	       (object->build_id_size &&
		object->build_id_size <= known->build_id_size &&
		!memcmp(object->build_id, known->build_id,
			object->build_id_size));
}

/*
 * Returns whether a file has another build ID, as far as its headers tell. They are
 * read quickly, however large the file is.
 */
static bool has_other_build_id(const struct object_file *file,
			       const struct history_object *known)
{
	struct sfu_snapshot headers;
	const struct sfu_elf *elf = &headers.elf;

	return known->build_id_size &&
	       !sfu_snapshot_headers(file->fd, &headers) &&
	       elf->build_id_size &&
	       (elf->build_id_size > known->build_id_size ||
		memcmp(elf->build_id, known->build_id, elf->build_id_size));
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

static const char has_other_id[] =
	"has another build ID than when it was recorded";

/* A file that is not ours as one process has it mounted may be so as another one has. */
static uint64_t key_of(const struct object_file *file)
{
	return (uint64_t)file->device << 1 | file->is_ours;
}

static uint64_t size_of(const struct object *object)
{
	return object->symbols.room * sizeof(*object->symbols.list) +
	       object->stubs.pairs.nr * 64ULL +
	       object->starts.nr * sizeof(*object->starts.list);
}

static void close_object(struct object *object)
{
	if (!object)
		return;
	if (object->dwfl)
		dwfl_end(object->dwfl);
	object_reader_close(object->reader);
	symtab_free(&object->symbols);
	strings_free(&object->stubs);
	starts_free(&object->starts);
	free(object);
}

/* Note why a file is not used. Returns false. */
static bool refuse(struct finding *finding, const char *why)
{
	finding->why = why;
	return false;
}

/* Returns whether @object, which is open, is the one that is looked for. */
static bool use_known(struct finding *finding, struct object *object)
{
	if (object->is_useless)
		return refuse(finding, object->why);
	if (!has_build_id(object, finding->known))
		return refuse(finding, has_other_id);
	finding->found = object;
	return true;
}

/* Keep @object, the file @file, also if it is useless: it is not tried again. */
static void keep(struct objects *objects, const struct object_file *file,
		 struct object *object)
{
	const uint32_t number = pairs_add(&objects->keys, key_of(file),
					  file->inode);

	objects->list = table_grow(objects->list, &objects->room, number,
				   sizeof(struct object *));
	objects->list[number] = object;
}

/* Read a file that others cannot change. Closes it, or libdwfl does. */
static bool read_ours(struct object *object, const struct object_file *file)
{
	char path[PATH_MAX];

	/* Debug files may be beside it: where it is here, whatever it was called. */
	object_file_path(file->fd, path);
	if (!object_begin(object, path, file->fd))
		return false;
	object_read(object);
	return true;
}

/* Read a copy of another file in a child. Closes it, or the reader does. */
static bool read_copy(struct objects *objects, struct object *object,
		      struct object_file *file, bool is_copied)
{
	/*
	 * Pages of holes get memory when they are read. Counted also if nothing comes of
	 * it, because it took its time.
	 */
	*readers_bytes(&objects->readers, file) += file->size;
	objects->bytes_of_others += file->size;
	if (is_copied || object_file_copy(file))
		return object_reader_open(&objects->readers, object, file);
	object_file_close(file);
	object->why = "could not be copied";
	return false;
}

/*
 * Returns why a file of others is not to be read, or NULL. What they may have is limited
 * together, and for each of them, so that one leaves something to the others.
 */
static const char *why_not_read(struct objects *objects,
				const struct object_file *file)
{
	if (file->size > object_file_size_max(file))
		return "was not read: it has too many holes";
	if (objects->bytes_of_others + file->size > OBJECTS_MAX)
		return "was not read: symbols may take 1 GiB of memory";
	if (*readers_bytes(&objects->readers, file) + file->size > OWNER_MAX)
		return "was not read: symbols of one user may take 256 MiB of memory";
	return NULL;
}

/* Returns whether the file is used. It is closed, or its reader does that. */
static bool use_file(struct finding *finding, struct object_file *file)
{
	struct objects *objects = finding->objects;
	const uint32_t number = pairs_find(&objects->keys, key_of(file),
					   file->inode);
	struct object *object;
	const char *why = NULL;
	bool may_block;

	if (number != TABLE_NONE) {
		object_file_close(file);
		return use_known(finding, objects->list[number]);
	}
	/* The headers of what may block are read from the copy. */
	may_block = !file->is_ours && file->may_block;
	if (!may_block && has_other_build_id(file, finding->known))
		why = has_other_id;
	else if (!file->is_ours)
		why = why_not_read(objects, file);
	else if (objects->bytes > OBJECTS_MAX)
		why = "was not read: symbols may take 1 GiB of memory";
	if (!why && may_block && !inspect_copy(file, finding->known->pid))
		why = "could not be read in time";
	else if (!why && may_block && has_other_build_id(file, finding->known))
		why = has_other_id;
	if (why) {
		object_file_close(file);
		return refuse(finding, why);
	}
	object = table_allocate(sizeof(*object));
	object->is_ours = file->is_ours;
	object->is_useless = file->is_ours ? !read_ours(object, file) :
					     !read_copy(objects, object, file,
							may_block);
	objects->bytes += size_of(object);
	keep(objects, file, object);
	return use_known(finding, object);
}

static bool try_file(struct finding *finding, const char *path)
{
	struct object_file file;

	return inspect_open(&file, path, finding->known->pid) &&
	       use_file(finding, &file);
}

/*
 * perf's own cache, of files whose build ID was recorded. Any user may have made their
 * contents, whoever owns the copy.
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
	is_good = inspect_open(&file, path, getpid());
	file.is_ours = false;
	file.is_copy = true;
	is_good = is_good && use_file(finding, &file);
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

	object.dwfl = dwfl_begin(&object_callbacks);
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
	struct object_file file;
	char path[PATH_MAX];
	bool is_good;

	if (fd < 0)
		return false;
	is_good = object_file_open_again(&file, fd);
	object_file_path(fd, path);
	/* What debuginfod has may be anybody's, whoever owns the copy. */
	file.is_ours = file.is_ours && !strncmp(path, "/usr/", 5);
	file.is_copy = !file.is_ours;
	is_good = is_good && use_file(finding, &file);
	close(fd);
	return is_good;
}

/* The vDSO is not in a file; our own may be the same. */
static bool try_vdso(struct finding *finding)
{
	const unsigned char *image = (void *)getauxval(AT_SYSINFO_EHDR);
	const GElf_Ehdr *header = (const void *)image;
	bool is_good = false;
	struct object_file file;
	size_t size;
	int fd;

	if (!image || strcmp(finding->known->name, "[vdso]"))
		return false;
	size = header->e_shoff + header->e_shnum * header->e_shentsize;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, image, size) == (ssize_t)size &&
	    object_file_open_again(&file, fd)) {
		file.is_ours = true;
		is_good = use_file(finding, &file);
	}
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
	    use_file(finding, &file))
		return true;
	if (!inspect_open_in_root(&file, known) &&
	    !inspect_open(&file, known->name, known->pid))
		return false;
	if (known->build_id_size || file.is_ours)
		return use_file(finding, &file);
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
	       use_file(finding, &file);
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
		use_file(finding, &file));
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
	readers_free(&objects->readers);
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
	return object->reader ? object_reader_find(object->reader, address) :
				symtab_find(&object->symbols, address);
}

uint64_t object_start(const struct object *object, uint64_t address)
{
	return object->reader ? object_reader_start(object->reader, address) :
				starts_find(&object->starts, address);
}
