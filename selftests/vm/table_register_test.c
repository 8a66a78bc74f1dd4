// SPDX-License-Identifier: GPL-2.0
/* Registration of function tables: accepted arguments, limits, and the errors. */
#include "function_table.h"

FIXTURE(table)
{
	int fd;
	struct function_table table;
	struct stack stack;
};

FIXTURE_SETUP(table)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_TRUE(make_table(&self->table, MAP_PRIVATE));
}

FIXTURE_TEARDOWN(table)
{
	free_table(&self->table);
	close(self->fd);
}

#define EXPECT_REFUSED(error, words)					\
	do {								\
		errno = 0;						\
		self->table.message[0] = '\0';				\
		self->table.reg.id = 1;					\
		EXPECT_EQ(-1, register_table(self->fd, &self->table.reg)); \
		EXPECT_EQ(error, errno);				\
		EXPECT_NE(NULL, strstr(self->table.message, words))	\
		{							\
			TH_LOG("message: %s", self->table.message);	\
		}							\
		EXPECT_EQ(0, self->table.reg.id);			\
	} while (0)

/* Refused with @member set to @value, which is then restored. */
#define EXPECT_REFUSED_WITH(member, value, error, words)		\
	do {								\
		const struct sframe_unwind_register_table good_ =	\
			self->table.reg;				\
		self->table.reg.member = value;				\
		EXPECT_REFUSED(error, words);				\
		self->table.reg = good_;				\
	} while (0)

TEST_F(table, is_a_feature)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };

	ASSERT_EQ(0, query(self->fd, &q));
	EXPECT_TRUE(q.features & SFRAME_UNWIND_FEATURE_TABLE);
}

TEST_F(table, accepted)
{
	const struct chain chain = make_chain(&self->table, 3, 0);
	struct sframe_unwind_section section;

	ASSERT_EQ(0, register_table(self->fd, &self->table.reg))
	{
		TH_LOG("%s", self->table.message);
	}
	EXPECT_NE(0, self->table.reg.id);
	EXPECT_EQ(2, count_sections(self->fd));
	ASSERT_CHAIN(&chain);
	section = listed_section(self->fd, self->table.text);
	EXPECT_EQ(self->table.reg.id, section.id);
	EXPECT_EQ(self->table.reg.table_start, section.sframe_start);
	EXPECT_EQ(self->table.reg.table_size, section.sframe_size);
	EXPECT_EQ(self->table.reg.text_start, section.text_start);
	EXPECT_EQ(self->table.reg.text_size, section.text_size);
	EXPECT_EQ(TABLE_FUNCTIONS, section.num_fdes);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ACTIVE, section.state);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_TABLE, section.source);
	EXPECT_EQ(3, section.hits);
}

