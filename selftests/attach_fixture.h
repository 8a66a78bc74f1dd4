/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file without a section of its own, mapped, and a section to attach to it.
 */
#ifndef SELFTESTS_ATTACH_FIXTURE_H
#define SELFTESTS_ATTACH_FIXTURE_H

#include "elf_map.h"

FIXTURE(attach)
{
	int fd;
	int elf_fd;		/* a file without a section of its own */
	int sframe_fd;
	struct elf_base elf;
	struct elf_sframe sframe;
	unsigned char *at;	/* where it is mapped */
	struct sframe_unwind_attach arg;
	char message[256];
};

FIXTURE_SETUP(attach)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	elf_base_init(&self->elf);
	self->elf.phdr[ELF_SFRAME].p_type = PT_NULL;
	self->sframe = elf_sframe_at(0);
	self->elf_fd = make_file(&self->elf, sizeof(self->elf));
	ASSERT_LE(0, self->elf_fd);
	self->sframe_fd = make_file(&self->sframe, sizeof(self->sframe));
	ASSERT_LE(0, self->sframe_fd);
	self->at = map_elf(self->elf_fd);
	ASSERT_NE(NULL, self->at);
	self->arg = (struct sframe_unwind_attach) {
		.size = sizeof(self->arg),
		.elf_fd = self->elf_fd,
		.sframe_fd = self->sframe_fd,
		.sframe_size = sizeof(self->sframe),
		.build_id_size = ELF_ID_SIZE,
		.message = (uintptr_t)self->message,
		.message_size = sizeof(self->message),
	};
	memcpy(self->arg.build_id, self->elf.note.id, ELF_ID_SIZE);
}

FIXTURE_TEARDOWN(attach)
{
	unmap_elf(self->at);
	close(self->sframe_fd);
	close(self->elf_fd);
	close(self->fd);
}

static inline int attach(int fd, struct sframe_unwind_attach *arg)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_ATTACH, arg);
}

/* Attach a section of @size bytes, most of which no function has. */
static inline int attach_large(int fd, struct sframe_unwind_attach *arg, size_t size)
{
	__u32 fre_len = size - offsetof(struct elf_sframe, small);

	if (ftruncate(arg->sframe_fd, size) ||
	    pwrite(arg->sframe_fd, &fre_len, sizeof(fre_len),
		   offsetof(struct elf_sframe, fre_len)) < 0)
		return -1;
	arg->sframe_size = size;
	return attach(fd, arg);
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

#endif /* SELFTESTS_ATTACH_FIXTURE_H */
