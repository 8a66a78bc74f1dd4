// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/jit_files.h"

/* jit-PID.dump, as perf's specification has it; the kernel tells if it is deleted. */
bool jit_is_dump(const char *name, uint32_t *pid)
{
	const char *base = strrchr(name, '/');
	int end = 0;

	return base && sscanf(base, "/jit-%" SCNu32 ".dump%n", pid, &end) == 1 &&
	       end && (!base[end] || !strcmp(base + end, " (deleted)"));
}

/* Returns the folder with copies that the name of a mapping tells, or NULL. */
static const char *kept_folder(const char *name)
{
	static const char begin[] = JIT_KEPT_NAME;
	const char *folder = name + sizeof(begin) - 1;

	if (strncmp(name, begin, sizeof(begin) - 1) || !*folder ||
	    strlen(folder) >= JIT_KEPT_SIZE ||
	    folder[strspn(folder, "0123456789abcdef-")] ||
	    !strchr(folder, '-'))
		return NULL;
	return folder;
}

uint64_t jit_files_add(struct jit_files *files,
		       const struct sframe_unwind_profile_record *record,
		       bool is_live)
{
	const struct sframe_unwind_profile_map *map = &record->map;
	const char *folder = kept_folder(map->name);
	uint32_t number, own_pid;
	struct jit_file *file;

	if (!folder && !jit_is_dump(map->name, &own_pid))
		return 0;
	number = pairs_add(&files->pids, record->pid, 0);
	files->list = table_grow(files->list, &files->room, number,
				 sizeof(*files->list));
	file = &files->list[number];
	if (folder) {
		strcpy(file->kept, folder);
		file->kept_since = map->start;
		file->kept_user = strtoul(strrchr(folder, '-') + 1, NULL, 16);
		return sizeof(*file);
	}
	free(file->dump.name);
	file->dump = (struct history_object){
		.name = table_copy(map->name),
		.pid = record->pid,
		.start = map->start,
		.end = map->start + map->size,
		.is_live = is_live,
	};
	return sizeof(*file) + strlen(map->name);
}

const struct jit_file *jit_files_find(const struct jit_files *files,
				      uint32_t pid)
{
	const uint32_t number = pairs_find(&files->pids, pid, 0);

	return number == TABLE_NONE ? NULL : &files->list[number];
}

void jit_files_free(struct jit_files *files)
{
	for (uint32_t i = 0; i < files->pids.nr; i++)
		free(files->list[i].dump.name);
	free(files->list);
	pairs_free(&files->pids);
	*files = (struct jit_files){ 0 };
}
