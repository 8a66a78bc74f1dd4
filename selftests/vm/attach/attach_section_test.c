// SPDX-License-Identifier: GPL-2.0
/*
 * Attached sections are validated first: every defect is refused, with its
 * offset and description; so are functions outside the file's code, and files
 * that cannot be read.
 */
#include <sys/socket.h>

#include "elf_map.h"
#include "../../fixtures/broken.h"

/* File offset and address of the code that the sections describe. */
#define CODE_SIZE	0x20000

FIXTURE(section)
{
	int fd;
	int elf_fd;
	int sframe_fd;
	unsigned char bytes[sizeof(struct base)];
	struct sframe_unwind_attach arg;
	char message[256];
};

/* A file whose only executable segment contains all functions of the base. */
FIXTURE_SETUP(section)
{
	struct elf_base elf;

	elf_base_init(&elf);
	elf.phdr[ELF_SFRAME].p_type = PT_NULL;
	elf.phdr[ELF_LARGE].p_type = PT_NULL;
	elf.phdr[ELF_SMALL] = elf_phdr(PT_LOAD, PF_R | PF_X, ELF_SMALL_OFFSET,
				       TEXT, CODE_SIZE);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->elf_fd = make_file(&elf, sizeof(elf));
	ASSERT_LE(0, self->elf_fd);
	memcpy(self->bytes, &base, sizeof(base));
	self->sframe_fd = make_file(self->bytes, sizeof(self->bytes));
	ASSERT_LE(0, self->sframe_fd);
	self->arg = (struct sframe_unwind_attach) {
		.size = sizeof(self->arg),
		.elf_fd = self->elf_fd,
		.sframe_fd = self->sframe_fd,
		.sframe_size = sizeof(self->bytes),
		.build_id_size = ELF_ID_SIZE,
		.message = (uintptr_t)self->message,
		.message_size = sizeof(self->message),
	};
	memcpy(self->arg.build_id, elf.note.id, ELF_ID_SIZE);
}

FIXTURE_TEARDOWN(section)
{
	close(self->sframe_fd);
	close(self->elf_fd);
	close(self->fd);
}

static int attach(int fd, struct sframe_unwind_attach *arg)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_ATTACH, arg);
}

TEST_F(section, control)
{
	struct sframe_unwind_list_attached list = { .size = sizeof(list) };

	ASSERT_EQ(0, attach(self->fd, &self->arg))
	{
		TH_LOG("%s", self->message);
	}
	ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_LIST_ATTACHED, &list));
	EXPECT_EQ(1, list.total);
}

/*
 * Whether all functions are in the file's code; outside_of_code tests the
 * others.
 */
static bool has_code(const void *section, size_t size)
{
	const struct base_header *header = section;
	const unsigned char *index = (const unsigned char *)(header + 1) +
				     header->auxhdr_len + header->fdeoff;
	unsigned int i;

	for (i = 0; i < header->num_fdes; i++) {
		const unsigned char *entry = index + i * 16;
		u64 start;
		u32 length;

		if (entry + 16 > (const unsigned char *)section + size)
			return true;
		memcpy(&start, entry, 8);
		memcpy(&length, entry + 8, 4);
		start += entry - (const unsigned char *)section;
		if (start < TEXT || start > TEXT + CODE_SIZE ||
		    length > TEXT + CODE_SIZE - start)
			return false;
	}
	return true;
}

TEST_F(section, each_defect)
{
	unsigned int i, accepted = 0, refused = 0;

	for (i = 0; i < NR_BROKEN; i++) {
		const struct broken *b = &broken[i];
		const u32 size = broken_build(b, self->bytes);
		int ret;

		ASSERT_EQ(sizeof(self->bytes),
			  pwrite(self->sframe_fd, self->bytes,
				 sizeof(self->bytes), 0));
		ASSERT_EQ(0, ftruncate(self->sframe_fd, size));
		self->arg.sframe_size = size;
		self->arg.defect_offset = ~0ULL;
		self->arg.id = 0;
		self->message[0] = '\0';
		ret = attach(self->fd, &self->arg);
		if (b->stage == LEGAL && !has_code(self->bytes, size))
			continue;
		if (b->stage == LEGAL) {
			EXPECT_EQ(0, ret)
			{
				TH_LOG("%s (%s): %s", b->name, b->what,
				       self->message);
			}
			accepted++;
			continue;
		}
		EXPECT_EQ(-1, ret)
		{
			TH_LOG("%s: %s", b->name, b->what);
		}
		EXPECT_EQ(b->err, errno)
		{
			TH_LOG("%s: %s", b->name, self->message);
		}
		EXPECT_EQ(b->offset, self->arg.defect_offset)
		{
			TH_LOG("%s: %s", b->name, self->message);
		}
		EXPECT_NE(NULL, strstr(self->message,
				       sfu_defect_text(b->kind)))
		{
			TH_LOG("%s: %s", b->name, self->message);
		}
		EXPECT_EQ(0, self->arg.id);
		refused++;
	}
	EXPECT_LE(20, accepted);
	EXPECT_LE(80, refused);
}

