// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/profile/inspect.h"
#include "cli/profile/jit.h"

/* Limits of what is read. */
#define SYMBOLS_MAX	4000000u
#define RECORD_MAX	(16u << 20)

#define JITDUMP_MAGIC	0x4A695444u	/* "JiTD" */
#define JITDUMP_HEADER	40u
#define JITDUMP_LOAD	0u
#define JITDUMP_MOVE	1u

/**
 * struct jit - functions of a process
 *
 * @symbols: the functions, of the file that has any.
 * @names: what their names point to.
 * @starts: numbers of addresses at which functions begin.
 * @last: number of the last function that begins there, by these.
 * @last_room: room for those.
 */
struct jit {
	struct symbols symbols;
	struct strings names;
	struct pairs starts;
	uint32_t *last;
	uint32_t last_room;
};

/*
 * Open a file that root or this user owns. The name comes from another process: where it
 * leads may never answer; what is served by someone is not opened. Nobody's link to a file of another name is followed.
 */
static FILE *open_ours(const char *path, pid_t pid)
{
	struct object_file file;
	char real[PATH_MAX];

	if (!inspect_open(&file, path, pid))
		return NULL;
	object_file_path(file.fd, real);
	if (!file.may_block && !file.may_hang &&
	    (!file.owner || file.owner == geteuid()) &&
	    !strcmp(basename(real), basename(path)))
		return fdopen(file.fd, "r");
	object_file_close(&file);
	return NULL;
}

/* As add(), for a @name that is in jit->names already. */
static void add_kept(struct jit *jit, uint64_t start, uint64_t size,
		     const char *name)
{
	uint32_t number;

	if (!size || start + size < start || jit->symbols.nr >= SYMBOLS_MAX)
		return;
	number = pairs_add(&jit->starts, start, 0);
	jit->last = table_grow(jit->last, &jit->last_room, number,
			       sizeof(*jit->last));
	jit->last[number] = jit->symbols.nr;
	/* Of several at one address, the last one: memory is reused. */
	symtab_add(&jit->symbols, start, start + size, false, name,
		   jit->symbols.nr);
}

static void add(struct jit *jit, uint64_t start, uint64_t size,
		const char *name)
{
	const uint32_t number = strings_add(&jit->names, name);

	add_kept(jit, start, size, jit->names.texts[number]);
}

/* Lines of start, size and name; the numbers are hexadecimal. */
static void read_map(struct jit *jit, FILE *file)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, file) > 0) {
		uint64_t start, size;
		int name = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &size,
			   &name) == 2 && name)
			add(jit, start, size, line + name);
	}
	free(line);
}

/**
 * struct jitdump_record - header of a record
 *
 * @id: its kind.
 * @size: its size in bytes, with this.
 * @time: when it was written.
 */
struct jitdump_record {
	uint32_t id;
	uint32_t size;
	uint64_t time;
};

static uint64_t get_u64(const char *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

/* Process and thread, address, place of code, size, index; then the name. */
static void load(struct jit *jit, const char *bytes, size_t size)
{
	if (size > 40 && memchr(bytes + 40, 0, size - 40))
		add(jit, get_u64(bytes + 16), get_u64(bytes + 24), bytes + 40);
}

/* Process and thread, address, old address, new address, size, index. */
static void move(struct jit *jit, const char *bytes, size_t size)
{
	uint32_t number;

	if (size < 48)
		return;
	number = pairs_find(&jit->starts, get_u64(bytes + 16), 0);
	if (number != TABLE_NONE)
		add_kept(jit, get_u64(bytes + 24), get_u64(bytes + 32),
			 jit->symbols.list[jit->last[number]].name);
}

static void read_jitdump(struct jit *jit, FILE *file)
{
	uint32_t header[JITDUMP_HEADER / 4];
	struct jitdump_record record;

	if (fread(header, sizeof(header), 1, file) != 1 ||
	    header[0] != JITDUMP_MAGIC || header[2] < JITDUMP_HEADER ||
	    fseek(file, header[2], SEEK_SET))
		return;
	while (fread(&record, sizeof(record), 1, file) == 1) {
		const size_t size = record.size - sizeof(record);
		char *bytes;

		if (record.size < sizeof(record) || record.size > RECORD_MAX)
			return;
		bytes = table_allocate(size);
		if (fread(bytes, 1, size, file) != size) {
			free(bytes);
			return;
		}
		if (record.id == JITDUMP_LOAD)
			load(jit, bytes, size);
		else if (record.id == JITDUMP_MOVE)
			move(jit, bytes, size);
		free(bytes);
	}
}

struct jit *jit_open(uint32_t pid, const char *jitdump)
{
	struct jit *jit = table_allocate(sizeof(*jit));
	FILE *file = jitdump ? open_ours(jitdump, pid) : NULL;
	char path[64];

	if (file) {
		read_jitdump(jit, file);
		fclose(file);
	}
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", pid);
	file = open_ours(path, pid);
	if (file) {
		read_map(jit, file);
		fclose(file);
	}
	symtab_sort(&jit->symbols);
	pairs_free(&jit->starts);
	free(jit->last);
	jit->last = NULL;
	return jit;
}

struct jit *jit_open_none(void)
{
	return table_allocate(sizeof(struct jit));
}

void jit_close(struct jit *jit)
{
	if (!jit)
		return;
	symtab_free(&jit->symbols);
	strings_free(&jit->names);
	free(jit);
}

uint64_t jit_size(const struct jit *jit)
{
	uint64_t size = jit->symbols.room * sizeof(*jit->symbols.list);

	for (uint32_t i = 0; i < jit->names.pairs.nr; i++)
		size += strlen(jit->names.texts[i]) + 64;
	return size;
}

const struct symbol *jit_find(const struct jit *jit, uint64_t address)
{
	return symtab_find(&jit->symbols, address);
}
