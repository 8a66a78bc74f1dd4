// SPDX-License-Identifier: GPL-2.0
/*
 * reference_test DIRECTORY...: at every address of every object there that has
 * a .sframe section, the decoder agrees with the reference decoder.
 */
#include <dirent.h>
#include <stdlib.h>

#include "agree.h"
#include "elf_section.h"

static unsigned int nr_objects;

/* Compare at every function of the object, and between functions. */
static bool compare(const struct elf_section *section)
{
	struct sfu_fde first, last;
	struct sfu_defect defect;
	struct agree agree;
	u32 num_fdes;
	u64 pc;

	if (agree_begin(&agree, section->bytes, section->size,
			section->address) < 0)
		return false;
	if (!agree.sound)
		return tap_fail("not a sound section");
	memcpy(&num_fdes, section->bytes + 8, sizeof(num_fdes));
	if (agree.table.num_fdes != num_fdes)
		return tap_fail("%u FDEs, not %u", agree.table.num_fdes,
				num_fdes);
	sfu_table_read_fde(&agree.table, 0, &first, &defect);
	sfu_table_read_fde(&agree.table, agree.table.num_fdes - 1, &last,
			   &defect);
	for (pc = first.start - 2; pc < last.start + last.size + 2; pc++)
		if (!agree_lookup(&agree, pc))
			return false;
	return true;
}

/* Sections of unlinked objects are not sorted. */
static int is_wanted(const struct dirent *entry)
{
	const char *ending = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && !(ending && !strcmp(ending, ".o"));
}

static void compare_all(const char *dir)
{
	struct dirent **entries;
	int i, n;

	n = scandir(dir, &entries, is_wanted, alphasort);
	for (i = 0; i < n; i++) {
		struct elf_section section;
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		if (elf_section_open(&section, path)) {
			compare(&section);
			tap_case("reference %s", entries[i]->d_name);
			elf_section_close(&section);
			nr_objects++;
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		nr_objects = 0;
		compare_all(argv[i]);
		if (!nr_objects) {
			printf("# %s: no objects\n", argv[i]);
			tap_skip("reference",
				 "no fixtures, see selftests/fixtures/Makefile");
		}
	}
	return tap_done();
}
