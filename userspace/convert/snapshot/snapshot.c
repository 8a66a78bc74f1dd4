// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Copies the parts that file/image.c reads. Headers that make no sense are no error here:
 * there is just nothing to copy. image.c will read the same headers from the snapshot,
 * and report the error.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/base/message.h"
#include "intake.h"
#include "module/decode/sframe_format.h"
#include "snapshot.h"

#ifndef SHT_GNU_SFRAME
#define SHT_GNU_SFRAME 0x6ffffff4
#endif

/* Most section headers: all 16-bit indices, including the reserved ones. */
#define MAX_SECTIONS 65536

/* Encoding of the first pointer of .eh_frame_hdr that linkers write. */
#define PCREL_SDATA4 0x1b

/* Kinds of sections that are copied: the first section of each kind that has bytes. */
enum { EH_FRAME, DEBUG_FRAME, SFRAME, GO_TABLE, GO_MODULE, DYNSYM,
       NR_KINDS };

/**
 * struct taking - a snapshot being taken
 *
 * @header: ELF header.
 * @segments, @nr_segments: program headers.
 * @sections, @nr_sections: section headers, as far as they lie in the file.
 * @names, @names_size: names of sections.
 * @has: kinds of sections that were found.
 */
struct taking {
	struct intake intake;
	struct sfu_snapshot *snapshot;
	Elf64_Ehdr header;
	Elf64_Phdr segments[SNAPSHOT_MAX_PHDRS];
	size_t nr_segments;
	Elf64_Shdr *sections;
	uint64_t nr_sections;
	char *names;
	uint64_t names_size;
	bool has[NR_KINDS];
};

/* Copy @size bytes at @offset to the snapshot, and read them from there to @to. */
static int copy_and_read(struct taking *taking, uint64_t offset, void *to,
			 size_t size)
{
	const int err = sfu_intake_add(&taking->intake, offset, size);

	return err ? err : sfu_copy_get(&taking->intake.copy, offset, to,
					size);
}

/* --- headers */

