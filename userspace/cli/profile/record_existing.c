// SPDX-License-Identifier: GPL-2.0
/*
 * What exists already when a recording begins.
 */
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#include "cli/profile/copies.h"
#include "cli/profile/processes.h"
#include "cli/profile/record.h"
#include "cli/profile/record_files.h"
#include "cli/profile/record_jit.h"

/* The kernel's build ID, from the notes that it shows. */
static void set_kernel_id(struct sframe_unwind_profile_map *map)
{
	FILE *file = fopen("/sys/kernel/notes", "re");
	unsigned char notes[4096];
	size_t size, at = 0;

	if (!file)
		return;
	size = fread(notes, 1, sizeof(notes), file);
	fclose(file);
	while (size - at >= sizeof(GElf_Nhdr)) {
		const unsigned char *name = notes + at + sizeof(GElf_Nhdr);
		GElf_Nhdr note;
		size_t whole;

		memcpy(&note, notes + at, sizeof(note));
		whole = sizeof(note) + (note.n_namesz + 3ULL) / 4 * 4 +
			(note.n_descsz + 3ULL) / 4 * 4;
		if (whole > size - at)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(name, "GNU", 4) &&
		    note.n_descsz <= sizeof(map->build_id)) {
			memcpy(map->build_id, name + 4, note.n_descsz);
			map->build_id_size = note.n_descsz;
			return;
		}
		at += whole;
	}
}

/* Where the kernel is; nothing if that is a secret. */
static int write_kernel(struct sframe_unwind_profile_writer *writer)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = SFRAME_UNWIND_PROFILE_NONE,
		.map = {
			.name = "[kernel.kallsyms]_text",
			.is_kernel = 1,
			.is_code = 1,
		},
	};
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[512], name[256];
	uint64_t address;

	while (symbols && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) != 2)
			continue;
		if (!strcmp(name, "_text"))
			record.map.start = address;
		if (!strcmp(name, "_etext") && record.map.start) {
			record.map.size = address - record.map.start;
			break;
		}
	}
	if (!symbols)
		return 0;
	/* Else, the kernel makes the text again, up to what was used of it. */
	__fpurge(symbols);
	fclose(symbols);
	if (!record.map.start)
		return 0;
	record.map.offset = record.map.start;
	set_kernel_id(&record.map);
	return sframe_unwind_profile_write(writer, &record);
}

/**
 * struct existing - records that are being written
 *
 * @writer: where to.
 * @files: takes note of the files, or NULL.
 * @jit: takes note of code made at run time, or NULL.
 * @copies: follows what is mapped, or NULL.
 * @error: of that, or 0.
 */
struct existing {
	struct sframe_unwind_profile_writer *writer;
	struct record_files *files;
	struct record_jit *jit;
	struct copies *copies;
	int error;
};

static void write_record(void *data,
			 const struct sframe_unwind_profile_record *record)
{
	struct existing *existing = data;

	if (existing->files)
		record_files_add(existing->files, record);
	if (existing->jit)
		record_jit_add(existing->jit, record);
	copies_follow(existing->copies, record, NULL);
	if (!existing->error)
		existing->error = sframe_unwind_profile_write(existing->writer,
							      record);
	if (existing->error)
		inspect_enough();
}

int record_existing(struct sframe_unwind_profile_writer *writer,
		    const struct record_targets *targets,
		    struct record_files *files, struct record_jit *jit,
		    struct copies *copies, const volatile sig_atomic_t *is_interrupted)
{
	struct existing existing = {
		.writer = writer,
		.files = files,
		.jit = jit,
		.copies = copies,
	};

	existing.error = write_kernel(writer);
	processes_inspect(targets, is_interrupted, write_record, &existing);
	if (files)
		record_files_open(files);
	if (jit)
		record_jit_look(jit);
	inspect_complain();
	return existing.error;
}