TEST_F(table, unregistered_by_id)
{
	const struct chain chain = make_chain(&self->table, 3, 0);

	ASSERT_EQ(0, register_table(self->fd, &self->table.reg));
	ASSERT_CHAIN(&chain);
	ASSERT_EQ(0, unregister_id(self->fd, self->table.reg.id));
	EXPECT_EQ(1, count_sections(self->fd));
	ASSERT_NO_RULE(&chain);
	EXPECT_EQ(-1, unregister_id(self->fd, self->table.reg.id));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(table, unregistered_by_address)
{
	struct sframe_unwind_unregister unreg = {
		.size = sizeof(unreg),
		.sframe_start = self->table.reg.table_start,
	};
	const struct chain chain = make_chain(&self->table, 3, 0);

	ASSERT_EQ(0, register_table(self->fd, &self->table.reg));
	ASSERT_CHAIN(&chain);
	ASSERT_EQ(0, unregister_section(self->fd, &unreg));
	EXPECT_EQ(1, unreg.removed);
	ASSERT_NO_RULE(&chain);
}

TEST_F(table, flags_and_reserved)
{
	unsigned int bit;

	for (bit = 0; bit < 32; bit++)
		EXPECT_REFUSED_WITH(flags, 1U << bit, EINVAL, "unknown flags");
	EXPECT_REFUSED_WITH(reserved, 1, EINVAL, "reserved is 0x1");
	EXPECT_REFUSED_WITH(reserved, 0x80000000, EINVAL, "reserved is 0x80000000");
}

TEST_F(table, sizes_of_the_structure)
{
	struct {
		struct sframe_unwind_register_table reg;
		__u64 more;
	} longer = { .reg = self->table.reg };

	longer.reg.size--;
	EXPECT_EQ(-1, register_table(self->fd, &longer.reg));
	EXPECT_EQ(EINVAL, errno);
	longer.reg.size = sizeof(longer);
	longer.more = 1;
	EXPECT_EQ(-1, register_table(self->fd, &longer.reg));
	EXPECT_EQ(E2BIG, errno);
	longer.more = 0;
	EXPECT_EQ(0, register_table(self->fd, &longer.reg));
	EXPECT_EQ(-1, register_table(self->fd, NULL));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(table, ranges)
{
	EXPECT_REFUSED_WITH(table_start, self->table.reg.table_start + 4, EINVAL,
			    "not a multiple of 8");
	EXPECT_REFUSED_WITH(table_size, 0, EINVAL, "section at");
	EXPECT_REFUSED_WITH(table_size, (1ULL << 30) + 1, EINVAL, "exceeds 0x40000000");
	EXPECT_REFUSED_WITH(table_start, -8ULL, EINVAL, "section at");
	EXPECT_REFUSED_WITH(table_start, 1ULL << 63, EINVAL, "section at");
	EXPECT_REFUSED_WITH(text_size, 0, EINVAL, "text at");
	EXPECT_REFUSED_WITH(text_size, (1ULL << 32) + 1, EINVAL, "exceeds 0x100000000");
	EXPECT_REFUSED_WITH(text_start, -16ULL, EINVAL, "text at");
	EXPECT_REFUSED_WITH(text_start, 1ULL << 63, EINVAL, "text at");
}

TEST_F(table, layouts)
{
	const __u64 map_end = offsetof(struct table_memory, rows);

	EXPECT_REFUSED_WITH(max_functions, 0, EINVAL, "max_functions is 0");
	EXPECT_REFUSED_WITH(max_functions, ~0U, EINVAL, "its map ends at");
	EXPECT_REFUSED_WITH(granule_bits, SFRAME_UNWIND_TABLE_GRANULE_BITS + 1, EINVAL,
			    "granule_bits 17 exceeds 16");
	EXPECT_REFUSED_WITH(granule_bits, ~0U, EINVAL, "granule_bits");
	EXPECT_REFUSED_WITH(granule_bits, 0, EINVAL, "its map ends at");
	EXPECT_REFUSED_WITH(table_size, map_end - 1, EINVAL, "its map ends at");
	self->table.reg.table_size = map_end;
	EXPECT_EQ(0, register_table(self->fd, &self->table.reg));
	ASSERT_EQ(0, unregister_id(self->fd, self->table.reg.id));
	self->table.reg.granule_bits = SFRAME_UNWIND_TABLE_GRANULE_BITS;
	EXPECT_EQ(0, register_table(self->fd, &self->table.reg));
}

TEST_F(table, mappings)
{
	unsigned char *const none = mmap(NULL, 4 * PAGE, PROT_NONE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, none);
	/* A name different from the mapping's: the table in it is not readable. */
	EXPECT_REFUSED_WITH(table_start, (uintptr_t)none, EACCES, "not mapped readable");
	ASSERT_EQ(0, munmap(none + PAGE, 3 * PAGE));
	EXPECT_REFUSED_WITH(table_start, (uintptr_t)none + PAGE, EFAULT,
			    "not mapped readable");
	EXPECT_REFUSED_WITH(text_start, (uintptr_t)none + PAGE, EFAULT,
			    "not mapped as a whole");
	munmap(none, PAGE);
}

/* Code may be reserved first, and made executable bit by bit. */
TEST_F(table, reserved_code)
{
	const struct chain chain = { .table = &self->table, .nr = 1 };

	ASSERT_EQ(0, mprotect(self->table.text, TABLE_TEXT, PROT_NONE));
	ASSERT_EQ(0, register_table(self->fd, &self->table.reg))
	{
		TH_LOG("%s", self->table.message);
	}
	ASSERT_EQ(0, mprotect(self->table.text, PAGE, PROT_READ | PROT_WRITE));
	publish_link(&chain, 0, 48);
	ASSERT_EQ(0, mprotect(self->table.text, PAGE, PROT_READ | PROT_EXEC));
	ASSERT_CHAIN(&chain);
	EXPECT_EQ(2, count_sections(self->fd));
}

TEST_F(table, from_two_files)
{
	int file = memfd_create("table", 0);

	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, 2 * PAGE));
	ASSERT_EQ(self->table.text + PAGE,
		  mmap(self->table.text + PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED,
		       file, 0));
	EXPECT_REFUSED(EINVAL, "mapped from another file");
	/* The whole code from one file. */
	self->table.reg.text_start += PAGE;
	self->table.reg.text_size = PAGE;
	EXPECT_EQ(0, register_table(self->fd, &self->table.reg));
	close(file);
}

