// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Elf: read from an ELF file's headers what is needed to unwind its code.
 */
#include "../arch/arch.h"
#include "../decode/bytes.h"
#include "elf.h"

/* The ELF header, of 64-bit little-endian files: its size, and the offsets of its members. */
#define EHDR_SIZE	64
#define EHDR_CLASS	4
#define EHDR_DATA	5
#define EHDR_IDENT_VERSION 6
#define EHDR_TYPE	16
#define EHDR_MACHINE	18
#define EHDR_VERSION	20
#define EHDR_PHOFF	32
#define EHDR_PHENTSIZE	54
#define EHDR_PHNUM	56

#define CLASS_64	2
#define DATA_LITTLE	1
#define TYPE_EXEC	2
#define TYPE_DYN	3

/* A program header. */
#define PHDR_SIZE	56
#define PHDR_TYPE	0
#define PHDR_FLAGS	4
#define PHDR_OFFSET	8
#define PHDR_VADDR	16
#define PHDR_FILESZ	32
#define PHDR_MEMSZ	40
#define PHDR_ALIGN	48

#define TYPE_LOAD	1
#define TYPE_NOTE	4
#define TYPE_SFRAME	0x6474e554
#define FLAG_EXEC	1

/* A note: three sizes, the owner's name, the contents. */
#define NOTE_SIZE	12
#define NOTE_DESCSZ	4
#define NOTE_TYPE	8
#define NOTE_BUILD_ID	3

/* Notes of one file that are read. */
#define MAX_NOTES	64

/* Limit of offsets and sizes in a file. */
#define MAX_OFFSET	0x800000000000ULL

static int fail_malformed(struct sfu_elf *elf, u64 offset, const char *problem)
{
	elf->problem = problem;
	elf->problem_offset = offset;
	return -EINVAL;
}

/*
 * As reader->read(), but a read past the file's end means that it is malformed.
 */
static int read_bytes(struct sfu_elf *elf, const struct sfu_elf_reader *reader,
		      u64 offset, void *to, u32 size)
{
	int err;

	if (offset > MAX_OFFSET)
		return fail_malformed(elf, offset,
				      "an offset is beyond all files");
	err = reader->read(reader, offset, to, size);
	if (err == -EFAULT)
		return fail_malformed(elf, offset, "the file is cut short");
	return err;
}

static int fail_unsupported(struct sfu_elf *elf, u64 offset,
			    const char *problem)
{
	fail_malformed(elf, offset, problem);
	return -EOPNOTSUPP;
}

/*
 * Read the ELF header. Returns 0 with the program headers' offset and number.
 */
static int read_ehdr(struct sfu_elf *elf, const struct sfu_elf_reader *reader,
		     u64 *phoff, u32 *phnum)
{
	static const u8 magic[] = { 0x7f, 'E', 'L', 'F' };
	u8 ehdr[EHDR_SIZE];
	u16 type;
	int err;

	err = read_bytes(elf, reader, 0, ehdr, sizeof(ehdr));
	if (err)
		return err;
	if (memcmp(ehdr, magic, sizeof(magic)))
		return fail_malformed(elf, 0, "not an ELF file");
	if (ehdr[EHDR_CLASS] != CLASS_64)
		return fail_unsupported(elf, EHDR_CLASS,
					"not a 64-bit ELF file");
	if (ehdr[EHDR_DATA] != DATA_LITTLE)
		return fail_unsupported(elf, EHDR_DATA,
					"not a little-endian ELF file");
	if (get_le16(ehdr + EHDR_MACHINE) != SFU_ELF_MACHINE)
		return fail_unsupported(elf, EHDR_MACHINE,
					"not for " SFU_ELF_MACHINE_NAME);
	if (ehdr[EHDR_IDENT_VERSION] != 1)
		return fail_malformed(elf, EHDR_IDENT_VERSION,
				      "unknown version of ELF");
	if (get_le32(ehdr + EHDR_VERSION) != 1)
		return fail_malformed(elf, EHDR_VERSION,
				      "unknown version of ELF");
	type = get_le16(ehdr + EHDR_TYPE);
	if (type != TYPE_EXEC && type != TYPE_DYN)
		return fail_malformed(elf, EHDR_TYPE,
				      "neither a program nor a shared object");
	if (get_le16(ehdr + EHDR_PHENTSIZE) != PHDR_SIZE)
		return fail_malformed(elf, EHDR_PHENTSIZE,
				      "wrong size of program headers");
	*phoff = get_le64(ehdr + EHDR_PHOFF);
	*phnum = get_le16(ehdr + EHDR_PHNUM);
	if (!*phnum)
		return fail_malformed(elf, EHDR_PHNUM, "no program headers");
	if (*phnum > SFU_ELF_MAX_PHDRS)
		return fail_malformed(elf, EHDR_PHNUM,
				      "too many program headers");
	return 0;
}