/* A function at and across the boundaries of the code. */
TEST_F(section, outside_of_code)
{
	static const struct {
		u64 start;
		u32 size;
		bool is_inside;
	} functions[] = {
		{ TEXT, PLAIN_SIZE, true },
		{ TEXT - 1, PLAIN_SIZE, false },
		{ 0, PLAIN_SIZE, false },
		{ TEXT, CODE_SIZE, true },
		{ TEXT, CODE_SIZE + 1, false },
		{ TEXT + 1, CODE_SIZE, false },
		{ TEXT + CODE_SIZE - PLAIN_SIZE, PLAIN_SIZE, true },
		{ TEXT + CODE_SIZE - PLAIN_SIZE + 1, PLAIN_SIZE, false },
		{ TEXT + CODE_SIZE, 0, true },
		{ TEXT + CODE_SIZE + 1, 0, false },
		{ 1ULL << 46, PLAIN_SIZE, false },
	};
	struct base *section = (struct base *)self->bytes;
	unsigned int i;

	section->header.num_fdes = 1;
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		section->index[0].start = START(0, functions[i].start);
		section->index[0].size = functions[i].size;
		section->index[0].fre_off = functions[i].size ?
					    FRE_OFF(plain) : FRE_OFF(empty);
		ASSERT_EQ(sizeof(self->bytes),
			  pwrite(self->sframe_fd, self->bytes,
				 sizeof(self->bytes), 0));
		EXPECT_EQ(functions[i].is_inside ? 0 : -1,
			  attach(self->fd, &self->arg))
		{
			TH_LOG("function at 0x%llx of %u bytes: %s",
			       (unsigned long long)functions[i].start,
			       functions[i].size, self->message);
		}
		if (functions[i].is_inside)
			continue;
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(AT(index[0]), self->arg.defect_offset);
		EXPECT_NE(NULL, strstr(self->message, sfu_defect_text(
					SFU_DEFECT_FDE_TEXT)));
	}
}

/* The file is shorter than its table. */
TEST_F(section, file_too_short)
{
	ASSERT_EQ(0, ftruncate(self->sframe_fd, BASE_END - 1));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EIO, errno)
	{
		TH_LOG("%s", self->message);
	}
	EXPECT_NE(0, self->message[0]);
	ASSERT_EQ(0, ftruncate(self->sframe_fd, 10));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EIO, errno);
	self->arg.sframe_offset = 1 << 20;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EIO, errno);
}

TEST_F(section, bad_place)
{
	self->arg.sframe_size = 0;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.sframe_size = ~0ULL;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.sframe_size = 1ULL << 63;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.sframe_size = sizeof(self->bytes);
	self->arg.sframe_offset = ~0ULL;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.sframe_offset = -(__u64)sizeof(self->bytes);
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.sframe_offset = 1ULL << 63;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.sframe_offset = 0;
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

TEST_F(section, bad_arguments)
{
	self->arg.flags = 0x80;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.flags = 0x80000000;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.flags = 0;
	self->arg.reserved = 1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.reserved = 0;
	self->arg.reserved2 = 1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.reserved2 = 0;
	self->arg.reserved3 = 1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.reserved3 = 0;
	self->arg.reserved4 = 1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.reserved4 = 0;
	self->arg.build_id_size = SFRAME_UNWIND_BUILD_ID_SIZE + 1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.build_id_size = ~0U;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.build_id_size = ELF_ID_SIZE;
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

/* Files that cannot be read, or are not ELF files. */
TEST_F(section, bad_files)
{
	char path[64];
	int files[16], nr = 0, ends[2], i;

	files[nr++] = -1;
	files[nr++] = 1000000;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->elf_fd);
	files[nr++] = open(path, O_WRONLY | O_CLOEXEC);
	files[nr++] = open(path, O_PATH | O_CLOEXEC);
	files[nr++] = open("/", O_RDONLY | O_CLOEXEC);
	files[nr++] = open("/dev/null", O_RDWR | O_CLOEXEC);
	files[nr++] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	files[nr++] = self->fd;
	ASSERT_EQ(0, pipe(ends));
	files[nr++] = ends[0];
	files[nr++] = ends[1];
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	files[nr++] = ends[0];
	for (i = 0; i < nr; i++) {
		ASSERT_TRUE(i < 2 || files[i] >= 0);
		self->arg.elf_fd = files[i];
		EXPECT_EQ(-1, attach(self->fd, &self->arg));
		EXPECT_EQ(EBADF, errno)
		{
			TH_LOG("elf_fd %d: %s", i, self->message);
		}
		EXPECT_NE(0, self->message[0]);
		self->arg.elf_fd = self->elf_fd;
		self->arg.sframe_fd = files[i];
		EXPECT_EQ(-1, attach(self->fd, &self->arg));
		EXPECT_EQ(EBADF, errno)
		{
			TH_LOG("sframe_fd %d: %s", i, self->message);
		}
		self->arg.sframe_fd = self->sframe_fd;
	}
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

/* Files whose contents are generated when read. */
TEST_F(section, odd_files)
{
	self->arg.elf_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_TRUE(errno == EINVAL || errno == EBADF);
	close(self->arg.elf_fd);
	self->arg.elf_fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	if (self->arg.elf_fd >= 0) {
		EXPECT_EQ(-1, attach(self->fd, &self->arg));
		EXPECT_TRUE(errno == EINVAL || errno == EBADF);
		close(self->arg.elf_fd);
	}
	self->arg.elf_fd = self->elf_fd;
	self->arg.sframe_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_TRUE(errno == EINVAL || errno == EBADF);
	close(self->arg.sframe_fd);
	self->arg.sframe_fd = self->sframe_fd;
}

TEST_HARNESS_MAIN
