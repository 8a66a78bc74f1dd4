// SPDX-License-Identifier: GPL-2.0
/* Malformed data met in a walk: the section is removed, and nothing else. */
#include <sys/wait.h>

#include "common.h"

FIXTURE(corrupt)
{
	int fd;
	struct fake fake;
	struct stack stack;
	struct sframe_unwind_request req;
};

FIXTURE_SETUP(corrupt)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_TRUE(make_fake(&self->fake));
	put_request_code(&self->fake);
	/* Room for a second row, or a third word. */
	self->fake.reg.sframe_size = FAKE_SECTION_SIZE + 12;
	put32(self->fake.section + FAKE_FRE_LEN, 5 + 3 + 12);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->req = request_self();
}

FIXTURE_TEARDOWN(corrupt)
{
	free_fake(&self->fake);
	close(self->fd);
}

/* Bytes of the section to change after registration. */
struct patch {
	const char *name;
	unsigned int at;
	unsigned int size;
	unsigned char bytes[16];
};

#define PATCH(what, where, ...)						\
	{ what, where, sizeof((unsigned char[]) { __VA_ARGS__ }), { __VA_ARGS__ } }

static const struct patch malformed[] = {
	PATCH("attribute beyond the FRE area", FAKE_BLOCK_OFF, 0x10),
	PATCH("attribute far beyond", FAKE_BLOCK_OFF, 0xff, 0xff, 0xff, 0xff),
	PATCH("function leaves the text", FAKE_FUNC_SIZE, 0x01, 0x10),
	PATCH("function wraps around", FAKE_FUNC_SIZE, 0xff, 0xff, 0xff, 0xff),
	PATCH("info: reserved bit", FAKE_INFO, 0x40),
	PATCH("info: pauth key", FAKE_INFO, 0x20),
	PATCH("info: FRE type 3", FAKE_INFO, 0x03),
	PATCH("info: FRE type 15", FAKE_INFO, 0x0f),
	PATCH("info2: FDE type 2", FAKE_INFO2, 0x02),
	PATCH("info2: reserved bit", FAKE_INFO2, 0x20),
	PATCH("PC-mask with repetition size 0", FAKE_INFO, 0x10),
	PATCH("PC-mask with large repetition", FAKE_INFO, 0x10, 0, 65),
	PATCH("row starts beyond the function", FAKE_ROW, FAKE_SIZE + 1),
	PATCH("row starts beyond the repeated block", FAKE_INFO, 0x10, 0, 8,
	      8, 0x03, 8),
	PATCH("word size 3", FAKE_ROW_INFO, 0x63),
	PATCH("mangled RA", FAKE_ROW_INFO, 0x83),
	PATCH("three words in a default row", FAKE_ROW_INFO, 0x07),
	PATCH("fifteen words of four bytes", FAKE_ROW_INFO, 0x5f),
	PATCH("rows not ascending", FAKE_ATTR, 2, 0, 0, 0, 0,
	      0, 0x03, 8, 0, 0x03, 16),
	PATCH("65535 rows that are not there", FAKE_ATTR, 0xff, 0xff),
	PATCH("flexible: one word", FAKE_INFO2, 1, 0, 0, 0x02, 0x39),
	PATCH("flexible: CFA is padding", FAKE_INFO2, 1, 0, 0, 0x02, 0),
	PATCH("flexible: CFA from CFA", FAKE_INFO2, 1, 0, 0, 0x04, 0x02, 8),
	PATCH("flexible: reserved bit", FAKE_INFO2, 1, 0, 0, 0x04, 0x3d, 8),
	PATCH("flexible: RA is a stack address", FAKE_INFO2, 1, 0, 0, 0x08,
	      0x39, 8, 0x08, 8),
	PATCH("flexible: FP is a stack address", FAKE_INFO2, 1, 0, 0, 0x0a,
	      0x39, 8, 0, 0x08, 8),
	PATCH("flexible: left-over word", FAKE_INFO2, 1, 0, 0, 0x0e,
	      0x39, 8, 0x02, -8, 0x02, -16, 0),
};

