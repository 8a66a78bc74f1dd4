// SPDX-License-Identifier: GPL-2.0
/*
 * jit_seeds DIRECTORY: write small perf maps, jitdumps and objects as seeds for the fuzzer,
 * with a last byte that tells which it is.
 *
 *	map		functions, some of which cover others
 *	faults		lines that are not well-formed between them
 *	dump		functions of a jitdump
 *	life		addresses that are used again, moves, and the end
 *	records		other kinds of records
 *	header		a header with later additions
 *	objects		objects that come, go, and come where others were
 */
#include <stdio.h>
#include <stdlib.h>

#include "jit_dump_made.h"
#include "jit_objects_made.h"

static const char *directory;

static void save(const char *name, const void *bytes, size_t size, char kind)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size, file) != size ||
	    fputc(kind, file) == EOF || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static void save_dump(const char *name, const struct made_dump *dump)
{
	save(name, dump->bytes, dump->size, 1);
}

int main(int argc, char **argv)
{
	static const char map[] = "1000 10 a\n1100 0x20 b c\n1008 4 inner\n1000 10 again\n";
	static const char faults[] = "1000 10 a\nnone\n10000000000000000 1 b\n1000 0 c\n1000\n\n2000 10\n3000 10 d\nffff";
	static struct made_objects objects;
	static struct made_dump dump;

	if (argc != 2)
		return 2;
	directory = argv[1];
	save("map", map, sizeof(map) - 1, 0);
	save("faults", faults, sizeof(faults) - 1, 0);
	made_dump_begin(&dump);
	made_dump_load(&dump, 10, 0x1000, 0x10, "a");
	made_dump_load(&dump, 20, 0x1100, 0x20, "b");
	save_dump("dump", &dump);
	made_dump_load(&dump, 30, 0x1000, 0x8, "c");
	made_dump_move(&dump, 40, 0x1100, 0x2000, 0x20);
	made_dump_move(&dump, 50, 0x2000, 0x1100, 0x20);
	made_dump_record(&dump, 3, 16, 60);
	save_dump("life", &dump);
	made_dump_begin(&dump);
	for (uint32_t id = 0; id < 6; id++)
		made_dump_record(&dump, id, 16, id);
	save_dump("records", &dump);
	made_dump_begin(&dump);
	dump.bytes[8] = 48;
	made_dump_u64(&dump, 7);
	made_dump_load(&dump, 10, 0x1000, 0x10, "a");
	save_dump("header", &dump);
	made_objects_begin(&objects, 10);
	made_objects_add(&objects, 0x1000, 0x10, "a");
	made_objects_add(&objects, 0x2000, 0x10, "b");
	made_objects_look(&objects, 20, 30);
	made_objects_kind(&objects, JIT_OBJECTS_GONE, 0);
	made_objects_kind(&objects, JIT_OBJECTS_GONE, 1);
	made_objects_add(&objects, 0x1008, 0x10, "c");
	made_objects_partial(&objects, 40, 50);
	made_objects_kind(&objects, JIT_OBJECTS_GONE, 2);
	made_objects_add(&objects, 0x1000, 0x10, "d");
	made_objects_kind(&objects, JIT_OBJECTS_FULL, 0);
	save("objects", objects.bytes, objects.size, 2);
	return 0;
}