static bool is_convertible(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == EM_X86_64 &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

static int take_segments(struct taking *taking)
{
	const size_t count = taking->header.e_phnum;
	int err;

	if (count > SNAPSHOT_MAX_PHDRS)
		return sfu_message_fail(EFBIG, "has %zu program headers; the limit is %u",
					count, SNAPSHOT_MAX_PHDRS);
	err = copy_and_read(taking, taking->header.e_phoff, taking->segments,
			    count * sizeof(taking->segments[0]));
	if (!err)
		taking->nr_segments = count;
	return err == -EFAULT ? 0 : err;
}

struct elf_reader {
	struct sfu_elf_reader reader;
	struct taking *taking;
};

static int read_elf(const struct sfu_elf_reader *reader, u64 offset, void *to,
		    u32 size)
{
	struct taking *taking = ((const struct elf_reader *)reader)->taking;

	return copy_and_read(taking, offset, to, size);
}

/* Read the headers as the kernel will see them. */
static int read_headers(const struct sfu_elf_reader *reader,
			struct sfu_snapshot *snapshot)
{
	unsigned char own[SFRAME_HDR_SIZE];
	int err;

	err = sfu_elf_read(&snapshot->elf, reader);
	if (err && !snapshot->elf.problem)
		return err;
	snapshot->elf_status = err;
	if (err || snapshot->elf.sframe_size < sizeof(own))
		return 0;
	err = reader->read(reader, snapshot->elf.sframe_offset, own,
			   sizeof(own));
	if (err)
		return err == -EFAULT ? 0 : err;
	/* Magic, version, and a number of entries that is not 0. */
	snapshot->has_own = own[0] == 0xe2 && own[1] == 0xde &&
			    own[2] == SFRAME_VERSION_3 &&
			    (own[SFRAME_HDR_NUM_FDES] ||
			     own[SFRAME_HDR_NUM_FDES + 1] ||
			     own[SFRAME_HDR_NUM_FDES + 2] ||
			     own[SFRAME_HDR_NUM_FDES + 3]);
	return 0;
}

/* --- contents */

static int take_code(struct taking *taking)
{
	int err = 0;

	for (size_t i = 0; !err && i < taking->nr_segments; i++) {
		const Elf64_Phdr *segment = &taking->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			err = sfu_intake_add(&taking->intake,
					     segment->p_offset,
					     segment->p_filesz);
	}
	return err;
}

/* Returns whether @name is at @offset of the section names. */
static bool is_named(const struct taking *taking, uint32_t offset,
		     const char *name)
{
	const size_t size = strlen(name) + 1;

	return offset < taking->names_size &&
	       size <= taking->names_size - offset &&
	       !memcmp(taking->names + offset, name, size);
}

static int kind_of(const struct taking *taking, const Elf64_Shdr *section)
{
	if (is_named(taking, section->sh_name, ".eh_frame"))
		return EH_FRAME;
	if (is_named(taking, section->sh_name, ".debug_frame"))
		return DEBUG_FRAME;
	if (section->sh_type == SHT_GNU_SFRAME ||
	    is_named(taking, section->sh_name, ".sframe"))
		return SFRAME;
	if (is_named(taking, section->sh_name, ".gopclntab") ||
	    is_named(taking, section->sh_name, ".data.rel.ro.gopclntab"))
		return GO_TABLE;
	if (is_named(taking, section->sh_name, ".go.module"))
		return GO_MODULE;
	if (is_named(taking, section->sh_name, ".dynsym"))
		return DYNSYM;
	return NR_KINDS;
}

static int take_section(struct taking *taking, const Elf64_Shdr *section)
{
	int kind;

	if (section->sh_type == SHT_NOBITS || !section->sh_size)
		return 0;
	kind = kind_of(taking, section);
	if (kind == NR_KINDS || taking->has[kind])
		return 0;
	taking->has[kind] = true;
	return sfu_intake_add(&taking->intake, section->sh_offset,
			      section->sh_size);
}

/*
 * Copy @size bytes at @offset, up to the file's end, to the snapshot. Sets *@to to a
 * second copy of them, to be freed, and *@got to their number.
 */
static int take_table(struct taking *taking, uint64_t offset, uint64_t size,
		      void *to, uint64_t *got)
{
	const uint64_t whole = taking->intake.size;
	int err = sfu_intake_add(&taking->intake, offset, size);
	void *bytes;

	if (offset >= whole)
		size = 0;
	else if (size > whole - offset)
		size = whole - offset;
	if (err || !size)
		return err;
	bytes = malloc(size);
	if (!bytes)
		return sfu_message_fail(ENOMEM, "no memory");
	err = sfu_copy_get(&taking->intake.copy, offset, bytes, size);
	if (err) {
		free(bytes);
		return err;
	}
	*(void **)to = bytes;
	*got = size;
	return 0;
}

/* Copy the section names. If there are none, they stay empty. */
static int take_names(struct taking *taking, uint64_t number)
{
	const Elf64_Shdr *names;

	if (number >= taking->nr_sections)
		return 0;
	names = &taking->sections[number];
	if (names->sh_type == SHT_NOBITS)
		return 0;
	if (names->sh_size > SNAPSHOT_MAX_NAMES)
		return sfu_message_fail(EFBIG, "has 0x%llx bytes of section names; the limit is 0x%llx",
					(unsigned long long)names->sh_size,
					SNAPSHOT_MAX_NAMES);
	return take_table(taking, names->sh_offset, names->sh_size,
			  &taking->names, &taking->names_size);
}

static int take_sections(struct taking *taking)
{
	const Elf64_Ehdr *header = &taking->header;
	uint64_t count = header->e_shnum, number = header->e_shstrndx, size = 0;
	Elf64_Shdr section;
	int err;

	if (!header->e_shoff)
		return 0;
	/* Section header 0 has the numbers that are too large for the ELF header. */
	err = copy_and_read(taking, header->e_shoff, &section, sizeof(section));
	if (err)
		return err == -EFAULT ? 0 : err;
	if (!count)
		count = section.sh_size;
	if (number == SHN_XINDEX)
		number = section.sh_link;
	if (count > MAX_SECTIONS)
		return sfu_message_fail(EFBIG, "has %llu sections; the limit is %u",
					(unsigned long long)count,
					MAX_SECTIONS);
	err = take_table(taking, header->e_shoff, count * sizeof(section),
			 &taking->sections, &size);
	taking->nr_sections = size / sizeof(section);
	if (!err)
		err = take_names(taking, number);
	for (uint64_t i = 0; !err && i < taking->nr_sections; i++)
		err = take_section(taking, &taking->sections[i]);
	return err;
}

/*
 * Returns the number of bytes in the file from @address to the end of its segment, and
 * sets *@offset to their file offset.
 */
static uint64_t loaded_at(const struct taking *taking, uint64_t address,
			  uint64_t *offset)
{
	for (size_t i = 0; i < taking->nr_segments; i++) {
		const Elf64_Phdr *segment = &taking->segments[i];
		const uint64_t at = address - segment->p_vaddr;

		if (segment->p_type != PT_LOAD || at >= segment->p_filesz)
			continue;
		*offset = segment->p_offset + at;
		return segment->p_filesz - at;
	}
	return 0;
}

/* Without section headers, find .eh_frame by the pointer in .eh_frame_hdr. */
static int take_loaded_eh_frame(struct taking *taking)
{
	const Elf64_Phdr *index = NULL;
	unsigned char bytes[8];
	uint64_t offset = 0, size;
	int32_t distance;
	int err;

	for (size_t i = 0; i < taking->nr_segments; i++)
		if (taking->segments[i].p_type == PT_GNU_EH_FRAME)
			index = &taking->segments[i];
	if (!index || taking->has[EH_FRAME] ||
	    loaded_at(taking, index->p_vaddr, &offset) < sizeof(bytes))
		return 0;
	err = copy_and_read(taking, offset, bytes, sizeof(bytes));
	if (err)
		return err == -EFAULT ? 0 : err;
	if (bytes[0] != 1 || bytes[1] != PCREL_SDATA4)
		return 0;
	memcpy(&distance, bytes + 4, sizeof(distance));
	size = loaded_at(taking, index->p_vaddr + 4 + distance, &offset);
	taking->has[EH_FRAME] = true;
	return sfu_intake_add(&taking->intake, offset, size);
}

/* Copy everything. */
static int take_all(struct taking *taking)
{
	const struct elf_reader reader = { { read_elf }, taking };
	int err;

	err = copy_and_read(taking, 0, &taking->header, sizeof(taking->header));
	if (err && err != -EFAULT)
		return err;
	if (!err && is_convertible(&taking->header)) {
		err = take_segments(taking);
		if (err)
			return err;
	} else {
		memset(&taking->header, 0, sizeof(taking->header));
	}
	err = read_headers(&reader.reader, taking->snapshot);
	if (err || !is_convertible(&taking->header))
		return err;
	err = take_sections(taking);
	/* Without section headers, find .sframe as the kernel does. */
	if (!err && taking->snapshot->has_own && !taking->has[SFRAME]) {
		taking->has[SFRAME] = true;
		err = sfu_intake_add(&taking->intake,
				     taking->snapshot->elf.sframe_offset,
				     taking->snapshot->elf.sframe_size);
	}
	if (!err)
		err = take_loaded_eh_frame(taking);
	/* Code is needed only if there is something to convert. */
	if (!err && (taking->has[EH_FRAME] || taking->has[DEBUG_FRAME] ||
		     taking->has[SFRAME] || taking->has[GO_TABLE] ||
		     taking->has[DYNSYM]))
		err = take_code(taking);
	return err;
}

/* --- snapshot */

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int check_unchanged(int fd, const struct stat *before)
{
	struct stat after;

	if (fstat(fd, &after))
		return sfu_message_fail(errno, "cannot be looked at: %s",
					strerror(errno));
	if (after.st_size != before->st_size ||
	    !is_same_time(&after.st_mtim, &before->st_mtim) ||
	    !is_same_time(&after.st_ctim, &before->st_ctim))
		return sfu_message_fail(ESTALE, "was changed while it was read");
	return 0;
}

/* Keep the copy as it is if it fits into the caller's room, else as a memfd. */
static int keep_copy(struct copy *copy,
		     const struct sfu_snapshot_limits *limits,
		     struct sfu_snapshot *snapshot)
{
	if (limits->room && copy->fd < 0) {
		snapshot->copy = malloc(sizeof(*copy));
		if (!snapshot->copy)
			return sfu_message_fail(ENOMEM, "no memory");
		*snapshot->copy = *copy;
		return 0;
	}
	snapshot->fd = sfu_copy_take(copy);
	return snapshot->fd < 0 ? snapshot->fd : 0;
}

int sfu_snapshot_take(int fd, const struct sfu_snapshot_limits *limits,
		      struct sfu_snapshot *snapshot)
{
	static const struct sfu_snapshot_limits none;
	struct taking taking = { .snapshot = snapshot };
	uint64_t most;
	int err;

	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->fd = -1;
	if (!limits)
		limits = &none;
	most = limits->max_bytes;
	if (!most || most > SNAPSHOT_MAX_BYTES)
		most = SNAPSHOT_MAX_BYTES;
	if (fstat(fd, &snapshot->stat))
		return sfu_message_fail(errno, "cannot be looked at: %s",
					strerror(errno));
	if (!S_ISREG(snapshot->stat.st_mode))
		return sfu_message_fail(EOPNOTSUPP, "not a regular file");
	err = sfu_intake_begin(&taking.intake, fd, &snapshot->stat, most,
			       limits->room, limits->room_size);
	if (err)
		return err;
	taking.intake.is_ended = limits->is_ended;
	taking.intake.data = limits->data;
	snapshot->size = snapshot->stat.st_size;
	err = take_all(&taking);
	if (!err)
		err = check_unchanged(fd, &snapshot->stat);
	if (!err) {
		sfu_intake_finish(&taking.intake, &snapshot->digest);
		err = keep_copy(&taking.intake.copy, limits, snapshot);
	}
	snapshot->nr_bytes = taking.intake.done;
	free(taking.sections);
	free(taking.names);
	sfu_intake_end(&taking.intake);
	return err;
}

/* Bytes of a file that have all headers of most files. */
#define FIRST_SIZE 1024

/**
 * struct fd_reader - read headers
 *
 * @first: the first bytes of the file.
 * @nr_first: their number.
 */
struct fd_reader {
	struct sfu_elf_reader reader;
	int fd;
	unsigned char first[FIRST_SIZE];
	size_t nr_first;
};

static int read_fd(const struct sfu_elf_reader *reader, u64 offset, void *to,
		   u32 size)
{
	const struct fd_reader *from = (const struct fd_reader *)reader;
	ssize_t got;

	if (offset > (u64)INT64_MAX - size)
		return -EFAULT;
	if (offset <= from->nr_first && size <= from->nr_first - offset) {
		memcpy(to, from->first + offset, size);
		return 0;
	}
	got = pread(from->fd, to, size, offset);
	if (got < 0)
		return sfu_message_fail(errno, "cannot be read at offset 0x%llx: %s",
					(unsigned long long)offset,
					strerror(errno));
	return got == (ssize_t)size ? 0 : -EFAULT;
}

int sfu_snapshot_headers(int fd, struct sfu_snapshot *snapshot)
{
	struct fd_reader reader = { .reader = { read_fd }, .fd = fd };
	ssize_t got;

	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->fd = -1;
	if (fstat(fd, &snapshot->stat))
		return sfu_message_fail(errno, "cannot be looked at: %s",
					strerror(errno));
	snapshot->size = snapshot->stat.st_size;
	got = pread(fd, reader.first, sizeof(reader.first), 0);
	/* An error is reported when the headers are read. */
	reader.nr_first = got > 0 ? got : 0;
	return read_headers(&reader.reader, snapshot);
}

int sfu_snapshot_open(struct sfu_snapshot *snapshot)
{
	if (!snapshot->copy)
		return 0;
	snapshot->fd = sfu_copy_take(snapshot->copy);
	if (snapshot->fd < 0)
		return snapshot->fd;
	free(snapshot->copy);
	snapshot->copy = NULL;
	return 0;
}

void sfu_snapshot_free(struct sfu_snapshot *snapshot)
{
	if (snapshot->copy)
		sfu_copy_end(snapshot->copy);
	free(snapshot->copy);
	if (snapshot->fd >= 0)
		close(snapshot->fd);
	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->fd = -1;
}
