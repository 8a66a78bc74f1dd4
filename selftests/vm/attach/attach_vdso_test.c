// SPDX-License-Identifier: GPL-2.0
/*
 * The vDSO, which is not mapped from a file: without a section, and with one
 * attached to a copy of its image.
 */
#include <pthread.h>
#include <sys/auxv.h>
#include <time.h>

#include "elf_map.h"

/* A thread that enters the kernel from the vDSO. */
struct caller {
	pthread_t thread;
	_Atomic pid_t tid;
	_Atomic bool stop;
};

static void *call_vdso(void *data)
{
	struct caller *caller = data;
	struct timespec now;

	caller->tid = gettid();
	/* A clock for which the vDSO calls the kernel. */
	while (!caller->stop)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return NULL;
}

FIXTURE(vdso)
{
	int fd;
	const unsigned char *start;
	size_t size;
	const Elf64_Phdr *text;
	struct caller caller;
	struct stack stack;
	struct sframe_unwind_attach arg;
};

/* Number of bytes mapped from @start on. */
static size_t mapped_size(const void *start)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];
	size_t size = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 &&
		    from == (uintptr_t)start)
			size = to - from;
	}
	if (maps)
		fclose(maps);
	return size;
}

/* Fill in the build ID. */
static void read_build_id(const unsigned char *start, const Elf64_Phdr *notes,
			  struct sframe_unwind_attach *arg)
{
	size_t at = 0;

	while (at + sizeof(Elf64_Nhdr) < notes->p_filesz) {
		const Elf64_Nhdr *note = (void *)(start + notes->p_offset + at);

		at += sizeof(*note) + (note->n_namesz + 3) / 4 * 4;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4) {
			arg->build_id_size = note->n_descsz;
			memcpy(arg->build_id, start + notes->p_offset + at,
			       note->n_descsz);
		}
		at += (note->n_descsz + 3) / 4 * 4;
	}
}

FIXTURE_SETUP(vdso)
{
	struct elf_sframe sframe = elf_sframe_at(0);
	const Elf64_Ehdr *ehdr;
	int i;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->start = (void *)getauxval(AT_SYSINFO_EHDR);
	if (!self->start)
		SKIP(return, "no vDSO");
	self->size = mapped_size(self->start);
	ASSERT_NE(0, self->size);
	self->arg = (struct sframe_unwind_attach) {
		.size = sizeof(self->arg),
		.elf_fd = make_file(self->start, self->size),
		.sframe_size = sizeof(sframe),
	};
	ehdr = (const void *)self->start;
	for (i = 0; i < ehdr->e_phnum; i++) {
		const Elf64_Phdr *phdr = (void *)(self->start + ehdr->e_phoff +
						  i * sizeof(*phdr));

		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X)
			self->text = phdr;
		if (phdr->p_type == PT_NOTE)
			read_build_id(self->start, phdr, &self->arg);
	}
	ASSERT_NE(NULL, self->text);
	ASSERT_NE(0, self->arg.build_id_size);
	/* A wrong section: one function covers everything, without a frame. */
	sframe.num_fdes = 1;
	sframe.index[0].start = self->text->p_vaddr -
				offsetof(struct elf_sframe, index);
	sframe.index[0].size = self->text->p_memsz;
	self->arg.sframe_fd = make_file(&sframe, sizeof(sframe));
	ASSERT_EQ(0, pthread_create(&self->caller.thread, NULL, call_vdso,
				    &self->caller));
	while (!self->caller.tid)
		sched_yield();
}

FIXTURE_TEARDOWN(vdso)
{
	self->caller.stop = true;
	pthread_join(self->caller.thread, NULL);
	close(self->fd);
}

/* Take the stack of the other thread while it is in the vDSO. */
static bool take_in_vdso(FIXTURE_DATA(vdso) *self)
{
	struct sframe_unwind_request req = request_self();

	req.tid = self->caller.tid;
	/* The thread is rarely outside of it. */
	do {
		if (request(self->fd, &req) ||
		    read_stack(self->fd, &self->stack))
			return false;
	} while (self->stack.head.ips[0] - (uintptr_t)self->start >=
		 self->size);
	return true;
}

/* That it has no section is found out once: repeated looks would be counted. */
TEST_F(vdso, alone)
{
	long before;
	int i;

	ASSERT_TRUE(take_in_vdso(self));
	if (self->stack.head.nr_frames > 1)
		SKIP(return, "this kernel's vDSO has a section");
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
	before = counter("total_discovered");
	for (i = 0; i < 8; i++)
		ASSERT_TRUE(take_in_vdso(self));
	/* The program and libc, if the thread was outside of the vDSO. */
	EXPECT_GE(before + 2, counter("total_discovered"));
}

TEST_F(vdso, attached)
{
	struct sframe_unwind_list_attached list = { .size = sizeof(list) };
	struct sframe_unwind_attached entry;

	self->arg.flags = SFRAME_UNWIND_ATTACH_PREFER;
	ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_ATTACH, &self->arg));
	ASSERT_TRUE(take_in_vdso(self));
	/* Only the source matters, not where the wrong rule leads. */
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ATTACHED,
		  section_of(self->fd, (void *)(uintptr_t)
			     self->stack.head.ips[0]).source);
	list.attached = (uintptr_t)&entry;
	list.nr = 1;
	ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_LIST_ATTACHED, &list));
	EXPECT_LE(1, entry.hits);
	close(self->fd);
	self->fd = open_client(0);
	ASSERT_TRUE(take_in_vdso(self));
	EXPECT_NE(SFRAME_UNWIND_SECTION_ATTACHED,
		  section_of(self->fd, (void *)(uintptr_t)
			     self->stack.head.ips[0]).source);
}

TEST_HARNESS_MAIN