static int add_segment(struct sfu_elf *elf, u64 at, const u8 *phdr)
{
	const struct sfu_elf_segment segment = {
		.offset = get_le64(phdr + PHDR_OFFSET),
		.filesz = get_le64(phdr + PHDR_FILESZ),
		.vaddr = get_le64(phdr + PHDR_VADDR),
		.memsz = get_le64(phdr + PHDR_MEMSZ),
	};

	if (!segment.memsz)
		return 0;
	if (segment.offset >= MAX_OFFSET || segment.filesz >= MAX_OFFSET)
		return fail_malformed(elf, at + PHDR_OFFSET,
				      "a segment is beyond all files");
	if (segment.vaddr >= SFU_LINKED_END ||
	    segment.memsz >= SFU_LINKED_END - segment.vaddr)
		return fail_malformed(elf, at + PHDR_VADDR,
				      "a segment is beyond user addresses");
	if (segment.filesz > segment.memsz)
		return fail_malformed(elf, at + PHDR_FILESZ,
				      "a segment has more bytes than addresses");
	if ((segment.vaddr - segment.offset) % SFU_PAGE_BYTES)
		return fail_malformed(elf, at + PHDR_VADDR,
				      "a segment cannot be mapped page by page");
	if (elf->nr_segments == SFU_ELF_MAX_SEGMENTS)
		return fail_malformed(elf, at, "too many executable segments");
	elf->segments[elf->nr_segments++] = segment;
	return 0;
}

static int set_sframe(struct sfu_elf *elf, u64 at, const u8 *phdr)
{
	const u64 offset = get_le64(phdr + PHDR_OFFSET);
	const u64 vaddr = get_le64(phdr + PHDR_VADDR);
	const u64 size = get_le64(phdr + PHDR_FILESZ);

	/* strip and objcopy leave such a header if they remove the section. */
	if (!size)
		return 0;
	if (elf->sframe_size)
		return fail_malformed(elf, at, "two PT_GNU_SFRAME");
	if (offset >= MAX_OFFSET || size >= MAX_OFFSET)
		return fail_malformed(elf, at + PHDR_OFFSET,
				      "PT_GNU_SFRAME is beyond all files");
	if (vaddr >= SFU_LINKED_END || size >= SFU_LINKED_END - vaddr)
		return fail_malformed(elf, at + PHDR_VADDR,
				      "PT_GNU_SFRAME is beyond user addresses");
	elf->sframe_offset = offset;
	elf->sframe_vaddr = vaddr;
	elf->sframe_size = size;
	return 0;
}

static u64 align_size(u64 size, u64 alignment)
{
	return (size + alignment - 1) / alignment * alignment;
}

/*
 * Look for the build ID in a segment of notes. Stops at the first malformed
 * note, which is no error. Returns 0 or an error of the reader other than
 * -EFAULT.
 */