TEST_F(table, overlaps)
{
	struct function_table other = self->table;
	struct fake fake;

	ASSERT_TRUE(make_fake(&fake));
	ASSERT_EQ(0, register_table(self->fd, &self->table.reg));
	EXPECT_REFUSED(EEXIST, "overlaps");
	other.reg.text_start += PAGE;
	other.reg.text_size = PAGE;
	EXPECT_EQ(-1, register_table(self->fd, &other.reg));
	EXPECT_EQ(EEXIST, errno);
	/* A section for code of the table; and a table for code of a section. */
	fake.reg.text_start = (uintptr_t)self->table.text;
	EXPECT_EQ(-1, register_section(self->fd, &fake.reg));
	EXPECT_EQ(EEXIST, errno);
	fake.reg.text_start = (uintptr_t)fake.text;
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	other.reg.text_start = (uintptr_t)fake.text;
	EXPECT_EQ(-1, register_table(self->fd, &other.reg));
	EXPECT_EQ(EEXIST, errno);
	free_fake(&fake);
}

TEST_F(table, at_most_16)
{
	struct function_table table[SFRAME_UNWIND_MAX_TABLES];
	struct chain chain[SFRAME_UNWIND_MAX_TABLES];
	unsigned int i, round;

	for (i = 0; i < SFRAME_UNWIND_MAX_TABLES; i++) {
		ASSERT_TRUE(make_table(&table[i], MAP_PRIVATE));
		ASSERT_EQ(0, register_table(self->fd, &table[i].reg));
		chain[i] = make_chain(&table[i], 4, i);
	}
	EXPECT_REFUSED(ENOSPC, "16 tables already");
	/* Every table is used, and notices removals. */
	for (round = 0; round < 100; round++) {
		i = round % SFRAME_UNWIND_MAX_TABLES;
		replace_link(&chain[i], round % 4, i + round % 4, 8 * round);
		for (i = 0; i < SFRAME_UNWIND_MAX_TABLES; i++)
			ASSERT_CHAIN(&chain[i]);
	}
	ASSERT_EQ(0, unregister_id(self->fd, table[7].reg.id));
	EXPECT_EQ(0, register_table(self->fd, &self->table.reg));
	EXPECT_EQ(-1, register_table(self->fd, &table[7].reg));
	EXPECT_EQ(ENOSPC, errno);
	/* One that was unmapped makes room, without a walk. */
	free_table(&table[3]);
	EXPECT_EQ(0, register_table(self->fd, &table[7].reg));
	for (i = 0; i < SFRAME_UNWIND_MAX_TABLES; i++) {
		if (i != 3)
			free_table(&table[i]);
	}
}

/* Two obstacles at once: tables that were unmapped, and a section that is stale. */
TEST_F(table, room_after_an_overlap)
{
	struct function_table table[SFRAME_UNWIND_MAX_TABLES];
	int file = memfd_create("code", 0);
	unsigned char copy[PAGE];
	struct fake fake;
	unsigned int i;

	ASSERT_TRUE(make_fake(&fake));
	memcpy(copy, fake.section, PAGE);
	ASSERT_EQ(PAGE, pwrite(file, copy, PAGE, PAGE));
	ASSERT_EQ((void *)fake.text, mmap(fake.text, PAGE, PROT_READ | PROT_EXEC,
					  MAP_FIXED | MAP_PRIVATE, file, 0));
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	for (i = 0; i < SFRAME_UNWIND_MAX_TABLES; i++) {
		ASSERT_TRUE(make_table(&table[i], MAP_PRIVATE));
		ASSERT_EQ(0, register_table(self->fd, &table[i].reg));
	}
	for (i = 0; i < SFRAME_UNWIND_MAX_TABLES; i++)
		free_table_memory(&table[i]);
	ASSERT_EQ((void *)fake.text, mmap(fake.text, PAGE, PROT_READ | PROT_EXEC,
					  MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	self->table.reg.text_start = (uintptr_t)fake.text;
	self->table.reg.text_size = PAGE;
	EXPECT_EQ(0, register_table(self->fd, &self->table.reg))
	{
		TH_LOG("%s", self->table.message);
	}
	for (i = 0; i < SFRAME_UNWIND_MAX_TABLES; i++)
		munmap(table[i].text, TABLE_TEXT);
	free_fake(&fake);
	close(file);
}

TEST_F(table, events)
{
	struct sframe_unwind_removed removed;
	const struct chain chain = make_chain(&self->table, 1, 0);

	ASSERT_EQ(0, register_table(self->fd, &self->table.reg));
	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_CHAIN(&chain);
	free_table_memory(&self->table);
	ASSERT_EQ(0, call_request_code(chain_code(&chain, 0), self->fd,
				       &(struct sframe_unwind_request){
					       .size = sizeof(struct sframe_unwind_request) }));
	ASSERT_EQ(sizeof(removed), read(self->fd, &removed, sizeof(removed)));
	EXPECT_EQ(SFRAME_UNWIND_RECORD_REMOVED, removed.record.type);
	EXPECT_EQ(self->table.reg.id, removed.id);
	EXPECT_EQ(SFRAME_UNWIND_CAUSE_STALE, removed.cause);
	EXPECT_EQ(self->table.reg.table_start, removed.sframe_start);
}

TEST_HARNESS_MAIN
