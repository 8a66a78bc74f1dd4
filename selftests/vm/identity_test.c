// SPDX-License-Identifier: GPL-2.0
/*
 * Identity of mappings: files with the same device and inode number, and
 * different files that share an inode.
 */
#include <linux/bpf.h>
#include <linux/fuse.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"
#include "fuse.h"

/* Requests its stack from a larger frame than the fake row says. */
static const unsigned char large_code[] = {
	0x48, 0x83, 0xec, 0x38,			/* sub $56,%rsp */
	0xb8, 0x10, 0x00, 0x00, 0x00, 0x0f, 0x05,
	0x48, 0x83, 0xc4, 0x38, 0xc3		/* add $56,%rsp; ret */
};

FIXTURE(identity)
{
	int fd;
	int file;
	struct fake fake;
	struct stack stack;
	struct sframe_unwind_request req;
	char message[192];
};

FIXTURE_SETUP(identity)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_TRUE(make_fake(&self->fake));
	self->req = request_self();
	self->file = memfd_create("identity", MFD_CLOEXEC);
	ASSERT_EQ(0, ftruncate(self->file, 4 * PAGE));
	self->fake.reg.message = (uintptr_t)self->message;
	self->fake.reg.message_size = sizeof(self->message);
}

FIXTURE_TEARDOWN(identity)
{
	close(self->file);
	close(self->fd);
}

#define RWX	(PROT_READ | PROT_WRITE | PROT_EXEC)

/* Map page @page of @file at @at, or anonymous memory if @file is -1. */
static bool map_page(unsigned char *at, int file, unsigned int page)
{
	return mmap(at, PAGE, RWX, MAP_FIXED | MAP_PRIVATE |
		    (file < 0 ? MAP_ANONYMOUS : 0), file,
		    file < 0 ? 0 : page * PAGE) == at;
}

/* Two pages of code: pages of the file, or anonymous. */
static const struct {
	int first, second;
	int error;
} texts[] = {
	{ 0, 1, 0 },
	{ -1, -1, 0 },
	{ 0, 2, EINVAL },
	{ 0, 0, EINVAL },
	{ 1, 0, EINVAL },
	{ 0, -1, EINVAL },
	{ -1, 0, EINVAL },
};

#define NR_TEXTS	(sizeof(texts) / sizeof(texts[0]))

/*
 * The code must be mapped from one place; otherwise the first walk would find
 * it stale.
 */
