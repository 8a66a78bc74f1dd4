/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attaching a section to a file: the small ELF file without a section of its
 * own, a section for it, and wrappers of the ioctls, which return -1 with
 * errno.
 */
#ifndef SELFTESTS_ATTACH_H
#define SELFTESTS_ATTACH_H

#include "elf_map.h"

/* Create the ELF file and the section file, and fill in @arg to attach them. */
static inline bool make_bare(struct elf_base *elf, struct elf_sframe *sframe,
			     struct sframe_unwind_attach *arg)
{
	elf_base_init(elf);
	elf->phdr[ELF_SFRAME].p_type = PT_NULL;
	*sframe = elf_sframe_at(0);
	*arg = (struct sframe_unwind_attach) {
		.size = sizeof(*arg),
		.elf_fd = make_file(elf, sizeof(*elf)),
		.sframe_fd = make_file(sframe, sizeof(*sframe)),
		.sframe_size = sizeof(*sframe),
		.build_id_size = ELF_ID_SIZE,
	};
	memcpy(arg->build_id, elf->note.id, ELF_ID_SIZE);
	return arg->elf_fd >= 0 && arg->sframe_fd >= 0;
}

static inline int attach(int fd, struct sframe_unwind_attach *arg)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_ATTACH, arg);
}

/* Grow the section to @size bytes, most of which belong to no function. */
static inline bool grow_section(struct sframe_unwind_attach *arg, size_t size)
{
	__u32 fre_len = size - offsetof(struct elf_sframe, small);

	arg->sframe_size = size;
	return !ftruncate(arg->sframe_fd, size) &&
	       pwrite(arg->sframe_fd, &fre_len, sizeof(fre_len),
		      offsetof(struct elf_sframe, fre_len)) == sizeof(fre_len);
}

static inline int attach_large(int fd, struct sframe_unwind_attach *arg, size_t size)
{
	return grow_section(arg, size) ? attach(fd, arg) : -1;
}

static inline int detach(int fd, __u64 id)
{
	struct sframe_unwind_detach arg = { .size = sizeof(arg), .id = id };

	return ioctl(fd, SFRAME_UNWIND_IOC_DETACH, &arg);
}

static inline int list_attached(int fd, __u64 from,
			 struct sframe_unwind_attached *attached, __u32 nr,
			 struct sframe_unwind_list_attached *list)
{
	*list = (struct sframe_unwind_list_attached) {
		.size = sizeof(*list),
		.from = from,
		.attached = (uintptr_t)attached,
		.nr = nr,
	};
	return ioctl(fd, SFRAME_UNWIND_IOC_LIST_ATTACHED, list);
}

/* Rules found in the section that @fd attached as @id; -1 if there is none. */
static inline long hits(int fd, __u64 id)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entry;

	if (list_attached(fd, id, &entry, 1, &list) || list.nr != 1 ||
	    entry.id != id)
		return -1;
	return entry.hits;
}

/* Pass the executable segments of @elf in @arg. */
static inline void tell_segments(struct sframe_unwind_attach *arg,
				 const struct elf_base *elf,
				 struct sframe_unwind_segment *segments)
{
	arg->segments = (uintptr_t)segments;
	arg->nr_segments = 2;
	for (int i = 0; i < 2; i++) {
		const Elf64_Phdr *phdr = &elf->phdr[ELF_SMALL + i];

		segments[i] = (struct sframe_unwind_segment) {
			.address = phdr->p_vaddr,
			.size = phdr->p_memsz,
			.offset = phdr->p_offset,
			.file_size = phdr->p_filesz,
		};
	}
}

#endif /* SELFTESTS_ATTACH_H */