/* Odd but valid: whatever the walk finds, the section stays. */
static const struct patch harmless[] = {
	PATCH("function of size 0", FAKE_FUNC_SIZE, 0),
	PATCH("address behind the function", FAKE_FUNC_SIZE, 4),
	PATCH("no rows", FAKE_ATTR, 0),
	PATCH("no rows, signal", FAKE_ATTR, 0, 0, 0x80),
	PATCH("first row behind the address", FAKE_ROW, 32),
	PATCH("row at the function's end", FAKE_ROW, FAKE_SIZE),
	PATCH("outermost", FAKE_ROW_INFO, 0x00),
	PATCH("outermost, other bits set", FAKE_ROW_INFO, 0x41),
	PATCH("CFA below the stack pointer", FAKE_ROW_WORD, -16),
	PATCH("CFA not aligned", FAKE_ROW_WORD, 7),
	PATCH("CFA far away", FAKE_ROW_INFO, 0x43, 0, 0, 0, 0x70),
	PATCH("register that does not exist", FAKE_INFO2, 1, 0, 0, 0x04,
	      0xf9, 8),
};

/* Sections found corrupt in the calling process, or ~0. */
static __u64 count_corrupt(int fd)
{
	struct sframe_unwind_stats s;

	return stats(fd, &s) ? ~0ULL : s.corrupt;
}

static void apply(struct fake *fake, const struct patch *patch)
{
	memcpy(fake->section + patch->at, patch->bytes, patch->size);
}