TEST_F(identity, text_of_two_places)
{
	unsigned char *at = mmap(NULL, 2 * PAGE, RWX,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char where[32];
	unsigned int i;

	ASSERT_NE(MAP_FAILED, at);
	snprintf(where, sizeof(where), "0x%lx", (uintptr_t)at + PAGE);
	self->fake.reg.text_start = (uintptr_t)at;
	self->fake.reg.text_size = 2 * PAGE;
	for (i = 0; i < NR_TEXTS; i++) {
		const int first = texts[i].first, second = texts[i].second;

		ASSERT_TRUE(map_page(at, first < 0 ? -1 : self->file, first));
		ASSERT_TRUE(map_page(at + PAGE, second < 0 ? -1 : self->file,
				     second));
		EXPECT_EQ(texts[i].error,
			  register_section(self->fd, &self->fake.reg) ?
				  errno : 0)
		{
			TH_LOG("%d and %d: %s", first, second, self->message);
		}
		if (texts[i].error) {
			EXPECT_NE(NULL, strstr(self->message, where));
		} else {
			ASSERT_EQ(0, unregister_id(self->fd,
						   self->fake.reg.id));
		}
	}
}

/* So must the section, as far as the table extends. */
TEST_F(identity, section_of_two_places)
{
	unsigned char *at = mmap(NULL, 2 * PAGE, RWX,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *section = at + PAGE - FAKE_SECTION_SIZE;

	ASSERT_NE(MAP_FAILED, at);
	ASSERT_TRUE(map_page(at + PAGE, self->file, 0));
	write_fake_section(section, self->fake.text);
	self->fake.reg.sframe_start = (uintptr_t)section;
	self->fake.reg.sframe_size = FAKE_SECTION_SIZE + 100;
	EXPECT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	/* One byte longer. */
	put32(section + FAKE_FRE_LEN, 5 + 3 + 1);
	EXPECT_EQ(-1, register_section(self->fd, &self->fake.reg));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_TRUE(map_page(at + PAGE, -1, 0));
	EXPECT_EQ(0, register_section(self->fd, &self->fake.reg));
}

/*
 * Check that a walk uses the section for the code, or that it was removed as
 * stale.
 */
#define EXPECT_USED(used)						\
	do {								\
		struct sframe_unwind_stats s_;				\
		ASSERT_EQ(0, call_request_code(self->fake.text,		\
					       self->fd, &self->req));	\
		ASSERT_STACK(self->fd, &self->stack);			\
		EXPECT_EQ(used, self->stack.head.nr_frames > 1);	\
		ASSERT_EQ(0, stats(self->fd, &s_));			\
		EXPECT_EQ(!(used), s_.stale);				\
	} while (0)

/*
 * A file system of two files with the same inode number and generation, as
 * files in different snapshots have.
 */
struct twins {
	struct fuse fuse;
	pid_t pid;
	unsigned char page[2][PAGE];
};

static struct fuse_attr twin_attr(bool is_dir)
{
	return (struct fuse_attr) {
		.ino = 5,
		.size = PAGE,
		.mode = is_dir ? S_IFDIR | 0755 : S_IFREG | 0755,
		.nlink = 1,
		.blksize = PAGE,
	};
}

static void answer_twin(struct twins *twins, const struct fuse_in_header *head)
{
	const char *name = (const char *)(head + 1);
	const struct fuse_open_out opened = { .fh = 1 };
	const struct fuse_entry_out entry = {
		.nodeid = name[0] - '0' + 2,
		.attr_valid = 3600,
		.entry_valid = 3600,
		.attr = twin_attr(false),
	};
	const struct fuse_attr_out attr = {
		.attr_valid = 3600,
		.attr = twin_attr(head->nodeid == FUSE_ROOT_ID),
	};

	switch (head->opcode) {
	case FUSE_INIT:
		fuse_reply_init(&twins->fuse, head->unique);
		break;
	case FUSE_LOOKUP:
		fuse_reply(&twins->fuse, head->unique, 0, &entry,
			   sizeof(entry));
		break;
	case FUSE_GETATTR:
		fuse_reply(&twins->fuse, head->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		fuse_reply(&twins->fuse, head->unique, 0, &opened,
			   sizeof(opened));
		break;
	case FUSE_READ:
		fuse_reply(&twins->fuse, head->unique, 0,
			   twins->page[head->nodeid - 2], PAGE);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		fuse_reply(&twins->fuse, head->unique, ENOSYS, NULL, 0);
	}
}

static void serve_twins(struct twins *twins)
{
	static char buffer[FUSE_MIN_READ_BUFFER + FUSE_PAGE];
	const struct fuse_in_header *head = (const void *)buffer;

	while (read(twins->fuse.fd, buffer, sizeof(buffer)) >=
	       (ssize_t)sizeof(*head) || errno == EINTR || errno == ENOENT)
		answer_twin(twins, head);
}

static bool make_twins(struct twins *twins)
{
	char options[96];

	strcpy(twins->fuse.path, "/tmp/twins.XXXXXX");
	twins->fuse.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	memcpy(twins->page[0], request_code, sizeof(request_code));
	memcpy(twins->page[1], large_code, sizeof(large_code));
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", twins->fuse.fd);
	if (!mkdtemp(twins->fuse.path) ||
	    mount("twins", twins->fuse.path, "fuse", 0, options))
		return false;
	twins->pid = fork();
	if (!twins->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve_twins(twins);
		_exit(0);
	}
	return true;
}

static int open_twin(const struct twins *twins, int nr)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%d", twins->fuse.path, nr);
	return open(path, O_RDONLY | O_CLOEXEC);
}

TEST_F(identity, files_with_the_same_numbers)
{
	static struct twins twins;
	struct stat stat[2];
	int file[2], i;

	if (geteuid())
		SKIP(return, "needs root, for FUSE");
	ASSERT_TRUE(make_twins(&twins));
	for (i = 0; i < 2; i++) {
		file[i] = open_twin(&twins, i);
		ASSERT_LE(0, file[i]);
		ASSERT_EQ(0, fstat(file[i], &stat[i]));
	}
	ASSERT_EQ(stat[0].st_ino, stat[1].st_ino);
	ASSERT_EQ(stat[0].st_dev, stat[1].st_dev);
	ASSERT_TRUE(map_page(self->fake.text, file[0], 0));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_USED(true);
	/* Mapping the same file again makes no difference. */
	ASSERT_TRUE(map_page(self->fake.text, file[0], 0));
	EXPECT_USED(true);
	ASSERT_TRUE(map_page(self->fake.text, file[1], 0));
	EXPECT_USED(false);
	/* Closing sends a request, which only the server can answer. */
	close(file[0]);
	close(file[1]);
	kill(twins.pid, SIGKILL);
	waitpid(twins.pid, NULL, 0);
	umount2(twins.fuse.path, MNT_DETACH);
	rmdir(twins.fuse.path);
}

/*
 * Map a page of a new BPF array at @at, which programs may write to. Returns
 * the array, or -1.
 */
static int map_array(unsigned char *at)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(__u32),
		.value_size = PAGE,
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};
	const int array = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	if (array >= 0 && mmap(at, PAGE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_FIXED, array, 0) == at)
		return array;
	close(array);
	return -1;
}

/*
 * Files that share an anonymous inode. They cannot be mapped executable, so
 * only a section can be in them.
 */
TEST_F(identity, anonymous_inodes)
{
	int first, second;

	first = map_array(self->fake.section);
	if (first < 0)
		SKIP(return, "needs root, for BPF");
	put_request_code(&self->fake);
	write_fake_section(self->fake.section, self->fake.text);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_USED(true);
	/* The first array is kept, so that the second cannot reuse its memory. */
	second = map_array(self->fake.section);
	ASSERT_LE(0, second);
	write_fake_section(self->fake.section, self->fake.text);
	EXPECT_USED(false);
	close(second);
	close(first);
}

TEST_HARNESS_MAIN
