// SPDX-License-Identifier: GPL-2.0
/*
 * convert: the converter on call frame information of arbitrary bytes. Its
 * output must be valid, lie within the file's code, and be counted correctly; a
 * refusal must come with a message. The last byte selects what the bytes are: a
 * section, for which a file is made, or a whole file; and whether the output may be
 * an extended section.
 */
#include <elf.h>
#include <sframe_unwind_convert.h>

#include "fuzz.h"
#include "module/decode/sframe.h"

#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME	0x6ffffff4
#endif

enum { EH_FRAME, DEBUG_FRAME, OLD_SFRAME, WHOLE_FILE, CODE, NR_KINDS };

/* Bit of the last byte: make an extended section. */
#define EXTENDED	0x80

/* The section is in the middle of an address range that is all code. */
#define SECTION_ADDRESS	0x100000
#define CODE_SIZE	0x200000

static const char names[] =
	"\0.eh_frame\0.debug_frame\0.sframe\0.shstrtab\0.init";
#define NAME_EH_FRAME	1
#define NAME_DEBUG_FRAME 11
#define NAME_SFRAME	24
#define NAME_NAMES	32
#define NAME_INIT	42

enum { SECTION_NONE, SECTION_DATA, SECTION_NAMES, NR_SECTIONS };

struct file {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdr[NR_SECTIONS];
	char names[sizeof(names)];
	u8 data[];
};

static const struct file template = {
	.ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct file, phdr),
		.e_shoff = offsetof(struct file, shdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = SECTION_NAMES,
	},
	.phdr = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_memsz = CODE_SIZE,
		.p_align = 0x1000,
	},
	.shdr = {
		[SECTION_DATA] = {
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = SECTION_ADDRESS,
			.sh_offset = offsetof(struct file, data),
			.sh_addralign = 1,
		},
		[SECTION_NAMES] = {
			.sh_name = NAME_NAMES,
			.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct file, names),
			.sh_size = sizeof(names),
			.sh_addralign = 1,
		},
	},
};

static struct file *make_file(const u8 *data, size_t size, u8 kind)
{
	static const u32 name[] = {
		[EH_FRAME] = NAME_EH_FRAME,
		[DEBUG_FRAME] = NAME_DEBUG_FRAME,
		[OLD_SFRAME] = NAME_SFRAME,
		[CODE] = NAME_INIT,
	};
	struct file *file = malloc(sizeof(*file) + size);

	if (!file)
		abort();
	*file = template;
	memcpy(file->names, names, sizeof(names));
	memcpy(file->data, data, size);
	file->phdr.p_filesz = sizeof(*file) + size;
	file->shdr[SECTION_DATA].sh_name = name[kind];
	file->shdr[SECTION_DATA].sh_size = size;
	if (kind == OLD_SFRAME)
		file->shdr[SECTION_DATA].sh_type = SHT_GNU_SFRAME;
	/* The code is what is in the segment there: a function, and an entry point. */
	if (kind == CODE) {
		file->shdr[SECTION_DATA].sh_flags |= SHF_EXECINSTR;
		file->shdr[SECTION_DATA].sh_addr = offsetof(struct file, data);
		file->ehdr.e_entry = offsetof(struct file, data) + size / 2;
	}
	return file;
}

static int report(void *data, const struct sfu_defect *defect)
{
	(void)data;
	FUZZ_CHECK(false, "%s at %#llx", sfu_defect_text(defect->kind),
		   (unsigned long long)defect->offset);
	return 1;
}

static void check_section(const struct sframe_unwind_converted *converted,
			  bool is_extended)
{
	const struct sfu_bytes bytes = {
		.size = converted->size,
		.copy = converted->bytes,
	};
	u64 rows = 0, covered = 0;
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_fde fde;
	u32 i;
	int ret;

	ret = is_extended ? sfu_table_open_extended(&table, &bytes, &defect) :
			    sfu_table_open(&table, &bytes, &defect);
	FUZZ_CHECK(!ret, "%s", sfu_defect_text(defect.kind));
	FUZZ_CHECK(table.extended == is_extended, "extended: %d",
		   table.extended);
	ret = sfu_table_validate(&table, report, NULL);
	FUZZ_CHECK(!ret, "%d", ret);
	FUZZ_CHECK(table.num_fdes == converted->nr_fdes, "%u entries, not %llu",
		   table.num_fdes, (unsigned long long)converted->nr_fdes);
	for (i = 0; i < table.num_fdes; i++) {
		sfu_table_read_fde(&table, i, &fde, &defect);
		rows += fde.num_rows;
		covered += fde.size;
	}
	FUZZ_CHECK(rows == converted->nr_rows, "%llu rows, not %llu",
		   (unsigned long long)rows,
		   (unsigned long long)converted->nr_rows);
	FUZZ_CHECK(converted->covered <= covered, "%llu of %llu bytes",
		   (unsigned long long)converted->covered,
		   (unsigned long long)covered);
}

static void check_left_out(const struct sframe_unwind_converted *converted)
{
	u64 size = 0, end = 0;
	size_t i;

	for (i = 0; i < converted->nr_left_out; i++) {
		const struct sframe_unwind_left_out *l = &converted->left_out[i];

		FUZZ_CHECK(l->size && l->start >= end &&
			   l->start + l->size > l->start && !l->reserved &&
			   l->reason >= SFRAME_UNWIND_LEFT_OUT_CFA_EXPRESSION &&
			   l->reason <= SFRAME_UNWIND_LEFT_OUT_OVERLAP,
			   "number %zu: %#llx + %#llx, reason %u, end %#llx", i, (unsigned long long)l->start, (unsigned long long)l->size, l->reason, (unsigned long long)end);
		end = l->start + l->size;
		size += l->size;
	}
	FUZZ_CHECK(size == converted->left_out_size, "%llu bytes",
		   (unsigned long long)size);
}

void fuzz_convert(const u8 *data, size_t size)
{
	struct sframe_unwind_convert_options options = { 0 };
	struct sframe_unwind_converted *converted;
	struct file *file = NULL;
	size_t file_size = size;
	u8 kind;
	int ret;

	if (!fuzz_take_tail(data, &size, &kind, sizeof(kind)))
		return;
	if (kind & EXTENDED)
		options.flags = SFRAME_UNWIND_CONVERT_EXTENDED;
	kind &= ~EXTENDED;
	options.max_rows = kind / NR_KINDS;
	kind %= NR_KINDS;
	file_size = size;
	if (kind != WHOLE_FILE) {
		file = make_file(data, size, kind);
		file_size += sizeof(*file);
		data = (const u8 *)file;
	}
	ret = sframe_unwind_convert_memory(data, file_size, "fuzz", &options,
					   &converted);
	if (ret) {
		FUZZ_CHECK(ret == -EINVAL || ret == -ENODATA ||
			   ret == -EOPNOTSUPP || ret == -EFBIG ||
			   ret == -ENOMEM, "%d", ret);
		FUZZ_CHECK(!converted && *sframe_unwind_convert_error(),
			   "%d without a message", ret);
	} else {
		check_section(converted,
			      options.flags & SFRAME_UNWIND_CONVERT_EXTENDED);
		check_left_out(converted);
		sframe_unwind_converted_free(converted);
	}
	free(file);
}
