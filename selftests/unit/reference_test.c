// SPDX-License-Identifier: GPL-2.0
/*
 * reference_test DIRECTORY...: at every address of every object there that has
 * a .sframe section, the decoder agrees with the reference decoder; also about the
 * extended section that the converter makes of the object.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "agree.h"
#include "elf_section.h"

static unsigned int nr_objects, nr_extended;

/* Layouts in one section to compare; the reference decoder is slow. */
#define MAX_LAYOUTS	5000

/* Compare layouts in [start, end). */
static bool compare_layouts(struct agree *agree, u64 start, u64 end)
{
	const u64 step = (end - start) / MAX_LAYOUTS + 1;
	u64 pc;

	for (pc = start; pc < end; pc += step)
		if (!agree_layout(agree, pc))
			return false;
	return true;
}

/* Compare at every function of the section, and between functions. */
static bool compare(const u8 *bytes, u64 size, u64 address, bool is_extended)
{
	struct sfu_fde first, last;
	struct sfu_defect defect;
	struct agree agree;
	u32 num_fdes;
	u64 pc;

	if (agree_begin(&agree, bytes, size, address) < 0)
		return false;
	if (!agree.sound || agree.table.extended != is_extended)
		return tap_fail("not a sound section, or of the other kind");
	memcpy(&num_fdes, bytes + 8, sizeof(num_fdes));
	if (agree.table.num_fdes != num_fdes)
		return tap_fail("%u FDEs, not %u", agree.table.num_fdes,
				num_fdes);
	sfu_table_read_fde(&agree.table, 0, &first, &defect);
	sfu_table_read_fde(&agree.table, agree.table.num_fdes - 1, &last,
			   &defect);
	for (pc = first.start - 2; pc < last.start + last.size + 2; pc++)
		if (!agree_lookup(&agree, pc))
			return false;
	return compare_layouts(&agree, first.start - 2,
			       last.start + last.size + 2);
}

/* Compare the extended section that the converter makes of the object. */
static bool compare_extended(const char *path)
{
	const struct sframe_unwind_convert_options options = {
		.flags = SFRAME_UNWIND_CONVERT_EXTENDED,
	};
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sframe_unwind_converted *converted;
	bool is_same;
	int err;

	err = sframe_unwind_convert_fd(fd, path, &options, &converted);
	close(fd);
	/* Some objects have no CFI besides their own section. */
	if (err)
		return err == -EOPNOTSUPP || err == -ENODATA ||
		       tap_fail("%s", sframe_unwind_convert_error());
	nr_extended++;
	is_same = compare(converted->bytes, converted->size, 0, true);
	sframe_unwind_converted_free(converted);
	return is_same;
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
			compare(section.bytes, section.size, section.address,
				false);
			compare_extended(path);
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
		nr_extended = 0;
		compare_all(argv[i]);
		if (nr_objects && !nr_extended)
			tap_fail("no object could be converted");
		if (!nr_objects) {
			printf("# %s: no objects\n", argv[i]);
			tap_skip("reference",
				 "no fixtures, see selftests/fixtures/Makefile");
		}
	}
	return tap_done();
}
