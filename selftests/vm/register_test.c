// SPDX-License-Identifier: GPL-2.0
/* Registration: accepted arguments, and the errors for others. */
#include "common.h"

FIXTURE(reg)
{
	int fd;
	struct fake fake;
	char message[256];
};

FIXTURE_SETUP(reg)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_fake(&self->fake));
	self->fake.reg.message = (uintptr_t)self->message;
	self->fake.reg.message_size = sizeof(self->message);
	self->message[0] = '\0';
}

FIXTURE_TEARDOWN(reg)
{
	free_fake(&self->fake);
	close(self->fd);
}

#define EXPECT_REFUSED(error, words)					\
	do {								\
		errno = 0;						\
		self->message[0] = '\0';				\
		EXPECT_EQ(-1, register_section(self->fd, &self->fake.reg)); \
		EXPECT_EQ(error, errno);				\
		EXPECT_NE(NULL, strstr(self->message, words))		\
		{							\
			TH_LOG("message: %s", self->message);		\
		}							\
		EXPECT_EQ(0, self->fake.reg.id);			\
	} while (0)

TEST_F(reg, accepted)
{
	self->fake.reg.id = 0;
	self->fake.reg.defect_offset = ~0ULL;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg))
	{
		TH_LOG("%s", self->message);
	}
	EXPECT_NE(0, self->fake.reg.id);
	EXPECT_EQ(0, self->fake.reg.defect_offset);
	EXPECT_EQ(1, count_sections(self->fd));
}

TEST_F(reg, ids_differ)
{
	__u64 id;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	id = self->fake.reg.id;
	ASSERT_EQ(0, unregister_id(self->fd, id));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_LT(id, self->fake.reg.id);
}

TEST_F(reg, bytes_behind_the_table)
{
	memset(self->fake.section + FAKE_SECTION_SIZE, 0xff, 64);
	self->fake.reg.sframe_size += 64;
	EXPECT_EQ(0, register_section(self->fd, &self->fake.reg));
}

TEST_F(reg, empty_ranges)
{
	self->fake.reg.sframe_size = 0;
	EXPECT_REFUSED(EINVAL, "section at");
	self->fake.reg.sframe_size = FAKE_SECTION_SIZE;
	self->fake.reg.text_size = 0;
	EXPECT_REFUSED(EINVAL, "text at");
}

TEST_F(reg, ranges_that_wrap)
{
	self->fake.reg.sframe_start = -64ULL;
	self->fake.reg.sframe_size = 128;
	EXPECT_REFUSED(EINVAL, "section at");
	self->fake.reg.sframe_start = (uintptr_t)self->fake.section;
	self->fake.reg.sframe_size = FAKE_SECTION_SIZE;
	self->fake.reg.text_size = -self->fake.reg.text_start;
	EXPECT_REFUSED(EINVAL, "text at");
	self->fake.reg.text_size = ~0ULL;
	EXPECT_REFUSED(EINVAL, "text at");
}

TEST_F(reg, kernel_addresses)
{
	self->fake.reg.sframe_start = 0xffffffff81000000ULL;
	EXPECT_REFUSED(EINVAL, "section at");
	self->fake.reg.sframe_start = (uintptr_t)self->fake.section;
	self->fake.reg.text_start = 0xffffffff81000000ULL;
	EXPECT_REFUSED(EINVAL, "text at");
	/* Not canonical: neither user nor kernel space. */
	self->fake.reg.text_start = 1ULL << 60;
	EXPECT_REFUSED(EINVAL, "text at");
}

TEST_F(reg, sframe_size_limit)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };

	ASSERT_EQ(0, query(self->fd, &q));
	self->fake.reg.sframe_size = q.max_sframe_size + 1;
	EXPECT_REFUSED(EINVAL, "sframe_size");
	/* At the limit the only error is that it is not completely mapped. */
	self->fake.reg.sframe_size = q.max_sframe_size;
	EXPECT_REFUSED(EFAULT, "not mapped");
}

TEST_F(reg, section_not_mapped)
{
	ASSERT_EQ(0, munmap(self->fake.section, PAGE));
	EXPECT_REFUSED(EFAULT, "section is not mapped readable");
}

TEST_F(reg, section_not_readable)
{
	ASSERT_EQ(0, mprotect(self->fake.section, PAGE, PROT_NONE));
	EXPECT_REFUSED(EACCES, "section is not mapped readable");
}