static int read_notes(struct sfu_elf *elf, const struct sfu_elf_reader *reader,
		      const u8 *phdr, u32 *budget)
{
	const u64 alignment = get_le64(phdr + PHDR_ALIGN) == 8 ? 8 : 4;
	u64 at = get_le64(phdr + PHDR_OFFSET);
	u64 left = get_le64(phdr + PHDR_FILESZ);
	u8 note[NOTE_SIZE + 4];
	int err;

	while (!elf->build_id_size && left >= sizeof(note) &&
	       at < MAX_OFFSET && *budget) {
		u64 namesz, descsz, desc, size;

		--*budget;
		err = reader->read(reader, at, note, sizeof(note));
		if (err)
			return err == -EFAULT ? 0 : err;
		namesz = get_le32(note);
		descsz = get_le32(note + NOTE_DESCSZ);
		desc = align_size(NOTE_SIZE + namesz, alignment);
		size = align_size(desc + descsz, alignment);
		if (desc + descsz > left)
			return 0;
		if (namesz == 4 && !memcmp(note + NOTE_SIZE, "GNU", 4) &&
		    get_le32(note + NOTE_TYPE) == NOTE_BUILD_ID && descsz &&
		    descsz <= SFU_ELF_MAX_BUILD_ID) {
			err = reader->read(reader, at + desc, elf->build_id,
					   descsz);
			if (err)
				return err == -EFAULT ? 0 : err;
			elf->build_id_size = descsz;
		}
		at += size;
		if (size > left)
			break;
		left -= size;
	}
	return 0;
}

static int read_phdr(struct sfu_elf *elf, const struct sfu_elf_reader *reader,
		     u64 at, u32 *notes)
{
	u8 phdr[PHDR_SIZE];
	int err;

	err = read_bytes(elf, reader, at, phdr, sizeof(phdr));
	if (err)
		return err;
	switch (get_le32(phdr + PHDR_TYPE)) {
	case TYPE_LOAD:
		if (get_le32(phdr + PHDR_FLAGS) & FLAG_EXEC)
			return add_segment(elf, at, phdr);
		return 0;
	case TYPE_SFRAME:
		return set_sframe(elf, at, phdr);
	case TYPE_NOTE:
		return read_notes(elf, reader, phdr, notes);
	default:
		return 0;
	}
}

int sfu_elf_read(struct sfu_elf *elf, const struct sfu_elf_reader *reader)
{
	u32 i, phnum, notes = MAX_NOTES;
	u64 phoff;
	int err;

	memset(elf, 0, sizeof(*elf));
	err = read_ehdr(elf, reader, &phoff, &phnum);
	if (!err && phoff > MAX_OFFSET)
		err = fail_malformed(elf, EHDR_PHOFF,
				     "program headers are beyond all files");
	for (i = 0; !err && i < phnum; i++)
		err = read_phdr(elf, reader, phoff + i * PHDR_SIZE, &notes);
	if (!err && !elf->nr_segments)
		err = fail_malformed(elf, phoff, "no executable segment");
	return err;
}

const struct sfu_elf_segment *
sfu_elf_find_segment(const struct sfu_elf *elf, u64 offset)
{
	const struct sfu_elf_segment *found = NULL;
	u32 i;

	for (i = 0; i < elf->nr_segments; i++) {
		const struct sfu_elf_segment *segment = &elf->segments[i];
		const u64 before = segment->offset % SFU_PAGE_BYTES;

		if (offset - segment->offset < segment->filesz)
			return segment;
		/*
		 * The kernel maps whole pages, so also bytes beside the
		 * segment.
		 */
		if (offset - (segment->offset - before) <
		    align_size(before + segment->filesz, SFU_PAGE_BYTES))
			found = segment;
	}
	return found;
}

bool sfu_elf_is_code(const struct sfu_elf *elf, u64 start, u64 size)
{
	u32 i;

	for (i = 0; i < elf->nr_segments; i++) {
		const struct sfu_elf_segment *segment = &elf->segments[i];

		if (start >= segment->vaddr && size <= segment->memsz &&
		    start - segment->vaddr <= segment->memsz - size)
			return true;
	}
	return false;
}
