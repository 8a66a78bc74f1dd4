// SPDX-License-Identifier: GPL-2.0
/*
 * ELF files that a user can make: see load.h.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load.h"

struct image {
	unsigned char *bytes;
	size_t size;
};

static bool read_image(const char *path, struct image *image)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat))
		return false;
	image->size = stat.st_size;
	image->bytes = mmap(NULL, image->size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE, fd, 0);
	close(fd);
	return image->bytes != MAP_FAILED;
}

static bool write_image(const char *path, const struct image *image)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    0755);
	size_t done = 0;

	while (fd >= 0 && done < image->size) {
		const ssize_t put = write(fd, image->bytes + done,
					  image->size - done);

		if (put <= 0)
			break;
		done += put;
	}
	if (fd >= 0)
		close(fd);
	return fd >= 0 && done == image->size;
}

static Elf64_Phdr *find_text(const struct image *image)
{
	const Elf64_Ehdr *header = (void *)image->bytes;
	Elf64_Phdr *segments = (void *)(image->bytes + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
			return &segments[i];
	return NULL;
}

static Elf64_Shdr *find_section(const struct image *image, const char *name)
{
	const Elf64_Ehdr *header = (void *)image->bytes;
	Elf64_Shdr *sections = (void *)(image->bytes + header->e_shoff);
	const char *names = (char *)image->bytes +
			    sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, name))
			return &sections[i];
	return NULL;
}

/* Keep only the first entries of .eh_frame: few functions have rules then. */
static void cut_cfi(const struct image *image, unsigned int entries)
{
	Elf64_Shdr *section = find_section(image, ".eh_frame");
	uint64_t at = 0;
	uint32_t length;

	while (section && entries-- && at + 4 <= section->sh_size) {
		memcpy(&length, image->bytes + section->sh_offset + at, 4);
		at += 4 + length;
	}
	if (section && at < section->sh_size)
		section->sh_size = at;
}

bool make_without_cfi(const char *from, const char *to)
{
	struct image image;
	Elf64_Ehdr *header;
	Elf64_Phdr *segments;

	if (!read_image(from, &image))
		return false;
	header = (void *)image.bytes;
	segments = (void *)(image.bytes + header->e_phoff);
	header->e_shoff = 0;
	header->e_shnum = 0;
	header->e_shstrndx = 0;
	for (int i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			segments[i].p_type = PT_NULL;
	return write_image(to, &image);
}

bool make_with_little_cfi(const char *from, const char *to)
{
	struct image image;

	if (!read_image(from, &image))
		return false;
	cut_cfi(&image, 2);
	return write_image(to, &image);
}

bool make_stranger(const char *from, const char *to)
{
	const size_t head = sizeof(Elf64_Nhdr) + sizeof(ELF_NOTE_GNU);
	Elf64_Shdr *note;
	struct image image;
	bool is_made;

	if (!read_image(from, &image))
		return false;
	note = find_section(&image, ".note.gnu.build-id");
	is_made = note && note->sh_size > head &&
		  getrandom(image.bytes + note->sh_offset + head,
			    note->sh_size - head, 0) > 0 &&
		  write_image(to, &image);
	munmap(image.bytes, image.size);
	return is_made;
}

bool make_shrunk(const char *from, const char *to, unsigned int by,
		 struct toggle *toggle)
{
	Elf64_Phdr *text;
	struct image image;

	if (!read_image(from, &image))
		return false;
	text = find_text(&image);
	if (!text)
		return false;
	cut_cfi(&image, 12);
	toggle->offset = (unsigned char *)&text->p_filesz - image.bytes;
	toggle->genuine = text->p_filesz;
	text->p_filesz -= by;
	toggle->forged = text->p_filesz;
	return write_image(to, &image) && !munmap(image.bytes, image.size);
}

/*
 * Headers and CFI of one function, repeated to @cfi_size bytes, before text of
 * @text_size bytes that is a hole.
 */
bool make_sparse(const char *to, uint64_t text_size, size_t cfi_size)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	static const unsigned char cie[] = {
		0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1,
		0x03, 0x0c, 7, 8, 0x90, 1, 0, 0,
	};
	const uint64_t cfi = 0x1000, text = 0x1000 + ((cfi_size + 0xfff) & ~0xfffULL);
	const size_t nr = (cfi_size - sizeof(cie)) / 24;
	unsigned char *bytes = calloc(1, text);
	Elf64_Ehdr *header = (void *)bytes;
	Elf64_Phdr *segment = (void *)(header + 1);
	Elf64_Shdr *sections = (void *)(bytes + 0x200);
	const int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	bool is_good;

	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	header->e_type = ET_DYN;
	header->e_machine = EM_X86_64;
	header->e_version = EV_CURRENT;
	header->e_phoff = sizeof(*header);
	header->e_shoff = 0x200;
	header->e_ehsize = sizeof(*header);
	header->e_phentsize = sizeof(*segment);
	header->e_phnum = 1;
	header->e_shentsize = sizeof(*sections);
	header->e_shnum = 3;
	header->e_shstrndx = 2;
	*segment = (Elf64_Phdr) {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 0x1000,
		.p_filesz = text + text_size, .p_memsz = text + text_size,
	};
	sections[1] = (Elf64_Shdr) {
		.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC,
		.sh_addr = cfi, .sh_offset = cfi,
		.sh_size = sizeof(cie) + nr * 24, .sh_addralign = 8,
	};
	sections[2] = (Elf64_Shdr) {
		.sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = 0x400,
		.sh_size = sizeof(names),
	};
	memcpy(bytes + 0x400, names, sizeof(names));
	memcpy(bytes + cfi, cie, sizeof(cie));
	for (size_t i = 0; i < nr; i++) {
		unsigned char *fde = bytes + cfi + sizeof(cie) + i * 24;
		const uint32_t words[] = {
			20, sizeof(cie) + i * 24 + 4, text + i * 16, 16,
		};

		memcpy(fde, words, sizeof(words));
		fde[16] = 0;			/* length of the augmentation */
		fde[17] = 0x44;			/* advance by 4 */
		fde[18] = 0x0e;			/* def_cfa_offset 16 */
		fde[19] = 0x10;
	}
	is_good = fd >= 0 && write(fd, bytes, text) == (ssize_t)text &&
		  !ftruncate(fd, text + text_size);
	if (fd >= 0)
		close(fd);
	free(bytes);
	return is_good;
}