TEST_F(reg, section_behind_end_of_file)
{
	char name[] = "/tmp/register_test.XXXXXX";
	int file = mkstemp(name);
	void *p;

	ASSERT_LE(0, file);
	unlink(name);
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	ASSERT_NE(MAP_FAILED, p);
	self->fake.reg.sframe_start = (uintptr_t)p;
	EXPECT_REFUSED(EFAULT, "cannot be read");
}

TEST_F(reg, text_not_mapped)
{
	self->fake.reg.text_size = 2 * PAGE;
	ASSERT_EQ(0, munmap(self->fake.section, PAGE));
	self->fake.reg.sframe_start = (uintptr_t)self->fake.text;
	EXPECT_REFUSED(EFAULT, "text is not mapped executable");
}

TEST_F(reg, text_not_executable)
{
	ASSERT_EQ(0, mprotect(self->fake.text, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_REFUSED(EACCES, "text is not mapped executable");
}

TEST_F(reg, text_partly_executable)
{
	ASSERT_EQ(0, mprotect(self->fake.section, PAGE, PROT_READ));
	self->fake.reg.text_size = PAGE + 1;
	EXPECT_REFUSED(EACCES, "text is not mapped executable");
}

/* Each byte of the header that can be wrong, and the expected message. */
static const struct {
	unsigned int at;
	unsigned char byte;
	int error;
	const char *words;
} headers[] = {
	{ 0x00, 0x00, EINVAL, "magic" },
	{ 0x02, 0, EINVAL, "version is 0, not 3" },
	{ 0x02, 1, EOPNOTSUPP, "version is 1, not 3" },
	{ 0x02, 2, EOPNOTSUPP, "version is 2, not 3" },
	{ 0x02, 4, EOPNOTSUPP, "version is 4, not 3" },
	{ 0x03, 0x04, EINVAL, "not marked as sorted" },
	{ 0x03, 0x01, EINVAL, "not relative to their field" },
	{ 0x03, 0x07, EINVAL, "flag" },
	{ 0x03, 0x0d, EINVAL, "flag" },
	{ 0x03, 0x85, EINVAL, "flag" },
	{ 0x04, 0, EOPNOTSUPP, "ABI" },
	{ 0x04, 1, EOPNOTSUPP, "ABI" },
	{ 0x04, 2, EOPNOTSUPP, "ABI" },
	{ 0x04, 4, EOPNOTSUPP, "ABI" },
	{ 0x05, 1, EINVAL, "fixed FP" },
	{ 0x06, 0, EINVAL, "fixed RA" },
	{ 0x06, 0xf0, EINVAL, "fixed RA" },
	{ 0x07, 4, EINVAL, "auxiliary header" },
	{ 0x08, 0, EINVAL, "no FDEs" },
	{ 0x08, 2, EINVAL, "overlaps the FRE area" },
	{ 0x0b, 0xff, EINVAL, "overlaps the FRE area" },
	{ 0x10, 9, EINVAL, "beyond the section" },
	{ 0x13, 0xff, EINVAL, "beyond the section" },
	{ 0x14, 4, EINVAL, "overlaps the FRE area" },
	{ 0x18, 15, EINVAL, "overlaps the FRE area" },
	{ 0x1b, 0xff, EINVAL, "beyond the section" },
};

TEST_F(reg, bad_headers)
{
	unsigned int i;
	unsigned char good;

	for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		good = self->fake.section[headers[i].at];
		self->fake.section[headers[i].at] = headers[i].byte;
		EXPECT_REFUSED(headers[i].error, headers[i].words);
		self->fake.section[headers[i].at] = good;
	}
	EXPECT_EQ(0, count_sections(self->fd));
	EXPECT_EQ(0, register_section(self->fd, &self->fake.reg));
}

TEST_F(reg, other_byte_order)
{
	self->fake.section[0] = 0xde;
	self->fake.section[1] = 0xe2;
	EXPECT_REFUSED(EOPNOTSUPP, "byte order");
}

TEST_F(reg, too_short_for_a_header)
{
	self->fake.reg.sframe_size = 27;
	EXPECT_REFUSED(EINVAL, "shorter than a header");
}

TEST_F(reg, header_count_of_rows_is_ignored)
{
	put32(self->fake.section + 0x0c, 0);
	EXPECT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	put32(self->fake.section + 0x0c, ~0U);
	EXPECT_EQ(0, register_section(self->fd, &self->fake.reg));
}

/* A defect behind the header is found only with the VALIDATE flag. */
TEST_F(reg, validate)
{
	self->fake.section[FAKE_INFO] = 0x40;
	self->fake.reg.flags = SFRAME_UNWIND_REGISTER_VALIDATE;
	EXPECT_REFUSED(EINVAL, "reserved bit in FDE info (offset 0x2e)");
	EXPECT_EQ(FAKE_INFO, self->fake.reg.defect_offset);
	self->fake.reg.flags = 0;
	EXPECT_EQ(0, register_section(self->fd, &self->fake.reg));
}

TEST_F(reg, validate_accepts_own_section)
{
	struct sframe_unwind_register own = own_section();

	own.flags = SFRAME_UNWIND_REGISTER_VALIDATE;
	own.message = (uintptr_t)self->message;
	own.message_size = sizeof(self->message);
	EXPECT_EQ(0, register_section(self->fd, &own))
	{
		TH_LOG("%s", self->message);
	}
}

TEST_F(reg, overlaps)
{
	struct sframe_unwind_register reg = self->fake.reg;

	/* The middle of the page is registered; other ranges may adjoin it. */
	reg.text_start += 1024;
	reg.text_size = 1024;
	ASSERT_EQ(0, register_section(self->fd, &reg));

	self->fake.reg.text_size = 1024;
	EXPECT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->fake.reg.text_start += 2048;
	EXPECT_EQ(0, register_section(self->fd, &self->fake.reg));

	self->fake.reg = reg;
	EXPECT_REFUSED(EEXIST, "overlaps");
	self->fake.reg.text_start++;
	EXPECT_REFUSED(EEXIST, "overlaps");
	self->fake.reg.text_size = 1;
	EXPECT_REFUSED(EEXIST, "overlaps");
	self->fake.reg.text_start = (uintptr_t)self->fake.text;
	self->fake.reg.text_size = PAGE;
	EXPECT_REFUSED(EEXIST, "overlaps");
	self->fake.reg.text_start += 3071;
	self->fake.reg.text_size = 2;
	EXPECT_REFUSED(EEXIST, "overlaps");
	EXPECT_EQ(3, count_sections(self->fd));
}

/* Registrations belong to the address space, not to the client. */
TEST_F(reg, outlives_its_client)
{
	int other = open_client(0);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, register_section(other, &self->fake.reg));
	close(other);
	EXPECT_EQ(1, count_sections(self->fd));
	EXPECT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	EXPECT_EQ(0, count_sections(self->fd));
}