TEST_F(corrupt, removes)
{
	unsigned char good[FAKE_SECTION_SIZE + 12];
	unsigned int i;

	memcpy(good, self->fake.section, sizeof(good));
	for (i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		apply(&self->fake, &malformed[i]);
		ASSERT_EQ(0, register_anew(self->fd, &self->fake));
		ASSERT_EQ(0, call_request_code(self->fake.text, self->fd,
					       &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_EQ(SFRAME_UNWIND_STOP_SECTION_REMOVED,
			  self->stack.head.stop)
		{
			TH_LOG("%s", malformed[i].name);
		}
		EXPECT_EQ(1, self->stack.head.nr_frames);
		EXPECT_EQ(1, count_sections(self->fd))
		{
			TH_LOG("%s", malformed[i].name);
		}
		EXPECT_EQ(i + 1, count_corrupt(self->fd));
		/* The section stays removed. */
		ASSERT_EQ(0, call_request_code(self->fake.text, self->fd,
					       &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
		EXPECT_EQ(-1, unregister_id(self->fd, self->fake.reg.id));
		EXPECT_EQ(ENOENT, errno);
		/* Registered again with valid bytes, it works. */
		memcpy(self->fake.section, good, sizeof(good));
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		ASSERT_EQ(0, call_request_code(self->fake.text, self->fd,
					       &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_LE(3, self->stack.head.nr_frames);
	}
}

TEST_F(corrupt, does_not_remove)
{
	unsigned char good[FAKE_SECTION_SIZE + 12];
	unsigned int i;

	memcpy(good, self->fake.section, sizeof(good));
	for (i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		apply(&self->fake, &harmless[i]);
		ASSERT_EQ(0, register_anew(self->fd, &self->fake));
		ASSERT_EQ(0, call_request_code(self->fake.text, self->fd,
					       &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		EXPECT_NE(SFRAME_UNWIND_STOP_SECTION_REMOVED,
			  self->stack.head.stop)
		{
			TH_LOG("%s", harmless[i].name);
		}
		EXPECT_EQ(2, count_sections(self->fd))
		{
			TH_LOG("%s", harmless[i].name);
		}
		EXPECT_EQ(0, count_corrupt(self->fd));
		memcpy(self->fake.section, good, sizeof(good));
	}
}

/* Set every byte of the section to every value: the kernel must survive. */
TEST_F(corrupt, any_byte)
{
	unsigned char good[FAKE_SECTION_SIZE];
	unsigned int at, value;

	memcpy(good, self->fake.section, sizeof(good));
	for (at = FAKE_FDE; at < FAKE_SECTION_SIZE; at++) {
		for (value = 0; value < 256; value += 3) {
			self->fake.section[at] = value;
			ASSERT_EQ(0, register_anew(self->fd, &self->fake));
			ASSERT_EQ(0, call_request_code(self->fake.text,
						       self->fd, &self->req));
			ASSERT_STACK(self->fd, &self->stack);
			memcpy(self->fake.section, good, sizeof(good));
		}
	}
}

/* An unsorted index is detected when the search reaches the defect. */
TEST_F(corrupt, unsorted_index)
{
	static const uint64_t order[] = { 0, 0x5000, 0x100, 0x10 };
	unsigned char *s = self->fake.section;
	unsigned int i;

	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	put32(s + FAKE_NUM_FDES, 4);
	put32(s + FAKE_FRE_OFF, 64);
	for (i = 0; i < 4; i++) {
		unsigned char *fde = s + FAKE_FDE + 16 * i;

		put64(fde, (uintptr_t)self->fake.text + order[i] -
			   (uintptr_t)fde);
		put32(fde + 8, 16);
		put32(fde + 12, 0);
	}
	memcpy(s + FAKE_FDE + 64, "\x01\0\0\0\0\0\x03\x08", 8);
	self->fake.reg.sframe_size = PAGE;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	/* The binary search compares the third entry and the second above it. */
	EXPECT_EQ(SFRAME_UNWIND_STOP_SECTION_REMOVED, self->stack.head.stop);
	EXPECT_EQ(1, count_sections(self->fd));
}

/* With the fallback the walk continues, by frame pointer and then by rules. */
TEST_F(corrupt, fallback_goes_on)
{
	static const unsigned char code[] = {
		0x55, 0x48, 0x89, 0xe5,		/* push %rbp; mov %rsp,%rbp */
		0xb8, 0x10, 0x00, 0x00, 0x00, 0x0f, 0x05,
		0x5d, 0xc3
	};

	memcpy(self->fake.text, code, sizeof(code));
	self->fake.section[FAKE_INFO] = 0x40;
	self->req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(1, count_sections(self->fd));
	EXPECT_EQ(1, count_corrupt(self->fd));
	ASSERT_LE(4, self->stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_FP, how(&self->stack, 1));
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME | SFRAME_UNWIND_FRAME_UNSURE,
		  how(&self->stack, 2));
}

/* Removed from the forked process only, until the parent meets it, too. */
TEST_F(corrupt, of_a_fork)
{
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		self->fake.section[FAKE_INFO] = 0x40;
		call_request_code(self->fake.text, self->fd, &self->req);
		_exit(count_sections(self->fd) == 1 &&
		      count_corrupt(self->fd) == 1 ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(2, count_sections(self->fd));
	EXPECT_EQ(0, count_corrupt(self->fd));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_SECTION_REMOVED, self->stack.head.stop);
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_LE(3, self->stack.head.nr_frames);
}

/* Bytes that have become unreadable for good. */
TEST_F(corrupt, section_made_unreadable)
{

	ASSERT_EQ(0, mprotect(self->fake.section, PAGE, PROT_NONE));
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_SECTION_REMOVED, self->stack.head.stop);
	EXPECT_EQ(1, count_sections(self->fd));
}

TEST_F(corrupt, file_truncated)
{
	char name[] = "/tmp/corrupt_test.XXXXXX";
	int file = mkstemp(name);
	void *p;

	ASSERT_LE(0, file);
	unlink(name);
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	ASSERT_EQ(PAGE, write(file, self->fake.section, PAGE));
	p = mmap(self->fake.section, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED,
		 file, 0);
	ASSERT_EQ(self->fake.section, p);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));

	ASSERT_EQ(0, ftruncate(file, 0));
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_SECTION_REMOVED, self->stack.head.stop);
	EXPECT_EQ(1, count_sections(self->fd));
	close(file);
}

TEST_HARNESS_MAIN