TEST_F(reg, unregister)
{
	struct sframe_unwind_unregister unreg = { .size = sizeof(unreg) };

	/* Neither id nor address, then both. */
	EXPECT_EQ(-1, unregister_section(self->fd, &unreg));
	EXPECT_EQ(EINVAL, errno);
	unreg.id = 1;
	unreg.sframe_start = 1;
	EXPECT_EQ(-1, unregister_section(self->fd, &unreg));
	EXPECT_EQ(EINVAL, errno);

	/* An id that does not exist, before and after the first registration. */
	EXPECT_EQ(-1, unregister_id(self->fd, ~0ULL));
	EXPECT_EQ(ENOENT, errno);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_EQ(-1, unregister_id(self->fd, self->fake.reg.id + 1));
	EXPECT_EQ(ENOENT, errno);
	unreg.id = 0;
	unreg.sframe_start = self->fake.reg.sframe_start + 1;
	unreg.message = (uintptr_t)self->message;
	unreg.message_size = sizeof(self->message);
	EXPECT_EQ(-1, unregister_section(self->fd, &unreg));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_NE(NULL, strstr(self->message, "no section at 0x"));

	EXPECT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	EXPECT_EQ(-1, unregister_id(self->fd, self->fake.reg.id));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(reg, unregister_all_ranges)
{
	struct sframe_unwind_unregister unreg = { .size = sizeof(unreg) };
	struct fake other;
	int i;

	ASSERT_TRUE(make_fake(&other));
	ASSERT_EQ(0, register_section(self->fd, &other.reg));
	self->fake.reg.text_size = 64;
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		self->fake.reg.text_start += 128;
	}
	unreg.sframe_start = self->fake.reg.sframe_start;
	EXPECT_EQ(0, unregister_section(self->fd, &unreg));
	EXPECT_EQ(5, unreg.removed);
	EXPECT_EQ(1, count_sections(self->fd));
}

TEST_HARNESS_MAIN
